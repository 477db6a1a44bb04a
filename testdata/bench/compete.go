package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
)

// compete runs contests one after the other, and prints the table. What could not be measured
// does not keep the rest from it.
func compete(ctx context.Context, l *lab, selected []contest, records *records, out io.Writer) error {
	var faults []error
	var lines []line
	for i := range selected {
		c := &selected[i]
		rounds, err := c.run(ctx, l, records)
		if ctx.Err() != nil {
			faults = append(faults, ctx.Err())
			break
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", c.name, err))
			fmt.Fprintf(out, "%s: %v\n", c.name, err)
			continue
		}
		added := judge(c, rounds)
		for _, line := range added {
			fmt.Fprintln(out, line.brief())
			records.write(line)
		}
		lines = append(lines, added...)
	}
	printTable(out, lines)
	return errors.Join(faults...)
}

// run gives, for each round, the sample of each contestant.
func (c *contest) run(ctx context.Context, l *lab, records *records) ([][]sample, error) {
	servers := make([]*server, len(c.contestants))
	for i, who := range c.contestants {
		var err error
		if servers[i], err = l.server(ctx, who.at); err != nil {
			return nil, err
		}
	}
	if c.before != nil {
		if err := c.before(ctx, l); err != nil {
			return nil, err
		}
	}
	rounds := make([][]sample, c.roundsOf(l.options))
	for r := range rounds {
		rounds[r] = make([]sample, len(servers))
		for _, i := range turns(len(servers), r) {
			s, err := measure(ctx, l, servers[i], c.contestants[i].drive)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.contestants[i].name, err)
			}
			rounds[r][i] = s
			records.write(newRun(c, i, r, s))
		}
	}
	return rounds, nil
}

// turns is the order in a round: every second one is backwards, so that nobody is always
// the one who comes after the same other.
func turns(n, round int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	if round%2 == 1 {
		slices.Reverse(order)
	}
	return order
}

// measure adds the processor time to a run that does not tell it.
func measure(ctx context.Context, l *lab, s *server, drive driver) (sample, error) {
	if s == nil {
		return drive(ctx, l, s)
	}
	before, err := cpuTime(s.Pid())
	if err != nil {
		return sample{}, err
	}
	result, err := drive(ctx, l, s)
	if err != nil {
		return sample{}, err
	}
	if result.cpu > 0 {
		return result, nil
	}
	after, err := cpuTime(s.Pid())
	result.cpu = after - before
	return result, err
}
