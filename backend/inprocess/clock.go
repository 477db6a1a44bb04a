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
}

// systemClock is the machine's own clock; clock_linux.go and clock_other.go have
// its Boot.
type systemClock struct{}

// Wall drops the monotonic reading, so that nobody can compare by it.
func (systemClock) Wall() time.Time { return time.Now().Round(0) }
