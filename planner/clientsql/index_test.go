package clientsql

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

func find(t *testing.T, sql string) (Match, bool) {
	t.Helper()
	return index().Find(normalise(sql))
}

var index = sync.OnceValue(func() *Index { return NewIndex(normalise) })

var session = Session{Database: "shop"}

// text runs a query and writes its rows like psql -At.
func text(t *testing.T, sql string, args ...datum.Datum) string {
	t.Helper()
	match, ok := find(t, sql)
	if !ok {
		t.Fatalf("no answer to %q", sql)
	}
	rows, err := match.Rows(Call{
		Session: session, Args: args, Literals: match.Literals,
	})
	if err != nil {
		var report *pgerr.Error
		if !errors.As(err, &report) {
			t.Fatalf("%q fails with %T, not a report for the client", sql, err)
		}
		return string(report.Code) + " " + report.Message
	}
	var out []string
	for _, row := range rows {
		out = append(out, strings.Join(cells(match.Answer, row), "|"))
	}
	return strings.Join(out, "\n")
}

// cells writes a row as text; NULL is <null>.
func cells(a *Answer, row []datum.Datum) []string {
	out := make([]string, len(row))
	for i, d := range row {
		if out[i] = "<null>"; !d.Null {
			out[i] = string(datum.AppendText(nil, a.Columns[i].Type, d, nil))
		}
	}
	return out
}

func TestAQueryIsKnownByItsTokens(t *testing.T) {
	for _, sql := range []string{
		"SELECT t.oid, typarray FROM pg_type t WHERE t.typname = 'jsonb'",
		"select T.OID,typarray/* why */from pg_type t -- really\nwhere\tt.typname='jsonb';",
		`SELECT t."oid", typarray FROM pg_type t WHERE t.typname = 'jsonb'`,
	} {
		if got := text(t, sql); got != "3802|3807" {
			t.Errorf("%s: %q", sql, got)
		}
	}
	for _, sql := range []string{
		"",
		"SELECT oid FROM pg_type",
		"SELECT t.oid, typarray FROM pg_type t WHERE t.typname = 'a', 'b'",
		"SELECT t.oid, typarray FROM pg_type t WHERE t.typname ? 'a'",
		`SELECT t."OID", typarray FROM pg_type t WHERE t.typname = 'jsonb'`,
		"SELECT 2 FROM pg_catalog.pg_cursors where name = 'named'",
	} {
		if match, ok := find(t, sql); ok {
			t.Errorf("%q is taken for %q", sql, match.SQL)
		}
	}
}

func TestListsMayHaveAnyLength(t *testing.T) {
	const query = "SELECT t.oid, t.typname FROM pg_type as t WHERE t.typname IN "
	if got := text(t, query+"('uuid')"); got != "2950|uuid" {
		t.Errorf("one name: %q", got)
	}
	if got := text(t, query+"('no', 'bool', 'uuid')"); got != "16|bool\n2950|uuid" {
		t.Errorf("three names: %q", got)
	}
	if _, ok := find(t, query+"()"); ok {
		t.Error("an empty list has an answer")
	}
}

func TestGroupsMayHaveAnyNumber(t *testing.T) {
	got := text(t, `SELECT name AS "Column", pg_catalog.format_type(tp, tpm) AS "Type"
FROM (VALUES ('a', '20'::pg_catalog.oid, -1)) s(name, tp, tpm)`)
	if got != "a|bigint" {
		t.Errorf("one column: %q", got)
	}
	got = text(t, `SELECT name AS "Column", pg_catalog.format_type(tp, tpm) AS "Type"
FROM (VALUES ('a', '1043'::pg_catalog.oid, 14),('b', '1184'::pg_catalog.oid, -1),('c', '1700'::pg_catalog.oid, 655366),('d', '99'::pg_catalog.oid, -1)) s(name, tp, tpm)`)
	if want := "a|character varying(10)\nb|timestamp with time zone\nc|numeric(10,2)\nd|???"; got != want {
		t.Errorf("four columns: %q, not %q", got, want)
	}
}

func TestTypesByTheirSQLNames(t *testing.T) {
	const query = `SELECT typname AS name, oid, typarray AS array_oid,
    oid::regtype::text AS regtype, typdelim AS delimiter
FROM pg_type t WHERE t.oid = $1::regtype ORDER BY t.oid`
	for name, want := range map[string]string{
		"int8":                        "int8|20|1016|bigint|,",
		" BIGINT ":                    "int8|20|1016|bigint|,",
		"3802":                        "jsonb|3802|3807|jsonb|,",
		"pg_catalog.jsonb":            "jsonb|3802|3807|jsonb|,",
		`"char"`:                      `char|18|1002|"char"|,`,
		"char":                        "bpchar|1042|1014|character|,",
		"character varying(10)":       "varchar|1043|1015|character varying|,",
		"timestamp(3) with time zone": "timestamptz|1184|1185|timestamp with time zone|,",
		"text[]":                      "_text|1009|0|text[]|,",
		"int [3] [3]":                 "_int4|1007|0|integer[]|,",
		"box":                         "box|603|1020|box|;",
		"hstore":                      `42704 type "hstore" does not exist`,
		"HStore[]":                    `42704 type "hstore[]" does not exist`,
		"public.hstore":               `42704 type "public.hstore" does not exist`,
		"nowhere.hstore":              `3F000 schema "nowhere" does not exist`,
		`"HStore"`:                    `42704 type "HStore" does not exist`,
		"":                            "42601 syntax error at end of input",
		"a b":                         `42601 invalid type name "a b"`,
		`"`:                           `42601 invalid type name """`,
		"int8[":                       `42601 invalid type name "int8["`,
		"-":                           "",
		"99":                          "",
	} {
		if got := text(t, query, datum.OfText(name)); got != want {
			t.Errorf("%q: %q, not %q", name, got, want)
		}
	}
	if got := text(t, query, datum.Null); got != "" {
		t.Errorf("NULL: %q, not nothing", got)
	}
}

func TestAnswersAreWellFormed(t *testing.T) {
	seen := make(map[string]bool)
	for _, a := range Answers {
		t.Run(a.Source, func(t *testing.T) {
			if a.Source == "" || seen[a.Source] {
				t.Error("the source has no name of its own")
			}
			seen[a.Source] = true
			rows, err := a.Rows(Call{Session: session, Args: sampleArgs(a), Literals: sampleLiterals(t, a)})
			if err != nil {
				t.Fatal(err)
			}
			checkRows(t, a, rows)
		})
	}
}

// sampleLiterals are those of the text, or schemas where there is only a digest.
func sampleLiterals(t *testing.T, a Answer) [][]string {
	t.Helper()
	if a.Digest != "" {
		return slices.Repeat([][]string{{"pg_catalog", "public"}}, len(a.varying()))
	}
	match, ok := find(t, a.SQL)
	if !ok || match.SQL != a.SQL {
		t.Fatalf("%q finds %q", a.SQL, match.SQL)
	}
	return match.Literals
}

// checkRows looks at the widths of the rows and whether their values have text and
// binary forms.
func checkRows(t *testing.T, a Answer, rows [][]datum.Datum) {
	t.Helper()
	for _, row := range rows {
		if len(row) != len(a.Columns) {
			t.Fatalf("a row of %d values for %d columns", len(row), len(a.Columns))
		}
		for i, d := range row {
			if d.Null {
				continue
			}
			column := a.Columns[i]
			if !reflect.DeepEqual(d, datum.OfText(d.Str)) && !reflect.DeepEqual(d, datum.OfInt(d.Int)) {
				t.Errorf("column %s: %+v is both a number and text", column.Name, d)
			}
			if len(datum.AppendText(nil, column.Type, d, nil)) == 0 {
				t.Errorf("column %s: no text for %+v", column.Name, d)
			}
			if _, err := datum.AppendBinary(nil, column.Type, d); err != nil && column.Type != datum.Regproc {
				t.Errorf("column %s: %v", column.Name, err)
			}
		}
	}
}

// sampleArgs are parameters of which every query finds something.
func sampleArgs(a Answer) []datum.Datum {
	args := make([]datum.Datum, len(a.Params))
	if sample := samples[purpose(a)]; len(args) > 0 && len(sample) == len(args) {
		for i, s := range sample {
			args[i] = datum.OfText(s)
		}
		return args
	}
	for i, t := range a.Params {
		switch t {
		case datum.OID:
			args[i] = datum.OfInt(1009) // text[]
		case datum.Bool:
			args[i] = datum.OfBool(true)
		case datum.Name:
			if args[i] = datum.OfText("jsonb"); i > 0 {
				args[i] = datum.OfText("pg_catalog")
			}
		default:
			args[i] = datum.OfText("int4range")
		}
	}
	return args
}

func TestDatabasesOfOtherSessionsAreListed(t *testing.T) {
	match, ok := find(t, `SELECT pg_catalog.quote_ident(datname) FROM pg_catalog.pg_database ORDER BY 1`)
	if !ok {
		t.Fatal("no answer")
	}
	rows, err := match.Rows(Call{Session: Session{Database: "template1", Databases: []string{"shop", "Stock", "shop"}}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, row := range rows {
		got = append(got, row[0].Str)
	}
	if want := []string{`"Stock"`, "postgres", "shop", "template0", "template1"}; !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
}

func TestLike(t *testing.T) {
	for _, c := range []struct {
		s, pattern string
		want       bool
	}{
		{"tables", "tables", true}, {"tables", "tab%", true}, {"tables", "%", true}, {"tables", "%les", true}, {"tables", "t_b%s", true},
		{"tables", "table", false}, {"tables", "tables_", false}, {"tables", "", false}, {"", "", true}, {"", "%", true}, {"ab", "%c", false},
	} {
		if got := like(c.s, c.pattern); got != c.want {
			t.Errorf("%q LIKE %q: %v", c.s, c.pattern, got)
		}
	}
}
