package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/jackc/pgx/v5"

	"raisinproxy/internal/testservers"
	"raisinproxy/testdata/bench/proc"
)

// The users of the server that is attacked.
const (
	alice, alicePassword     = "alice", "an innocent's"
	mallory, malloryPassword = "mallory", "an attacker's"
)

// server is one that runs, and a client that was there before anybody else.
type server struct {
	*testservers.Proxy
	dir      string
	innocent *pgx.Conn
}

const configuration = `[pgwire]
port = 0
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
	path := filepath.Join(dir, "raisin.toml")
	users := fmt.Sprintf("%q %q\n%q %q\n", alice, alicePassword, mallory, malloryPassword)
	err = errors.Join(os.WriteFile(path, fmt.Appendf(nil, configuration, connections), 0o600), os.WriteFile(filepath.Join(dir, "users.txt"), []byte(users), 0o600))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	proxy, err := testservers.StartProxy(ctx, testservers.Options{Path: program, Args: []string{"--config", path}})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	s := &server{Proxy: proxy, dir: dir}
	if s.innocent, err = pgx.Connect(ctx, s.url()); err != nil {
		return nil, errors.Join(err, s.stop(ctx))
	}
	return s, nil
}

func (s *server) url() string {
	return fmt.Sprintf("host=127.0.0.1 port=%d user=%s password='%s' dbname=shop sslmode=disable",
		s.Port, alice, "an innocent\\'s")
}

func (s *server) peak() (int64, error) { return proc.Peak(s.Pid()) }

// stop ends the server as an operator would, and wants it to end well.
func (s *server) stop(ctx context.Context) error {
	if s.innocent != nil {
		_ = s.innocent.Close(context.WithoutCancel(ctx)) // the server goes too
	}
	return errors.Join(s.Stop(context.WithoutCancel(ctx)), os.RemoveAll(s.dir))
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
