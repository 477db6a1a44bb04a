package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"

	"raisinproxy/internal/testservers"
)

// Names of servers.
const (
	postgres          = "postgres"
	pgbouncer         = "pgbouncer"
	redis             = "redis"
	proxyMemory       = "proxy"               // PostgreSQL behind it, locks in memory
	proxyDurable      = "proxy-durable"       // locks on disk
	proxyRedis        = "proxy-redis"         // locks in Redis
	proxyFew          = "proxy-few"           // 1,000 live locks
	proxyMany         = "proxy-many"          // 1,000,000 live locks
	proxyIdle         = "proxy-idle"          // for idle connections
	proxyIdleUpstream = "proxy-idle-upstream" // for idle connections, PostgreSQL behind it
	proxyRestarted    = "proxy-restarted"     // started on 1,000,000 locks and 100,000 pools
	proxyPools        = "proxy-pools"         // started on 100,000 pools
)

// starters say how each server is started.
func starters() map[string]func(context.Context, *lab, string) (*server, error) {
	return map[string]func(context.Context, *lab, string) (*server, error){
		postgres:          startPostgres,
		pgbouncer:         startPgbouncer,
		redis:             startRedis,
		proxyMemory:       proxy{upstream: true}.start,
		proxyDurable:      proxy{durable: true}.start,
		proxyRedis:        proxy{redis: true}.start,
		proxyFew:          proxy{locks: 1_000}.start,
		proxyMany:         proxy{locks: 1_000_000}.start,
		proxyIdle:         proxy{}.start,
		proxyIdleUpstream: proxy{upstream: true}.start,
		proxyRestarted:    full{locks: restartLocks}.start,
		proxyPools:        full{}.start,
	}
}

// stopper is a server as close sees it.
type stopper interface{ Stop(context.Context) error }

// server is one that runs.
type server struct {
	*testservers.Process
	port int
	// grown is how many bytes its resident memory grew when it was filled with locks, for each.
	grown float64
	// restart is what full.start saw of it.
	restart restart
}

// url is where to connect with SQL.
func (s *server) url() string {
	return fmt.Sprintf("postgres://%s@127.0.0.1:%d/postgres?sslmode=disable", benchUser, s.port)
}

func (s *server) connect(ctx context.Context) (*pgconn.PgConn, error) {
	return pgconn.Connect(ctx, s.url())
}

// accepts tells whether the server lets clients in.
func (s *server) accepts(ctx context.Context) error {
	conn, err := s.connect(ctx)
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// benchUser is the role of PostgreSQL that all work as.
const benchUser = "bench"

// lab is the servers of this run and the folder that they use.
type lab struct {
	options options
	dir     string
	root    string // of the repository
	servers map[string]*server
	order   []stopper // as started
	rate    float64   // for latency
}

func newLab(o options) (*lab, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	if o.proxy, err = filepath.Abs(o.proxy); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "raisin-bench-")
	if err != nil {
		return nil, err
	}
	l := &lab{options: o, dir: dir, root: root, servers: map[string]*server{}}
	return l, errors.Join(os.Chmod(dir, 0o755), writeScripts(dir))
}

// server gives a server, started when it is asked for the first time; nil for no name.
func (l *lab) server(ctx context.Context, name string) (*server, error) {
	if name == "" || l.servers[name] != nil {
		return l.servers[name], nil
	}
	s, err := starters()[name](ctx, l, name)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	l.servers[name] = s
	return s, nil
}

// keep keeps a server that was started, so that close stops it.
func (l *lab) keep(s stopper, p *testservers.Process, port int) *server {
	l.order = append(l.order, s)
	return &server{Process: p, port: port}
}

// build compiles one of the programs beside this one, and returns its path.
func (l *lab) build(ctx context.Context, name string) (string, error) {
	program := filepath.Join(l.dir, name)
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./testdata/bench/"+name)
	build.Dir = l.root
	if said, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, said)
	}
	return program, nil
}

// close stops all servers, the last first.
func (l *lab) close(ctx context.Context) error {
	var errs []error
	for _, s := range slices.Backward(l.order) {
		errs = append(errs, s.Stop(context.WithoutCancel(ctx)))
	}
	return errors.Join(append(errs, os.RemoveAll(l.dir))...)
}
