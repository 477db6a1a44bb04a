package main

import (
	"context"
	"errors"
	"strconv"

	"raisinproxy/internal/testservers"
)

// postgresSettings: durable as by default. Only what would fall into one contestant's time
// and not into another's, checkpoints, is kept out.
const postgresSettings = `
max_connections = 700
shared_buffers = 256MB
fsync = on
synchronous_commit = on
checkpoint_timeout = 1h
max_wal_size = 8GB
`

// scale of pgbench's tables: a million accounts.
const scale = 10

func startPostgres(ctx context.Context, l *lab, _ string) (*server, error) {
	p, err := testservers.StartPostgres(ctx, testservers.PostgresOptions{Superuser: benchUser, Settings: postgresSettings})
	if err != nil {
		return nil, err
	}
	s := l.keep(p, p.Process, p.Port)
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
