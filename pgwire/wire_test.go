package pgwire_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/big"
	"net"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"raisinproxy/backend"
	"raisinproxy/backend/backendtest"
	"raisinproxy/backend/inprocess"
	"raisinproxy/internal/identity"
	"raisinproxy/pgwire"
	"raisinproxy/pgwire/login"
	"raisinproxy/pgwire/upstream"
	"raisinproxy/pgwire/wiretest"
	"raisinproxy/sqlfuncs"
)

func TestMain(m *testing.M) { wiretest.Main(m) }

// TestEmbedded runs the scripts of the proxy's own behaviour.
func TestEmbedded(t *testing.T) {
	wiretest.RunDir(t, "../testdata/wire/embedded", newEmbedded)
}

// TestSameAsPostgres runs the scripts whose expectations came from PostgreSQL.
func TestSameAsPostgres(t *testing.T) {
	wiretest.CompareDir(t, "../testdata/wire/same", newEmbedded)
}

// TestSameThroughProxy runs the same scripts with PostgreSQL behind the server.
func TestSameThroughProxy(t *testing.T) {
	wiretest.CompareDir(t, "../testdata/wire/same", newProxied)
}

// TestDurable runs the scripts with a store on disk, whose calls wait: what the
// client sees is the same.
func TestDurable(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it runs the scripts of TestEmbedded again, on a disk")
	}
	for name, newTarget := range map[string]wiretest.NewTarget{"embedded": newEmbedded, "same": newEmbedded, "proxied": newProxied} {
		t.Run(name, func(t *testing.T) {
			wiretest.CompareDir(t, "../testdata/wire/"+name, func(t *testing.T, options map[string]string) wiretest.Target {
				t.Helper()
				durable := map[string]string{"store": "durable"}
				maps.Copy(durable, options)
				return newTarget(t, durable)
			})
		})
	}
}

// TestRelay runs what only a PostgreSQL can answer through the server.
func TestRelay(t *testing.T) {
	wiretest.CompareDir(t, "../testdata/wire/relay", newProxied)
}

// TestProxied runs the scripts about calls beside an upstream.
func TestProxied(t *testing.T) {
	wiretest.RunDir(t, "../testdata/wire/proxied", newProxied)
}

// TestFirstUse runs both with sessions whose connection is opened at its first use: except for
// process ids a client sees the same.
func TestFirstUse(t *testing.T) {
	for _, scripts := range []string{"proxied", "relay"} {
		t.Run(scripts, func(t *testing.T) {
			wiretest.CompareDir(t, "../testdata/wire/"+scripts, func(t *testing.T, options map[string]string) wiretest.Target {
				t.Helper()
				first := map[string]string{"open": "first-use"}
				maps.Copy(first, options)
				return newProxied(t, first)
			})
		})
	}
}

// newProxied starts a server in front of PostgreSQL.
func newProxied(t *testing.T, options map[string]string) wiretest.Target {
	t.Helper()
	withUpstream := maps.Clone(options)
	if withUpstream == nil {
		withUpstream = map[string]string{}
	}
	withUpstream["upstream"] = wiretest.PostgresURL(t)
	return newEmbedded(t, withUpstream)
}

// TestAuthSameAsPostgres runs those about authentication.
func TestAuthSameAsPostgres(t *testing.T) {
	wiretest.CompareDir(t, "../testdata/wire/auth", newEmbedded)
}

// testServer is an embedded server on loopback whose clock the test moves.
type testServer struct {
	*pgwire.Server
	addr     string
	clock    *backendtest.Clock
	faulty   *faultyBackend
	listen   *countingListener // if counting
	counting bool
	log      *countingLog
	cancel   context.CancelFunc
	served   chan error
}

// countingLog counts what a server logs as an error.
type countingLog struct {
	slog.Handler

	errors atomic.Int64
}

func (l *countingLog) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelError
}

func (l *countingLog) Handle(context.Context, slog.Record) error {
	l.errors.Add(1)
	return nil
}

func (l *countingLog) WithAttrs([]slog.Attr) slog.Handler { return l }
func (l *countingLog) WithGroup(string) slog.Handler      { return l }

// shutdown ends the server as a signal does, and waits for it.
func (s *testServer) shutdown(t testing.TB) {
	s.cancel()
	if err := <-s.served; err != nil {
		t.Errorf("Serve: %v", err)
	}
	s.served <- nil // for the next who asks
}

const maxTTL = 5 * time.Minute

// newEmbedded starts a server for one script. Options: locks=off, auth=scram or password,
// tls=on, anonymous=no, connections=N, admin=USER.
func newEmbedded(t *testing.T, options map[string]string) wiretest.Target {
	s := startServer(t, options)
	return wiretest.Target{
		Addr:      s.addr,
		Advance:   s.clock.Advance,
		Fault:     s.faulty.fault,
		Passwords: wiretest.Passwords,
	}
}

func startServer(t testing.TB, options map[string]string) *testServer {
	t.Helper()
	s := &testServer{clock: &backendtest.Clock{}, log: &countingLog{Handler: slog.DiscardHandler}, counting: options["writes"] == "counted"}
	store := newBackend(t, options["store"], inprocess.Options{Clock: s.clock})
	s.faulty = &faultyBackend{Backend: store, line: store, waiting: make(chan struct{}, 1), step: make(chan struct{})}
	var locks backend.Backend = s.faulty
	if options["locks"] == "off" {
		locks = nil
	}
	var config *tls.Config
	if options["tls"] == "on" {
		config = selfSigned(t)
	}
	if options["backend"] == "immediate" {
		locks = store
	}
	cfg := pgwire.Config{
		Config: login.Config{
			Policy:     policy(t, options),
			Log:        slog.New(s.log),
			TLS:        func() *tls.Config { return config },
			RequireTLS: options["require_tls"] == "on",
		},
		Functions:       sqlfuncs.NewService(locks, serviceOptions(options)),
		Version:         "test",
		Now:             s.clock.Wall,
		ShutdownTimeout: 5 * time.Second,
	}
	for option, field := range map[string]*time.Duration{"grace": &cfg.ShutdownTimeout, "startup": &cfg.StartupTimeout, "idle": &cfg.IdleTimeout} {
		if text := options[option]; text != "" {
			d, err := time.ParseDuration(text)
			if err != nil {
				t.Fatal(err)
			}
			*field = d
		}
	}
	if url := options["upstream"]; url != "" {
		config, err := pgconn.ParseConfig(url)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Upstream = &upstream.Server{Config: config, AsClient: true, FirstUse: options["open"] == "first-use"}
		if database := options["database"]; database != "" {
			config.Database, cfg.Upstream.FixedDatabase = database, true
		}
	}
	if options["lookup"] == "stalls" {
		cfg.LookUp = func(ctx context.Context, _ string) (*identity.User, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
	}
	if n := options["connections"]; n != "" {
		if _, err := fmt.Sscan(n, &cfg.MaxConnections); err != nil {
			t.Fatal(err)
		}
	}
	if admin := options["admin"]; admin != "" {
		cfg.AdminUsers = []string{admin}
	}
	server, err := pgwire.NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s.Server = server
	s.serve(t)
	return s
}

// serviceOptions are those of the service; admin=USER is its administrator.
func serviceOptions(options map[string]string) sqlfuncs.Options {
	o := sqlfuncs.Options{MaxTTL: maxTTL, MaxWait: maxTTL, MaxKeys: 100}
	if admin := options["admin"]; admin != "" {
		o.Administrators = []string{admin}
	}
	return o
}

// newBackend is a store in memory, or one on disk if kind is "durable".
func newBackend(t testing.TB, kind string, opts inprocess.Options) *inprocess.Store {
	t.Helper()
	if kind != "durable" {
		store := inprocess.New(opts)
		t.Cleanup(func() { store.Close() })
		return store
	}
	store, err := inprocess.Open(filepath.Join(t.TempDir(), "data"), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return store
}

// selfSigned makes a certificate that nobody vouches for.
func selfSigned(t testing.TB) *tls.Config {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{login.ALPN}, Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
}

func (s *testServer) serve(t testing.TB) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if s.counting { // its connections are none that an event loop could wait for
		s.listen = &countingListener{Listener: l}
		l = s.listen
	}
	s.addr = l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel, s.served = cancel, make(chan error, 1)
	go func() { s.served <- s.Serve(ctx, l) }()
	t.Cleanup(func() { s.shutdown(t) })
}

func policy(t testing.TB, options map[string]string) *identity.Policy {
	method, users := identity.Trust, (*identity.Users)(nil)
	if options["auth"] == "scram" || options["auth"] == "password" {
		method = identity.SCRAM
		if options["auth"] == "password" {
			method = identity.Password
		}
		var text []byte
		for name, password := range wiretest.Passwords {
			line, err := identity.Line(name, password)
			if err != nil {
				t.Fatal(err)
			}
			text = append(text, line+"\n"...)
		}
		var err error
		if users, err = identity.ParseUsers("users.txt", text); err != nil {
			t.Fatal(err)
		}
	}
	p, err := identity.NewPolicy(identity.PolicyOptions{Method: method, Users: users, AllowAnonymous: options["anonymous"] != "no"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// faultyBackend stands between a server and its store, and fails as it is told.
// It is not immediate: calls may wait.
type faultyBackend struct {
	backend.Backend
	line    *inprocess.Store
	waiting chan struct{}
	step    chan struct{}

	mu   sync.Mutex
	next string // what the next call meets
}

// fault handles the script command of that name: "stall" makes the next call wait
// until it is cancelled, "slow" until the test lets it go on, and the names in
// faults make it fail. "line 2" waits until so many calls are in line for locks.
func (b *faultyBackend) fault(args []string) (string, error) {
	if len(args) == 1 && args[0] == "waiting" {
		<-b.waiting
		return "a call waits", nil
	}
	if len(args) == 2 && args[0] == "line" {
		return b.awaitLine(args[1])
	}
	if len(args) != 1 || args[0] != "stall" && args[0] != "slow" && args[0] != "panic" && faults[args[0]] == nil {
		return "", fmt.Errorf("unknown fault %q", args)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next = args[0]
	return "", nil
}

func (b *faultyBackend) awaitLine(length string) (string, error) {
	want, err := strconv.ParseInt(length, 10, 64)
	if err != nil {
		return "", err
	}
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for range 10_000 {
		if _, waiters := b.line.Held(); waiters == want {
			return length + " in line", nil
		}
		<-look.C
	}
	_, waiters := b.line.Held()
	return "", fmt.Errorf("%d calls are in line, not %d", waiters, want)
}

func (b *faultyBackend) arm(t testing.TB, fault string) {
	t.Helper()
	if _, err := b.fault([]string{fault}); err != nil {
		t.Fatal(err)
	}
}

var faults = map[string]error{
	"unavailable":  backend.ErrUnavailable,
	"no-resources": backend.ErrOutOfResources,
	"in-doubt":     backend.ErrInDoubt,
	"unwritable":   backend.ErrUnwritable,
	"state-lost":   backend.ErrStateLost,
	"exhausted":    backend.ErrTokensExhausted,
	"unnamed":      errors.New("an error that says nothing"),
}

func (b *faultyBackend) meet(ctx context.Context) error {
	b.mu.Lock()
	next := b.next
	b.next = ""
	b.mu.Unlock()
	switch next {
	case "":
		return nil
	case "panic":
		panic("fault injected by a test")
	case "slow":
		b.waiting <- struct{}{}
		<-b.step
		return nil
	case "stall":
		b.waiting <- struct{}{}
		<-ctx.Done()
		return fmt.Errorf("%w: %w", backend.ErrUnavailable, ctx.Err())
	}
	return faults[next]
}

func (b *faultyBackend) Acquire(ctx context.Context, scope backend.Scope, key string, r backend.Request) (backend.Grant, error) {
	if err := b.meet(ctx); err != nil {
		return backend.Grant{}, err
	}
	return b.Backend.Acquire(ctx, scope, key, r)
}

func (b *faultyBackend) Claim(ctx context.Context, scope backend.Scope, pool string, n, capacity int64) (backend.Claimed, error) {
	if err := b.meet(ctx); err != nil {
		return backend.Claimed{}, err
	}
	return b.Backend.Claim(ctx, scope, pool, n, capacity)
}

// countingListener counts the writes of the connections that it accepts.
type countingListener struct {
	net.Listener
	mu     sync.Mutex
	writes int
}

func (l *countingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &countingConn{Conn: conn, listener: l}, nil
}

func (l *countingListener) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.writes
}

type countingConn struct {
	net.Conn
	listener *countingListener
}

func (c *countingConn) Write(b []byte) (int, error) {
	c.listener.mu.Lock()
	c.listener.writes++
	c.listener.mu.Unlock()
	return c.Conn.Write(b)
}
