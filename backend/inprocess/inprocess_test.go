package inprocess

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"raisinproxy/backend"
	"raisinproxy/backend/backendtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var scope = backend.Scope{Tenant: "default", Repository: "shop", Branch: "main"}

// newStore is a store on a clock that is moved by hand. Its reaper never comes
// unless called.
func newStore(t testing.TB) (*Store, *backendtest.Clock) {
	t.Helper()
	clock := new(backendtest.Clock)
	s := New(Options{Clock: clock, ReapInterval: 24 * time.Hour})
	t.Cleanup(func() { s.Close() })
	return s, clock
}

// records counts the leases in memory, over or not, and checks that every shard
// is in order.
func (s *Store) records(t interface {
	Helper()
	Fatalf(string, ...any)
}) int {
	t.Helper()
	total := 0
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		if len(sh.leases) != len(sh.expiry) {
			t.Fatalf("shard %d: %d leases, %d in the heap", i, len(sh.leases), len(sh.expiry))
		}
		for at, d := range sh.expiry {
			l := d.lease
			if l.at != at || sh.leases[l.key] != l || l.deadline != d.deadline {
				t.Fatalf("shard %d: the lease at %d says it is at %d and ends at %d, the heap %d", i, at, l.at, l.deadline, d.deadline)
			}
			if parent := sh.expiry[(max(at, 1)-1)/arity]; parent.deadline > l.deadline {
				t.Fatalf("shard %d: the lease at %d ends before its parent", i, at)
			}
		}
		total += len(sh.leases)
		sh.mu.Unlock()
	}
	return total
}

func acquire(t testing.TB, s *Store, key string, ttl time.Duration) int64 {
	t.Helper()
	g, err := s.Acquire(t.Context(), scope, key, backend.Request{TTL: ttl})
	if err != nil || !g.Acquired {
		t.Fatalf("Acquire(%q) = %+v, %v", key, g, err)
	}
	return g.Token
}

func release(t testing.TB, s *Store, key string, token int64) {
	t.Helper()
	if ok, err := s.Release(t.Context(), scope, key, backend.Proof{Token: token}); err != nil || !ok {
		t.Fatalf("Release(%q) = %v, %v", key, ok, err)
	}
}

// limited are the limits of backendtest.Harness.Limited.
var limited = Options{MaxPools: backendtest.MaxPools, MaxLeases: backendtest.MaxLeases, MaxWaiters: backendtest.MaxWaiters}

func TestConformance(t *testing.T) {
	env := func(limit Options) func(t *testing.T) backendtest.Env {
		return func(t *testing.T) backendtest.Env {
			clock := new(backendtest.Clock)
			s := New(Options{Clock: clock, ReapInterval: 24 * time.Hour, MaxPools: limit.MaxPools, MaxLeases: limit.MaxLeases, MaxWaiters: limit.MaxWaiters})
			t.Cleanup(func() { s.Close() })
			return backendtest.Env{
				Clients:  []backend.Backend{s},
				Now:      clock.Boot,
				Advance:  clock.Advance,
				Wall:     clock.Wall,
				StepWall: clock.StepWall,
			}
		}
	}
	backendtest.Run(t, backendtest.Harness{Unit: time.Second, New: env(Options{}), Limited: env(limited)})
}

// No answer may depend on whether the reaper has been there.
func TestConformanceWithABusyReaper(t *testing.T) {
	env := func(limit Options) func(t *testing.T) backendtest.Env {
		return func(t *testing.T) backendtest.Env {
			clock := new(backendtest.Clock)
			s := New(Options{Clock: clock, ReapInterval: 100 * time.Microsecond, MaxPools: limit.MaxPools, MaxLeases: limit.MaxLeases, MaxWaiters: limit.MaxWaiters})
			t.Cleanup(func() { s.Close() })
			return backendtest.Env{
				Clients: []backend.Backend{s},
				Now:     clock.Boot,
				Advance: func(d time.Duration) {
					clock.Advance(d)
					s.reap()
				},
				Wall:     clock.Wall,
				StepWall: clock.StepWall,
			}
		}
	}
	backendtest.Run(t, backendtest.Harness{Unit: time.Second, New: env(Options{}), Limited: env(limited)})
}

func TestZeroOptionsUseTheMachinesClock(t *testing.T) {
	s := New(Options{})
	defer s.Close()
	before := time.Now()
	g, err := s.Acquire(t.Context(), scope, "k", backend.Request{TTL: time.Hour})
	if err != nil || !g.Acquired || g.Token < before.UnixMicro() {
		t.Fatalf("Acquire = %+v, %v", g, err)
	}
	if g.ExpiresAt.Before(before.Add(time.Hour)) || g.ExpiresAt.After(time.Now().Add(time.Hour)) {
		t.Errorf("ExpiresAt = %v, want an hour from %v", g.ExpiresAt, before)
	}
	if ok, err := s.Release(t.Context(), scope, "k", backend.Proof{Token: g.Token}); !ok || err != nil {
		t.Errorf("Release = %v, %v", ok, err)
	}
}

func TestSystemClock(t *testing.T) {
	var c systemClock
	before := c.Boot()
	for start := time.Now(); time.Since(start) < time.Millisecond; {
		runtime.Gosched()
	}
	if passed := c.Boot() - before; passed < time.Millisecond {
		t.Errorf("Boot moved by %v while 1ms passed", passed)
	}
	if strings.Contains(c.Wall().String(), "m=") {
		t.Error("Wall carries a monotonic reading")
	}
}

// A lease that is over at the time of an exhausted token stays over, a free key
// stays free.
func TestTokensExhausted(t *testing.T) {
	s, clock := newStore(t)
	over := acquire(t, s, "over", time.Second)
	held := acquire(t, s, "held", time.Hour)
	clock.Advance(2 * time.Second)

	s.tokens.last.Store(backend.MaxToken - 2)
	if last := acquire(t, s, "last", time.Hour); last != backend.MaxToken-1 {
		t.Fatalf("token %d, want the last one below MaxToken", last)
	}
	for _, key := range []string{"over", "free"} {
		g, err := s.Acquire(t.Context(), scope, key, backend.Request{TTL: time.Hour})
		if !errors.Is(err, backend.ErrTokensExhausted) || g != (backend.Grant{}) {
			t.Errorf("Acquire(%q) = %+v, %v; want ErrTokensExhausted", key, g, err)
		}
	}
	if n := s.records(t); n != 3 {
		t.Errorf("%d records, want those of over, held and last", n)
	}
	if ok, _ := s.Renew(t.Context(), scope, "over", backend.Proof{Token: over}, time.Hour); ok {
		t.Error("a failed Acquire revived the lease")
	}
	if g, err := s.Acquire(t.Context(), scope, "held", backend.Request{TTL: time.Hour}); err != nil || g.Acquired {
		t.Errorf("Acquire of a held key = %+v, %v; contention needs no token", g, err)
	}
	if ok, _ := s.Release(t.Context(), scope, "held", backend.Proof{Token: held}); !ok {
		t.Error("the holder cannot release")
	}
}

// A wall clock beyond the year 2255 is refused, and leaves no trace once it is
// put right.
func TestTokensSurviveAnAbsurdWallClock(t *testing.T) {
	s, clock := newStore(t)
	first := acquire(t, s, "a", time.Hour)
	const absurd = 250 * 365 * 24 * time.Hour
	clock.StepWall(absurd)
	if _, err := s.Acquire(t.Context(), scope, "b", backend.Request{TTL: time.Hour}); !errors.Is(err, backend.ErrTokensExhausted) {
		t.Fatalf("Acquire in %d: %v, want ErrTokensExhausted", clock.Wall().Year(), err)
	}
	clock.StepWall(-absurd)
	if next := acquire(t, s, "b", time.Hour); next != first+1 {
		t.Errorf("token %d, want %d", next, first+1)
	}
}

// Tokens rise store-wide, so nothing needs to be kept of a free key.
func TestTokensRiseAcrossKeys(t *testing.T) {
	s, _ := newStore(t)
	last := int64(0)
	for i := range 1000 {
		token := acquire(t, s, fmt.Sprint("k", i), time.Hour)
		if token <= last {
			t.Fatalf("token %d after %d", token, last)
		}
		last = token
	}
}

func TestReleaseLeavesNoRecord(t *testing.T) {
	s, _ := newStore(t)
	for i := range 1000 {
		key := fmt.Sprint("k", i)
		token := acquire(t, s, key, time.Hour)
		if ok, err := s.Release(t.Context(), scope, key, backend.Proof{Token: token}); !ok || err != nil {
			t.Fatalf("Release = %v, %v", ok, err)
		}
	}
	if n := s.records(t); n != 0 {
		t.Errorf("%d records are left", n)
	}
}

// Calls that make nothing new make no garbage, however long the name is.
func TestCallsDoNotAllocate(t *testing.T) {
	s, _ := newStore(t)
	ctx := t.Context()
	for _, name := range []string{"seat:14A", strings.Repeat("x", backend.MaxNameBytes)} {
		token := acquire(t, s, name, time.Hour)
		if _, err := s.Claim(ctx, scope, name, 1, 1<<40); err != nil {
			t.Fatal(err)
		}
		for call, do := range map[string]func(){
			"contended Acquire": func() { _, _ = s.Acquire(ctx, scope, name, backend.Request{TTL: time.Hour}) },
			"Renew":             func() { _, _ = s.Renew(ctx, scope, name, backend.Proof{Token: token}, time.Hour) },
			"foreign Release":   func() { _, _ = s.Release(ctx, scope, name, backend.Proof{Token: token + 1}) },
			"Claim":             func() { _, _ = s.Claim(ctx, scope, name, 1, 1<<40) },
			"Restock":           func() { _, _ = s.Restock(ctx, scope, name, 1) },
		} {
			if n := testing.AllocsPerRun(100, do); n != 0 {
				t.Errorf("%s of a name of %d bytes: %v allocations", call, len(name), n)
			}
		}
	}
}

func TestAcquireOfANewKeyAllocatesItsNameOnly(t *testing.T) {
	s, _ := newStore(t)
	n := testing.AllocsPerRun(100, func() {
		token := acquire(t, s, "k", time.Hour)
		release(t, s, "k", token)
	})
	if n > 1 {
		t.Errorf("Acquire and Release: %v allocations, want 1", n)
	}
}
