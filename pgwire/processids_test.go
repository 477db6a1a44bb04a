package pgwire

import (
	"log/slog"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"raisinproxy/pgwire/auth"
	"raisinproxy/pgwire/upstream"
	"raisinproxy/sqlfuncs"
)

// TestEqualProcessIDs: two hosts may give their processes one id. A cancel request reaches the
// session of its secret.
func TestEqualProcessIDs(t *testing.T) {
	policy, err := auth.NewPolicy(auth.PolicyOptions{Method: auth.Trust})
	if err != nil {
		t.Fatal(err)
	}
	server, err := NewServer(Config{Functions: sqlfuncs.NewService(nil, 0), Policy: policy, Log: slog.New(slog.DiscardHandler), Upstream: &upstream.Server{}})
	if err != nil {
		t.Fatal(err)
	}
	var sessions []*session
	canceled := map[*session]int{}
	for range 100 {
		s := server.newSession(t.Context(), nil, nil)
		s.handler.(*proxied).up.Open(&pgconn.HijackedConn{Conn: deafConn{}, PID: 7}, deafConn{})
		server.register(s)
		s.client.SetOther(counter(func() { canceled[s]++ }))
		sessions = append(sessions, s)
	}
	server.cancel(7, sessions[0].secret-1)
	for _, s := range sessions {
		if s.pid != 7 {
			t.Fatalf("process id %d", s.pid)
		}
		server.cancel(s.pid, s.secret)
	}
	for _, s := range sessions {
		if canceled[s] < 1 || len(canceled) != len(sessions) {
			t.Fatalf("%d sessions were cancelled", len(canceled))
		}
		server.forget(s)
	}
	if len(server.sessions) != 0 {
		t.Errorf("%d sessions are left", len(server.sessions))
	}
}

// counter is what a session waits for, which counts how often it was cancelled.
type counter func()

func (c counter) RequestCancel() { c() }
func (counter) Abandon()         {}
