package clientsql

import (
	"slices"
	"testing"

	"raisinproxy/planner/sqltext"
)

// indexOf answers one text.
func indexOf(varies, sql string) *Index {
	return newIndex(parseAnswers("-- a client\n-- varies " + varies + "\n" + sql + "\n-- answer\nSELECT 1"))
}

func TestAQueryIsKnownByItsTokens(t *testing.T) {
	index := indexOf("0", "SELECT t.oid, typarray FROM pg_type t WHERE t.typname = 'jsonb'")
	for _, sql := range []string{
		"SELECT t.oid, typarray FROM pg_type t WHERE t.typname = 'jsonb'",
		"select T.OID,typarray/* why */from pg_type t -- really\nwhere\tt.typname='json';",
		`SELECT t."oid", typarray FROM pg_type t WHERE t.typname = 'jsonb'`,
	} {
		if found(index, sql) == nil {
			t.Errorf("%s is not known", sql)
		}
	}
	for _, sql := range []string{
		"",
		"SELECT oid FROM pg_type",
		"SELECT t.oid, typarray FROM pg_type t WHERE t.typname ? 'a'",
		`SELECT t."OID", typarray FROM pg_type t WHERE t.typname = 'jsonb'`,
	} {
		if found(index, sql) != nil {
			t.Errorf("%q is taken for another", sql)
		}
	}
}

func TestListsAndGroupsMayHaveAnyLength(t *testing.T) {
	list := indexOf("1", "SELECT 1 FROM a WHERE b IN ('x', 'y') AND c = 1")
	groups := indexOf("1", "SELECT 2 FROM (VALUES ('a', 1), ('b', 2)) s")
	for sql, want := range map[string][]string{
		"SELECT 1 FROM a WHERE b IN ('x') AND c = 1":             {"{x}"},
		"SELECT 1 FROM a WHERE b IN ('x', '', 'NULL') AND c = 1": {`{x,"","NULL"}`},
		"SELECT 1 FROM a WHERE b IN ('x') AND c = 2":             nil,
		"SELECT 1 FROM a WHERE b IN () AND c = 1":                nil,
		"SELECT 2 FROM (VALUES ('a', 1)) s":                      {"{a,1}"},
		"SELECT 2 FROM (VALUES ('a', 1), ('b', 2), ('c', -3)) s": {"{a,1,b,2,c,-3}"},
	} {
		if got := slices.Concat(found(list, sql), found(groups, sql)); !slices.Equal(got, want) {
			t.Errorf("%s: %q, not %q", sql, got, want)
		}
	}
}

func normalise(sql string) (words, literals []string) {
	return sqltext.New(sql, true).Normalise(0, len(sql))
}
