package main

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"raisinproxy/pgwire/wiretest"
)

// serveUpstream starts the program in front of a PostgreSQL, and says where it listens.
func serveUpstream(t *testing.T, auth, upstream string) (address string) {
	t.Helper()
	dir := configDir(t, fmt.Sprintf("[pgwire]\nport = 0\n[auth]\n%s\n[locks]\nenabled = true\n[locks.inprocess]\ndata_dir = \"\"\n[upstream]\n%s\n", auth, upstream))
	p := start(t, "main", "--config", filepath.Join(dir, "raisin.toml"))
	return p.await(t, "listening")["address"].(string)
}

func oneValue(t *testing.T, conn *pgconn.PgConn, sql string) string {
	t.Helper()
	result := conn.ExecParams(t.Context(), sql, nil, nil, nil, nil).Read()
	if result.Err != nil {
		t.Fatalf("%s: %v", sql, result.Err)
	}
	return string(result.Rows[0][0])
}

// TestAnonymousSQL: sessions without a name work in the upstream by a role of their own, or
// as everybody if that is said.
func TestAnonymousSQL(t *testing.T) {
	behind := makeAuthRoles(t)
	url := fmt.Sprintf("url = \"postgres://raisin_service@%s/?sslmode=disable\"\n", behind)
	for _, tt := range []struct{ auth, upstream, anonymous, alice string }{
		{"allow_anonymous = true", url + `anonymous_user = "bob"`, "bob", "raisin_service"},
		{"allow_anonymous = true\nallow_anonymous_sql = true", url, "raisin_service", "raisin_service"},
		{"allow_anonymous = true", url + "user = \"$client\"\nanonymous_user = \"bob\"", "bob", "alice"},
	} {
		address := serveUpstream(t, tt.auth, tt.upstream)
		conn := connect(t, address, "user=anonymous sslmode=disable")
		if got := oneValue(t, conn, "select current_user"); got != tt.anonymous {
			t.Errorf("%s %s: anonymous works as %s, want %s", tt.auth, tt.upstream, got, tt.anonymous)
		}
		if err := conn.ExecParams(t.Context(), "select raisin_lock_acquire('k', 1)", nil, nil, nil, nil).Read().Err; sqlState(err) != "42501" {
			t.Errorf("%s %s: anonymous calls: %v", tt.auth, tt.upstream, err)
		}
		if got := oneValue(t, connect(t, address, "user=alice password=pencil sslmode=disable"), "select current_user"); got != tt.alice {
			t.Errorf("%s %s: alice works as %s, want %s", tt.auth, tt.upstream, got, tt.alice)
		}
	}
}

// TestUpstreamURL: what the URL of the upstream says reaches it, beside what the client says.
func TestUpstreamURL(t *testing.T) {
	behind := wiretest.PostgresTarget(t, map[string]string{"auth": "scram"}).Addr
	address := serveUpstream(t, "", fmt.Sprintf(
		`url = "postgres://postgres@%s/?sslmode=disable&dbname=postgres&search_path=pg_catalog&options=-c%%20work_mem%%3D3MB%%20-c%%20geqo%%3Doff"`, behind))
	for options, want := range map[string]string{
		"":                          "3MB off pg_catalog main postgres",
		"options='-c work_mem=5MB'": "5MB off pg_catalog main postgres",
		"options='-c app.branch=b'": "3MB off pg_catalog b postgres",
		"search_path=public":        "3MB off public main postgres",
	} {
		conn := connect(t, address, "user=alice password=pencil sslmode=disable "+options)
		const sql = `select concat_ws(' ', current_setting('work_mem'), current_setting('geqo'), current_setting('search_path'),
			current_setting('app.branch'), current_database())`
		if got := oneValue(t, conn, sql); got != want {
			t.Errorf("with %q: %s, want %s", options, got, want)
		}
	}
}

// TestUpstreamURLIsTried: what the URL names and PostgreSQL has not keeps everybody out, so
// the start and --check-config say it.
func TestUpstreamURLIsTried(t *testing.T) {
	behind := wiretest.PostgresTarget(t, map[string]string{"auth": "scram"}).Addr
	for parameters, want := range map[string]string{
		"dbname=postgres&options=-c%20work_mem%3D3MB": "",
		"dbname=nowhere":                   `database "nowhere" does not exist (SQLSTATE 3D000)`,
		"options=-c%20nothing%3D1":         `unrecognized configuration parameter "nothing" (SQLSTATE 42704)`,
		"nothing=1":                        `unrecognized configuration parameter "nothing" (SQLSTATE 42704)`,
		"options=-c%20work_mem%3Dnothing":  `invalid value for parameter "work_mem": "nothing" (SQLSTATE 22023)`,
		"options=-c%20work_mem%3D3MB%20-Q": `invalid command-line argument for server process: -Q (SQLSTATE 42601)`,
	} {
		t.Run(parameters, func(t *testing.T) {
			dir := configDir(t, fmt.Sprintf("[pgwire]\nport = 0\n[upstream]\nurl = \"postgres://postgres@%s/?sslmode=disable&%s\"\n", behind, parameters))
			path := filepath.Join(dir, "raisin.toml")
			out := runProgram(t, []string{"--check-config", "--config", path}, nil)
			if want == "" {
				if strings.Contains(out, "exit 1") {
					t.Errorf("--check-config says\n%s", out)
				}
				return
			}
			if want = "upstream.url: the upstream cannot be reached: " + want; !strings.Contains(out, want) || !strings.Contains(out, "exit 1") {
				t.Errorf("--check-config says\n%s; want %q", out, want)
			}
		})
	}
}

// TestUpstreamAway: the log has the cause, once while it lasts, and the client's error too.
func TestUpstreamAway(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := l.Addr().String()
	l.Close()
	dir := configDir(t, fmt.Sprintf("[pgwire]\nport = 0\n[upstream]\nurl = \"postgres://service@%s/?sslmode=disable\"\n", closed))
	p := start(t, "main", "--config", filepath.Join(dir, "raisin.toml"))
	if told := p.await(t, "the upstream cannot be reached: connection refused"); told["level"] != "ERROR" {
		t.Errorf("the log says %v", told)
	}
	address := p.await(t, "listening")["address"].(string)
	for range 2 {
		_, err := dial(t, address, "user=alice password=pencil sslmode=disable")
		told, ok := errors.AsType[*pgconn.PgError](err)
		if !ok || told.Code != "08001" || told.Detail != "Connection refused." {
			t.Errorf("the client is told %v", err)
		}
	}
	rest := p.stop(t)
	if strings.Contains(rest, `"msg":"the upstream cannot be reached`) {
		t.Errorf("the log tells it again:\n%s", rest)
	}
}
