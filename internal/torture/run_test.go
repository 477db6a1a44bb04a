package torture

import (
	"testing"
	"time"
)

func TestLeaseFor(t *testing.T) {
	for _, c := range []struct{ latency, least, longest, want time.Duration }{
		{time.Millisecond, 0, 0, leastTTL},
		{7007 * time.Microsecond, 0, 0, 350 * time.Millisecond},
		{time.Millisecond, time.Second, 0, time.Second},
		{time.Millisecond, 0, 2 * time.Second, leastTTL},
		{119 * time.Millisecond, 0, 2 * time.Second, 2 * time.Second},
		{119 * time.Millisecond, 0, 0, 5950 * time.Millisecond},
	} {
		r := &run{Plan: &Plan{Lease: c.least, LongestLease: c.longest}}
		if got := r.leaseFor(c.latency); got != c.want {
			t.Errorf("calls of %v, at least %v, at most %v: leases of %v, want %v", c.latency, c.least, c.longest, got, c.want)
		}
	}
}
