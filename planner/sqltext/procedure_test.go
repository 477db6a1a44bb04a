package sqltext

import "testing"

func TestMayCommit(t *testing.T) {
	for text, want := range map[string]bool{
		"call p()": true,
		"CALL p()": true,
		" -- so\n/* is /* this */ */ ;; Do $$ $$": true,
		"do":                true,
		"":                  false,
		";":                 false,
		"select 'call p()'": false,
		"caller":            false,
		`"call"`:            false,
		"/* call":           false,
	} {
		if got := MayCommit(text, true); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
