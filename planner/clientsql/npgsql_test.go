package clientsql

import (
	"fmt"
	"slices"
	"testing"
)

// Npgsql forgets a type whose element it has not seen before.
func TestNpgsqlSeesElementsFirst(t *testing.T) {
	for _, l := range npgsqlLoads {
		t.Run(l.source, func(t *testing.T) {
			a := l.answer()
			rows, err := a.Rows(Call{Session: session, Literals: sampleLiterals(t, a)})
			if err != nil || len(rows) < 160 {
				t.Fatalf("%d rows, %v", len(rows), err)
			}
			const oid, element = 1, 5
			seen := make(map[int64]bool)
			for _, row := range rows {
				if e := row[element]; !e.Null && !seen[e.Int] {
					t.Errorf("%s comes before its element %d", cells(&a, row), e.Int)
				}
				seen[row[oid].Int] = true
			}
		})
	}
}

// TestNpgsqlSameAsOurQueries compares the answers with queries of our own for the
// same, in an empty database of a real server.
func TestNpgsqlSameAsOurQueries(t *testing.T) {
	queries := map[string]string{}
	for _, l := range npgsqlLoads {
		queries[l.digest] = typesToLoad(l)
	}
	for _, a := range npgsqlFields() {
		queries[a.Digest] = `SELECT t.oid, a.attname, a.atttypid
			FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_type t ON t.oid = c.reltype
			WHERE c.relkind = 'c'`
	}
	for _, a := range npgsqlLabels() {
		queries[a.Digest] = `SELECT t.oid, e.enumlabel FROM pg_type t, pg_enum e WHERE e.enumtypid = t.oid`
	}
	conn := connect(t)
	unpinned := unpinnedOIDs(t, conn)
	for _, a := range npgsqlAnswers {
		t.Run(a.Source, func(t *testing.T) {
			sql := queries[a.Digest]
			compareDescription(t, a, sql, conn)
			rows, err := a.Rows(Call{Session: session, Literals: sampleLiterals(t, a)})
			if err != nil {
				t.Fatal(err)
			}
			// For the order see TestNpgsqlSeesElementsFirst.
			got, want := lines(&a, rows), serverLines(a, exec(t, conn, sql), unpinned)
			if !slices.Equal(got, want) {
				t.Errorf("%d rows, PostgreSQL has %d:\n%q\nnot\n%q", len(got), len(want), got, want)
			}
		})
	}
}

// typesToLoad asks for the types that Npgsql wants to know: those that are no row
// types and no pseudo types but a few, and the arrays of the same.
func typesToLoad(l npgsqlLoad) string {
	sql := fmt.Sprintf(`
		SELECT n.nspname, t.oid, t.typname,
			CASE WHEN a.oid IS NULL THEN t.typtype ELSE 'a' END AS typtype,
			t.typnotnull, e.oid AS elemtypoid
		FROM pg_type t
		JOIN pg_namespace n ON n.oid = t.typnamespace
		LEFT JOIN pg_type a ON a.typarray = t.oid
		LEFT JOIN pg_range r ON t.oid IN (r.rngtypid, r.rngmultitypid)
		LEFT JOIN pg_type e ON e.oid =
			coalesce(a.oid, CASE t.oid WHEN r.rngtypid THEN r.rngsubtype ELSE r.rngtypid END, t.typbasetype)
		WHERE CASE
			WHEN a.oid IS NOT NULL THEN a.typtype NOT IN ('c', 'p') OR a.typname IN ('record', 'void')
			ELSE t.typtype NOT IN ('c', 'p') OR t.typname = ANY (string_to_array('%s', ' '))
		END`, l.pseudo)
	if l.lists != nil {
		sql += ` AND (n.nspname IN ('pg_catalog', 'public') OR t.typcategory = 'U')` // as sampleLiterals has them
	}
	return sql
}
