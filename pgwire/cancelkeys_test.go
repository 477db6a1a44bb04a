package pgwire

import (
	"log/slog"
	"testing"

	"raisinproxy/internal/identity"
	"raisinproxy/pgwire/drive"
	"raisinproxy/pgwire/frontend"
	"raisinproxy/pgwire/login"
	"raisinproxy/pgwire/upstream"
	"raisinproxy/sqlfuncs"
)

// TestEqualProcessIDs: two hosts may give their processes one id. A cancel request reaches the
// session of its secret.
func TestEqualProcessIDs(t *testing.T) {
	policy, err := identity.NewPolicy(identity.PolicyOptions{Method: identity.Trust})
	if err != nil {
		t.Fatal(err)
	}
	server, err := NewServer(Config{Config: login.Config{Policy: policy, Log: slog.New(slog.DiscardHandler)}, Functions: sqlfuncs.NewService(nil, sqlfuncs.Options{}), Upstream: &upstream.Server{}})
	if err != nil {
		t.Fatal(err)
	}
	keys := map[frontend.CancelKey]*drive.Client{}
	canceled := map[*drive.Client]int{}
	for range 100 {
		client := drive.NewClient(t.Context(), nil, nil, nil)
		client.SetOther(counter(func() { canceled[client]++ }))
		keys[server.Register(client, 7)] = client
	}
	for key, client := range keys {
		if key.PID != 7 {
			t.Fatalf("process id %d", key.PID)
		}
		for wrong := range 3 { // who knows the id alone cancels nothing
			if _, taken := keys[frontend.CancelKey{PID: key.PID, Secret: uint32(wrong)}]; !taken {
				server.cancel(key.PID, uint32(wrong))
			}
		}
		server.cancel(key.PID, key.Secret)
		if canceled[client] != 1 {
			t.Fatalf("a session was cancelled %d times", canceled[client])
		}
	}
	if len(keys) != 100 || len(canceled) != len(keys) {
		t.Fatalf("%d sessions have %d keys, and %d were cancelled", 100, len(keys), len(canceled))
	}
	for key, client := range keys {
		server.Unregister(client, key)
	}
	if len(server.sessions) != 0 {
		t.Errorf("%d sessions are left", len(server.sessions))
	}
}

// counter is what a session waits for, which counts how often it was cancelled.
type counter func()

func (c counter) RequestCancel() { c() }
func (counter) Abandon()         {}
