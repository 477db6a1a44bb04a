package differential

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"raisinproxy/backend"
	"raisinproxy/internal/identity"
	"raisinproxy/pgwire"
	"raisinproxy/pgwire/login"
	"raisinproxy/pgwire/upstream"
	"raisinproxy/pgwire/wiretest"
	"raisinproxy/sqlfuncs"
)

// store is a backend in memory that answers as the stand-ins do, token for token, and
// keeps what it was asked. Leases in it do not end by themselves.
type store struct {
	backend.Backend // nil: no statement calls what is not written here

	mu        sync.Mutex
	pools     map[string]int64
	locks     map[string]int64
	lastToken int64
	calls     []call
	// taken is what the calls have that was not given back.
	units map[string]int64
	held  map[string]int64
}

func (s *store) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pools, s.locks, s.lastToken = map[string]int64{}, map[string]int64{}, 1000
	s.beginLocked()
}

// begin forgets the calls that were made before.
func (s *store) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beginLocked()
}

func (s *store) beginLocked() {
	s.calls, s.units, s.held = nil, map[string]int64{}, map[string]int64{}
}

// made returns the calls since begin, and what they took and still have.
func (s *store) made() (calls []call, kept []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for pool, n := range s.units {
		if n > 0 {
			kept = append(kept, fmt.Sprintf("%d of pool %s", n, pool))
		}
	}
	for key, token := range s.held {
		kept = append(kept, fmt.Sprintf("lock %s, token %d", key, token))
	}
	return s.calls, kept
}

func (s *store) note(format string, args ...any) {
	s.calls = append(s.calls, call(fmt.Sprintf(format, args...)))
}

// expiry is when all leases end, for the answers only.
var expiry = time.UnixMilli(1788720658677)

// Acquire is of backend.Locker.
func (s *store) Acquire(_ context.Context, _ backend.Scope, key string, _ backend.Request) (backend.Grant, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note("acquire %s", key)
	if s.locks[key] > 0 {
		return backend.Grant{}, nil
	}
	s.lastToken++
	s.locks[key], s.held[key] = s.lastToken, s.lastToken
	return backend.Grant{Acquired: true, Token: s.lastToken, ExpiresAt: expiry}, nil
}

// Release is of backend.Locker.
func (s *store) Release(_ context.Context, _ backend.Scope, key string, p backend.Proof) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note("release %s %d", key, p.Token)
	if p.Token <= 0 || s.locks[key] != p.Token {
		return false, nil
	}
	delete(s.locks, key)
	delete(s.held, key)
	return true, nil
}

// Renew is of backend.Locker.
func (s *store) Renew(_ context.Context, _ backend.Scope, key string, p backend.Proof, _ time.Duration) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note("renew %s %d", key, p.Token)
	return p.Token > 0 && s.locks[key] == p.Token, nil
}

// Claim is of backend.Inventory.
func (s *store) Claim(_ context.Context, _ backend.Scope, pool string, n, capacity int64) (backend.Claimed, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note("claim %s %d %d", pool, n, capacity)
	remaining, known := s.pools[pool]
	if !known {
		remaining = capacity
	}
	s.pools[pool] = remaining
	if remaining < n {
		return backend.Claimed{Remaining: remaining}, nil
	}
	s.pools[pool] -= n
	s.units[pool] += n
	return backend.Claimed{Claimed: true, Remaining: remaining - n}, nil
}

// Restock is of backend.Inventory.
func (s *store) Restock(_ context.Context, _ backend.Scope, pool string, n int64) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note("restock %s %d", pool, n)
	if _, known := s.pools[pool]; !known {
		return 0, backend.ErrNoPool
	}
	s.pools[pool] += n
	s.units[pool] -= n
	return s.pools[pool], nil
}

// Close is of backend.Backend.
func (s *store) Close() error { return nil }

// Immediate says that no call waits.
func (s *store) Immediate() bool { return true }

// proxied is the proxy in front of a database without stand-ins, or embedded.
type proxied struct {
	name  string
	addr  string
	store *store
	on    *tablesOf // nil: embedded
}

func newProxied(t *testing.T) *proxied {
	t.Helper()
	database(t, proxiedDatabase, tables)
	config, err := pgconn.ParseConfig(wiretest.PostgresURL(t))
	if err != nil {
		t.Fatal(err)
	}
	config.Password = wiretest.PostgresTarget(t, nil).Passwords["alice"]
	p := newServer(t, &upstream.Server{Config: config, AsClient: true})
	p.name, p.on = "proxied", newTables(t, proxiedDatabase)
	return p
}

// newEmbedded has no database, so what needs one is refused.
func newEmbedded(t *testing.T) *proxied {
	t.Helper()
	p := newServer(t, nil)
	p.name = "embedded"
	return p
}

func newServer(t *testing.T, behind *upstream.Server) *proxied {
	t.Helper()
	p := &proxied{store: &store{}}
	policy, err := identity.NewPolicy(identity.PolicyOptions{Method: identity.Trust})
	if err != nil {
		t.Fatal(err)
	}
	server, err := pgwire.NewServer(pgwire.Config{
		Config:          login.Config{Policy: policy, Log: slog.New(slog.DiscardHandler)},
		Functions:       sqlfuncs.NewService(p.store, sqlfuncs.Options{MaxTTL: 5 * time.Minute, MaxWait: 5 * time.Minute}),
		Version:         "test",
		ShutdownTimeout: 5 * time.Second,
		Upstream:        behind,
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.addr = l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return p
}

// run says a statement's steps on a connection of their own. It ends with the first that
// is refused. kept has, for each step, what its calls took and did not give back.
func (p *proxied) run(ctx context.Context, s *statement, proto protocol) (o outcome, kept [][]string, err error) {
	p.store.reset()
	config, err := pgconn.ParseConfig("postgres://alice@" + p.addr + "/" + proxiedDatabase + "?sslmode=disable")
	if err != nil {
		return o, nil, err
	}
	var warnings []string
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		if n.Severity == "WARNING" {
			warnings = append(warnings, n.Message+" "+n.Detail)
		}
	}
	conn, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return o, nil, err
	}
	for _, step := range proto.steps(s) {
		p.store.begin()
		warnings = nil
		var a answer
		var keeps []string
		if sql, side := onTheSide(spelled(step, asProxied)); side && p.on != nil {
			err = execute(ctx, p.on.side, sql)
		} else {
			a = ask(ctx, conn, proto, sql, s.params)
			a.warnings = warnings
			a.calls, keeps = p.store.made()
		}
		o.answers, kept = append(o.answers, a), append(kept, keeps)
		if err != nil || p.refuses(step, &a) || a.code == lost {
			break
		}
	}
	if closing := conn.Close(ctx); err == nil && o.answers[len(o.answers)-1].code != lost {
		err = closing
	}
	if err != nil || p.on == nil {
		return o, kept, err
	}
	o.contents, err = p.on.after(ctx, s)
	return o, kept, err
}
