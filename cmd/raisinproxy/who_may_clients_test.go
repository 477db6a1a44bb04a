//go:build linux

package main

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestWhoMayDoWhatByClient is TestWhoMayDoWhat by programs with a driver each, which take a
// lock: what the table says holds for each of them.
func TestWhoMayDoWhatByClient(t *testing.T) {
	bin := build(t, "./testdata/clients/pgx")
	for _, c := range clients {
		if !slices.Contains([]string{"psql", "pgx", "jdbc", "node"}, c.name) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			// Servers of its own: failures of another client would have this one wait.
			attempts, servers := whoMay(t), newServers(t)
			said := logIn(t, c, bin, attempts, servers)
			for i := range attempts {
				a := &attempts[i]
				t.Logf("%v: %s", a, said[i])
				want := a.saidBy(c.name)
				if said[i] != want && (want != "refused: " || !strings.HasPrefix(said[i], want)) {
					t.Errorf("%v: %s says %s; want %s", a, c.name, said[i], want)
				}
			}
		})
	}
}

// logIn runs a client's program for all attempts, and gives what it says of each.
func logIn(t *testing.T, c client, bin string, attempts []attempt, servers *servers) []string {
	t.Helper()
	var modules []string
	if c.command != "" {
		modules = present(t, c.name)
	}
	var logins strings.Builder
	for i := range attempts {
		logins.WriteString(variables(t, c.name, &attempts[i], servers))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // psql starts for each of them
	defer cancel()
	argv := append(c.argv(bin), "logins")
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = repository
	cmd.Env = append(clientEnv(t, "127.0.0.1:0", "", "shop"), modules...)
	cmd.Stdin = strings.NewReader(logins.String())
	stdout, stderr, err := runClient(cmd)
	said := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
	if err != nil || len(said) != len(attempts) {
		t.Fatalf("%v: %v: %d lines for %d log-ins\n%s--- its stderr\n%s", cmd, err, len(said), len(attempts), stdout, stderr)
	}
	return said
}

// variables are the line of an attempt: libpq's variables and their values, between tabs.
func variables(t *testing.T, client string, a *attempt, servers *servers) string {
	t.Helper()
	_, port, err := net.SplitHostPort(servers.address(t, a))
	if err != nil {
		t.Fatal(err)
	}
	line := "PGPORT=" + port
	for _, s := range a.settings(servers.dir) {
		value := s[1]
		if client == "jdbc" && s[0] == "sslkey" {
			value = strings.Replace(value, ".pem", ".pk8", 1)
		}
		line += "\tPG" + strings.ToUpper(strings.ReplaceAll(s[0], "_", "")) + "=" + value
	}
	return line + "\n"
}

// byThemselves is what clients say of attempts that they end before the server does.
var byThemselves = map[string]string{
	// They do not send an empty password. (pgx does, and node-postgres in clear text.)
	`psql scram-sha-256 password="" cert=""`: "fe_sendauth: no password supplied",
	`psql password password="" cert=""`:      "fe_sendauth: no password supplied",
	`jdbc scram-sha-256 password="" cert=""`: "08004",
	`jdbc password password="" cert=""`:      "08004",
	`node scram-sha-256 password="" cert=""`: "SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string",
	// OpenSSL shows whichever certificate it has, and the hand-shake fails, or the connection
	// does just after it. Go and Java show none that the server did not ask for.
	`psql cert password="" cert="stranger"`: "",
	`node cert password="" cert="stranger"`: "",
}

// saidBy is a client's line on an attempt; "refused: " alone is any refusal. psql tells the
// text only, since libpq keeps the SQLSTATE of a refused connection to itself.
func (a *attempt) saidBy(client string) string {
	itself, ends := byThemselves[fmt.Sprintf("%s %s password=%q cert=%q", client, a.method, a.password, a.cert)]
	switch {
	case a.login == "" && a.call == "":
		return "connected: t"
	case a.login == "":
		return "connected: " + a.call
	case ends && a.tls != "none":
		return "refused: " + itself
	case client == "psql":
		return "refused: " + a.refusal()
	}
	return "refused: " + a.login
}
