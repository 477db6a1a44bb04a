//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"raisinproxy/backend/redis/redistest"
	"raisinproxy/internal/testservers"
	"raisinproxy/pgwire/wiretest"
)

// The ports that documents name, and what they say of the PostgreSQL behind the proxy.
const (
	shownPort     = "6433"
	shownRedis    = "6379"
	shownUpstream = "postgres://service@127.0.0.1:5432/"
)

// place is where a document's commands run: a folder with the program in bin, servers on
// free ports in place of those that the document names.
type place struct {
	dir, program string
	env          []string
	ports        map[bool]string // of the servers with and without a PostgreSQL
	started      map[bool]bool
	upstream     bool   // which of them the block at hand means
	database     string // the URL of the PostgreSQL behind, once needed
	redis        string // its port, once needed
}

func newPlace(t *testing.T, program string) *place {
	t.Helper()
	p := &place{dir: t.TempDir(), program: program, started: map[bool]bool{},
		ports: map[bool]string{false: freePort(t), true: freePort(t)}}
	tools := filepath.Join(p.dir, "bin")
	must(t, os.Mkdir(tools, 0o750))
	must(t, os.Symlink(program, filepath.Join(tools, "raisinproxy")))
	// The one that the packages of the clients belong to.
	must(t, os.Symlink("/usr/bin/python3", filepath.Join(tools, "python3")))
	p.env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "PG") || strings.HasPrefix(v, "PSQL") || strings.HasPrefix(v, "RAISIN_") || strings.HasPrefix(v, "MAKE")
	})
	p.env = append(p.env, "PATH="+tools+":"+os.Getenv("PATH"), "PSQL_PAGER=", "PSQLRC=/dev/null", "LC_ALL=C.UTF-8", "TZ=UTC")
	return p
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// write makes a file of a block, and what its language needs beside it.
func (p *place) write(t *testing.T, name, text string) {
	t.Helper()
	text = p.real(t, text)
	must(t, os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600))
	switch filepath.Ext(name) {
	case ".py":
		present(t, "psycopg3")
	case ".js": // what `npm install pg` would make
		for _, variable := range present(t, "node") {
			_, modules, _ := strings.Cut(variable, "NODE_PATH=")
			if err := os.Symlink(modules, filepath.Join(p.dir, "node_modules")); !errors.Is(err, fs.ErrExist) {
				must(t, err)
			}
		}
	case ".go": // what `go get` would write, with the versions of this module
		for _, file := range []string{"go.mod", "go.sum"} {
			text, err := os.ReadFile(filepath.Join(repository, file))
			must(t, err)
			must(t, os.WriteFile(filepath.Join(p.dir, file), text, 0o600))
		}
	}
}

// start starts the server that the block at hand means, once.
func (p *place) start(t *testing.T) {
	t.Helper()
	if p.started[p.upstream] {
		return
	}
	p.started[p.upstream] = true
	args := []string{"--dev-mode", "--port", p.port()}
	if p.upstream {
		config := filepath.Join(t.TempDir(), "raisin.toml")
		must(t, os.WriteFile(config, []byte(upstreamConfig(p.postgres(t))), 0o600))
		args = []string{"--config", config, "--port", p.port()}
	}
	serveClients(t, p.program, args...)
}

func (p *place) port() string { return p.ports[p.upstream] }

// real is a text of the document with the servers of this run.
func (p *place) real(t *testing.T, text string) string {
	t.Helper()
	if strings.Contains(text, shownUpstream) {
		text = strings.ReplaceAll(text, shownUpstream, p.postgres(t))
	}
	if strings.Contains(text, shownRedis) {
		text = strings.ReplaceAll(text, shownRedis, p.redisPort(t))
	}
	return strings.ReplaceAll(text, shownPort, p.port())
}

// shown is what this run printed, as the document would have it.
func (p *place) shown(text string) string {
	for _, before := range []string{":", "port "} {
		text = strings.ReplaceAll(text, before+p.port(), before+shownPort)
	}
	return strings.ReplaceAll(text, p.dir+"/", "")
}

// postgres is the URL of a database whose owner, `service`, is no superuser.
func (p *place) postgres(t *testing.T) string {
	t.Helper()
	if p.database != "" {
		return p.database
	}
	admin := wiretest.PostgresURL(t)
	createOwner(t, admin)
	createDatabase(t, admin, "documents")
	runSQL(t, admin, "ALTER DATABASE documents OWNER TO service")
	own, err := url.Parse(admin)
	must(t, err)
	own.User, own.Path = url.User("service"), "/documents"
	p.database = own.String()
	return p.database
}

// createOwner makes the role that the documents call service, for the time of a test.
func createOwner(t *testing.T, admin string) {
	t.Helper()
	runSQL(t, admin, "DROP ROLE IF EXISTS service")
	runSQL(t, admin, "CREATE ROLE service LOGIN PASSWORD 'its password'")
	t.Cleanup(func() { runSQL(t, admin, "DROP ROLE service") })
}

// runSQL runs a statement on a PostgreSQL.
func runSQL(t *testing.T, server, sql string) {
	t.Helper()
	conn, err := pgconn.Connect(context.Background(), server)
	must(t, err)
	defer conn.Close(context.Background())
	if _, err := conn.Exec(context.Background(), sql).ReadAll(); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func (p *place) redisPort(t *testing.T) string {
	t.Helper()
	if p.redis == "" {
		p.redis = strconv.Itoa(redistest.Start(t, redistest.AOFAlways).Port)
	}
	return p.redis
}

// freePort is a port on which nobody listens now.
func freePort(t *testing.T) string {
	t.Helper()
	port, err := testservers.FreePort()
	must(t, err)
	return strconv.Itoa(port)
}

// shell is a sh that runs the commands of a document one after the other.
type shell struct {
	dir   string
	input io.Writer
	lines *bufio.Reader
	ready *net.UnixConn // where programs say READY=1
}

func startShell(t *testing.T, p *place) *shell {
	t.Helper()
	socket := filepath.Join(p.dir, "bin", "notify")
	ready, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	must(t, err)
	cmd := exec.Command("sh") // not of the test's context, which ends before the clean-up
	cmd.Dir, cmd.Env = p.dir, append(slices.Clone(p.env), "NOTIFY_SOCKET="+socket)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	input, err := cmd.StdinPipe()
	must(t, err)
	output, writer, err := os.Pipe()
	must(t, err)
	cmd.Stdout, cmd.Stderr = writer, writer
	must(t, cmd.Start())
	writer.Close()
	t.Cleanup(func() {
		input.Close()
		syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		cmd.Wait()
		_, _ = io.Copy(io.Discard, output) // to the end: what it started has ended, too
		output.Close()
		ready.Close()
	})
	s := &shell{dir: p.dir, input: input, lines: bufio.NewReader(output), ready: ready}
	makefile, err := filepath.Abs(repository)
	must(t, err)
	s.run(t, fmt.Sprintf(`make() { command make -C '%s' "$@"; }`, makefile))
	return s
}

// use makes the port that of programs that are started from now on.
func (s *shell) use(t *testing.T, port string) {
	t.Helper()
	s.run(t, "export RAISIN_PORT="+port)
}

const endOfCommand = "--- end of the command"

// run runs a command and returns what it prints. One that ends with & is a server: it
// prints into a file, and run returns when clients can connect to it.
func (s *shell) run(t *testing.T, command string) string {
	t.Helper()
	server, background := strings.CutSuffix(command, "&")
	if background {
		log := ""
		if !strings.Contains(server, ">") {
			log = ">raisinproxy.log 2>&1 "
		}
		command = server + log + "&"
	}
	_, err := fmt.Fprintf(s.input, "{\n%s\n} </dev/null\necho '%s'\n", command, endOfCommand)
	must(t, err)
	var output strings.Builder
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			t.Fatalf("the shell ends (%v) in %s\n%s", err, command, output.String())
		}
		before, _, end := strings.Cut(line, endOfCommand)
		output.WriteString(before)
		if end {
			break
		}
	}
	if background {
		s.await(t, command)
	}
	return output.String()
}

// await waits until a server says that it is ready.
func (s *shell) await(t *testing.T, command string) {
	t.Helper()
	deadline, _ := deadline(t).Deadline()
	must(t, s.ready.SetReadDeadline(deadline))
	state := make([]byte, 1024)
	for {
		n, err := s.ready.Read(state)
		if err != nil {
			log, _ := os.ReadFile(filepath.Join(s.dir, "raisinproxy.log"))
			t.Fatalf("%s is not ready: %v\n%s", command, err, log)
		}
		if strings.Contains(string(state[:n]), "READY=1") {
			return
		}
	}
}

// startPsqlAs starts the psql of a command at a terminal.
func startPsqlAs(t *testing.T, p *place, command string) *psqlTerminal {
	t.Helper()
	arguments, ok := strings.CutPrefix(command, "psql ")
	if !ok {
		t.Fatalf("a prompt of psql follows %q", command)
	}
	return startAtTerminal(t, p.dir, p.env, "sh", "-c", "exec psql -X -n "+arguments)
}
