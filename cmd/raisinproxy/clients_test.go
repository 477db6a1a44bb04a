//go:build linux

package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	// Needed by programs under testdata, which go mod tidy does not look at.
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/lib/pq"

	"raisinproxy/internal/testservers"
	"raisinproxy/pgwire/wiretest"
)

// repository is where the client programs run.
const repository = "../.."

// The clients of testdata/clients/README.md. Without a command it is a Go program.
var clients = []client{
	{"psql", "sh testdata/clients/psql/client.sh"},
	{"pgx", ""},
	{"pgxstdlib", ""},
	{"libpq", ""},
	{"psycopg2", "/usr/bin/python3 testdata/clients/psycopg2/client.py"},
	{"pygresql", "/usr/bin/python3 testdata/clients/pygresql/client.py"},
	{"psycopg3", "/usr/bin/python3 testdata/clients/psycopg3/client.py"},
	{"sqlalchemy", "/usr/bin/python3 testdata/clients/sqlalchemy/client.py"},
	{"django", "/usr/bin/python3 testdata/clients/django/client.py"},
	{"node", "node testdata/clients/node/client.js"},
	{"jdbc", "java -cp /usr/share/java/postgresql.jar testdata/clients/jdbc/Client.java"},
	{"odbc", "sh testdata/clients/odbc/client.sh"},
	{"perl", "perl testdata/clients/perl/client.pl"},
	{"ruby", "ruby testdata/clients/ruby/client.rb"},
	{"activerecord", "ruby testdata/clients/activerecord/client.rb"},
	{"php", "php testdata/clients/php/client.php"},
}

// relations are the clients that have a mode for the functions that return rows.
var relations = []string{"psql", "pgx", "jdbc", "psycopg3", "node", "odbc"}

type client struct{ name, command string }

// argv is how a client runs whose Go programs are in bin.
func (c client) argv(bin string) []string {
	return strings.Fields(cmp.Or(c.command, filepath.Join(bin, c.name)))
}

// TestClients runs one scenario with every client library against the program: each
// prints what testdata/clients/golden says.
func TestClients(t *testing.T) {
	testClients(t, nil, func(*testing.T, string) {}, "--dev-mode", "--port", "0")
}

// TestClientsThroughProxy is TestClients with a PostgreSQL behind the program, and with
// calls inside statements that run there, for the clients that have the mode.
func TestClientsThroughProxy(t *testing.T) {
	config := filepath.Join(t.TempDir(), "raisin.toml")
	upstream, err := url.Parse(wiretest.PostgresURL(t))
	if err != nil {
		t.Fatal(err)
	}
	admin := upstream.String()
	upstream.Path = "/" // each client works in its own
	text := fmt.Sprintf(`
[pgwire]
port = 0
[auth]
method = "trust"
allow_anonymous = true
allow_anonymous_sql = true
[locks]
enabled = true
[locks.inprocess]
data_dir = ""
[upstream]
url = %q
`, upstream)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	testClients(t, []string{"psql", "pgx", "jdbc", "psycopg3", "node"}, func(t *testing.T, database string) {
		createDatabase(t, admin, database)
	}, "--config", config)
}

// createDatabase makes an empty database for the time of a test.
func createDatabase(t *testing.T, admin, name string) {
	t.Helper()
	conn, err := pgconn.Connect(t.Context(), admin)
	if err != nil {
		t.Fatal(err)
	}
	run := func(sql string) {
		if _, err := conn.Exec(context.Background(), sql).ReadAll(); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	run("DROP DATABASE IF EXISTS " + name + " WITH (FORCE)")
	run("CREATE DATABASE " + name + " TEMPLATE template0")
	t.Cleanup(func() {
		run("DROP DATABASE " + name + " WITH (FORCE)")
		conn.Close(context.Background())
	})
}

// testClients runs the program with args, and the clients against it; those in mixed have
// that mode too. prepare is told of the database that one will work in.
func testClients(t *testing.T, mixed []string, prepare func(t *testing.T, database string), args ...string) {
	t.Helper()
	packages := []string{"./cmd/raisinproxy"}
	for _, c := range clients {
		if c.command == "" {
			packages = append(packages, "./testdata/clients/"+c.name)
		}
	}
	bin := build(t, packages...)
	address := serveClients(t, filepath.Join(bin, "raisinproxy"), args...)
	for _, c := range clients {
		argv := c.argv(bin)
		modes := []string{"scenario", "anonymous"}
		if c.name == "psql" {
			modes = append(modes, "meta")
		}
		if slices.Contains(mixed, c.name) {
			modes = append(modes, "mixed")
		}
		if slices.Contains(relations, c.name) {
			modes = append(modes, "relations")
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var modules []string
			if c.command != "" {
				modules = present(t, c.name)
			}
			for _, mode := range modes {
				t.Run(mode, func(t *testing.T) {
					user := "alice"
					if mode == "anonymous" {
						user = mode
					}
					cmd := exec.CommandContext(deadline(t), argv[0], argv[1:]...)
					if mode != "scenario" {
						cmd.Args = append(cmd.Args, mode)
					}
					cmd.Dir = repository
					// A database of its own: nobody has claimed from its pools.
					prepare(t, c.name+"_"+mode)
					cmd.Env = append(clientEnv(t, address, user, c.name+"_"+mode), modules...)
					checkOutput(t, cmd, filepath.Join(repository, "testdata/clients/golden", mode+".txt"))
				})
			}
		})
	}
}

// TestPsqlFeelsAtHome is psql as a person uses it, at a terminal.
func TestPsqlFeelsAtHome(t *testing.T) {
	present(t, "psql")
	address := serveClients(t, filepath.Join(build(t, "./cmd/raisinproxy"), "raisinproxy"), "--dev-mode", "--port", "0")
	_, port, _ := net.SplitHostPort(address)
	p := startPsql(t, clientEnv(t, address, "alice", "shop"))
	const prompt = "shop=> "

	greeting := p.await(t, prompt)
	if strings.Contains(greeting, "WARNING") || !strings.Contains(greeting, `Type "help" for help.`) {
		t.Errorf("psql begins with\n%s", greeting)
	}
	const claim = "SELECT * FROM raisin_inventory_claim('front row', 1, 100)"
	for _, step := range []struct{ line, want string }{
		{`\conninfo`, `as user "alice" on host "127.0.0.1" at port "` + port + `"`},
		{claim + ` \gdesc`, " claimed   | boolean\n remaining | bigint\n(2 rows)\n"}, // and claims nothing
		{`\timing`, "Timing is on.\n"},
		{claim + ";", " t       |        99\n(1 row)\n\nTime: "},
		{`\timing`, "Timing is off.\n"},
		{"BEGIN;", "BEGIN\n"},
	} {
		p.enter(t, step.line)
		inside := prompt
		if step.line == "BEGIN;" {
			inside = "shop=*> "
		}
		if got := p.await(t, inside); !strings.Contains(got, step.want) {
			t.Errorf("%s\n%s\nwant it to have\n%s", step.line, got, step.want)
		}
	}

	// psql of version 15 watches until it is interrupted. In the transaction that it
	// leaves, an error shows in the prompt.
	p.enter(t, claim+` \watch 0.01`)
	p.await(t, " t       |        98\n(1 row)\n")
	p.await(t, " t       |        97\n(1 row)\n")
	p.write(t, "\x03")
	p.await(t, "> ") // !: if the interrupt came while a round ran
	p.enter(t, "SELECT no_such_function();")
	if got := p.await(t, "shop=!> "); !strings.Contains(got, "ERROR: ") {
		t.Errorf("an unknown function gives\n%s", got)
	}
	p.enter(t, "ROLLBACK;")
	p.await(t, prompt)
	p.enter(t, `\q`)
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("psql ends with %v", err)
	}
}

// build compiles programs of the module, named from its root, with the race detector
// if the tests have it, and returns the folder that they are in.
func build(t *testing.T, packages ...string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: it builds programs")
	}
	dir := t.TempDir()
	args := []string{"build", "-o", dir + "/"}
	if info, ok := debug.ReadBuildInfo(); ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		args = append(args, "-race")
	}
	cmd := exec.CommandContext(t.Context(), "go", append(args, packages...)...)
	cmd.Dir = repository
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	return dir
}

// serveClients runs the program in dev mode until the test and its subtests are over, and
// returns where it listens.
func serveClients(t *testing.T, program string, args ...string) (address string) {
	t.Helper()
	p, err := testservers.StartProxy(t.Context(), testservers.Options{Path: program, Args: args})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(context.Background()); err != nil || strings.Contains(p.Log().String(), `"level":"ERROR"`) {
			t.Errorf("the program ends with: %v\n%s", err, p.Log())
		}
	})
	return p.Address
}

// present fails the test if what a client needs is not installed, and returns what is
// to be added to its environment.
func present(t *testing.T, client string) (env []string) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: it needs installed clients")
	}
	out, err := exec.CommandContext(t.Context(), "sh", filepath.Join(repository, "testdata/clients/install.sh"), "--check", client).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if _, path, ok := strings.Cut(string(out), "NODE_PATH="); ok {
		env = append(env, "NODE_PATH="+strings.TrimSpace(path))
	}
	return env
}

// clientEnv is our environment with libpq's variables for a session, and no others of its.
func clientEnv(t *testing.T, address, user, database string) []string {
	t.Helper()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PG") || strings.HasPrefix(v, "PSQL") })
	return append(env, "PGHOST="+host, "PGPORT="+port, "PGUSER="+user, "PGDATABASE="+database,
		"PGPASSWORD=", "PGSSLMODE=disable", "PSQL_PAGER=", "LC_ALL=C.UTF-8")
}

// deadline bounds what takes seconds on an idle machine.
func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// checkOutput runs a program, which has to succeed and to print what the file holds.
func checkOutput(t *testing.T, cmd *exec.Cmd, golden string) {
	t.Helper()
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if stdout, stderr, err := runClient(cmd); err != nil || stdout != string(want) {
		t.Errorf("%v: %v\n--- it prints\n%s--- want\n%s--- its stderr\n%s", cmd, err, stdout, want, stderr)
	}
}

// runClient runs a program and gives what it prints.
func runClient(cmd *exec.Cmd) (stdout, stderr string, err error) {
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	// Shell scripts have children: end the whole group.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	err = cmd.Run()
	return out.String(), errs.String(), err
}

// psqlTerminal is a psql that has a terminal, and the person at it.
type psqlTerminal struct {
	cmd      *exec.Cmd
	keyboard io.ReadWriter
	screen   []byte // not looked at yet
}

func startPsql(t *testing.T, env []string) *psqlTerminal {
	t.Helper()
	return startAtTerminal(t, "", env, "psql", "-X", "-n") // -n: lines as they are, no readline
}

func startAtTerminal(t *testing.T, dir string, env []string, command ...string) *psqlTerminal {
	t.Helper()
	terminal, keyboard := openPTY(t)
	cmd := exec.CommandContext(deadline(t), command[0], command[1:]...)
	cmd.Dir, cmd.Env = dir, env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	terminal.Close() // now a read of the other side ends when psql has ended
	return &psqlTerminal{cmd: cmd, keyboard: keyboard}
}

func (p *psqlTerminal) enter(t *testing.T, line string) { t.Helper(); p.write(t, line+"\n") }

func (p *psqlTerminal) write(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(p.keyboard, text); err != nil {
		t.Fatal(err)
	}
}

// await reads the screen up to text and returns what came before it.
func (p *psqlTerminal) await(t *testing.T, text string) string {
	t.Helper()
	for {
		if before, after, ok := bytes.Cut(p.screen, []byte(text)); ok {
			p.screen = after
			return string(before)
		}
		p.look(t, text)
	}
}

// look adds to the screen what comes next. wanted is what the reader waits for.
func (p *psqlTerminal) look(t *testing.T, wanted string) {
	t.Helper()
	buffer := make([]byte, 4096)
	n, err := p.keyboard.Read(buffer)
	if err != nil {
		t.Fatalf("psql ends (%v) without %q:\n%s", errors.Join(err, p.cmd.Wait()), wanted, p.screen)
	}
	p.screen = append(p.screen, bytes.ReplaceAll(buffer[:n], []byte("\r"), nil)...)
}
