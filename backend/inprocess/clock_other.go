//go:build !linux

package inprocess

import "time"

var start = time.Now()

// Boot is Go's monotonic clock since the start of the process. Where that stands
// still during sleep, a lease is longer by the sleep.
func (systemClock) Boot() time.Duration { return time.Since(start) }
