package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"raisinproxy/internal/testservers"
)

// pgbouncerSettings: session pooling, which keeps everything that a session may do, as the proxy does.
const pgbouncerSettings = `[databases]
* = host=127.0.0.1 port=%d
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = trust
auth_file = %s
pool_mode = session
default_pool_size = 100
max_client_conn = 1000
log_connections = 0
log_disconnections = 0
`

func startPgbouncer(ctx context.Context, l *lab, name string) (*server, error) {
	behind, err := l.server(ctx, postgres)
	if err != nil {
		return nil, err
	}
	as, err := testservers.Unprivileged()
	if err != nil {
		return nil, err
	}
	users, settings := filepath.Join(l.dir, name+".users"), filepath.Join(l.dir, name+".ini")
	if err := os.WriteFile(users, []byte(`"`+benchUser+`" ""`+"\n"), 0o644); err != nil {
		return nil, err
	}
	return testservers.OnFreePort(func(port int) (*server, error) {
		if err := os.WriteFile(settings, fmt.Appendf(nil, pgbouncerSettings, behind.port, port, users), 0o644); err != nil {
			return nil, err
		}
		p, err := testservers.StartReady(ctx, testservers.Options{
			Path: "pgbouncer", Args: []string{settings}, Dir: l.dir, As: as,
			Stop: syscall.SIGKILL, // it has nothing to lose, and calls the end by another signal a failure
		}, (&server{port: port}).accepts)
		if err != nil {
			return nil, err
		}
		return l.keep(p, p, port), nil
	})
}
