package main

import (
	"bytes"
	"errors"
	"fmt"
	"time"
)

// progress reads what pgbench prints, and measures from the end of the warm-up on. It is an
// io.Writer for one writer at a time.
type progress struct {
	pid int // of the server whose processor time is measured

	said    bytes.Buffer
	read    int // bytes of said that are looked at
	at      float64
	done    float64
	seconds float64
	began   time.Duration // the server's processor time when the warm-up was over
	cpu     time.Duration // since then
	err     error
}

// Write implements io.Writer.
func (p *progress) Write(b []byte) (int, error) {
	p.said.Write(b)
	for {
		line, _, whole := bytes.Cut(p.said.Bytes()[p.read:], []byte("\n"))
		if !whole {
			return len(b), nil
		}
		p.read += len(line) + 1
		var at, rate float64
		if _, err := fmt.Sscanf(string(line), "progress: %f s, %f tps", &at, &rate); err == nil {
			p.passed(at, rate)
		}
	}
}

// passed takes account of a second.
func (p *progress) passed(at, rate float64) {
	cpu, err := cpuTime(p.pid)
	p.err = errors.Join(p.err, err)
	if at < warmUp+1 {
		p.began = cpu
	} else {
		p.done += rate * (at - p.at)
		p.seconds += at - p.at
		p.cpu = cpu - p.began
	}
	p.at = at
}

// sample is what was measured.
func (p *progress) sample() (sample, error) {
	if p.err == nil && p.seconds == 0 {
		p.err = fmt.Errorf("pgbench told of no progress: %s", &p.said)
	}
	if p.err != nil {
		return sample{}, p.err
	}
	return sample{value: p.done / p.seconds, done: p.done, cpu: p.cpu}, nil
}
