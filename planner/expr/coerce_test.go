package expr

import (
	"context"
	_ "embed"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"raisinproxy/pgwire/wiretest"
	"raisinproxy/sqlfuncs/datum"
)

//go:embed testdata/pg_cast.sql
var pgCastSQL string

// TestCastsAreThoseOfPostgres: the table is what a real PostgreSQL says.
func TestCastsAreThoseOfPostgres(t *testing.T) {
	conn, err := pgconn.Connect(t.Context(), wiretest.PostgresURL(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	_, query, _ := strings.Cut(pgCastSQL, "COPY (")
	query, _, _ = strings.Cut(query, ") TO STDOUT")
	result := conn.ExecParams(t.Context(), query, nil, nil, nil, nil).Read()
	if result.Err != nil {
		t.Fatal(result.Err)
	}
	var got strings.Builder
	for _, row := range result.Rows {
		for i, value := range row {
			got.Write(value)
			got.WriteByte("\t\n"[i/(len(row)-1)])
		}
	}
	if got.String() != pgCastTSV {
		t.Errorf("pg_cast.tsv is not what PostgreSQL has:\n%s", got.String())
	}
}

func TestCoerces(t *testing.T) {
	for _, test := range []struct {
		from, to          datum.Type
		coerces, assigned bool
	}{
		{datum.Bpchar, datum.Text, true, true},
		{datum.Char, datum.Text, true, true},
		{datum.Name, datum.Text, true, true},
		{datum.Unknown, datum.Text, true, true},
		{datum.JSON, datum.Text, false, true},
		{datum.Int4, datum.Text, false, true},
		{datum.Int2, datum.Int8, true, true},
		{datum.OID, datum.Int8, false, true},
		{datum.Numeric, datum.Int8, false, true},
		{datum.Float8, datum.Int8, false, true},
		{datum.Text, datum.Int8, false, false},
		{datum.Bool, datum.Int8, false, false},
		{datum.Int8, datum.OID, true, true},
	} {
		if got := coerces(test.from, test.to); got != test.coerces {
			t.Errorf("%s as an argument of type %s: %t", test.from, test.to, got)
		}
		if got := assigns(test.from, test.to); got != test.assigned {
			t.Errorf("%s stored as %s: %t", test.from, test.to, got)
		}
	}
}
