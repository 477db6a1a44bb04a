package clientsql

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// TestToRegtypeIsThatOfPostgres compares what is found, and the code of what is no
// name: PostgreSQL's message about a syntax error quotes the token.
func TestToRegtypeIsThatOfPostgres(t *testing.T) {
	const query = `SELECT t.typname AS name, t.oid AS oid, t.typarray AS array_oid,
    t.oid::regtype::text AS regtype,
    r.rngsubtype AS subtype_oid
FROM pg_type t
JOIN pg_range r ON t.oid = r.rngtypid
WHERE t.oid = to_regtype($1)`
	match, ok := find(t, query)
	if !ok {
		t.Fatal("no answer")
	}
	conn := emptyDatabase(t)
	for _, name := range []string{
		"int4range", "INT4Range", "pg_catalog.int4range", `"int4range"`, `"Int4Range"`, "int4range[]", "int4", "double precision",
		"hstore", "public.hstore", "nowhere.hstore", "nowhere.hstore[]", "public.int4range", "3904", "-", "", "a b", `"`, "int4range[",
	} {
		var report *pgerr.Error
		var server *pgconn.PgError
		rows, err := match.Rows(Call{Session: session, Args: []datum.Datum{datum.OfText(name)}})
		errors.As(err, &report)
		result := conn.ExecParams(t.Context(), query, [][]byte{[]byte(name)}, nil, nil, nil).Read()
		errors.As(result.Err, &server)
		switch {
		case report == nil && server == nil && len(rows) == len(result.Rows):
		case report != nil && server != nil && string(report.Code) == server.Code:
		default:
			t.Errorf("%q: %d rows and %v, PostgreSQL has %d and %v", name, len(rows), err, len(result.Rows), result.Err)
		}
	}
}
