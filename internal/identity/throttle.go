package identity

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"time"
)

// Throttle slows down clients that fail to log in again and again, by network. The attempts of
// all connections of one network take turns: one is judged after the other, and each waits
// before it is judged once there were failures. So a thousand connections try no more
// passwords than one does. An attempt waits whether it will succeed or not, so that the
// wait says nothing. It takes its turn with its proof in hand: a client that sends none
// holds nobody up. It is safe for concurrent use; the zero value is ready.
type Throttle struct {
	mu       sync.Mutex
	networks map[netip.Addr]*attempts
}

// attempts are those of one network.
type attempts struct {
	failures
	turn    chan struct{} // has one token, of the attempt whose turn it is; the others wait to put theirs in
	present int           // attempts that have their turn, or wait for it
}

// failures of one network. Each minute half of them is forgotten.
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
	// maxNetworks bounds what a flood from everywhere can make the proxy remember.
	maxNetworks = 10000
)

// Free gives the turn at once, if nobody has it and nothing makes this network wait.
func (t *Throttle) Free(from netip.Addr) (done func(), ok bool) {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.of(from, now)
	if a.present > 0 || a.delay(now) > 0 {
		return nil, false
	}
	a.present++
	a.turn <- struct{}{}
	return t.done(from, a), true
}

// Turn waits until it is an attempt's turn, and then as long as the failures of its network
// make it wait. Without an error the attempt is to be judged now, and done called then.
func (t *Throttle) Turn(ctx context.Context, from netip.Addr) (done func(), err error) {
	a := t.enter(from)
	select {
	case a.turn <- struct{}{}:
	case <-ctx.Done():
		t.leave(from, a)
		return nil, ctx.Err()
	}
	done = t.done(from, a)
	// The failures are looked at again after each wait: there may be more by then.
	for since := time.Now(); ; {
		now := time.Now()
		left := since.Add(t.delay(from, now)).Sub(now)
		if left <= 0 {
			return done, nil
		}
		select {
		case <-time.After(left):
		case <-ctx.Done():
			done()
			return nil, ctx.Err()
		}
	}
}

func (t *Throttle) enter(from netip.Addr) *attempts {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.of(from, time.Now())
	a.present++
	return a
}

// done gives the turn to the next.
func (t *Throttle) done(from netip.Addr, a *attempts) func() {
	return func() {
		<-a.turn
		t.leave(from, a)
	}
}

func (t *Throttle) leave(from netip.Addr, a *attempts) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if a.present--; a.present == 0 && a.at(time.Now()) < 1 {
		delete(t.networks, from)
	}
}

// delay is how long the next attempt of a network waits.
func (t *Throttle) delay(from netip.Addr, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.networks[from]
	if a == nil {
		return 0
	}
	return a.delay(now)
}

func (f failures) delay(now time.Time) time.Duration {
	n := f.at(now)
	if n < freeFailures {
		return 0
	}
	d := firstDelay
	for ; n >= freeFailures+1 && d < longestDelay; n-- {
		d *= 2
	}
	return min(d, longestDelay)
}

// Failed notes a failure.
func (t *Throttle) Failed(from netip.Addr, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.of(from, now)
	a.failures = failures{count: a.at(now) + 1, last: now}
}

// of finds the attempts of a network, or begins to note them.
func (t *Throttle) of(from netip.Addr, now time.Time) *attempts {
	if a := t.networks[from]; a != nil {
		return a
	}
	if t.networks == nil || len(t.networks) >= maxNetworks {
		t.forget(now)
	}
	a := &attempts{turn: make(chan struct{}, 1)}
	t.networks[from] = a
	return a
}

// forget drops those who have not failed for long, or everybody if there are none. Those
// who have attempts under way stay: there are no more than connections.
func (t *Throttle) forget(now time.Time) {
	kept, present := map[netip.Addr]*attempts{}, map[netip.Addr]*attempts{}
	for from, a := range t.networks {
		if a.present > 0 {
			present[from] = a
		}
		if a.present > 0 || a.at(now) >= 1 {
			kept[from] = a
		}
	}
	if len(kept) >= maxNetworks {
		kept = present
	}
	t.networks = kept
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

// NetworkOf is whom an address stands for: of IPv6 everybody has a whole /64.
func NetworkOf(a net.Addr) netip.Addr {
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
