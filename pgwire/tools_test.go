package pgwire_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"raisinproxy/pgwire/wiretest"
)

// tool is a program of PostgreSQL's: in PATH, or where Debian keeps it.
func tool(t *testing.T, name string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if err != nil || len(found) == 0 {
		t.Fatalf("%s is missing: on Debian and Ubuntu, apt-get install postgresql", name)
	}
	return slices.Max(found)
}

// run runs a program of PostgreSQL's against an address and returns what it prints.
func run(t *testing.T, address, database, name string, args ...string) string {
	t.Helper()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), tool(t, name), args...)
	cmd.Env = append(os.Environ(), "PGHOST="+host, "PGPORT="+port, "PGUSER=postgres", "PGDATABASE="+database, "PGSSLMODE=disable")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// newDatabase makes a database of its own for a test, as the superuser.
func newDatabase(t *testing.T, name string) {
	t.Helper()
	config, err := pgconn.ParseConfig(wiretest.PostgresURL(t))
	if err != nil {
		t.Fatal(err)
	}
	config.User = "postgres"
	conn, err := pgconn.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	for _, sql := range []string{"DROP DATABASE IF EXISTS " + name + " WITH (FORCE)", "CREATE DATABASE " + name} {
		if _, err := conn.Exec(t.Context(), sql).ReadAll(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPgbench runs PostgreSQL's own benchmark through the proxy, which fails if any
// answer is not what it expects; calls of the proxy's functions are part of it in the end.
func TestPgbench(t *testing.T) {
	newDatabase(t, "pgbench")
	server := startServer(t, map[string]string{"upstream": wiretest.PostgresURL(t), "backend": "immediate"})
	run(t, server.addr, "pgbench", "pgbench", "--initialize", "--scale=1", "--quiet")
	failed := regexp.MustCompile(`number of failed transactions: [1-9]`)
	script := func(name, sql string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(sql), 0o600); err != nil {
			t.Fatal(err)
		}
		return "--file=" + path
	}
	for _, test := range []struct {
		name string
		args []string
	}{
		{"simple", []string{"--protocol=simple"}},
		{"extended", []string{"--protocol=extended"}},
		{"prepared", []string{"--protocol=prepared"}},
		{"select only", []string{"--protocol=prepared", "--select-only"}},
		{"pipeline", []string{"--protocol=extended", script("pipeline.sql", "\\startpipeline\nSELECT 1;\nSELECT abalance FROM pgbench_accounts WHERE aid = 7;\nSELECT 2;\n\\endpipeline\n")}},
		{"calls in a pipeline", []string{"--protocol=extended", script("calls.sql", "\\startpipeline\nSELECT 1;\nSELECT * FROM raisin_inventory_claim('p', 1, 1000000);\nSELECT aid FROM pgbench_accounts WHERE aid = 7;\n\\endpipeline\n")}},
		{"calls in statements", []string{"--protocol=prepared", script("mixed.sql", "\\set aid random(1, 1000)\nUPDATE pgbench_accounts SET abalance = c.remaining FROM raisin_inventory_claim('q', 1, 1000000) c WHERE c.claimed AND aid = :aid;\n")}},
	} {
		t.Run(test.name, func(t *testing.T) {
			args := append([]string{"--no-vacuum", "--client=4", "--transactions=50"}, test.args...)
			if out := run(t, server.addr, "pgbench", "pgbench", args...); failed.MatchString(out) || !strings.Contains(out, "200/200") {
				t.Errorf("pgbench says\n%s", out)
			}
		})
	}
}

// TestDumpAndRestore moves a database through the proxy and back, and finds it the same.
func TestDumpAndRestore(t *testing.T) {
	newDatabase(t, "dump_from")
	newDatabase(t, "dump_to")
	server := startServer(t, map[string]string{"upstream": wiretest.PostgresURL(t), "backend": "immediate"})
	direct := wiretest.Postgres(t)
	run(t, direct, "dump_from", "psql", "--quiet", "--command", `
		CREATE TYPE mood AS ENUM ('calm', 'cross');
		CREATE TABLE people (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL, mood mood, photo bytea, tags text[], data jsonb);
		CREATE INDEX ON people USING gin (tags);
		CREATE FUNCTION greet(p people) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN 'hello ' || p.name; END $$;
		CREATE VIEW calm AS SELECT name FROM people WHERE mood = 'calm';
		INSERT INTO people(name, mood, photo, tags, data) SELECT E'na\\me\t' || i, 'calm', sha256(i::text::bytea), ARRAY[i::text, NULL, 'a"b'], jsonb_build_object('i', i) FROM generate_series(1, 2000) i;
		SELECT lo_from_bytea(4242, 'a large object');
		COMMENT ON TABLE people IS 'who there is';`)
	archive := filepath.Join(t.TempDir(), "dump")
	run(t, server.addr, "dump_from", "pg_dump", "--format=custom", "--file="+archive)
	run(t, server.addr, "dump_to", "pg_restore", "--dbname=dump_to", "--single-transaction", archive)
	restrict := regexp.MustCompile(`(?m)^\\(un)?restrict .*$`) // a random key of newer releases
	want := restrict.ReplaceAllString(run(t, direct, "dump_from", "pg_dump"), "")
	if got := restrict.ReplaceAllString(run(t, direct, "dump_to", "pg_dump"), ""); got != want {
		t.Errorf("the database that was restored is another: %d bytes of dump, want %d", len(got), len(want))
	}
	if got := restrict.ReplaceAllString(run(t, server.addr, "dump_from", "pg_dump"), ""); got != want {
		t.Errorf("the dump through the proxy is another: %d bytes, want %d", len(got), len(want))
	}
	for _, command := range []string{`\d`, `\d people`, `\dt+`, `\df`, `\dT`, `\di`, `\dv`, `\dn`, `\du`, `\l`, `\dp`} {
		plain := run(t, direct, "dump_from", "psql", "--command", command)
		if proxied := run(t, server.addr, "dump_from", "psql", "--command", command); proxied != plain {
			t.Errorf("%s through the proxy prints\n%s\nand straight\n%s", command, proxied, plain)
		}
	}
}
