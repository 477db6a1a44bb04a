package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"raisinproxy/pgwire/wiretest"
)

// shownQuery is the auth_query that docs/operations.md shows.
func shownQuery(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^auth_query = "(.*)"$`).FindSubmatch(text)
	if found == nil {
		t.Fatal("docs/operations.md shows no auth_query")
	}
	return string(found[1])
}

// makeAuthRoles makes the role that runs auth_query, one that clients work as, and some that
// must not get in. It gives the address of their server.
func makeAuthRoles(t *testing.T) (address string) {
	t.Helper()
	address = wiretest.PostgresTarget(t, map[string]string{"auth": "scram"}).Addr
	direct := connect(t, address, "user=postgres dbname=postgres sslmode=disable")
	for _, sql := range []string{
		`DROP OWNED BY raisin_auth`, `DROP OWNED BY raisin_service`,
		`DROP ROLE IF EXISTS raisin_auth, raisin_service, raisin_member, expired, unexpired, nologin, nopassword`,
		`CREATE ROLE raisin_auth LOGIN`, `GRANT SELECT ON pg_catalog.pg_authid TO raisin_auth`,
		`CREATE ROLE raisin_service LOGIN`, `CREATE ROLE raisin_member LOGIN IN ROLE raisin_auth`,
		`CREATE ROLE expired LOGIN PASSWORD 'pencil' VALID UNTIL '2020-01-01'`,
		`CREATE ROLE unexpired LOGIN PASSWORD 'pencil' VALID UNTIL '2200-01-01'`,
		`CREATE ROLE nologin NOLOGIN PASSWORD 'pencil'`,
		`CREATE ROLE nopassword LOGIN`,
	} {
		if _, err := direct.Exec(t.Context(), sql).ReadAll(); err != nil && sqlState(err) != "42704" {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	return address
}

func authQueryConfig(address, query, more string) string {
	return fmt.Sprintf(`
[pgwire]
port = 0
[auth]
users_file = "users.txt"
auth_query = %q
[locks]
enabled = true
[locks.inprocess]
data_dir = ""
[upstream]
url = "postgres://raisin_service@%s/?sslmode=disable"
%s
`, query, address, more)
}

// TestAuthQuery: the users of the upstream log in with the passwords that they have there,
// as long as PostgreSQL would let them in.
func TestAuthQuery(t *testing.T) {
	behind := makeAuthRoles(t)
	dir := configDir(t, authQueryConfig(behind, shownQuery(t), `auth_user = "raisin_auth"`))
	p := start(t, "main", "--config", filepath.Join(dir, "raisin.toml"))
	address := p.await(t, "listening")["address"].(string)
	conn := connect(t, address, "user=carol password="+wiretest.Passwords["carol"])
	result := conn.ExecParams(t.Context(), "select acquired from raisin_lock_acquire('k', 1000)", nil, nil, nil, nil).Read()
	if result.Err != nil || string(result.Rows[0][0]) != "t" {
		t.Errorf("acquire: %v %q", result.Err, result.Rows)
	}
	connect(t, address, "user=unexpired password=pencil")
	connect(t, address, "user=alice password=pencil") // of the users file; the role alice has no password
	for _, options := range []string{
		"user=carol password=wrong", "user=nobody_there password=x",
		"user=expired password=pencil", "user=nologin password=pencil", "user=nopassword password=''",
	} {
		if _, err := dial(t, address, options); sqlState(err) != "28P01" {
			t.Errorf("%s: %v", options, err)
		}
	}
	// Nobody who works as the clients' role can read a verifier.
	if _, err := conn.Exec(t.Context(), "select rolpassword from pg_authid").ReadAll(); sqlState(err) != "42501" {
		t.Errorf("a client read verifiers: %v", err)
	}
	// The connection that asks may end at any time. That of the trial at the start may be ending still.
	direct := connect(t, behind, "user=postgres sslmode=disable")
	kill := "select count(pg_terminate_backend(pid)) from pg_stat_activity where query like '%pg_authid%' and usename = 'raisin_auth'"
	if result := direct.ExecParams(t.Context(), kill, nil, nil, nil, nil).Read(); result.Err != nil || string(result.Rows[0][0]) == "0" {
		t.Fatalf("%v %q", result.Err, result.Rows)
	}
	connect(t, address, "user=carol password="+wiretest.Passwords["carol"])
}

// TestUpstreamIsTried: what keeps users out is told before they come, by --check-config and
// by the start, which goes on.
func TestUpstreamIsTried(t *testing.T) {
	behind := makeAuthRoles(t)
	query := shownQuery(t)
	for _, tt := range []struct {
		name, query, more, want string // want "": ok
	}{
		{name: "right", query: query, more: `auth_user = "raisin_auth"`},
		{"no rights", query, `auth_user = "raisin_service2"`, `auth_query: nobody will be found by it: role "raisin_service2" does not exist (SQLSTATE 28000)`},
		{"a role without rights", query, `auth_user = "bob"`, `auth_query: nobody will be found by it: permission denied for table pg_authid (SQLSTATE 42501)`},
		{"a database that is not there", query, "auth_user = \"raisin_auth\"\nauth_database = \"nowhere\"",
			`auth_query: nobody will be found by it: database "nowhere" does not exist (SQLSTATE 3D000)`},
		{"a view that hides passwords", "SELECT rolname, rolpassword FROM pg_roles WHERE rolname = $1", `auth_user = "raisin_auth"`,
			`auth_query: nobody will be found by it: the query reads a view that hides passwords: pg_authid and pg_shadow have them`},
		{"a syntax error", "SELEKT $1", `auth_user = "raisin_auth"`, `auth_query: nobody will be found by it: syntax error at or near "SELEKT" (SQLSTATE 42601)`},
		{"one column", "SELECT rolname FROM pg_authid WHERE rolname = $1", `auth_user = "raisin_auth"`,
			`auth_query: nobody will be found by it: the query must return one row of two columns, the name and the verifier`},
		{"an answer for everybody", "SELECT $1, 'pencil'", `auth_user = "raisin_auth"`,
			`auth_query: nobody will be found by it: the query has an answer for a user who does not exist`},
		{"a member of the role", query, "auth_user = \"raisin_auth\"\nuser = \"raisin_member\"",
			`auth_user: the role of the clients' sessions is a member of it, so every client could read every verifier`},
		{name: "a member of the role, as it is meant", query: query, more: "auth_user = \"raisin_auth\"\nuser = \"raisin_member\"\nshare_auth_user = true"},
		{name: "the clients' role, as it is meant", query: "SELECT rolname, NULL FROM pg_roles WHERE rolname = $1",
			more: "auth_user = \"raisin_service\"\nshare_auth_user = true"},
		{"a role that is not there", query, "auth_user = \"raisin_auth\"\nuser = \"raisin_nobody\"",
			`url: the upstream cannot be reached: role "raisin_nobody" does not exist (SQLSTATE 28000)`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(configDir(t, authQueryConfig(behind, tt.query, tt.more)), "raisin.toml")
			out := runProgram(t, []string{"--check-config", "--config", path}, nil)
			if said := strings.Contains(out, tt.want) && strings.Contains(out, "exit 1"); tt.want != "" && !said ||
				tt.want == "" && !strings.HasPrefix(out, "ok\n") {
				t.Errorf("--check-config says\n%s; want %q", out, tt.want)
			}
			if tt.want == "" {
				return
			}
			p := start(t, "main", "--config", path)
			_, text, _ := strings.Cut(tt.want, ": ")
			p.await(t, text)
			p.await(t, "listening")
		})
	}
}
