package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"raisinproxy/backend/redis/redistest"
)

// An operator moves a durable store to Redis and back; at each moment one of them sells.
func TestMovingFromADurableStoreToRedisAndBack(t *testing.T) {
	server := redistest.Start(t, redistest.AOFAlways, "requirepass hunter2")
	server.Login("hunter2")
	disk, shared := durableConfig(t), filepath.Join(redisConfig(t, server), "raisin.toml")
	file := filepath.Join(t.TempDir(), "moved.jsonl")
	serve := func(config string) (*process, *pgconn.PgConn) {
		p := start(t, "main", "--config", config)
		return p, connect(t, p.await(t, "listening")["address"].(string), "user=alice sslmode=disable")
	}
	run := func(want string, code int, args ...string) {
		t.Helper()
		if out, got := tool(t, args...); got != code || !strings.Contains(out, want) || strings.Contains(out, "hunter2") {
			t.Errorf("%s: exit %d, want %d and %q\n%s", args[0], got, code, want, out)
		}
	}
	token := func(conn *pgconn.PgConn, key string) int64 {
		t.Helper()
		text, err := query(t, conn, fmt.Sprintf("SELECT token FROM raisin_lock_acquire('%s', 300000)", key))
		n, invalid := strconv.ParseInt(text, 10, 64)
		if err := errors.Join(err, invalid); err != nil {
			t.Fatal(err)
		}
		return n
	}

	p, conn := serve(disk)
	mustQuery(t, conn, "SELECT remaining FROM raisin_inventory_claim('AA123', 2, 180)", "178")
	held := token(conn, "seat:14A")
	run(fmt.Sprintf("is open in process %d", p.Pid()), exitFailure, "export", "--config", disk, file)
	p.stop(t)
	run("raisinproxy-data to "+file+"; its greatest token is at most ", 0, "export", "--config", disk, file)
	refused := start(t, "main", "--config", disk)
	if told := refused.await(t, "cannot start")["error"].(string); !strings.Contains(told, "raisinproxy reopen") || !strings.Contains(told, file) {
		t.Errorf("a start on an exported store: %s", told)
	}
	refused.end(t)

	run("imported 1 pools and 1 leases into namespace raisin:locks", 0, "import", "--config", shared, file)
	run("was imported already", exitFailure, "import", "--config", shared, file)
	p, conn = serve(shared)
	mustQuery(t, conn, "SELECT remaining FROM raisin_inventory_claim('AA123', 1, 180)", "177")
	mustQuery(t, conn, "SELECT acquired FROM raisin_lock_acquire('seat:14A', 300000)", "f")
	mustQuery(t, conn, fmt.Sprintf("SELECT raisin_lock_renew('seat:14A', %d, 300000)", held), "t")
	next := token(conn, "seat:14B")
	if next <= held {
		t.Errorf("token %d after %d", next, held)
	}

	back := file + ".back"
	run("exported 1 pools and 2 live leases from namespace raisin:locks", 0, "export", "--config", shared, back)
	_, err := query(t, conn, "SELECT claimed FROM raisin_inventory_claim('AA123', 1, 180)")
	var told *pgconn.PgError
	if !errors.As(err, &told) || told.Code != "55000" || !strings.Contains(told.Message, "moved to another store") {
		t.Errorf("a claim from a proxy whose namespace was exported: %v, want 55000", err)
	}
	run("was exported to", exitFailure, "import", "--config", disk, back)
	run("imported 1 pools and 2 leases into "+filepath.Dir(disk), 0, "import", "--config", disk, "--replace", back)
	p.stop(t)
	p, conn = serve(disk)
	mustQuery(t, conn, "SELECT remaining FROM raisin_inventory_claim('AA123', 1, 180)", "176")
	mustQuery(t, conn, fmt.Sprintf("SELECT raisin_lock_release('seat:14B', %d)", next), "t")
	if last := token(conn, "seat:14B"); last <= next {
		t.Errorf("token %d after %d", last, next)
	}
	p.stop(t)

	// The operator changes his mind.
	run("exported 1 pools", 0, "export", "--config", disk, file)
	run("--again", exitFailure, "export", "--config", shared, file+".2")
	run("exported to another file", exitFailure, "reopen", "--config", disk, back+".imported")
	run("raisinproxy-data goes on", 0, "reopen", "--config", disk, file)
	run("was imported already", exitFailure, "import", "--config", shared, file) // of that name, the first time
	p, conn = serve(disk)
	mustQuery(t, conn, "SELECT remaining FROM raisin_inventory_claim('AA123', 1, 180)", "175")
	p.stop(t)
}

func TestMovingSaysWhatIsWrongWithTheCommandLine(t *testing.T) {
	config := durableConfig(t)
	for _, tt := range []struct {
		args []string
		want string
		code int
	}{
		{[]string{"export"}, "export takes one file", exitUsage},
		{[]string{"export", "out"}, "export needs --config FILE", exitUsage},
		{[]string{"import", "--config", config, "a", "b"}, "import takes one file", exitUsage},
		{[]string{"reopen", "--config", config, "missing"}, "no such file", exitFailure},
		{[]string{"reopen", "--config", config}, "reopen takes one file", exitUsage},
		{[]string{"reopen", "--config", config, "--lost", "a"}, "reopen takes no argument but its flags", exitUsage},
		{[]string{"import", "--config", config, "--replce", "a"}, "import: ", exitUsage},
		{[]string{"import", "--config", config, "missing"}, "missing", exitFailure},
		{[]string{"export", "--config", config, config}, "exists already", exitFailure},
		{[]string{"export", "--config", config, config + ".out"}, "no such file", exitFailure},
		{[]string{"import", "--config", config, config}, "not a whole export", exitFailure},
	} {
		var out strings.Builder
		in, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		code := exitCode(run(t.Context(), tt.args, func(string) string { return "" }, streams{in: in, out: &out, err: &out}), &out)
		in.Close()
		if code != tt.code || !strings.Contains(out.String(), tt.want) {
			t.Errorf("%q: exit %d, want %d and %q:\n%s", tt.args, code, tt.code, tt.want, out.String())
		}
	}
	for _, name := range []string{"export", "import", "reopen"} {
		var out strings.Builder
		if err := run(t.Context(), []string{name, "--help"}, func(string) string { return "" }, streams{out: &out}); err != nil || !strings.HasPrefix(out.String(), "Usage:\n  raisinproxy "+name) {
			t.Errorf("%s --help: %v\n%s", name, err, out.String())
		}
	}
}
