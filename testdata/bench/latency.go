package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// one runs SELECT 1 as fast as it goes, or at a rate.
var one = pgbench{"select-1.sql", "simple", 8}

// findRate finds half of what the proxy can do.
func findRate(ctx context.Context, l *lab) error {
	s, err := l.server(ctx, proxyMemory)
	if err != nil {
		return err
	}
	fastest, err := one.drive(ctx, l, s)
	l.rate = fastest.value / 2
	return err
}

// latency is the 99th percentile at that rate, in microseconds, counted from when a
// statement was due: pgbench does not forgive a server that makes the next one wait.
func latency(ctx context.Context, l *lab, s *server) (sample, error) {
	prefix := filepath.Join(l.dir, "latency")
	result, err := one.run(ctx, l, s, "-R", fmt.Sprintf("%.0f", l.rate), "-l", "--log-prefix="+prefix)
	if err != nil {
		return sample{}, err
	}
	logs, err := filepath.Glob(prefix + ".*")
	if err != nil {
		return sample{}, err
	}
	var micros []int
	for _, path := range logs {
		text, err := os.ReadFile(path)
		if err := errors.Join(err, os.Remove(path)); err != nil {
			return sample{}, err
		}
		for entry := range bytes.Lines(text) {
			n, err := strconv.Atoi(string(bytes.Fields(entry)[2])) // client, number, time, …
			if err != nil {
				return sample{}, fmt.Errorf("pgbench's log: %q", entry)
			}
			micros = append(micros, n)
		}
	}
	if len(micros) == 0 {
		return sample{}, errors.New("pgbench logged nothing")
	}
	slices.Sort(micros)
	result.value = float64(micros[len(micros)*99/100])
	return result, nil
}
