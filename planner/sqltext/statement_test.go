package sqltext

import (
	"fmt"
	"strings"
	"testing"
)

func TestMentions(t *testing.T) {
	tests := []struct {
		text string
		want bool
	}{
		{"select raisin_lock_acquire('k', 1)", true},
		{"select Raisin_LOCK_acquire('k', 1)", true},
		{"select public . raisin_lock_acquire ( 'k', 1 )", true},
		{`select "raisin_lock_acquire"('k', 1)`, true},
		{`select U&"raisin\005flock\+00005facquire"('k', 1)`, true},
		{`select u&"raisin!005flock_acquire" /* c */ UESCAPE '!' ('k', 1)`, true},
		{"/*application:api*/ select raisin_lock_acquire('k', 1)", true},
		{"-- Metabase:: userID: 1\nselect raisin_lock_acquire('k', 1)", true},
		{"select raisin_lock_acquire('k', 1) /*controller='x',route='%2Fy'*/", true},
		{"select 1; select raisin_inventory_claim('p', 1, 1)", true},
		{`select 'a\', raisin_lock_acquire('k', 1)`, true},
		{"select $a$ $b$ $a$, raisin_lock_acquire('k', 1)", true},

		{"select raisin_lock_acquired(1), xraisin_lock_acquire(1), raisin_unknown(1)", false},
		{`select "Raisin_lock_acquire"(1), "raisin_lock_acquire "(1)`, false},
		{`select U&"raisin!005flock_acquire"(1)`, false},
		{"select 'raisin_lock_acquire(1)'", false},
		{`select E'\'raisin_lock_acquire(1)'`, false},
		{"select $a$raisin_lock_acquire(1)$a$, $$ raisin_lock_acquire(1) $$", false},
		{"select 1 /* /* */ raisin_lock_acquire(1) */ -- raisin_lock_acquire(1)", false},
		{`select "a""raisin_lock_acquire"`, false},
		{"do $$ begin perform raisin_lock_acquire('k', 1); end $$", false},
		{"select 'raisin_lock_acquire", false},
	}
	for _, test := range tests {
		if got := New(test.text, true).Mentions(); got != test.want {
			t.Errorf("%s: %v", test.text, got)
		}
		if test.want && !MentionsProxyText(test.text) {
			t.Errorf("%s: of no concern", test.text)
		}
	}
}

// A quote may be where another setting has none: then the call is in a string.
func TestMentionsObeyStandardConformingStrings(t *testing.T) {
	for text, withSCS := range map[string]bool{
		`select '\', raisin_lock_acquire(1), '`:     true,
		`select '\'', raisin_lock_acquire(1), '\''`: false,
	} {
		if got := New(text, true).Mentions(); got != withSCS {
			t.Errorf("%s, on: %v", text, got)
		}
		if got := New(text, false).Mentions(); got == withSCS {
			t.Errorf("%s, off: %v", text, got)
		}
	}
}

func TestWatchedSetting(t *testing.T) {
	for _, text := range []string{
		"set app.branch = 'x'", `SET LOCAL APP . "Branch" TO x`, "show app.branch", "reset app.branch",
		"select current_setting('app.branch')", "select set_config(E'APP.branch', 'x', true)", "select $$app.branch$$",
	} {
		if got := *New(text, true).aboutIt(); !got.Branch || !MentionsProxyText(text) {
			t.Errorf("%s: %+v, mentioned %v", text, got, MentionsProxyText(text))
		}
	}
	for _, text := range []string{"set branch = 'x'", "set app.branches = 'x'", "select 'my app.branch'", "-- app.branch"} {
		if New(text, true).aboutIt().Branch {
			t.Error(text)
		}
	}
}

func TestUseBranchIsNoticed(t *testing.T) {
	for text, want := range map[string]bool{
		"USE BRANCH x": true, "select 1; use /* c */ branch 'feature/x'": true, "use branch": true,
		"use x": false, `use "branch" x`: false, `"use" branch x`: false, "select use branch": false,
	} {
		if got := New(text, true).aboutIt().Use; got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestEmptyText(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, ";": true, " ;; ": true, "-- c": true, "/* ping */": true, "/* open": false, "select": false, "'": false,
	} {
		if got := New(text, true).Empty(); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestStatements(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", ""},
		{"; select 1 ; ;/* c */ ; \"x\" 2 -- d", `SELECT<select 1> <"x" 2>`},
		{"begin; insert into t values (';', $$;$$); commit", "BEGIN<begin> INSERT<insert into t values (';', $$;$$)> COMMIT<commit>"},
		{"create rule r as on insert to t do (select 1; select 2); select 3", "CREATE<create rule r as on insert to t do (select 1; select 2)> SELECT<select 3>"},
		{"create function f() returns int begin atomic select case when a then 1 end; select 2; end; select 3",
			"CREATE<create function f() returns int begin atomic select case when a then 1 end; select 2; end> SELECT<select 3>"},
		{"begin atomic; select 1", "BEGIN<begin atomic> SELECT<select 1>"},
		{"select case; select 2", "SELECT<select case> SELECT<select 2>"},
		{"select ); select 2", "SELECT<select )> SELECT<select 2>"},
		{"select (; select 2", "SELECT<select (; select 2>"},
	}
	for _, test := range tests {
		var got []string
		s := New(test.text, true).Statements()
		for st, ok := s.Next(); ok; st, ok = s.Next() {
			got = append(got, strings.ToUpper(st.Keyword)+"<"+test.text[st.Start:st.End]+">")
		}
		if got := strings.Join(got, " "); got != test.want {
			t.Errorf("%q\n got %s\nwant %s", test.text, got, test.want)
		}
	}
}

func TestMentionsProxyText(t *testing.T) {
	words := []string{"raisin_", "RAISIN_", "branch", "Branch", "u&", "U&"}
	for _, word := range words {
		for before := range 9 {
			for after := range 3 {
				text := strings.Repeat("x", before) + word + strings.Repeat("y", after)
				if !MentionsProxyText(text) {
					t.Errorf("%q is of no concern", text)
				}
			}
		}
		for i := range word {
			broken := word[:i] + "." + word[i+1:]
			if MentionsProxyText(broken) {
				t.Errorf("%q is of concern", broken)
			}
		}
	}
}

func TestLookingAtATextDoesNotAllocate(t *testing.T) {
	sql := "select * from t, raisin_lock_acquire('seat:14A', $1) l where l.acquired and t.id = any($2) -- c"
	if n := testing.AllocsPerRun(100, func() {
		text := New(sql, true)
		if !text.Concerns() || !text.Mentions() {
			t.Error("not found")
		}
		text.Release()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkMentionsProxyText(b *testing.B) {
	for _, size := range []int{100, 10_000, 1_000_000} {
		text := strings.Repeat("INSERT INTO orders (customer_id, total) VALUES ($1, 'thing');\n", size/60+1)[:size]
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				if MentionsProxyText(text) {
					b.Fatal("of concern")
				}
			}
		})
	}
}

func BenchmarkScan(b *testing.B) {
	text := "SELECT acquired, token FROM raisin_lock_acquire('seat:14A', 30000)"
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		t := New(text, true)
		t.Mentions()
		t.Release()
	}
}
