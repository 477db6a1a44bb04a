package pgwire

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

// throttle slows down whoever fails to log in again and again, by address: the next
// attempt from there waits before it is looked at. It waits whether it will succeed or
// not, so that the wait says nothing. It is safe for concurrent use; the zero value is
// ready.
type throttle struct {
	mu       sync.Mutex
	failures map[netip.Addr]failures
}

// failures of one address. Each minute half of them is forgotten.
type failures struct {
	count float64
	last  time.Time
}

const (
	// freeFailures are mistakes that anybody may make.
	freeFailures = 5
	// firstDelay doubles with each failure, up to longestDelay.
	firstDelay   = 100 * time.Millisecond
	longestDelay = 3 * time.Second
	// halfLife is the time in which half of the failures are forgotten.
	halfLife = time.Minute
	// maxAddresses bounds what a flood from everywhere can make us remember.
	maxAddresses = 10000
)

// delay is how long the next attempt from an address waits.
func (t *throttle) delay(from netip.Addr, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.failures[from].at(now)
	if n < freeFailures {
		return 0
	}
	d := firstDelay
	for ; n >= freeFailures+1 && d < longestDelay; n-- {
		d *= 2
	}
	return min(d, longestDelay)
}

// failed notes a failure.
func (t *throttle) failed(from netip.Addr, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failures == nil || len(t.failures) >= maxAddresses {
		t.forget(now)
	}
	t.failures[from] = failures{count: t.failures[from].at(now) + 1, last: now}
}

// forget drops those who have not failed for long, or everybody if there are none.
func (t *throttle) forget(now time.Time) {
	kept := map[netip.Addr]failures{}
	for from, f := range t.failures {
		if f.at(now) >= 1 {
			kept[from] = f
		}
	}
	if len(kept) >= maxAddresses {
		kept = map[netip.Addr]failures{}
	}
	t.failures = kept
}

// at is what is left of the failures. Whole half-lives count, so that the zero value
// has none.
func (f failures) at(now time.Time) float64 {
	n := f.count
	for age := now.Sub(f.last); age >= halfLife && n >= 1; age -= halfLife {
		n /= 2
	}
	return n
}

// networkOf is whom an address stands for: of IPv6 everybody has a whole /64.
func networkOf(a net.Addr) netip.Addr {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	ip := tcp.AddrPort().Addr().Unmap()
	if prefix, err := ip.Prefix(64); err == nil && ip.Is6() {
		return prefix.Addr()
	}
	return ip
}
