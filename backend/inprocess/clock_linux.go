package inprocess

import (
	"time"

	"golang.org/x/sys/unix"
)

// Boot reads CLOCK_BOOTTIME. Go's own monotonic clock is CLOCK_MONOTONIC, which
// stands still while the machine is suspended and would stretch every lease by
// that time. See clock_gettime(2).
func (systemClock) Boot() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		// Every kernel that Go runs on has this clock. Without one no lease would
		// end, so there is nothing to go on with.
		panic("inprocess: CLOCK_BOOTTIME: " + err.Error())
	}
	return time.Duration(ts.Nano())
}
