package clientsql

import (
	"slices"
	"strings"
	"testing"

	"raisinproxy/planner/sqltext"
	"raisinproxy/sqlfuncs/datum"
)

func TestAQueryIsKnownByItsTokens(t *testing.T) {
	index := newIndex([]Answer{{SQL: "SELECT t.oid, typarray FROM pg_type t WHERE t.typname = 'jsonb'", Free: []int{0}}})
	for _, sql := range []string{
		"SELECT t.oid, typarray FROM pg_type t WHERE t.typname = 'jsonb'",
		"select T.OID,typarray/* why */from pg_type t -- really\nwhere\tt.typname='json';",
		`SELECT t."oid", typarray FROM pg_type t WHERE t.typname = 'jsonb'`,
	} {
		if _, ok := index.Find(normalise(sql)); !ok {
			t.Errorf("%s is not known", sql)
		}
	}
	for _, sql := range []string{
		"",
		"SELECT oid FROM pg_type",
		"SELECT t.oid, typarray FROM pg_type t WHERE t.typname = 'a', 'b'",
		"SELECT t.oid, typarray FROM pg_type t WHERE t.typname ? 'a'",
		`SELECT t."OID", typarray FROM pg_type t WHERE t.typname = 'jsonb'`,
	} {
		if match, ok := index.Find(normalise(sql)); ok {
			t.Errorf("%q is taken for %q", sql, match.SQL)
		}
	}
}

func TestListsAndGroupsMayHaveAnyLength(t *testing.T) {
	index := newIndex([]Answer{
		{SQL: "SELECT 1 FROM a WHERE b IN ('x', 'y') AND c = 1", Lists: []int{1}},
		{SQL: "SELECT 2 FROM (VALUES ('a', 1), ('b', 2)) s", Lists: []int{1}},
	})
	for sql, want := range map[string][]string{
		"SELECT 1 FROM a WHERE b IN ('x') AND c = 1":             {"x"},
		"SELECT 1 FROM a WHERE b IN ('x', 'y', 'z') AND c = 1":   {"x", "y", "z"},
		"SELECT 1 FROM a WHERE b IN ('x') AND c = 2":             nil,
		"SELECT 1 FROM a WHERE b IN () AND c = 1":                nil,
		"SELECT 2 FROM (VALUES ('a', 1)) s":                      {"a", "1"},
		"SELECT 2 FROM (VALUES ('a', 1), ('b', 2), ('c', -3)) s": {"a", "1", "b", "2", "c", "-3"},
	} {
		match, ok := index.Find(normalise(sql))
		if ok != (want != nil) || ok && !slices.Equal(match.Literals[0], want) {
			t.Errorf("%s: %v %q, not %q", sql, ok, match.Literals, want)
		}
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
			rows, err := a.Rows(Call{Session: session, Literals: sampleLiterals(t, a)})
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range rows {
				checkRow(t, a, row)
			}
		})
	}
}

// checkRow looks at the width of a row and whether its values have text and binary forms.
func checkRow(t *testing.T, a Answer, row []datum.Datum) {
	t.Helper()
	if len(row) != len(a.Columns) {
		t.Fatalf("a row of %d values for %d columns", len(row), len(a.Columns))
	}
	for i, d := range row {
		column := a.Columns[i]
		if d.Null {
			continue
		}
		if len(datum.AppendText(nil, column.Type, d, nil)) == 0 {
			t.Errorf("column %s: no text for %+v", column.Name, d)
		}
		if _, err := datum.AppendBinary(nil, column.Type, d); err != nil {
			t.Errorf("column %s: %v", column.Name, err)
		}
	}
}

// sampleLiterals are those of the text, or schemas where there is only a digest.
func sampleLiterals(t *testing.T, a Answer) [][]string {
	t.Helper()
	if a.Digest != "" {
		return slices.Repeat([][]string{{"pg_catalog", "public"}}, len(a.varying()))
	}
	match, ok := NewIndex().Find(normalise(a.SQL))
	if !ok || match.SQL != a.SQL {
		t.Fatalf("%q finds %q", a.SQL, match.SQL)
	}
	return match.Literals
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

func lines(a *Answer, rows [][]datum.Datum) []string {
	var out []string
	for _, row := range rows {
		out = append(out, strings.Join(cells(a, row), "|"))
	}
	slices.Sort(out)
	return out
}

func normalise(sql string) (words, literals []string) {
	return sqltext.New(sql, true).Normalise(0, len(sql))
}
