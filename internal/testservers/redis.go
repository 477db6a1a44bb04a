package testservers

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// RedisOptions say what to start, and where.
type RedisOptions struct {
	Program string   // "": the installed redis-server
	Dir     string   // where it keeps its files. Its path has to be short, as that of a unix socket has
	Port    int      // 0: a free one
	Lines   []string // of configuration, after those that say: no snapshots, no AOF
	Args    []string // --sentinel, say
	Env     []string
}

// Redis is a Redis, or what understands its configuration, that listens on 127.0.0.1 and
// on a unix socket.
type Redis struct {
	*Process
	Port int
}

// StartRedis returns when the server answers, if only that it is loading what is in its
// folder.
func StartRedis(ctx context.Context, o RedisOptions) (*Redis, error) {
	if o.Port == 0 {
		return OnFreePort(func(port int) (*Redis, error) {
			o.Port = port
			return StartRedis(ctx, o)
		})
	}
	config := fmt.Sprintf("port %d\nbind 127.0.0.1\ndir %s\nunixsocket %s\n", o.Port, o.Dir, RedisSocket(o.Dir))
	if len(o.Args) == 0 {
		config += "save \"\"\nappendonly no\n"
	}
	file := filepath.Join(o.Dir, "redis.conf")
	if err := os.WriteFile(file, []byte(config+strings.Join(o.Lines, "\n")+"\n"), 0o600); err != nil {
		return nil, err
	}
	p, err := StartReady(ctx, Options{
		Path: cmp.Or(o.Program, "redis-server"), Args: append([]string{file}, o.Args...), Env: o.Env, Stop: syscall.SIGKILL,
	}, func(ctx context.Context) error { return answers(ctx, RedisSocket(o.Dir)) })
	if err != nil {
		return nil, err
	}
	return &Redis{p, o.Port}, nil
}

// RedisSocket is the path of the unix socket of the server that keeps its files in dir.
func RedisSocket(dir string) string { return filepath.Join(dir, "s") }

// answers asks by the unix socket, which is the server's own, whoever has the port. It is
// made after the port is taken. An error is an answer too: LOADING, NOAUTH, MASTERDOWN.
func answers(ctx context.Context, socket string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return err
	}
	_, err = conn.Read(make([]byte, 1))
	return err
}
