package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/datum"
)

// The table "Who may do what" in docs/operations.md is what these tests expect. Here stands how a
// client of each of its rows comes.

// comer is a kind of user in the table.
type comer struct {
	methods string // under which there is such a one
	user    string // in the table's words
	ways    []way
}

// way is one connection of a comer.
type way struct {
	user, password string
	tls            string // "": yes, and SCRAM is not bound to it; "bound"; "none"
	cert           string // which certificate it shows; "": none
	with           string // "auth_query", "cert_map_file": what the server has besides
	told           string // the text of a refusal, where it is not that of a wrong password
}

const (
	noCert   = "connection requires a valid client certificate"
	needsTLS = "this server requires TLS"
)

func notTheirs(user string) string {
	return fmt.Sprintf("certificate authentication failed for user %q", user)
}

var comers = []comer{
	{"--dev-mode", "any name but `anonymous`", []way{
		{user: "alice", tls: "none"}, {user: "mallory", password: "any", tls: "none"},
	}},
	{"--dev-mode", "`anonymous`", []way{
		{user: "anonymous", tls: "none"}, {user: "anonymous", password: "any", tls: "none"},
	}},

	{"scram-sha-256 password", "in the users file, right password", []way{
		{user: "alice", password: "pencil"}, {user: "alice", password: "pencil", tls: "bound"},
	}},
	{"scram-sha-256", "in the users file, right password, without TLS", []way{{user: "alice", password: "pencil", tls: "none"}}},
	{"scram-sha-256 password", "in the users file, wrong password", []way{
		{user: "alice", password: "wrong"}, {user: "alice", password: "wrong", tls: "bound"},
	}},
	{"scram-sha-256 password", "in the users file, which has no password for it", []way{{user: "bob", password: "pencil"}}},
	{"scram-sha-256 password", "in no users file", []way{
		{user: "mallory", password: "pencil"}, {user: "mallory", password: "pencil", with: "auth_query"},
	}},
	{"scram-sha-256 password", "found by `auth_query`, right password", []way{{user: "carol", password: "pencil", with: "auth_query"}}},
	{"scram-sha-256 password", "found by `auth_query`, wrong password", []way{{user: "carol", password: "wrong", with: "auth_query"}}},
	{"scram-sha-256 password", "found by `auth_query` with NULL instead of a verifier", []way{
		{user: "nora", password: "pencil", with: "auth_query"}, {user: "nora", with: "auth_query"},
	}},
	{"scram-sha-256 password", "`anonymous`, in the users file or found by `auth_query`, right password", []way{
		{user: "anonymous", password: "pencil"}, {user: "anonymous", password: "stencil", with: "auth_query"},
	}},
	{"scram-sha-256 password", "`anonymous`, wrong password or none", []way{
		{user: "anonymous", password: "wrong"}, {user: "anonymous"}, {user: "anonymous", password: "wrong", with: "auth_query"},
	}},
	{"password", "anybody, without TLS", []way{
		{user: "alice", password: "pencil", tls: "none", told: needsTLS}, {user: "anonymous", tls: "none", told: needsTLS},
	}},

	{"cert", "with a certificate whose common name is the user's", []way{{user: "alice", cert: "alice"}}},
	{"cert", "with a certificate of which `cert_map_file` lists a name for the user", []way{{user: "root", cert: "alice", with: "cert_map_file"}}},
	{"cert", "with another's certificate, or one of two common names", []way{
		{user: "alice", cert: "dora", told: notTheirs("alice")},
		{user: "alice", cert: "two", told: notTheirs("alice")}, {user: "dora", cert: "two", told: notTheirs("dora")},
		{user: "root", cert: "two", with: "cert_map_file", told: notTheirs("root")},
		{user: "alice", cert: "alice", with: "cert_map_file", told: notTheirs("alice")}, // the map replaces common names
	}},
	{"cert", "with a certificate that `tls_client_ca` does not vouch for", []way{{user: "alice", cert: "stranger", told: noCert}}},
	{"cert", "without a certificate, or without TLS", []way{
		{user: "alice", password: "pencil", told: noCert}, {user: "alice", tls: "none", told: noCert},
	}},
	{"cert", "`anonymous`, with a certificate", []way{
		{user: "anonymous", cert: "anonymous"}, {user: "anonymous", cert: "dora", with: "cert_map_file"},
	}},
	{"cert", "`anonymous`, with another's certificate, without one, or without TLS", []way{
		{user: "anonymous", cert: "alice", told: notTheirs("anonymous")},
		{user: "anonymous", told: noCert}, {user: "anonymous", tls: "none", told: noCert},
	}},

	{"trust", "any name but `anonymous`", []way{
		{user: "alice", tls: "none"}, {user: "alice", password: "wrong"}, {user: "mallory", cert: "alice"},
	}},
	{"trust", "`anonymous`", []way{
		{user: "anonymous", tls: "none"}, {user: "anonymous", password: "pencil"}, {user: "anonymous", cert: "alice"},
	}},
}

// attempt is one connection to one server, and what the table says of it.
type attempt struct {
	way
	method, anonymous string // of the server
	login, call       string // SQLSTATEs; "": it connects, it may call
}

func (a *attempt) String() string {
	return fmt.Sprintf("%s allow_anonymous=%s %s: user=%s password=%s cert=%s tls=%s",
		a.method, a.anonymous, cmp.Or(a.with, "-"), a.user, cmp.Or(a.password, "-"), cmp.Or(a.cert, "-"), cmp.Or(a.tls, "yes"))
}

// refusal is the text with which the server refuses it.
func (a *attempt) refusal() string {
	switch {
	case a.told != "":
		return a.told
	case a.method == "password" && a.password == "":
		return "empty password returned by client"
	}
	return fmt.Sprintf("password authentication failed for user %q", a.user)
}

// settings are how a client of libpq's kind connects, by keyword, without host and port.
func (a *attempt) settings(dir string) [][2]string {
	mode, binding, cert, key := "verify-full", "disable", "", ""
	switch a.tls {
	case "none":
		mode = "disable"
	case "bound":
		binding = "require"
	}
	if a.cert != "" {
		cert = filepath.Join(dir, a.cert+".pem")
		key = filepath.Join(dir, a.cert+"-key.pem")
	}
	return [][2]string{
		{"user", a.user}, {"password", a.password}, {"sslmode", mode}, {"sslrootcert", filepath.Join(dir, "ca.pem")},
		{"sslcert", cert}, {"sslkey", key}, {"channel_binding", binding},
	}
}

// TestWhoMayDoWhat comes to the program in every way of the table, and calls every
// function of the catalogue: so it knows those that will be added, too.
func TestWhoMayDoWhat(t *testing.T) {
	attempts, servers := whoMay(t), newServers(t)
	for i := range attempts {
		a := &attempts[i]
		var options strings.Builder
		for _, s := range a.settings(servers.dir) {
			if s[1] != "" {
				fmt.Fprintf(&options, " %s='%s'", s[0], s[1])
			}
		}
		conn, err := dial(t, servers.address(t, a), options.String())
		t.Logf("%v: %v", a, err)
		switch {
		case a.login == "" && err != nil:
			t.Errorf("%v: %v", a, err)
		case a.login == "":
			callEverything(t, conn, a)
		case sqlState(err) != a.login || !strings.Contains(err.Error(), a.refusal()):
			t.Errorf("%v: %v; want %s: %s", a, err, a.login, a.refusal())
		}
	}
}

// callEverything calls each function in each protocol, as a value and in FROM, with
// arguments and with NULLs, which nobody without a name gets to hear of.
func callEverything(t *testing.T, conn *pgconn.PgConn, a *attempt) {
	t.Helper()
	forms := []string{"SELECT %s", "SELECT * FROM %s"}
	if a.with == "auth_query" { // there is an upstream
		forms = append(forms, "SELECT called.* FROM pg_catalog.pg_database d, %s called WHERE d.datname = current_database()")
	}
	for _, f := range sqlfuncs.Functions {
		want := a.call
		if f.Admin && want == "" { // the servers have no administrators
			want = "42501"
		}
		ofNulls := cmp.Or(want, "22004")
		values, nulls := make([]string, len(f.Args)), make([]string, len(f.Args))
		for i := range f.Args {
			nulls[i], values[i] = "NULL", "'who may'"
			switch f.Args[i].Type {
			case datum.Int8:
				values[i] = strconv.FormatInt(max(f.Args[i].Min, 1), 10)
			case datum.TextArray:
				values[i] = "'{who may}'"
			}
		}
		for i, form := range forms {
			if f.Set && i == 0 {
				continue // it is no value
			}
			for _, c := range []struct {
				args []string
				want string
			}{{nulls, ofNulls}, {values, want}} {
				sql := fmt.Sprintf(form, f.Name+"("+strings.Join(c.args, ", ")+")")
				if _, err := conn.Exec(t.Context(), sql).ReadAll(); !ended(err, c.want) {
					t.Errorf("%v: %s: %v; want %q", a, sql, err, c.want)
				}
				if result := conn.ExecParams(t.Context(), sql, nil, nil, nil, nil).Read(); !ended(result.Err, c.want) {
					t.Errorf("%v: %s, extended: %v; want %q", a, sql, result.Err, c.want)
				}
			}
		}
	}
	if _, err := conn.Exec(t.Context(), "SELECT 1").ReadAll(); err != nil {
		t.Errorf("%v: the session does not go on: %v", a, err)
	}
}

// ended says whether a statement ended in this SQLSTATE; "" is without an error.
func ended(err error, state string) bool {
	if state == "" {
		return err == nil
	}
	return sqlState(err) == state
}
