package main

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
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"raisinproxy/testdata/bench/proc"
)

// The users of the server that is attacked.
const (
	alice, alicePassword     = "alice", "an innocent's"
	mallory, malloryPassword = "mallory", "an attacker's"
)

// server is one that runs, and a client that was there before anybody else.
type server struct {
	command  *exec.Cmd
	dir      string
	port     int
	innocent *pgx.Conn
}

const configuration = `[pgwire]
port = %d
max_connections = %d
[auth]
users_file = "users.txt"
[locks]
enabled = true
[locks.inprocess]
data_dir = ""
`

// startServer returns when the innocent client is logged in.
func startServer(ctx context.Context, program string, connections int) (*server, error) {
	dir, err := os.MkdirTemp("", "raisin-floods-")
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	config, users := fmt.Sprintf(configuration, port, connections), fmt.Sprintf("%q %q\n%q %q\n", alice, alicePassword, mallory, malloryPassword)
	path := filepath.Join(dir, "raisin.toml")
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	defer log.Close() // the server has it too
	if err := errors.Join(os.WriteFile(path, []byte(config), 0o600), os.WriteFile(filepath.Join(dir, "users.txt"), []byte(users), 0o600)); err != nil {
		return nil, err
	}
	s := &server{command: exec.Command(program, "--config", path), dir: dir, port: port}
	s.command.Stdout, s.command.Stderr = log, log
	// A group of its own: an interrupt from the terminal is for us, who stop it.
	s.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.command.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if s.innocent, err = s.greet(ctx); err != nil {
		return nil, errors.Join(err, s.stop(ctx))
	}
	return s, nil
}

// greet logs in as soon as the server lets it.
func (s *server) greet(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		conn, err := pgx.Connect(ctx, s.url())
		if err == nil {
			return conn, nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			said, _ := os.ReadFile(filepath.Join(s.dir, "log")) // the error stands without it
			return nil, fmt.Errorf("%w: %s", err, said)
		}
	}
}

func (s *server) address() string { return fmt.Sprintf("127.0.0.1:%d", s.port) }

func (s *server) url() string {
	return fmt.Sprintf("host=127.0.0.1 port=%d user=%s password='%s' dbname=shop sslmode=disable",
		s.port, alice, "an innocent\\'s")
}

func (s *server) peak() (int64, error) { return proc.Peak(s.command.Process.Pid) }

// stop ends the server as an operator would, and wants it to end well.
func (s *server) stop(ctx context.Context) error {
	if s.innocent != nil {
		_ = s.innocent.Close(context.WithoutCancel(ctx)) // the server goes too
	}
	_ = s.command.Process.Signal(syscall.SIGTERM) // it may have ended
	return errors.Join(s.command.Wait(), os.RemoveAll(s.dir))
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// attacker is this program again, in its other part. It ends with its input.
type attacker struct {
	command *exec.Cmd
	input   io.Closer
}

// startAttacker returns when the attack is under way.
func startAttacker(ctx context.Context, name, address string) (*attacker, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	a := &attacker{command: exec.CommandContext(ctx, self, "-attack", name, "-address", address)}
	a.command.Stderr = os.Stderr
	output, err := a.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if a.input, err = a.command.StdinPipe(); err != nil {
		return nil, err
	}
	if err := a.command.Start(); err != nil {
		return nil, err
	}
	if line, err := bufio.NewReader(output).ReadString('\n'); line != underWay {
		return nil, errors.Join(fmt.Errorf("the attack did not begin: %q", line), err, a.stop())
	}
	return a, nil
}

func (a *attacker) stop() error { return errors.Join(a.input.Close(), a.command.Wait()) }
