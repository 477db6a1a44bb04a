package pgwire

import (
	"encoding/binary"
	"log/slog"
	"testing"

	"raisinproxy/pgwire/auth"
	"raisinproxy/sqlfuncs"
)

// TestEqualProcessIDs: two hosts may give their processes one id. A cancel request reaches the
// session of its secret.
func TestEqualProcessIDs(t *testing.T) {
	policy, err := auth.NewPolicy(auth.PolicyOptions{Method: auth.Trust})
	if err != nil {
		t.Fatal(err)
	}
	server, err := NewServer(Config{Functions: sqlfuncs.NewService(nil, 0), Policy: policy, Log: slog.New(slog.DiscardHandler), Upstream: &Upstream{}})
	if err != nil {
		t.Fatal(err)
	}
	var sessions []*session
	canceled := map[*session]int{}
	for range 100 {
		s := &session{server: server, up: &relay{pid: 7}}
		server.register(s)
		s.interrupt.cancel = func(error) { canceled[s]++ }
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

// TestProcessIDsAreForgotten: but the newest, and not one that another process has by now.
func TestProcessIDsAreForgotten(t *testing.T) {
	ids := newProcessIDs()
	again := processKey{"host", 1}
	for i := range 3 * keptEnded {
		key := processKey{"host", uint32(i + 1)}
		ids.show(key, firstPID+uint32(i))
		ids.end(key, firstPID+uint32(i))
		if i == keptEnded/2 {
			ids.show(again, firstPID-1)
		}
	}
	if n := len(ids.shown); n != keptEnded+1 {
		t.Errorf("%d are known, want %d", n, keptEnded+1)
	}
	for pid, want := range map[uint32]uint32{1: firstPID - 1, 2: 2, 3 * keptEnded: firstPID + 3*keptEnded - 1} {
		body := binary.BigEndian.AppendUint32(nil, pid)
		ids.translate("host", body)
		if got := binary.BigEndian.Uint32(body); got != want {
			t.Errorf("process %d is %d, want %d", pid, got, want)
		}
		ids.translate("another", binary.BigEndian.AppendUint32(nil, pid))
	}
}
