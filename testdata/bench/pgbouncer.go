package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
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
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	users, settings := filepath.Join(l.dir, name+".users"), filepath.Join(l.dir, name+".ini")
	err = errors.Join(
		os.WriteFile(users, []byte(`"`+benchUser+`" ""`+"\n"), 0o644),
		os.WriteFile(settings, fmt.Appendf(nil, pgbouncerSettings, behind.port, port, users), 0o644))
	if err != nil {
		return nil, err
	}
	p, err := launch(l.dir, name, l.as, syscall.SIGTERM, "pgbouncer", settings)
	s, err := l.keep(p, err, port)
	if err != nil {
		return nil, err
	}
	return s, p.await(ctx, s.accepts)
}
