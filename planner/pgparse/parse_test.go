package pgparse

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jeroenrinzema/psql-wire/codes"
	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/planner/sqltext"
)

func TestParseStatements(t *testing.T) {
	tests := []struct {
		name, text string
		scs        bool
		want       []string // what each statement is, and its part of the text
	}{
		{"nothing", " ;; -- c\n", true, nil},
		{"one", "select 1", true, []string{"SelectStmt<select 1>"}},
		{"several, with comments around", "/* a */ select 1 /* b */ ; ; -- c\n begin;commit;", true,
			[]string{"SelectStmt<select 1>", "TransactionStmt<begin>", "TransactionStmt<commit>"}},
		{"USE BRANCH keeps its place", "select 1; USE BRANCH Feature; select 2", true,
			[]string{"SelectStmt<select 1>", "branch feature<USE BRANCH Feature>", "SelectStmt<select 2>"}},
		{"USE BRANCH with a keyword", "use branch select", true, []string{"branch select<use branch select>"}},
		{"USE BRANCH with a quoted name", `use /* c */ branch /* d */ "X""é"`, true, []string{`branch X"é<use /* c */ branch /* d */ "X""é">`}},
		{"USE BRANCH with strings", "use branch 'feature/x';use branch E'a\\x62' ; use branch $$'$$; use branch 'a'--\n'b'; use branch U&'\\0061'", true,
			[]string{"branch feature/x<use branch 'feature/x'>", "branch ab<use branch E'a\\x62'>", "branch '<use branch $$'$$>",
				"branch ab<use branch 'a'--\n'b'>", "branch a<use branch U&'\\0061'>"}},
		{"USE BRANCH with an empty string", "use branch ''", true, []string{"branch <use branch ''>"}},
		{"USE BRANCH with a backslash", `use branch '\''; use branch 'a\tb'`, false, []string{`branch '<use branch '\''>`, "branch a\tb<use branch 'a\\tb'>"}},
		{"comments where PostgreSQL looks ahead", "select a not /* c */ between 1 and 2, U&'a' /**/ uescape '!', 'a' -- c\n'b'", true,
			[]string{"SelectStmt<select a not /* c */ between 1 and 2, U&'a' /**/ uescape '!', 'a' -- c\n'b'>"}},
		{"parameters", "select $1::date, cast($1 as date), substring('x' for $1), extract(day from $1), \"extract\"($1, $2), int4($1)", true,
			[]string{"SelectStmt<select $1::date, cast($1 as date), substring('x' for $1), extract(day from $1), \"extract\"($1, $2), int4($1)>"}},
		{"a body of SQL", "create function f() returns int begin atomic select 1; end; select 2", true,
			[]string{"CreateFunctionStmt<create function f() returns int begin atomic select 1; end>", "SelectStmt<select 2>"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			parsed, err := Parse(sqltext.New(test.text, test.scs))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, st := range parsed.Statements {
				what := "branch " + st.Branch
				if st.Node != nil {
					what = strings.TrimPrefix(fmt.Sprintf("%T", st.Node.Node), "*pg_query.Node_")
				}
				got = append(got, what+"<"+test.text[st.Start:st.End]+">")
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

// A string has the value that PostgreSQL would give it, whatever
// standard_conforming_strings is.
func TestParseStrings(t *testing.T) {
	tests := []struct {
		literal string
		scs     bool
		want    string
	}{
		{`'a\b'`, true, `a\b`},
		{`'a\\b'`, false, `a\b`},
		{`'it''s\n'`, false, "it's\n"},
		{`'\''`, false, "'"},
		{`'\'' || '\\'`, false, "'"},
		{`'plain'`, false, "plain"},
		{"'a'\n'\\x62'", false, "ab"},
		{"'a'  -- ö\n'\\x62'", false, "ab"},
		{`E'\x41'`, false, "A"},
		{`$$\n$$`, false, `\n`},
		{`N'\x41'`, false, "A"},
		{`n'\x41'`, true, `\x41`},
		{`n  '\x41'`, true, `\x41`},
	}
	for _, test := range tests {
		for _, text := range []string{"select " + test.literal, "select(" + test.literal + ")"} {
			parsed, err := Parse(sqltext.New(text, test.scs))
			if err != nil {
				t.Errorf("%s: %v", text, err)
				continue
			}
			constant := parsed.Statements[0].Node.GetSelectStmt().TargetList[0].GetResTarget().Val
			if e := constant.GetAExpr(); e != nil {
				constant = e.Lexpr
			}
			if c := constant.GetTypeCast(); c != nil {
				constant = c.Arg
			}
			if got := constant.GetAConst().GetSval().GetSval(); got != test.want {
				t.Errorf("%s: %q", text, got)
			}
		}
	}
}

// Locations in the parse tree lead to the user's text, in bytes and characters,
// whatever was written differently for the parser.
func TestPositions(t *testing.T) {
	for _, test := range []struct {
		text string
		scs  bool
	}{
		{"select 'ä', /* ö */ f(1)", true},
		{`select '\\', 'ä', n'\ö', '\n' /* ö */, f(1)`, false},
		{`select'\\','\\'as b,f(1)`, false},
		{"use branch 'ä'; select -- ö\n'a\\b' -- ö\n '\\'', f(1)", false},
	} {
		parsed, err := Parse(sqltext.New(test.text, test.scs))
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		targets := parsed.Statements[len(parsed.Statements)-1].Node.GetSelectStmt().TargetList
		call := targets[len(targets)-1].GetResTarget().Val.GetFuncCall()
		want := strings.Index(test.text, "f(1)")
		if got := parsed.Offset(call.Location); got != want {
			t.Errorf("%s: offset %d, want %d", test.text, got, want)
		}
		if got := parsed.Char(call.Location); got != len([]rune(test.text[:want]))+1 {
			t.Errorf("%s: character %d", test.text, got)
		}
		first := targets[0].GetResTarget().Location
		if got := parsed.Offset(first); test.text[got] != '\'' {
			t.Errorf("%s: the first string is at %d", test.text, got)
		}
	}
	p := Positions{User: "x"}
	if p.Offset(-1) != -1 || p.Char(-1) != 0 || p.Char(0) != 1 {
		t.Error("a location that is none")
	}
}

func TestParseErrors(t *testing.T) {
	tests := []struct {
		text     string
		scs      bool
		code     codes.Code
		message  string
		position int
	}{
		{"selekt 1", true, codes.Syntax, `syntax error at or near "selekt"`, 1},
		{"select 'ä', ö ö ö", true, codes.Syntax, `syntax error at or near "ö"`, 17},
		{"/* ö */ select 1 frm x y", true, codes.Syntax, `syntax error at or near "x"`, 22},
		{"select 1; select 2 +", true, codes.Syntax, `syntax error at end of input`, 21},
		{"select (", true, codes.Syntax, `syntax error at end of input`, 9},
		{"select 'a", true, codes.Syntax, `unterminated quoted string at or near "'a"`, 8},
		{`select 'a\'`, false, codes.Syntax, `unterminated quoted string at or near "'a\'"`, 8},
		{"select /* a", true, codes.Syntax, `unterminated /* comment at or near "/* a"`, 8},
		{`select ""`, true, codes.Syntax, `zero-length delimited identifier at or near """"`, 8},
		{`select 1 'a\n' 'b'`, false, codes.Syntax, `syntax error at or near "'a\n'"`, 10},
		{"select 'a' /* c\n */ 'b'", true, codes.Syntax, `syntax error at or near "'b'"`, 21},
		{"select 'a'\n/* c */ 'b'", true, codes.Syntax, `syntax error at or near "'b'"`, 20},
		{`select E'\ud'`, true, codes.InvalidEscapeSequence, "invalid Unicode escape", 10},
		{`select '\ud'`, false, codes.InvalidEscapeSequence, "invalid Unicode escape", 9},
		{`select U&'\zzzz'`, true, codes.Syntax, "invalid Unicode escape", 11},
		{`select E'\xff'`, true, codes.CharacterNotInRepertoire, `invalid byte sequence for encoding "UTF8": 0xff`, 0},
		{`select U&'a'`, false, codes.FeatureNotSupported, "unsafe use of string constant with Unicode escapes", 8},
		{`select U&'a`, false, codes.FeatureNotSupported, "unsafe use of string constant with Unicode escapes", 8},
		{"select 1ö", true, codes.Syntax, `trailing junk after numeric literal at or near "1ö"`, 8},
		{"select 1e+", true, codes.Syntax, `trailing junk after numeric literal at or near "1e+"`, 8},
		{"select $1ab", true, codes.Syntax, `trailing junk after parameter at or near "$1ab"`, 8},
		{"select 'a' -- c\n 'b", true, codes.Syntax, "unterminated quoted string at or near \"'a' -- c\n 'b\"", 8},
		{"select * n'a\\'", false, codes.Syntax, `syntax error at or near "n"`, 10},
		{`selekt U&'a'`, false, codes.Syntax, `syntax error at or near "selekt"`, 1},
		{"select unique (select 1)", true, codes.FeatureNotSupported, "UNIQUE predicate is not yet implemented", 8},
		{"select sum(a) over (rows between current row and 1 preceding)", true, codes.Windowing, "frame starting from current row cannot have preceding rows", 50},
		{"create role public", true, codes.ReservedName, `role name "public" is reserved`, 13},
		{`create role x "frame start"`, true, codes.Syntax, `unrecognized role option "frame start"`, 15},

		{"select date $1", true, codes.Syntax, `syntax error at or near "$1"`, 13},
		{"select 'ö', interval $1", true, codes.Syntax, `syntax error at or near "$1"`, 22},
		{"set app.branch = $1", true, codes.Syntax, `syntax error at or near "$1"`, 18},
		{"set time zone $1", true, codes.Syntax, `syntax error at or near "$1"`, 15},
		{"alter role x password $1", true, codes.Syntax, `syntax error at or near "$1"`, 23},
		{"select extract($1 from a)", true, codes.Syntax, `syntax error at or near "$1"`, 16},

		{"use branch", true, codes.Syntax, "syntax error at end of input", 11},
		{"use branch ; select 1", true, codes.Syntax, `syntax error at or near ";"`, 12},
		{"select 'ä'; use branch a b", true, codes.Syntax, `syntax error at or near "b"`, 26},
		{"use branch feature/x", true, codes.Syntax, `syntax error at or near "/"`, 19},
		{"use branch 1", true, codes.Syntax, `syntax error at or near "1"`, 12},
		{"use branch 'x", true, codes.Syntax, `unterminated quoted string at or near "'x"`, 12},
		{"use branch x 'y", true, codes.Syntax, `unterminated quoted string at or near "'y"`, 14},
		{`use branch ""`, true, codes.Syntax, `zero-length delimited identifier at or near """"`, 12},
		{"use branch a b; selekt", true, codes.Syntax, `syntax error at or near "b"`, 14},
		{"selekt; use branch a b", true, codes.Syntax, `syntax error at or near "selekt"`, 1},
		{"use x", true, codes.Syntax, `syntax error at or near "use"`, 1},

		{"select '\xff'", true, codes.CharacterNotInRepertoire, `invalid byte sequence for encoding "UTF8": 0xff`, 0},
		{"select '\xe2\x28\xa1'", true, codes.CharacterNotInRepertoire, `invalid byte sequence for encoding "UTF8": 0xe2 0x28 0xa1`, 0},
		{"select '\xed\xa0\x80'", true, codes.CharacterNotInRepertoire, `invalid byte sequence for encoding "UTF8": 0xed 0xa0 0x80`, 0},
		{"select \ufffd \xf0\x9f", true, codes.CharacterNotInRepertoire, `invalid byte sequence for encoding "UTF8": 0xf0 0x9f`, 0},
		{"select 1\x00", true, codes.CharacterNotInRepertoire, `invalid byte sequence for encoding "UTF8": 0x00`, 0},
	}
	for _, test := range tests {
		_, err := Parse(sqltext.New(test.text, test.scs))
		if err == nil {
			t.Errorf("%q: no error", test.text)
			continue
		}
		if err.Code != test.code || err.Message != test.message || err.Position != test.position {
			t.Errorf("%q: %s %s at %d", test.text, err.Code, err.Message, err.Position)
		}
	}
}

// Statements that people do write are within the limits.
func TestRealStatementsAreWithinTheLimits(t *testing.T) {
	list := func(n int, element func(i int) string, separator string) string {
		elements := make([]string, n)
		for i := range elements {
			elements[i] = element(i + 1)
		}
		return strings.Join(elements, separator)
	}
	for name, text := range map[string]string{
		"INSERT of 1,000 parameters": "INSERT INTO t (a, b) SELECT v.* FROM (VALUES " +
			list(500, func(i int) string { return fmt.Sprintf("($%d,$%d)", 2*i-1, 2*i) }, ",") + ") v, raisin_lock_acquire('k', 1) l WHERE l.acquired",
		"with casts": "INSERT INTO t SELECT * FROM raisin_lock_acquire('k', 1) l, unnest(ARRAY[" +
			list(4000, func(i int) string { return fmt.Sprintf("$%d::int8", i) }, ",") + "])",
		"strings of 50 bytes": "SELECT * FROM t, raisin_lock_acquire('k', 1) WHERE a IN (" +
			list(4000, func(i int) string { return fmt.Sprintf("'%050d'", i) }, ", ") + ")",
		"a list of 4,000":   "SELECT * FROM t, raisin_lock_acquire('k', 1) WHERE a IN (" + list(4000, func(i int) string { return fmt.Sprint(i) }, ", ") + ")",
		"300 conditions":    "SELECT raisin_lock_acquire('k', 1) FROM t WHERE " + list(300, func(i int) string { return fmt.Sprintf("(a = $%d AND b > now() - interval '1 day')", i) }, " OR "),
		"nested conditions": "SELECT raisin_lock_acquire('k', 1) FROM t WHERE " + strings.Repeat("(", 199) + "a = 1" + list(199, func(i int) string { return fmt.Sprintf(" OR a = %d)", i) }, ""),
		"40 joins": "SELECT * FROM raisin_lock_acquire('k', 1) l" + list(40, func(i int) string {
			return fmt.Sprintf(" LEFT JOIN public.t%[1]d AS t%[1]d ON t%[1]d.id = t.t%[1]d_id AND NOT t%[1]d.deleted", i)
		}, ""),
		"a CASE of 300":    "SELECT raisin_lock_acquire(CASE a " + list(300, func(i int) string { return fmt.Sprintf("WHEN %d THEN 'value %[1]d'", i) }, " ") + " END, 1) FROM t",
		"200 parts joined": "SELECT raisin_lock_acquire(" + list(200, func(i int) string { return fmt.Sprintf("$%d", i) }, " || ") + ", 1)",
		"100 calls":        list(100, func(i int) string { return fmt.Sprintf("SELECT raisin_lock_acquire('key %d', 1)", i) }, "; "),
		"100 set operations": list(100, func(i int) string { return fmt.Sprintf("SELECT a, b FROM t WHERE a = %d AND b IS NOT NULL", i) }, " UNION ALL ") +
			" UNION ALL SELECT key, token FROM raisin_lock_acquire('k', 1)",
	} {
		if _, err := Parse(sqltext.New(text, true)); err != nil {
			t.Errorf("%s (%d bytes, %d tokens): %v %s", name, len(text), sqltext.New(text, true).Count(), err, err.Hint)
		}
	}
}

// Case 39 of the wire cases.
func TestHostileText(t *testing.T) {
	start := time.Now()
	for name, text := range map[string]string{
		"30,000 terms":      "select raisin_lock_acquire('k', 1" + strings.Repeat("+1", 30_000) + ")",
		"10 MB IN list":     "select raisin_lock_acquire('k', 1) where 1 in (1" + strings.Repeat(",1", 5_000_000) + ")",
		"deep parentheses":  "select raisin_lock_acquire('k', " + strings.Repeat("(", 30_000) + "1" + strings.Repeat(")", 30_000) + ")",
		"many short terms":  "select raisin_lock_acquire('k', 1" + strings.Repeat("+1", 8_000) + ")",
		"many short signs":  "select raisin_lock_acquire('k', " + strings.Repeat("+-", 8_000) + "1)",
		"a short list":      "select raisin_lock_acquire('k', 1) where 1 in (1" + strings.Repeat(",1", 12_000) + ")",
		"deep in a list":    "select raisin_lock_acquire('k', 1" + strings.Repeat("+1", 400) + ") where 1 in (1" + strings.Repeat(",1", 9_000) + ")",
		"short parentheses": "select raisin_lock_acquire('k', " + strings.Repeat("(", 8_000) + "1)",
		"CASE":              "select raisin_lock_acquire('k', " + strings.Repeat("case ", 3_000) + "1)",
	} {
		if !sqltext.New(text, true).Mentions() {
			t.Errorf("%s: no call found", name)
		}
		_, err := Parse(sqltext.New(text, true))
		if err == nil || err.Code != codes.StatementTooComplex || err.Message != "statement too complex for the proxy to plan" || err.Hint == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	t.Logf("%v", time.Since(start))
}

// shapes are all the known ways to grow a parse tree: n times open, then
// middle, then n times close.
var shapes = []struct{ name, before, open, middle, close, after string }{
	{name: "signs", before: "select ", open: "+-", middle: "1"},
	{name: "unary minus", before: "select ", open: "- ", middle: "a"},
	{name: "prefix operators", before: "select ", open: "@ ", middle: "a"},
	{name: "OPERATOR()", before: "select ", open: "a operator(a.+) ", middle: "a"},
	{name: "NOT", before: "select ", open: "not ", middle: "a"},
	{name: "NOT BETWEEN", before: "select ", open: "a between 1 and not ", middle: "a"},
	{name: "plus", before: "select ", middle: "1", close: "+1"},
	{name: "concatenation", before: "select ", middle: "1", close: "||1"},
	{name: "powers", before: "select ", middle: "a", close: "^a"},
	{name: "arrows", before: "select ", middle: "a", close: "->a"},
	{name: "interval", before: "select ", open: "interval '1'+", middle: "a"},
	{name: "AND", before: "select ", middle: "a", close: " and a"},
	{name: "OR of AND", before: "select ", middle: "a", close: " and a or a"},
	{name: "AND of OR", before: "select ", open: "(a or ", middle: "a", close: " and a)"},
	{name: "names of AND", before: "select ", middle: "a", close: "+a.and"},
	{name: "functions of JOIN", before: "select ", middle: "a", close: "+join(a)"},
	{name: "casts", before: "select ", middle: "1", close: "::a"},
	{name: "casts to JOIN", before: "select ", middle: "1", close: "::join"},
	{name: "casts with modifiers", before: "select ", middle: "1", close: "::a(1)"},
	{name: "modifiers of casts", before: "select ", open: "1::a(", middle: "1", close: ")"},
	{name: "casts to arrays", before: "select ", middle: "1", close: "::a[]"},
	{name: "CAST", before: "select ", open: "cast(", middle: "1", close: " as a)"},
	{name: "COLLATE", before: "select ", middle: "a", close: " collate a"},
	{name: "AT TIME ZONE", before: "select ", middle: "a", close: " at time zone a"},
	{name: "IS NULL", before: "select ", open: "(", middle: "a", close: " is null)"},
	{name: "IS JSON", before: "select ", middle: "a", close: " is json"},
	{name: "points", before: "select ", middle: "a", close: ".a"},
	{name: "fields", before: "select ", open: "(", middle: "a", close: ").a"},
	{name: "subscripts", before: "select ", middle: "a", close: "[1]"},
	{name: "subscripts in subscripts", before: "select ", open: "a[", middle: "1", close: "]"},
	{name: "slices in slices", before: "select ", open: "a[1:", middle: "1", close: "]"},
	{name: "parentheses", before: "select ", open: "(", middle: "1", close: ")"},
	{name: "rows", before: "select ", open: "(a,", middle: "a", close: ")"},
	{name: "ROW", before: "select ", open: "row(", middle: "a", close: ")"},
	{name: "ARRAY", before: "select ", open: "array[", middle: "a", close: "]"},
	{name: "brackets", before: "select array", open: "[", middle: "a", close: "]"},
	{name: "functions", before: "select ", open: "f(", middle: "a", close: ")"},
	{name: "named arguments", before: "select ", open: "f(a=>", middle: "a", close: ")"},
	{name: "FILTER", before: "select ", open: "f()filter(where ", middle: "a", close: ")"},
	{name: "OVER", before: "select ", open: "f()over(order by ", middle: "a", close: ")"},
	{name: "WITHIN GROUP", before: "select ", open: "f()within group(order by ", middle: "a", close: ")"},
	{name: "COALESCE", before: "select ", open: "coalesce(", middle: "a", close: ")"},
	{name: "SUBSTRING", before: "select ", open: "substring(", middle: "a", close: " from 1)"},
	{name: "XMLCONCAT", before: "select ", open: "xmlconcat(", middle: "a", close: ")"},
	{name: "XMLELEMENT", before: "select ", open: "xmlelement(name a,xmlattributes(", middle: "a", close: "))"},
	{name: "JSON_OBJECT keys", before: "select ", open: "json_object(", middle: "a", close: ":a)"},
	{name: "JSON_OBJECT values", before: "select ", open: "json_object(a:", middle: "a", close: ")"},
	{name: "JSON_ARRAY", before: "select ", open: "json_array(", middle: "a", close: ")"},
	{name: "JSON_ARRAYAGG", before: "select ", open: "json_arrayagg(", middle: "a", close: ")"},
	{name: "CASE", before: "select ", open: "case when ", middle: "a", close: " then a end"},
	{name: "CASE of AND", before: "select ", open: "case when a or a and ", middle: "a", close: " then a end"},
	{name: "CASE ELSE", before: "select ", open: "case when a then a else ", middle: "a", close: " end"},
	{name: "IN", before: "select ", open: "a in(", middle: "a", close: ")"},
	{name: "IN of AND", before: "select ", open: "a in(a or a and ", middle: "a", close: ")"},
	{name: "named arguments of AND", before: "select ", open: "f(a=>a or a and ", middle: "a", close: ")"},
	{name: "WHERE of AND", before: "select ", open: "(select where a or a and ", middle: "1", close: ")"},
	{name: "windows of AND", before: "select ", open: "f()over(order by a or a and ", middle: "a", close: ")"},
	{name: "ANY", before: "select ", open: "a=any(", middle: "a", close: ")"},
	{name: "sublinks", before: "select ", open: "(select ", middle: "1", close: ")"},
	{name: "EXISTS", before: "select ", open: "exists(select ", middle: "1", close: ")"},
	{name: "ARRAY()", before: "select ", open: "array(select ", middle: "1", close: ")"},
	{name: "IN (SELECT)", before: "select ", open: "a in(select ", middle: "1", close: ")"},
	{name: "WHERE", before: "select ", open: "(select where ", middle: "1", close: ")"},
	{name: "LIMIT", before: "select ", open: "(select limit ", middle: "1", close: ")"},
	{name: "ORDER BY", before: "select ", open: "(select order by ", middle: "1", close: ")"},
	{name: "VALUES", open: "values((", middle: "select", close: "))"},
	{name: "subqueries", before: "select from", open: "(select from", middle: "(select)", close: ")"},
	{name: "LATERAL", before: "select from ", open: "lateral(select from ", middle: "a", close: ")a"},
	{name: "CTEs", open: "with a as(", middle: "select", close: ")select"},
	{name: "CTEs in subqueries", open: "(with a as(", middle: "select", close: ")select)"},
	{name: "UNION", middle: "select", close: " union select"},
	{name: "UNION of lists", middle: "select a,a", close: " union select a,a"},
	{name: "UNION to the right", open: "select union (", middle: "select", close: ")"},
	{name: "JOIN", before: "select from ", middle: "a", close: " cross join a"},
	{name: "JOIN ON AND", before: "select from ", middle: "a", close: " join a on a and a"},
	{name: "JOIN in parentheses", before: "select from ", open: "(a cross join ", middle: "a", close: ")"},
	{name: "JOIN to the right", before: "select from ", open: "a join ", middle: "a", close: " on a"},
	{name: "ROLLUP", before: "select group by ", open: "rollup(", middle: "a", close: ")"},
	{name: "GROUPING SETS", before: "select group by ", open: "grouping sets(", middle: "a", close: ")"},
	{name: "statements", close: "select;"},
	{name: "semicolons", close: ";"},
	{name: "rules", before: "create rule a as on insert to a do also(", close: "select;", after: ")"},
	{name: "schema elements", before: "create schema a", close: " create table a()"},
	{name: "columns", before: "create table a(a a", close: ",a a", after: ")"},
	{name: "constraints", before: "create table a(a a", close: " not null", after: ")"},
	{name: "rows of VALUES", before: "values(1)", close: ",(1)"},
	{name: "lists", before: "select a", close: ",a"},
	{name: "parameters", before: "select $1", close: ",$1"},
	{name: "IN lists", before: "select a in(1", close: ",1", after: ")"},
	{name: "lists of signs", before: "select 1", close: "," + strings.Repeat("+-", 40) + "1"},
	{name: "lists of signs and spaces", before: "select 1", close: "," + strings.Repeat("+ ", 700) + "1"},
	{name: "strings", before: "select 'a'", close: "\n'a'"},
	{name: "comments", before: "select ", open: "/*", middle: "1", close: "*/"},
	{name: "comments in comments", before: "select 1", open: "/*", close: "*/"},
	{name: "line comments", before: "select 1", close: "--\n"},
	{name: "one long name", before: "select a", close: "a"},
}

// shapeUnderLimits is the largest text of a shape that the limits let through.
func shapeUnderLimits(i int) string {
	s := shapes[i]
	build := func(n int) string {
		return s.before + strings.Repeat(s.open, n) + s.middle + strings.Repeat(s.close, n) + s.after
	}
	n := 0
	for step := 1 << 13; step > 0; step /= 2 {
		if CheckLimits(sqltext.New(build(n+step), true)) == nil {
			n += step
		}
	}
	return build(n)
}

// shapesChild is set in the environment of the process that parses the shapes.
const shapesChild = "RAISIN_TEST_SHAPES"

// TestWorstShapesAreSafe parses every shape at the limits in a process of its
// own with an eighth of the usual stack, as a stack that overflows would end it.
// It does so in as many threads as a parse may be in.
func TestWorstShapesAreSafe(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it parses the worst shapes, for some seconds")
	}
	child := exec.Command("/bin/sh", "-c", `ulimit -s 1024 && exec "$0" "$@"`, os.Args[0], "-test.run=^TestShapes$", "-test.v")
	child.Env = append(os.Environ(), shapesChild+"=.")
	out, err := child.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: TestShapes")) {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

// TestShapes runs in the child process; see there. The variable holds a regular
// expression for the names of the shapes. It logs the slowest.
func TestShapes(t *testing.T) {
	pattern, ok := os.LookupEnv(shapesChild)
	if !ok {
		return
	}
	wanted := regexp.MustCompile(pattern)
	type timing struct {
		name                  string
		tokens, depth, height int
		bytes                 int
		took                  time.Duration
	}
	var timings []timing
	for i, shape := range shapes {
		if !wanted.MatchString(shape.name) {
			continue
		}
		text := shapeUnderLimits(i)
		var parallel sync.WaitGroup
		for range cap(parserSlots) {
			parallel.Go(func() {
				if _, err := Parse(sqltext.New(text, true)); err != nil {
					t.Errorf("%s: %.60s: %v", shape.name, text, err)
				}
			})
		}
		parallel.Wait()
		start := time.Now()
		_, _ = Parse(sqltext.New(text, true))
		took := time.Since(start)
		read := sqltext.New(text, true)
		depth, height := measure(read)
		timings = append(timings, timing{shape.name, read.Count(), depth, height, len(text), took})
	}
	slices.SortFunc(timings, func(a, b timing) int { return cmp.Compare(b.took, a.took) })
	for _, s := range timings[:min(10, len(timings))] {
		t.Logf("%-24s %5d bytes %4d tokens, depth %3d, height %4d: %v", s.name, s.bytes, s.tokens, s.depth, s.height, s.took)
	}
}

// grammar makes statements at random, with everything that nests. Spaces divide
// words; a word in capitals stands for one of its lines.
var grammar = map[string][]string{
	"E": {
		"a", "1", "$1", "'x'", "a . b", "a . and", "a . case", "- E", "not E", "@ E", "+ E", "E + E", "E || E", "E and E", "E or E", "E = E", "E ^ E",
		"E between E and E", "E not between E and E", "E between symmetric E and not E", "E is null", "E isnull", "E is distinct from E", "E like E escape E",
		"E :: t", "E :: join", "E :: numeric ( 1 )", "E :: a [ ]", "E at time zone E", "E collate c", "E operator ( a . + ) E", "E [ E ]", "E [ E : E ]", "( E ) . a", "( E )",
		"( E , E )", "row ( E )", "array [ E , E ]", "f ( E , E )", "join ( E )", "f ( a => E )", "f ( E ) over ( partition by E order by E , E rows between E preceding and E following )",
		"f ( E ) filter ( where E )", "f ( E order by E )", "coalesce ( E , E )", "cast ( E as t )", "case when E then E else E end", "case E when E then E when E then E end",
		"( S )", "exists ( S )", "array ( S )", "E in ( E , E )", "E in ( S )", "E = any ( E )", "json_object ( E : E , E : E )", "json_array ( E )", "E is json", "xmlelement ( name and , E )",
		"extract ( day from E )", "interval '1' day", "grouping ( E )", "E overlaps E",
	},
	"S": {
		"select E", "select E , E", "select E case , E and", "select E as union , E from F", "select E from F where E", "S union S", "S except all S", "S intersect S", "( S )", "values ( E , E ) , ( E , E )",
		"with a as ( S ) , b as ( S ) S", "S order by E , E limit E", "select distinct on ( E ) E from F group by E , rollup ( E ) having E window w as ( order by E )", "table a",
	},
	"F": {
		"t", "t as a ( b )", "F , F", "F join F on E", "F left join F using ( a )", "F cross join F", "F natural join F", "( F ) as a", "( F join F on E ) as a", "( S ) as a", "lateral ( S ) as a",
		"f ( E ) as a", "rows from ( f ( E ) , f ( E ) )", "t tablesample s ( E )",
	},
}

// expand replaces a word of the grammar by one of its lines, until the budget
// is spent, and by its first line then.
func expand(r *rand.Rand, word string, budget *int) string {
	lines, ok := grammar[word]
	if !ok {
		return word
	}
	line := lines[0]
	if *budget > 0 {
		line = lines[r.IntN(len(lines))]
	}
	*budget--
	words := strings.Fields(line)
	for i := range words {
		words[i] = expand(r, words[i], budget)
	}
	return strings.Join(words, " ")
}

// chain nests up to three lines of the grammar in each other n times.
func chain(r *rand.Rand, word string, n int) string {
	lines := make([]string, 1+r.IntN(3))
	for i := range lines {
		lines[i] = grammar[word][r.IntN(len(grammar[word]))]
	}
	none := 0
	inner := expand(r, word, &none)
	for range n {
		words := strings.Fields(lines[r.IntN(len(lines))])
		var places []int
		for i := range words {
			if words[i] == word {
				places = append(places, i)
			}
			words[i] = expand(r, words[i], &none)
		}
		if len(places) > 0 {
			words[places[r.IntN(len(places))]] = inner
		}
		inner = strings.Join(words, " ")
	}
	return inner
}

// TestHeightBoundsTheTree is what keeps pg_query within its stack: no statement
// has a parse tree that is higher than its Height allows.
func TestHeightBoundsTheTree(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	parsed := 0
	for range 5000 {
		var text string
		switch n := 1 << r.IntN(8); r.IntN(4) {
		case 0:
			text = "select " + chain(r, "E", n)
		case 1:
			text = "select from " + chain(r, "F", n)
		case 2:
			text = chain(r, "S", n)
		default:
			text = expand(r, "S", &n)
		}
		tree, err := pg_query.Parse(text)
		if err != nil {
			continue
		}
		parsed++
		_, height := measure(sqltext.New(text, true))
		messages := messageHeight(tree.Stmts[0].Stmt.ProtoReflect())
		if messages > maxMessages(height) {
			t.Errorf("%d messages for a height of %d: %s", messages, height, text)
		}
	}
	if parsed < 2000 {
		t.Errorf("only %d of the statements are any", parsed)
	}
}

// TestCommentsWithoutAnEnd: PostgreSQL's scanner would read the rest of the text for each
// that begins in another. The error is PostgreSQL's.
func TestCommentsWithoutAnEnd(t *testing.T) {
	for _, test := range []struct {
		text, message string
		position      int
	}{
		{"select 1 /* a /* b */", `unterminated /* comment at or near "/* a /* b */"`, 10},
		{"select é /*/*", `unterminated /* comment at or near "/*/*"`, 10},
		{"select select 1 /*/*", `syntax error at or near "select"`, 8}, // comes first
	} {
		_, err := Parse(sqltext.New(test.text, true))
		if err == nil || err.Code != codes.Syntax || err.Message != test.message || err.Position != test.position {
			t.Errorf("%s: %v at %d", test.text, err, err.Position)
		}
	}
	many := "select 1 " + strings.Repeat("/*", 1<<20)
	if _, err := Parse(sqltext.New(many, true)); err == nil || err.Code != codes.Syntax {
		t.Error("a million comments in one another are some")
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
		depth, height := measure(sqltext.New(test.text, true))
		if depth != test.depth || height != test.height {
			t.Errorf("%.40q: depth %d, height %d, want %d, %d", test.text, depth, height, test.depth, test.height)
		}
	}
}
