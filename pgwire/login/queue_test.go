package login

import (
	"fmt"
	"net/netip"
	"testing"
	"time"
)

// entered is a session from an address that has entered.
func entered(t *testing.T, e *queue, address string) (s, crowdedOut *Visitor) {
	t.Helper()
	s = &Visitor{}
	s.network = netip.MustParseAddr(address)
	return s, e.enter(s)
}

// TestQueue: beyond the limit somebody of the network with the most has to go, the one
// that has been there longest.
func TestQueue(t *testing.T) {
	e := newQueue(1)
	if e.limit != leastLogins {
		t.Fatalf("the limit is %d", e.limit)
	}
	innocent, _ := entered(t, e, "192.0.2.1")
	var flood []*Visitor
	for range 3 * e.limit {
		s, out := entered(t, e, "198.51.100.1")
		flood = append(flood, s)
		switch n := len(flood) + 1 - e.limit; {
		case n <= 0 && out != nil:
			t.Fatalf("somebody had to go while there were %d", len(flood)+1)
		case n > 0 && out != flood[n-1]:
			t.Fatalf("the %dth of too many did not drive out the first of its own that was left", n)
		}
	}
	if e.waiting.Len() != e.limit {
		t.Errorf("%d are waiting, the limit is %d", e.waiting.Len(), e.limit)
	}
	e.leave(innocent)
	if _, out := entered(t, e, "192.0.2.1"); out != nil {
		t.Error("somebody had to go though there was room")
	}
}

// TestQueueForgets: what has left leaves nothing.
func TestQueueForgets(t *testing.T) {
	e := newQueue(200)
	var all []*Visitor
	for i := range 3 * e.limit {
		s, _ := entered(t, e, fmt.Sprintf("192.0.2.%d", i%7))
		all = append(all, s)
	}
	for _, s := range all {
		e.leave(s)
		e.leave(s) // twice, as a session does that was admitted
	}
	if e.waiting.Len() != 0 || len(e.from) != 0 {
		t.Errorf("%d waiting, of %v", e.waiting.Len(), e.from)
	}
}

func TestQueueWithoutLimit(t *testing.T) {
	e := newQueue(0)
	for range 10 * leastLogins {
		if _, out := entered(t, e, "192.0.2.1"); out != nil {
			t.Fatal("somebody had to go")
		}
	}
}

func TestCrowdIsNewsOnceAMinute(t *testing.T) {
	e := newQueue(1)
	now := time.Date(2026, time.November, 29, 12, 0, 0, 0, time.UTC)
	for after, want := range []bool{true, false, false, true} {
		if got := e.isNews(now.Add(time.Duration(after) * 20 * time.Second)); got != want {
			t.Errorf("after %d s: %v", after*20, got)
		}
	}
}
