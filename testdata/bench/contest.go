package main

import (
	"cmp"
	"context"
	"time"
)

// contest is one line of the targets: the first contestant is the one that is
// judged, the others are what it is compared with.
type contest struct {
	name        string
	unit        string
	contestants []contestant
	// smaller: the smaller value is the better one. Ratios are always such that more is better.
	smaller bool
	// rounds is how often each contestant runs; 0 is what the flag says.
	rounds int
	// takes is about how long one run lasts; 0 is what the flag says.
	takes time.Duration
	// before is done once, before the first round.
	before func(context.Context, *lab) error
}

// contestant is a server with something to do.
type contestant struct {
	name  string
	at    string // the server, a name of servers.go; "" for a limit
	drive driver
	// atLeast is how many times as good as this one the first contestant should be; 0: it is
	// shown for comparison only.
	atLeast float64
}

// driver lets a server work for one run.
type driver func(ctx context.Context, l *lab, s *server) (sample, error)

// sample is what one run gave.
type sample struct {
	value float64 // in the unit of the contest
	done  float64 // operations; 0 where they are not counted
	cpu   time.Duration
}

// cpuEach is the processor time of the server's processes for one operation, in microseconds.
func (s sample) cpuEach() float64 {
	if s.done == 0 {
		return 0
	}
	return float64(s.cpu.Microseconds()) / s.done
}

// limit is a contestant that always has the same value.
func limit(value float64) contestant {
	return contestant{name: "limit", atLeast: 1, drive: func(context.Context, *lab, *server) (sample, error) {
		return sample{value: value}, nil
	}}
}

func (c *contest) roundsOf(o options) int { return cmp.Or(c.rounds, o.rounds) }

// length is how long a contest is going to last, starting servers included.
func (c *contest) length(o options) time.Duration {
	one := cmp.Or(c.takes, time.Duration(warmUp+o.seconds)*time.Second)
	return time.Duration(c.roundsOf(o)*len(c.contestants)) * (one + 100*time.Millisecond)
}
