package redistest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"raisinproxy/internal/testservers"
)

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
	options testservers.RedisOptions
	process *testservers.Redis
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
	return start(t, testservers.RedisOptions{Lines: lines, Env: env})
}

// start runs a server in a folder of its own.
func start(t testing.TB, options testservers.RedisOptions) *Server {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: it needs a Redis")
	}
	options.Program = program(t)
	dir, err := os.MkdirTemp("", "redis") //nolint:usetesting // the path of a unix socket has to be short
	if err != nil {
		t.Fatal(err)
	}
	options.Dir = dir
	s := &Server{Dir: dir, t: t, options: options}
	t.Cleanup(func() {
		if s.process != nil {
			s.process.Kill()
			s.admin.Close()
			if t.Failed() {
				t.Logf("the end of the log of the server on port %d:\n%s", s.Port, s.process.Log().Tail())
			}
		}
		os.RemoveAll(dir)
	})
	s.launch()
	s.admin = redis.NewClient(&redis.Options{Addr: s.Addr(), Protocol: 2, MaxRetries: -1, ContextTimeoutEnabled: true, DisableIdentity: true})
	return s
}

// launch starts the process on s.Dir and waits until it accepts connections. (It may
// be LOADING then.)
func (s *Server) launch() {
	s.t.Helper()
	options := s.options
	if !s.isSentinel() {
		options.Lines = append([]string{"repl-diskless-sync-delay 0", s.debugging()}, options.Lines...)
	}
	process, err := testservers.StartRedis(s.t.Context(), options)
	if err != nil {
		s.t.Fatal(err)
	}
	s.process, s.Port, s.options.Port = process, process.Port, process.Port
}

// debugging allows the command DEBUG, where that has to be said.
func (s *Server) debugging() string {
	version, err := exec.CommandContext(s.t.Context(), s.options.Program, "--version").Output()
	if err != nil {
		s.t.Fatalf("%s --version: %v", s.options.Program, err)
	}
	if strings.Contains(string(version), " v=6.") {
		return ""
	}
	return "enable-debug-command yes"
}

func (s *Server) isSentinel() bool { return len(s.options.Args) > 0 }

// Addr is host:port.
func (s *Server) Addr() string { return fmt.Sprintf("127.0.0.1:%d", s.Port) }

// URL is the address as redis:// URL.
func (s *Server) URL() string { return "redis://" + s.Addr() + "/0" }

// Socket is the path of the unix socket that it listens on too.
func (s *Server) Socket() string { return testservers.RedisSocket(s.Dir) }

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
	s.process.Kill()
}

// Stop halts the process where it is: connections stay open and nothing answers.
func (s *Server) Stop() {
	s.t.Helper()
	s.signal(syscall.SIGSTOP)
	// The signal is sent when kill returns; that the process has stopped is another thing.
	s.Await("the process has stopped", func(context.Context) bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.process.Pid()))
		return err != nil || strings.Contains(string(stat), ") T ") // err: no Linux, where nobody can tell
	})
}

// Continue lets a stopped process go on. What was sent to it meanwhile it does now.
func (s *Server) Continue() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// Restart starts the killed server again on its folder and its port, with other
// lines of configuration if some are given.
func (s *Server) Restart(lines ...string) {
	s.t.Helper()
	if len(lines) > 0 {
		s.options.Lines = lines
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
	err := testservers.Await(t.Context(), func(ctx context.Context) error {
		if !condition(ctx) {
			return errors.New("not yet")
		}
		return nil
	})
	if err != nil {
		t.Fatalf("gave up waiting until %s: %v", what, err)
	}
}

func freePort(t testing.TB) int {
	t.Helper()
	port, err := testservers.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return port
}
