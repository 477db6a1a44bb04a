package backendtest

import (
	"sync"
	"time"
)

// clockStart is what the wall of a Clock shows at first.
var clockStart = time.Date(2026, time.November, 29, 12, 0, 0, 0, time.UTC)

// Clock is a clock that tests move by hand. It suits inprocess.Options.Clock. It
// is safe for concurrent use. The zero value shows Boot 0 and the wall time
// 2026-11-29 12:00:00 UTC.
type Clock struct {
	mu   sync.Mutex
	boot time.Duration
	step time.Duration // how far StepWall has moved the wall in all
}

// Boot is the sum of all Advance.
func (c *Clock) Boot() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.boot
}

// Wall is the start, moved by all Advance and all StepWall. It is in UTC.
func (c *Clock) Wall() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return clockStart.Add(c.boot).Add(c.step)
}

// Advance lets d pass on both clocks. It panics if d is negative.
func (c *Clock) Advance(d time.Duration) {
	if d < 0 {
		panic("backendtest: Clock.Advance: time does not go back; use StepWall")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.boot += d
}

// StepWall sets the wall clock forward, or back if d is negative, as an operator
// or NTP would. The boot clock stays.
func (c *Clock) StepWall(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.step += d
}
