package backendtest

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"raisinproxy/backend"
)

// store is the store under test, as the cases see it: in one scope, with calls
// that fail the test if they fail.
type store struct {
	Env
	unit  time.Duration
	slack time.Duration
	scope backend.Scope

	ctx  context.Context
	t    reporter
	turn *atomic.Uint32 // which client is next
	plan *plan          // nil: the clock stands still, or the case measures for itself
}

// reporter is what *testing.T and *rapid.T share.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

func newStore(t *testing.T, h Harness) *store {
	t.Helper()
	env := h.New(t)
	if len(env.Clients) == 0 || env.Now == nil || env.Advance == nil || env.Wall == nil {
		t.Fatal("backendtest: New must give Clients, Now, Advance and Wall")
	}
	if (env.StepWall == nil) == (env.NoStepWall == "") {
		t.Fatal("backendtest: New must give either StepWall or NoStepWall")
	}
	s := &store{
		Env:   env,
		unit:  h.Unit,
		slack: h.Slack,
		scope: backend.Scope{Tenant: "default", Repository: "shop", Branch: "main"},
		ctx:   t.Context(),
		t:     t,
		turn:  new(atomic.Uint32),
	}
	if !s.exact() {
		s.plan = newPlan(env.Now, h.Slack)
	}
	return s
}

// in is the same store, seen from another scope.
func (s *store) in(scope backend.Scope) *store {
	other := *s
	other.scope = scope
	return &other
}

// reporting is the same store with another receiver of failures.
func (s *store) reporting(t reporter) *store {
	other := *s
	other.t = t
	return &other
}

// unplanned is the same store for a case that measures by itself when its leases end.
func (s *store) unplanned() *store {
	other := *s
	other.plan = nil
	return &other
}

// exact reports whether the clock stands still unless advanced.
func (s *store) exact() bool { return s.slack == 0 }

// advance lets n units pass.
func (s *store) advance(n int) { s.Advance(s.units(n)) }

// Advance is Env.Advance by the plan.
func (s *store) Advance(d time.Duration) {
	s.Env.Advance(d)
	s.plan.advanced(d)
}

func (s *store) units(n int) time.Duration { return time.Duration(n) * s.unit }

func (s *store) lock(key string) lockName { return lockName{s.scope, key} }

func (s *store) client() backend.Backend {
	return s.Clients[int(s.turn.Add(1))%len(s.Clients)]
}

// The calls, for use in any goroutine. An error fails the test.

func (s *store) acquire(key string, ttl time.Duration) backend.Grant {
	s.t.Helper()
	call := s.plan.begin()
	g, err := s.client().Acquire(s.ctx, s.scope, key, backend.Request{TTL: ttl})
	s.plan.answered(s.lock(key))
	if g.Acquired {
		s.plan.granted(s.lock(key), g.Token, call, ttl)
	}
	if err != nil {
		s.plan.failed(err, call, ttl)
		s.t.Errorf("Acquire(%+v, %.40q, %v): %v", s.scope, key, ttl, err)
	}
	return g
}

func (s *store) renew(key string, token int64, ttl time.Duration) bool {
	s.t.Helper()
	call := s.plan.begin()
	ok, err := s.client().Renew(s.ctx, s.scope, key, backend.Proof{Token: token}, ttl)
	s.plan.answered(s.lock(key))
	if ok {
		s.plan.renewed(s.lock(key), token, call, ttl)
	}
	if err != nil {
		s.t.Errorf("Renew(%+v, %.40q, %d, %v): %v", s.scope, key, token, ttl, err)
	}
	return ok
}

func (s *store) release(key string, token int64) bool {
	s.t.Helper()
	ok, err := s.client().Release(s.ctx, s.scope, key, backend.Proof{Token: token})
	s.plan.answered(s.lock(key))
	if ok {
		s.plan.released(s.lock(key), token)
	}
	if err != nil {
		s.t.Errorf("Release(%+v, %.40q, %d): %v", s.scope, key, token, err)
	}
	return ok
}

func (s *store) claim(pool string, n, capacity int64) backend.Claimed {
	s.t.Helper()
	c, err := s.client().Claim(s.ctx, s.scope, pool, n, capacity)
	if err != nil {
		s.t.Errorf("Claim(%+v, %.40q, %d, %d): %v", s.scope, pool, n, capacity, err)
	}
	return c
}

func (s *store) restock(pool string, n int64) int64 {
	s.t.Helper()
	remaining, err := s.client().Restock(s.ctx, s.scope, pool, n)
	if err != nil {
		s.t.Errorf("Restock(%+v, %.40q, %d): %v", s.scope, pool, n, err)
	}
	return remaining
}

// The same with the answer that must come, for the test's own goroutine.

func (s *store) mustAcquire(key string, ttl time.Duration) (token int64) {
	s.t.Helper()
	g := s.acquire(key, ttl)
	if !g.Acquired {
		s.t.Fatalf("Acquire(%.40q) was refused, but the key is free", key)
	}
	return g.Token
}

// mustAcquireBriefly takes a lease of a millisecond. On a real clock its answer may come after its
// end: then a backend has to refuse as unavailable, and is asked again.
func (s *store) mustAcquireBriefly(key string) (token int64) {
	s.t.Helper()
	const tries = 1000
	for range tries {
		g, err := s.client().Acquire(s.ctx, s.scope, key, backend.Request{TTL: time.Millisecond})
		if !s.exact() && errors.Is(err, backend.ErrUnavailable) {
			continue
		}
		if err != nil || !g.Acquired {
			s.t.Fatalf("Acquire(%.40q, 1 ms) of a free key = %+v, %v", key, g, err)
		}
		return g.Token
	}
	s.t.Fatalf("no answer to Acquire(%.40q, 1 ms) came in time", key)
	return 0
}

func (s *store) mustBeHeld(key string) {
	s.t.Helper()
	if g := s.acquire(key, s.units(1000)); g != (backend.Grant{}) {
		s.t.Fatalf("Acquire(%.40q) of a held key = %+v, want the zero Grant", key, g)
	}
}

func (s *store) mustRenew(key string, token int64, ttl time.Duration) {
	s.t.Helper()
	if !s.renew(key, token, ttl) {
		s.t.Fatalf("Renew(%.40q, %d) by the holder is false", key, token)
	}
}

func (s *store) mustNotRenew(key string, token int64, ttl time.Duration) {
	s.t.Helper()
	if s.renew(key, token, ttl) {
		s.t.Fatalf("Renew(%.40q, %d) is true, but there is no such lease", key, token)
	}
}

func (s *store) mustRelease(key string, token int64) {
	s.t.Helper()
	if !s.release(key, token) {
		s.t.Fatalf("Release(%.40q, %d) by the holder is false", key, token)
	}
}

func (s *store) mustNotRelease(key string, token int64) {
	s.t.Helper()
	if s.release(key, token) {
		s.t.Fatalf("Release(%.40q, %d) is true, but there is no such lease", key, token)
	}
}

func (s *store) mustClaim(pool string, n, capacity, remaining int64) {
	s.t.Helper()
	want := backend.Claimed{Claimed: true, Remaining: remaining}
	if got := s.claim(pool, n, capacity); got != want {
		s.t.Fatalf("Claim(%.40q, %d, %d) = %+v, want %+v", pool, n, capacity, got, want)
	}
}

func (s *store) mustNotClaim(pool string, n, capacity, remaining int64) {
	s.t.Helper()
	want := backend.Claimed{Claimed: false, Remaining: remaining}
	if got := s.claim(pool, n, capacity); got != want {
		s.t.Fatalf("Claim(%.40q, %d, %d) = %+v, want %+v", pool, n, capacity, got, want)
	}
}

func (s *store) mustRestock(pool string, n, remaining int64) {
	s.t.Helper()
	if got := s.restock(pool, n); got != remaining {
		s.t.Fatalf("Restock(%.40q, %d) = %d, want %d", pool, n, got, remaining)
	}
}

// remaining reads a pool of less than MaxInt64 units by asking for too many.
func (s *store) remaining(pool string) int64 {
	s.t.Helper()
	c := s.claim(pool, math.MaxInt64, 0)
	if c.Claimed {
		s.t.Fatalf("Claim(%.40q, MaxInt64) took all of the pool", pool)
	}
	return c.Remaining
}

// together runs do(0) to do(n-1) at the same time and waits for all.
func together(n int, do func(i int)) {
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-start
			do(i)
		})
	}
	close(start)
	all.Wait()
}
