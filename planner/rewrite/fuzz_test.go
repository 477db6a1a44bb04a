package rewrite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/planner/pgparse"
	"raisinproxy/planner/plan"
	"raisinproxy/planner/sqltext"
	"raisinproxy/planner/tree"
	"raisinproxy/sqlfuncs"
)

// FuzzRewrite: whatever a statement is, its texts parse, have the parameters that the
// plan says, and their pgparse.Positions lie in the user's text; and a statement without calls
// is left alone.
func FuzzRewrite(f *testing.F) {
	files, err := filepath.Glob("testdata/rewrite/*.txt")
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for part := range strings.SplitSeq(string(content), "\n\n") {
			if _, sql, ok := strings.Cut(part, "\n"); ok {
				sql, _, _ = strings.Cut(sql, "\n----")
				f.Add(sql, true, true)
				f.Add(sql, false, false)
			}
		}
	}
	f.Fuzz(func(t *testing.T, text string, standard, prepared bool) {
		parsed, err := pgparse.Parse(sqltext.New(text, standard))
		if err != nil {
			return
		}
		mentions := sqltext.New(text, standard).Mentions()
		for i := range parsed.Statements {
			st := Rewrite(parsed, i, plan.Options{Prepared: prepared})
			if st == nil {
				continue
			}
			if !mentions {
				t.Errorf("%q mentions no call", text)
			}
			checkRewritten(t, text, standard, st)
		}
	})
}

func checkRewritten(t *testing.T, text string, standard bool, st *plan.Statement) {
	t.Helper()
	if st.Err != nil {
		checkPosition(t, text, st.Err.Position)
		return
	}
	m, ok := st.Action.(*Split)
	if p, prepares := st.Action.(*PrepareSplit); prepares {
		m, ok = p.Split, true
		checkText(t, text, standard, &p.Types)
	}
	if !ok {
		t.Fatalf("%q: %T", text, st.Action)
	}
	if m.Views != nil {
		checkRewritten(t, text, standard, m.Views.ours)
		checkRewritten(t, text, standard, m.Views.theirs)
		return
	}
	probe := checkText(t, text, standard, &m.Probe)
	args := checkText(t, text, standard, &m.Args)
	main := checkText(t, text, standard, &m.Main)
	if total := m.Params + len(m.Hidden); probe > m.Params || args > m.Params || main > total || len(m.Hidden) > 0 && main != total {
		t.Errorf("%q: parameters %d, %d, %d of %d and %d", text, probe, args, main, m.Params, len(m.Hidden))
	}
	if m.Copy {
		literal := m.CopySQL(m.Values(make([][]sqlfuncs.Row, len(m.Calls)), false))
		checkText(t, text, standard, &literal)
	}
	m.Local(nil)
}

// checkText checks one text and returns its highest parameter.
func checkText(t *testing.T, user string, standard bool, text *Text) (highest int) {
	t.Helper()
	if text.SQL == "" {
		return 0
	}
	for i := range utf8.RuneCountInString(text.SQL) + 2 {
		checkPosition(t, user, text.Position(i))
	}
	parsed, err := pgparse.Parse(sqltext.New(text.SQL, standard))
	if err != nil {
		if err.Code != "54001" { // it has grown beyond what is parsed here
			t.Errorf("%q: %q does not parse: %v", user, text.SQL, err)
		}
		return 0
	}
	if len(parsed.Statements) != 1 {
		t.Fatalf("%q: %q is %d statements", user, text.SQL, len(parsed.Statements))
	}
	tree.Each(parsed.Statements[0].Node, func(ref *pg_query.ParamRef) { highest = max(highest, int(ref.Number)) })
	if calls := tree.Calls(parsed.Statements[0].Node); len(calls) > 0 {
		t.Errorf("%q: a call is left in %q", user, text.SQL)
	}
	return highest
}

func checkPosition(t *testing.T, text string, position int) {
	t.Helper()
	if position < 0 || position > utf8.RuneCountInString(text)+1 {
		t.Errorf("%q: position %d", text, position)
	}
}
