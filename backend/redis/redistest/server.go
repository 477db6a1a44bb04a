package redistest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// patience is how long a server may take to do what a test waits for. It only ends
// tests that would hang.
const patience = 30 * time.Second

// Configuration lines for Start.
const (
	// AOFAlways syncs every change before it is acknowledged.
	AOFAlways = "appendonly yes\nappendfsync always"
	// RDBOnly keeps a snapshot when Save is called and nothing else.
	RDBOnly = "appendonly no\nsave \"\""
)

// Server is one redis-server. Its methods fail the test if they cannot do what they
// say. They are not safe for concurrent use.
type Server struct {
	Dir  string // where it keeps its files
	Port int

	t       testing.TB
	name    string // of the program
	args    []string
	lines   []string
	env     []string
	process *process
	admin   *redis.Client
}

// Start runs a redis-server with these lines of configuration after the defaults: no
// snapshots, no AOF. The test's end stops it.
func Start(t testing.TB, lines ...string) *Server {
	t.Helper()
	return StartEnv(t, nil, lines...)
}

// StartEnv is Start with additional variables for the process, LD_PRELOAD say.
func StartEnv(t testing.TB, env []string, lines ...string) *Server {
	t.Helper()
	s := prepare(t, freePort(t), lines)
	s.env = env
	s.launch()
	return s
}

// prepare makes a server that is not running yet.
func prepare(t testing.TB, port int, lines []string, args ...string) *Server {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: it needs a Redis")
	}
	dir, err := os.MkdirTemp("", "redis") //nolint:usetesting // the path of a unix socket has to be short
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Dir: dir, Port: port, t: t, name: program(t), args: args, lines: lines}
	s.admin = redis.NewClient(&redis.Options{Addr: s.Addr(), Protocol: 2, MaxRetries: -1, ContextTimeoutEnabled: true, DisableIdentity: true})
	t.Cleanup(func() {
		s.admin.Close()
		if s.process != nil {
			s.process.end(syscall.SIGKILL)
		}
		if t.Failed() && s.process != nil {
			t.Logf("the end of the log of the server on port %d:\n%s", s.Port, s.process.tail())
		}
		os.RemoveAll(dir)
	})
	return s
}

// launch starts the process on s.Dir and waits until it accepts connections. (It may
// be LOADING then.)
func (s *Server) launch() {
	s.t.Helper()
	config := fmt.Sprintf("port %d\nbind 127.0.0.1\ndir %s\nunixsocket %s\nsave \"\"\nappendonly no\n", s.Port, s.Dir, s.Socket())
	config += "repl-diskless-sync-delay 0\n" + s.debugging()
	if s.isSentinel() {
		config = fmt.Sprintf("port %d\nbind 127.0.0.1\ndir %s\n", s.Port, s.Dir)
	}
	file := filepath.Join(s.Dir, "redis.conf")
	config += strings.Join(s.lines, "\n") + "\n"
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.process = run(s.t, s.env, s.name, append([]string{file}, s.args...)...)
	s.Await("the server answers", func(ctx context.Context) bool {
		if s.process.ended() {
			s.t.Fatalf("%s ended at its start:\n%s", s.name, s.process.tail())
		}
		err := s.admin.Ping(ctx).Err()
		// An error is an answer too: LOADING, NOAUTH, MASTERDOWN.
		return err == nil || redis.HasErrorPrefix(err, "")
	})
}

// debugging allows the command DEBUG, where that has to be said.
func (s *Server) debugging() string {
	version, err := exec.CommandContext(s.t.Context(), s.name, "--version").Output()
	if err != nil {
		s.t.Fatalf("%s --version: %v", s.name, err)
	}
	if strings.Contains(string(version), " v=6.") {
		return ""
	}
	return "enable-debug-command yes\n"
}

func (s *Server) isSentinel() bool { return len(s.args) > 0 }

// Addr is host:port.
func (s *Server) Addr() string { return fmt.Sprintf("127.0.0.1:%d", s.Port) }

// URL is the address as redis:// URL.
func (s *Server) URL() string { return "redis://" + s.Addr() + "/0" }

// Socket is the path of the unix socket that it listens on too.
func (s *Server) Socket() string { return filepath.Join(s.Dir, "s") }

// AOF is the file or folder of the append-only file.
func (s *Server) AOF() string {
	if folder := filepath.Join(s.Dir, "appendonlydir"); exists(folder) {
		return folder
	}
	return filepath.Join(s.Dir, "appendonly.aof")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Admin is a client for what the test itself does to the server.
func (s *Server) Admin() *redis.Client { return s.admin }

// Login gives the test's own client a password.
func (s *Server) Login(password string) {
	s.t.Helper()
	options := *s.admin.Options()
	options.Password = password
	s.admin.Close()
	s.admin = redis.NewClient(&options)
}

// EnableTLS has the server listen with a certificate too, on the port that it gives.
func (s *Server) EnableTLS(certFile, keyFile string) (port int) {
	s.t.Helper()
	port = freePort(s.t)
	for _, set := range [][]any{{"tls-auth-clients", "no"}, {"tls-ca-cert-file", certFile}, {"tls-cert-file", certFile}, {"tls-key-file", keyFile}, {"tls-port", port}} {
		s.Do(append([]any{"CONFIG", "SET"}, set...)...)
	}
	return port
}

// Do runs a command and gives its reply.
func (s *Server) Do(args ...any) any {
	s.t.Helper()
	reply, err := s.admin.Do(s.t.Context(), args...).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		s.t.Fatalf("%v: %v", args, err)
	}
	return reply
}

// Info is one field of INFO.
func (s *Server) Info(ctx context.Context, field string) string {
	text, err := s.admin.Info(ctx, "everything").Result()
	if err != nil {
		return ""
	}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && name == field {
			return value
		}
	}
	return ""
}

// Kill ends the process as a crash does, and waits for its end.
func (s *Server) Kill() {
	s.t.Helper()
	s.process.end(syscall.SIGKILL)
}

// Stop halts the process where it is: connections stay open and nothing answers.
func (s *Server) Stop() {
	s.t.Helper()
	s.signal(syscall.SIGSTOP)
	// The signal is sent when kill returns; that the process has stopped is another thing.
	s.Await("the process has stopped", func(context.Context) bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.process.cmd.Process.Pid))
		return err != nil || strings.Contains(string(stat), ") T ") // err: no Linux, where nobody can tell
	})
}

// Continue lets a stopped process go on. What was sent to it meanwhile it does now.
func (s *Server) Continue() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.process.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// Restart starts the killed server again on its folder and its port, with other
// lines of configuration if some are given.
func (s *Server) Restart(lines ...string) {
	s.t.Helper()
	if len(lines) > 0 {
		s.lines = lines
	}
	s.launch()
}

// Await waits until condition holds. It asks again and again, since a server does
// not tell.
func (s *Server) Await(what string, condition func(ctx context.Context) bool) {
	s.t.Helper()
	Await(s.t, what, condition)
}

// Await waits until condition holds.
func Await(t testing.TB, what string, condition func(ctx context.Context) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for !condition(ctx) {
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatalf("gave up waiting until %s", what)
		}
	}
}

func freePort(t testing.TB) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

// process is a child and the end of what it prints.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended and all of its output is read

	mu   sync.Mutex
	last []string
}

func run(t testing.TB, env []string, name string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(name, args...), done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), env...)
	// A test that is killed takes its servers with it.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	output, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stderr = p.cmd.Stdout
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		p.read(output)
		p.cmd.Wait()
	}()
	return p
}

func (p *process) read(output io.Reader) {
	const kept = 40
	for lines := bufio.NewScanner(output); lines.Scan(); {
		p.mu.Lock()
		if p.last = append(p.last, lines.Text()); len(p.last) > kept {
			p.last = p.last[1:]
		}
		p.mu.Unlock()
	}
}

func (p *process) tail() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.last, "\n")
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// end sends a signal that ends the process, stopped or not, and waits for that.
func (p *process) end(sig syscall.Signal) {
	p.cmd.Process.Signal(sig)
	<-p.done
}
