package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	var all []statement
	for _, path := range logs {
		text, err := os.ReadFile(path)
		if err := errors.Join(err, os.Remove(path)); err != nil {
			return sample{}, err
		}
		for entry := range bytes.Lines(text) {
			var client, number, micros, script, second int
			if _, err := fmt.Sscan(string(entry), &client, &number, &micros, &script, &second); err != nil {
				return sample{}, fmt.Errorf("pgbench's log: %q: %w", entry, err)
			}
			all = append(all, statement{second, micros})
		}
	}
	micros := warm(all)
	if len(micros) == 0 {
		return sample{}, errors.New("pgbench logged nothing")
	}
	slices.Sort(micros)
	result.value = float64(micros[len(micros)*99/100])
	return result, nil
}

// statement is an entry of pgbench's log.
type statement struct{ second, micros int }

// warm are the latencies but for those of the warm-up.
func warm(all []statement) (micros []int) {
	if len(all) == 0 {
		return nil
	}
	first := slices.MinFunc(all, func(a, b statement) int { return a.second - b.second }).second
	for _, s := range all {
		if s.second >= first+warmUp {
			micros = append(micros, s.micros)
		}
	}
	return micros
}
