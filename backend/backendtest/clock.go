package backendtest

import (
	"slices"
	"sync"
	"time"
)

// clockStart is what the wall of a Clock shows at first.
var clockStart = time.Date(2026, time.November, 29, 12, 0, 0, 0, time.UTC)

// Clock is a clock that tests move by hand. It suits inprocess.Options.Clock. It
// is safe for concurrent use. The zero value shows Boot 0 and the wall time
// 2026-11-29 12:00:00 UTC.
type Clock struct {
	mu     sync.Mutex
	boot   time.Duration
	step   time.Duration // how far StepWall has moved the wall in all
	alarms []*alarm
}

// alarm is a function that is called when the time has come.
type alarm struct {
	at   time.Duration
	call func()
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

// AfterFunc has Advance call f when Boot has come to at, or a goroutine if it has already.
func (c *Clock) AfterFunc(at time.Duration, f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at <= c.boot {
		go f()
		return func() bool { return false }
	}
	a := &alarm{at: at, call: f}
	c.alarms = append(c.alarms, a)
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		at := slices.Index(c.alarms, a)
		if at < 0 {
			return false
		}
		c.alarms = slices.Delete(c.alarms, at, at+1)
		return true
	}
}

// Advance lets d pass on both clocks, and returns when the alarms of that time have been
// called, each at its moment. It panics if d is negative.
func (c *Clock) Advance(d time.Duration) {
	if d < 0 {
		panic("backendtest: Clock.Advance: time does not go back; use StepWall")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for end := c.boot + d; ; {
		next := c.next(end)
		if next == nil {
			c.boot = end
			return
		}
		c.boot = max(c.boot, next.at)
		c.mu.Unlock()
		next.call()
		c.mu.Lock()
	}
}

// next takes the first alarm until end; nil if there is none.
func (c *Clock) next(end time.Duration) *alarm {
	first := -1
	for i, a := range c.alarms {
		if a.at <= end && (first < 0 || a.at < c.alarms[first].at) {
			first = i
		}
	}
	if first < 0 {
		return nil
	}
	a := c.alarms[first]
	c.alarms = slices.Delete(c.alarms, first, first+1)
	return a
}

// StepWall sets the wall clock forward, or back if d is negative, as an operator
// or NTP would. The boot clock stays.
func (c *Clock) StepWall(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.step += d
}
