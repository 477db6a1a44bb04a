package main

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"time"

	"raisinproxy/testdata/bench/proc"
)

// takeLocks takes n locks for an hour, and notes what that cost.
func (s *server) takeLocks(ctx context.Context, n int) error {
	if n == 0 {
		return nil
	}
	before, err := proc.Resident(s.Pid())
	if err != nil {
		return err
	}
	conn, err := s.connect(ctx)
	if err != nil {
		return err
	}
	if _, err := conn.Prepare(ctx, "take", "SELECT acquired FROM raisin_lock_acquire($1, 3600000)", nil); err != nil {
		return err
	}
	const batch = 1000
	for first := 0; first < n; first += batch {
		pipeline := conn.StartPipeline(ctx)
		for i := range batch {
			pipeline.SendQueryPrepared("take", [][]byte{fmt.Appendf(nil, "event:%08d", first+i)}, nil, nil)
		}
		if err := pipeline.Sync(); err != nil {
			return err
		}
		if err := pipeline.Close(); err != nil {
			return err
		}
	}
	if err := conn.Close(ctx); err != nil {
		return err
	}
	time.Sleep(2 * time.Second) // what is measured is a server at rest
	after, err := proc.Resident(s.Pid())
	s.grown = float64(after-before) / float64(n)
	return err
}

// growth implements driver for what takeLocks noted.
func growth(_ context.Context, _ *lab, s *server) (sample, error) {
	return sample{value: s.grown}, nil
}

// idle measures with the program of that name.
func idle(connections int) driver {
	return func(ctx context.Context, l *lab, s *server) (sample, error) {
		program, err := l.build(ctx, "idle")
		if err != nil {
			return sample{}, err
		}
		said, err := exec.CommandContext(ctx, program, "-url", s.url(), "-pid", strconv.Itoa(s.Pid()),
			"-connections", strconv.Itoa(connections)).CombinedOutput()
		if err != nil {
			return sample{}, fmt.Errorf("idle: %w: %s", err, said)
		}
		kib, err := find(string(said), `([0-9.]+) KiB for each`)
		return sample{value: kib * 1024}, err
	}
}
