package upstream

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestReachIsToldOnChange: an outage is in the log once, with its cause, and so is its end.
func TestReachIsToldOnChange(t *testing.T) {
	var out strings.Builder
	r := reach{log: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))}
	refused := &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1)}, Err: syscall.ECONNREFUSED}
	wrongPassword := &pgconn.PgError{Code: "28P01", Message: "password authentication failed"}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, step := range []struct {
		ctx     context.Context
		err     error
		ownUser bool
	}{
		{t.Context(), nil, true},
		{t.Context(), errors.Join(refused), true},
		{t.Context(), refused, true},
		{gone, context.Canceled, true}, // the client left: nothing was learnt
		{t.Context(), &pgconn.PgError{Code: "57P03", Message: "the database system is starting up"}, true},
		{t.Context(), &pgconn.PgError{Code: "3D000", Message: "no such database"}, true}, // it answers, so it is there
		{t.Context(), wrongPassword, true},
		{t.Context(), nil, true},
		{t.Context(), wrongPassword, false}, // the client's own
	} {
		r.note(step.ctx, step.err, step.ownUser)
	}
	want := []string{
		`level=ERROR msg="the upstream cannot be reached" cause="connection refused"`,
		`level=ERROR msg="the upstream cannot be reached" cause="the database system is starting up (SQLSTATE 57P03)"`,
		`level=INFO msg="the upstream can be reached again"`,
		`level=ERROR msg="the upstream cannot be reached" cause="password authentication failed (SQLSTATE 28P01)"`,
		`level=INFO msg="the upstream can be reached again"`,
	}
	if got := strings.Split(strings.TrimSpace(out.String()), "\n"); !slices.Equal(got, want) {
		t.Errorf("the log says\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
