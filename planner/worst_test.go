package planner

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/planner/pgparse"
	"raisinproxy/planner/plan"
	"raisinproxy/planner/sqltext"
)

// longTexts are ways to make a text with calls long: before, n times part, after. A part
// may have one %d, for its number.
var longTexts = []struct{ name, before, part, between, after string }{
	{"calls in a list", "select ", "raisin_lock_acquire('k', 1)", ",", ""},
	{"calls of different keys", "select ", "raisin_lock_acquire('k%d', 1)", ",", ""},
	{"calls of parameters", "select ", "raisin_lock_acquire($%d, 1)", ",", ""},
	{"named columns of calls", "select ", "(raisin_lock_acquire('k', 1)).token a%d", ",", ""},
	{"statements with a call", "", "select raisin_lock_acquire('k', 1)", ";", ""},
	{"statements, and a call", "", "select", ";", ";select raisin_lock_acquire('k', 1)"},
	{"BEGIN, and a call", "", "begin", ";", ";select raisin_lock_acquire('k', 1)"},
	{"SET, and a call", "", "set a.b=1", ";", ";select raisin_lock_acquire('k', 1)"},
	{"USE BRANCH, and a call", "", "use branch a", ";", ";select raisin_lock_acquire('k', 1)"},
	{"rows of VALUES", "values ", "(raisin_lock_acquire('k', 1))", ",", ""},
	{"INSERT of rows", "insert into t values ", "(%d, raisin_lock_acquire('k', 1))", ",", ""},
	{"INSERT of rows beside a call", "insert into t select v.* from raisin_lock_acquire('k', 1) l, (values ", "($%d,'a')", ",", ") v"},
	{"FROM items", "select * from raisin_lock_acquire('k', 1) l", ", a a%d", "", ""},
	{"calls in FROM", "select 1 from ", "raisin_lock_acquire('k', 1) l%d", ",", ""},
	{"JOIN", "select * from raisin_lock_acquire('k', 1) l", " join a a%d on true", "", ""},
	{"CTEs", "with l as (select * from raisin_lock_acquire('k', 1))", ", a%d as (select 1)", "", " select * from l"},
	{"CTEs that read one another", "with a0 as (select * from raisin_lock_acquire('k', 1))", ", a%d as (select * from a0)", "", " select * from a0"},
	{"CTEs with a call", "with ", "a%d as (select * from raisin_lock_acquire('k', 1))", ",", " select 1"},
	{"conditions", "select l.token from raisin_lock_acquire('k', 1) l, t where ", "t.a = %d", " and ", ""},
	{"guards", "select l.token from raisin_lock_acquire('k', 1) l where ", "current_user = 'a%d'", " and ", ""},
	{"guards with subqueries", "select l.token from raisin_lock_acquire('k', 1) l where ", "not exists (select 1 from t where t.a = %d)", " and ", ""},
	{"OR", "select raisin_lock_acquire('k', 1) from t where ", "a = %d", " or ", ""},
	{"an IN list", "select raisin_lock_acquire('k', 1) from t where a in (", "%d", ", ", ")"},
	{"an IN list of strings", "select raisin_lock_acquire('k', 1) from t where a in (", "'%d'", ",", ")"},
	{"casts", "insert into t select * from raisin_lock_acquire('k', 1) l, unnest(array[", "$%d::int8", ",", "])"},
	{"a concatenated key", "select raisin_lock_acquire(", "$%d", "||", ", 1)"},
	{"a sum", "select raisin_lock_acquire('k', ", "%d", "+", ")"},
	{"literals beside a call", "select raisin_lock_acquire('k', 1)", ", %d", "", ""},
	{"strings beside a call", "select raisin_lock_acquire('k', 1)", ", 'é%d'", "", ""},
	{"columns beside a call", "select raisin_lock_acquire('k', 1)", ", a.b c%d", "", " from a"},
	{"aliases of columns", "select * from raisin_lock_acquire('k', 1) l(", "a%d", ",", ")"},
	{"ORDER BY", "select raisin_lock_acquire('k', 1) from t order by ", "a%d", ",", ""},
	{"UNION", "select 1 from raisin_lock_acquire('k', 1)", " union all select %d", "", ""},
	{"CASE", "select raisin_lock_acquire(case a ", "when %d then 'a'", " ", " end, 1) from t"},
	{"subqueries beside a call", "select raisin_lock_acquire('k', 1)", ", (select %d)", "", ""},
	{"subqueries in FROM", "select 1 from raisin_lock_acquire('k', 1) l", ", (select 1) a%d", "", ""},
	{"comments", "select raisin_lock_acquire('k', 1)", "/*%d*/", "", ""},
	{"nested comments", "select raisin_lock_acquire('k', 1)", "/*", "", ""},
	{"line comments", "select raisin_lock_acquire('k', 1)", "--%d\n", "", ""},
	{"slashes", "select raisin_lock_acquire('k', 1)", "/", "", "1"},
	{"one operator", "select raisin_lock_acquire('k', 1)", "!", "", "1"},
	{"a long string", "select raisin_lock_acquire('", "é", "", "', 1)"},
	{"a string in parts", "select raisin_lock_acquire('", "a'\n'", "", "', 1)"},
	{"a string of escapes", "select raisin_lock_acquire(E'", `\x41`, "", "', 1)"},
	{"quotes", "select raisin_lock_acquire('", "''", "", "', 1)"},
	{"a dollar quote", "select raisin_lock_acquire($a$", "$a", "", "$a$, 1)"},
	{"a long name", "select raisin_lock_acquire('k', 1) as ", "a", "", ""},
	{"long digits", "select raisin_lock_acquire('k', ", "1", "", ")"},
	{"names of ours", "grant execute on function ", "raisin_lock_acquire(text, bigint)", ",", " to alice"},
}

// longText has n parts.
func longText(i, n int) string {
	s := &longTexts[i]
	var b strings.Builder
	b.WriteString(s.before)
	for number := range n {
		if number > 0 {
			b.WriteString(s.between)
		}
		if strings.Contains(s.part, "%d") {
			fmt.Fprintf(&b, s.part, number+1)
		} else {
			b.WriteString(s.part)
		}
	}
	b.WriteString(s.after)
	return b.String()
}

// longestText is the longest of a kind that the limits let through.
func longestText(i int) string {
	n := 1
	for step := 1 << 17; step > 0; step /= 2 {
		if pgparse.CheckLimits(sqltext.New(longText(i, n+step), true)) == nil {
			n += step
		}
	}
	return longText(i, n)
}

// TestWorstTextsArePlanned plans the longest texts with calls that the limits let through,
// for both modes, and prints which take longest.
func TestWorstTextsArePlanned(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it plans the worst texts, for half a minute")
	}
	type timing struct {
		name   string
		bytes  int
		tokens int
		took   time.Duration
	}
	timings := map[bool][]timing{}
	for i := range longTexts {
		text := longestText(i)
		for _, upstream := range []bool{false, true} {
			p := New(Config{CacheBytes: 1 << 20, Upstream: upstream})
			start := time.Now()
			script := p.Plan(standard(text), plan.Options{Prepared: true})
			timings[upstream] = append(timings[upstream], timing{longTexts[i].name, len(text), sqltext.New(text, true).Count(), time.Since(start)})
			if script.Err != nil && script.Err.Code == codes.StatementTooComplex {
				t.Errorf("%s: %v", longTexts[i].name, script.Err)
			}
		}
	}
	for upstream, all := range timings {
		slices.SortFunc(all, func(a, b timing) int { return cmp.Compare(b.took, a.took) })
		for _, s := range all[:8] {
			t.Logf("upstream %-5t %-30s %6d bytes %5d tokens: %v", upstream, s.name, s.bytes, s.tokens, s.took)
		}
	}
}
