package torture

import (
	"errors"
	"io"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"raisinproxy/backend/history"
)

// What a client may conclude from an error is what docs/reference.md says of its SQLSTATE.
func TestOutcomeOfAnError(t *testing.T) {
	for _, c := range []struct {
		err  error
		want history.Outcome
		lost bool
	}{
		{&pgconn.PgError{Code: "58000"}, history.Undone, false},
		{&pgconn.PgError{Code: "53000"}, history.Undone, false},
		{&pgconn.PgError{Code: "57014"}, history.Undone, false},
		{&pgconn.PgError{Code: "58030"}, history.Undone, false},
		{&pgconn.PgError{Code: "55000"}, history.Undone, true},
		{&pgconn.PgError{Code: "40003"}, history.Unknown, false},
		{&pgconn.PgError{Code: "57P01"}, history.Unknown, false},
		{io.ErrUnexpectedEOF, history.Unknown, false},
	} {
		var o history.Operation
		if err := fillError(&o, c.err); err != nil || o.Outcome != c.want || o.Lost != c.lost {
			t.Errorf("%v: outcome %v, lost %v, %v", c.err, o.Outcome, o.Lost, err)
		}
	}
	// Anything else is nobody's fault but ours, and ends the run.
	for _, code := range []string{"XX000", "42601", "22023"} {
		if err := fillError(new(history.Operation), &pgconn.PgError{Code: code}); !errors.Is(err, errUnexpected) {
			t.Errorf("%s: %v", code, err)
		}
	}
}

func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		kind history.Kind
		row  []string
		want history.Operation
	}{
		{history.Acquire, []string{"t", "7", "1000"}, history.Operation{OK: true, Token: 7, ExpiresMS: 1000}},
		{history.Acquire, []string{"f", "", ""}, history.Operation{}},
		{history.Renew, []string{"t"}, history.Operation{OK: true}},
		{history.Release, []string{"f"}, history.Operation{}},
		{history.Claim, []string{"t", "9"}, history.Operation{OK: true, Remaining: 9}},
		{history.Claim, []string{"f", "3"}, history.Operation{Remaining: 3}},
		{history.Restock, []string{"12"}, history.Operation{OK: true, Remaining: 12}},
	} {
		c.want.Kind = c.kind
		got := history.Operation{Kind: c.kind}
		var row [][]byte
		for _, value := range c.row {
			row = append(row, []byte(value))
		}
		if err := fill(&got, &pgconn.Result{Rows: [][][]byte{row}}); err != nil || got != c.want {
			t.Errorf("%v %q: %+v, %v; want %+v", c.kind, c.row, got, err, c.want)
		}
	}
	if err := fill(new(history.Operation), &pgconn.Result{}); !errors.Is(err, errUnexpected) {
		t.Errorf("no row: %v", err)
	}
}
