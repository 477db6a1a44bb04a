package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

// postgresSettings: durable as by default. Only what would fall into one contestant's time
// and not into another's, checkpoints, is kept out.
const postgresSettings = `
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 700
shared_buffers = 256MB
fsync = on
synchronous_commit = on
checkpoint_timeout = 1h
max_wal_size = 8GB
`

// scale of pgbench's tables: a million accounts.
const scale = 10

func startPostgres(ctx context.Context, l *lab, name string) (*server, error) {
	bin, err := findPostgres()
	if err != nil {
		return nil, err
	}
	dir, err := l.folder(name)
	if err != nil {
		return nil, err
	}
	initdb := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "-D", dir, "-A", "trust", "-U", benchUser, "-E", "UTF8", "--locale=C")
	initdb.Dir, initdb.SysProcAttr = dir, &syscall.SysProcAttr{Credential: l.as}
	if said, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, said)
	}
	if err := appendTo(filepath.Join(dir, "postgresql.conf"), postgresSettings); err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	p, err := launch(l.dir, name, l.as, syscall.SIGINT, filepath.Join(bin, "postgres"), "-D", dir, "-p", strconv.Itoa(port))
	s, err := l.keep(p, err, port)
	if err != nil {
		return nil, err
	}
	if err := p.await(ctx, s.accepts); err != nil {
		return nil, err
	}
	return s, fill(ctx, s)
}

// fill makes the tables of pgbench and of the pool.
func fill(ctx context.Context, s *server) error {
	if err := runPgbench(ctx, s, new(progress), "-i", "-q", "-s", strconv.Itoa(scale)); err != nil {
		return err
	}
	conn, err := s.connect(ctx)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, script("pool.sql")).ReadAll()
	return errors.Join(err, conn.Close(ctx))
}

// findPostgres is the folder of the server's programs.
func findPostgres() (string, error) {
	if path, err := exec.LookPath("postgres"); err == nil {
		return filepath.Dir(path), nil
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil || len(found) == 0 {
		return "", errors.New("no postgres in PATH or /usr/lib/postgresql/*/bin; on Debian: apt-get install postgresql")
	}
	return filepath.Dir(found[len(found)-1]), nil
}

func appendTo(path, text string) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}
