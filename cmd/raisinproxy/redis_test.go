package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"raisinproxy/backend/redis/redistest"
)

// redisConfig is the folder of one proxy's configuration.
func redisConfig(t *testing.T, server *redistest.Server) string {
	t.Helper()
	return configDir(t, fmt.Sprintf(`
[pgwire]
port = 0
[auth]
method = "trust"
[locks]
enabled = true
backend = "redis"
[locks.redis]
url = "redis://:hunter2@%s/0"
timeout_ms = 5000
[replication]
enabled = true
`, server.Addr()))
}

// query gives the first value of the answer.
func query(t *testing.T, conn *pgconn.PgConn, sql string) (string, error) {
	t.Helper()
	results, err := conn.Exec(t.Context(), sql).ReadAll()
	if err != nil {
		return "", err
	}
	return string(results[0].Rows[0][0]), nil
}

func mustQuery(t *testing.T, conn *pgconn.PgConn, sql, want string) {
	t.Helper()
	if got, err := query(t, conn, sql); err != nil || got != want {
		t.Fatalf("%s: %s, %v; want %s", sql, got, err, want)
	}
}

// Two proxies on one Redis: each one's locks hold for the other, and when Redis loses its state both stop
// selling until the operator has adopted it.
func TestTwoProxiesOnOneRedis(t *testing.T) {
	server := redistest.Start(t, redistest.AOFAlways, "requirepass hunter2", "maxmemory-policy noeviction")
	server.Login("hunter2")
	dirs := []string{redisConfig(t, server), redisConfig(t, server)}
	var proxies []*process
	var conns []*pgconn.PgConn
	for _, dir := range dirs {
		p := start(t, "main", "--config", filepath.Join(dir, "raisin.toml"))
		proxies = append(proxies, p)
		conns = append(conns, connect(t, p.await(t, "listening")["address"].(string), "user=alice sslmode=disable"))
	}
	mustQuery(t, conns[0], "SELECT acquired FROM raisin_lock_acquire('seat:14A', 60000)", "t")
	mustQuery(t, conns[1], "SELECT acquired FROM raisin_lock_acquire('seat:14A', 60000)", "f")
	mustQuery(t, conns[0], "SELECT remaining FROM raisin_inventory_claim('AA123', 179, 180)", "1")
	mustQuery(t, conns[1], "SELECT claimed FROM raisin_inventory_claim('AA123', 1, 180)", "t")
	mustQuery(t, conns[0], "SELECT claimed FROM raisin_inventory_claim('AA123', 1, 180)", "f")

	server.Do("FLUSHALL")
	for _, p := range proxies {
		p.await(t, "lost acknowledged state")
	}
	for _, conn := range conns {
		_, err := query(t, conn, "SELECT claimed FROM raisin_inventory_claim('AA123', 1, 180)")
		var told *pgconn.PgError
		if !errors.As(err, &told) || told.Code != "55000" || !strings.Contains(told.Hint, "raisinproxy adopt") {
			t.Fatalf("a claim after the loss: %v, want 55000 with a hint", err)
		}
	}
	if out, code := tool(t, "adopt", "--config", filepath.Join(dirs[0], "raisin.toml"), "--init", "--allow-create"); code != 0 || !strings.Contains(out, "namespace raisin:locks has the id") {
		t.Fatalf("adopt: exit %d\n%s", code, out)
	}
	for i, conn := range conns {
		redistest.Await(t, "inventory goes on", func(ctx context.Context) bool {
			_, err := conn.Exec(ctx, fmt.Sprintf("SELECT claimed FROM raisin_inventory_claim('new %d', 1, 180)", i)).ReadAll()
			return err == nil
		})
	}
	for _, p := range proxies {
		if rest := p.stop(t); strings.Contains(rest, "hunter2") {
			t.Error(rest)
		}
	}
}

func TestRedisThatRefusesThePasswordIsLoggedWithoutIt(t *testing.T) {
	server := redistest.Start(t, "requirepass other")
	dir := redisConfig(t, server)
	p := start(t, "main", "--config", filepath.Join(dir, "raisin.toml"))
	record := p.await(t, "the heartbeat fails")
	conn := connect(t, p.await(t, "listening")["address"].(string), "user=alice sslmode=disable")
	_, err := query(t, conn, "SELECT raisin_lock_acquire('k', 1000)")
	var told *pgconn.PgError
	if !errors.As(err, &told) || told.Code != "58000" {
		t.Errorf("acquire: %v, want 58000", err)
	}
	if rest := p.stop(t); strings.Contains(fmt.Sprint(record, err, rest), "hunter2") {
		t.Errorf("%v\n%s", record, rest)
	}
}
