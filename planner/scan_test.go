package planner

import (
	"fmt"
	"strings"
	"testing"
)

func isOurs(name string) bool {
	return name == "raisin_lock_acquire" || name == "raisin_inventory_claim"
}

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
		if got := scanText(test.text, true, isOurs).Mentions; got != test.want {
			t.Errorf("%s: %v", test.text, got)
		}
		if test.want && !concerns(test.text) {
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
		if got := scanText(text, true, isOurs).Mentions; got != withSCS {
			t.Errorf("%s, on: %v", text, got)
		}
		if got := scanText(text, false, isOurs).Mentions; got == withSCS {
			t.Errorf("%s, off: %v", text, got)
		}
	}
}

func TestWatchedSetting(t *testing.T) {
	for _, text := range []string{
		"set app.branch = 'x'", `SET LOCAL APP . "Branch" TO x`, "show app.branch", "reset app.branch",
		"select current_setting('app.branch')", "select set_config(E'APP.branch', 'x', true)", "select $$app.branch$$",
	} {
		if got := scanText(text, true, isOurs); !got.Branch || !concerns(text) {
			t.Errorf("%s: %+v, concerns %v", text, got, concerns(text))
		}
	}
	for _, text := range []string{"set branch = 'x'", "set app.branches = 'x'", "select 'my app.branch'", "-- app.branch"} {
		if scanText(text, true, isOurs).Branch {
			t.Error(text)
		}
	}
}

func TestUseBranchIsNoticed(t *testing.T) {
	for text, want := range map[string]bool{
		"USE BRANCH x": true, "select 1; use /* c */ branch 'feature/x'": true, "use branch": true,
		"use x": false, `use "branch" x`: false, `"use" branch x`: false, "select use branch": false,
	} {
		if got := scanText(text, true, isOurs).Use; got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestEmptyText(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, ";": true, " ;; ": true, "-- c": true, "/* ping */": true, "/* open": false, "select": false, "'": false,
	} {
		scan := scanText(text, true, isOurs)
		if scan.Empty() != want {
			t.Errorf("%q: %v", text, scan.Empty())
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
		s := newStatementScanner(test.text, true, isOurs)
		for st, ok := s.next(); ok; st, ok = s.next() {
			got = append(got, strings.ToUpper(st.Keyword)+"<"+test.text[st.Start:st.End]+">")
		}
		if got := strings.Join(got, " "); got != test.want {
			t.Errorf("%q\n got %s\nwant %s", test.text, got, test.want)
		}
	}
}

func TestDepthAndHeight(t *testing.T) {
	tests := []struct {
		text          string
		depth, height int
	}{
		{"", 0, 0},
		{"select 1", 0, 2},
		{"select 1; select 1, 2, 3", 0, 3},
		{"select 1+1+1", 0, 6},
		{"select 1+-1", 0, 5 + 16},
		{"select a and b or c and d", 0, 3},
		{"select ((1))", 2, 6 + 2*levelHeight},
		{"select f(1, 2, 3, 4, 5, 6)", 1, 5 + levelHeight},
		{"select a[1][2]", 1, 6 + levelHeight},
		{"select case when a then b when c then d else e end", 1, 4 + levelHeight},
		{"select a between 1 and 2", 0, 6},
		{"select a.and, b", 0, 5},
		{"select 1 as case, (2)", 2, 7 + 2*levelHeight},
		{"select 1, 2 union select 1, 2 union select 1, 2", 0, 5},
		{"select (1", 1, 3 + levelHeight},
		{"select 1)))", 0, 5},
		{strings.Repeat("(", maxDepth), maxDepth, maxDepth * (1 + levelHeight)},
		{strings.Repeat("(", maxDepth+1), maxDepth + 1, maxDepth*(1+levelHeight) + 1},
		{strings.Repeat("(", 3*maxDepth), maxDepth + 1, maxDepth*(1+levelHeight) + 1},
	}
	for _, test := range tests {
		got := scanText(test.text, true, isOurs)
		if got.Depth != test.depth || got.Height != test.height {
			t.Errorf("%.40q: depth %d, height %d, want %d, %d", test.text, got.Depth, got.Height, test.depth, test.height)
		}
	}
}

func TestConcerns(t *testing.T) {
	words := []string{"raisin_", "RAISIN_", "branch", "Branch", "u&", "U&"}
	for _, word := range words {
		for before := range 9 {
			for after := range 3 {
				text := strings.Repeat("x", before) + word + strings.Repeat("y", after)
				if !concerns(text) {
					t.Errorf("%q is of no concern", text)
				}
			}
		}
		for i := range word {
			broken := word[:i] + "." + word[i+1:]
			if concerns(broken) {
				t.Errorf("%q is of concern", broken)
			}
		}
	}
}

func TestScanDoesNotAllocate(t *testing.T) {
	text := "select * from t, raisin_lock_acquire('seat:14A', $1) l where l.acquired and t.id = any($2) -- c"
	if n := testing.AllocsPerRun(100, func() {
		if !concerns(text) || !scanText(text, true, isOurs).Mentions {
			t.Error("not found")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkConcerns(b *testing.B) {
	for _, size := range []int{100, 10_000, 1_000_000} {
		text := strings.Repeat("INSERT INTO orders (customer_id, total) VALUES ($1, 'thing');\n", size/60+1)[:size]
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				if concerns(text) {
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
		scanText(text, true, isOurs)
	}
}
