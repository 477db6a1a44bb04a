package inprocess

import "time"

// Clock is the time of a Store. It must be safe for concurrent use, and its
// methods must not block: they are called with a mutex held.
type Clock interface {
	// Boot is the time since some fixed moment, as told by a clock that is never
	// stepped and goes on while the machine sleeps. It is not negative.
	Boot() time.Duration
	// Wall is the time of day. It may jump either way.
	Wall() time.Time
	// AfterFunc calls f without a mutex of the caller's held when Boot has come to at, or
	// somewhat earlier: f looks at the time, and asks again. stop keeps it from being
	// called, and reports false if it was already.
	AfterFunc(at time.Duration, f func()) (stop func() bool)
}

// systemClock is the machine's own clock; clock_linux.go and clock_other.go have
// its Boot.
type systemClock struct{}

// Wall drops the monotonic reading, so that nobody can compare by it.
func (systemClock) Wall() time.Time { return time.Now().Round(0) }

// longestNap bounds how late an alarm is after the machine was suspended: Go's timers
// stand still meanwhile, and the boot clock does not.
const longestNap = time.Second

// AfterFunc implements Clock.
func (c systemClock) AfterFunc(at time.Duration, f func()) (stop func() bool) {
	return time.AfterFunc(min(at-c.Boot(), longestNap), f).Stop
}
