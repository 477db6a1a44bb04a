package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// streams are the contestants that carry much data.
func streams(carry func(context.Context, *pgconn.PgConn) (amount float64, err error)) []contestant {
	drive := func(ctx context.Context, _ *lab, s *server) (sample, error) {
		conn, err := s.connect(ctx)
		if err != nil {
			return sample{}, err
		}
		start := time.Now()
		amount, err := carry(ctx, conn)
		taken := time.Since(start)
		return sample{value: amount / taken.Seconds(), done: amount}, errors.Join(err, conn.Close(ctx))
	}
	return []contestant{
		{name: "proxy", at: proxyMemory, drive: drive},
		{name: "direct", at: postgres, drive: drive, atLeast: 0.9},
		{name: "pgbouncer", at: pgbouncer, drive: drive, atLeast: 1},
	}
}

// copyOut copies a gigabyte, in rows of a kilobyte; the amount is megabytes.
func copyOut(ctx context.Context, conn *pgconn.PgConn) (float64, error) {
	const rows, width = 1_000_000, 999
	var bytes counter
	_, err := conn.CopyTo(ctx, &bytes, fmt.Sprintf("COPY (SELECT repeat('r', %d) FROM generate_series(1, %d)) TO STDOUT", width, rows))
	if err == nil && bytes != rows*(width+1) {
		err = fmt.Errorf("%d bytes arrived", bytes)
	}
	return float64(bytes) / 1e6, err
}

// counter counts what is written to it.
type counter int64

var _ io.Writer = (*counter)(nil)

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

// selectRows reads ten million rows; the amount is rows.
func selectRows(ctx context.Context, conn *pgconn.PgConn) (float64, error) {
	const rows = 10_000_000
	results := conn.Exec(ctx, "SELECT a FROM generate_series(1, 10000) a, generate_series(1, 1000) b")
	n := 0
	for results.NextResult() {
		for results.ResultReader().NextRow() {
			n++
		}
	}
	err := results.Close()
	if err == nil && n != rows {
		err = fmt.Errorf("%d rows arrived", n)
	}
	return float64(n), err
}
