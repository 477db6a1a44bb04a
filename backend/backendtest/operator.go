package backendtest

import (
	"errors"
	"fmt"
	"testing"

	"raisinproxy/backend"
)

var operatorCases = []testCase{
	{"Evict ends the lease of whoever holds it", evictEnds},
	{"Evict of a free lock changes nothing", evictOfAFreeLock},
	{"Evict hands the lock to the first in line", evictHandsOver},
	{"SetPool changes a pool, and tells what it had", setPool},
	{"SetPool makes a pool", setPoolMakes},
	{"DropPool forgets a pool", dropPool},
}

var operatorLimitCases = []testCase{
	{"a pool that an operator makes or drops counts", operatorsPoolsCount},
	{"an evicted lease does not count", evictedDoesNotCount},
}

func evictEnds(t testing.TB, s *store) {
	token := s.mustAcquireAs("alice", "k", s.units(100))
	s.mustAcquireAs("alice", "other", s.units(100))
	seen, _ := s.look("k")
	evicted, held, err := s.client().Evict(s.ctx, s.scope, "k")
	if err != nil || !held || !s.same(evicted, seen) {
		t.Fatalf("Evict = %+v, %v, %v; want %+v", evicted, held, err, seen)
	}
	s.mustSeeLeases("", "other")
	s.mustNotReleaseAs("alice", "k", token)
	if s.renewAs("alice", token, s.units(100)) {
		t.Fatal("a lease was renewed that an operator had ended")
	}
	if next := s.mustAcquireAs("bob", "k", s.units(100)); next <= token {
		t.Fatalf("the token %d comes after %d", next, token)
	}
	s.mustNotReleaseAs("alice", "k", token)
	s.mustBeHeld("k")
}

func evictOfAFreeLock(t testing.TB, s *store) {
	s.mustAcquireAs("alice", "over", s.units(3))
	s.in(backend.Scope{Tenant: "other", Repository: "shop", Branch: "main"}).mustAcquireAs("alice", "theirs", s.units(100))
	s.advance(5)
	for _, key := range []string{"never", "over", "theirs"} {
		if evicted, held, err := s.client().Evict(s.ctx, s.scope, key); err != nil || held || evicted != (backend.Lease{Key: key}) {
			t.Errorf("Evict of a free lock = %+v, %v, %v", evicted, held, err)
		}
	}
	s.in(backend.Scope{Tenant: "other", Repository: "shop", Branch: "main"}).mustBeHeld("theirs")
}

func evictHandsOver(t testing.TB, s *store) {
	s.mustAcquireAs("alice", "k", s.units(longWait))
	first := s.join("bob", "k", s.units(longWait), s.units(longWait))
	second := s.join("carol", "k", s.units(longWait), s.units(longWait))
	evicted, held, err := s.client().Evict(s.ctx, s.scope, "k")
	if err != nil || !held || evicted.User != "alice" || evicted.Waiters != 2 {
		t.Fatalf("Evict = %+v, %v, %v", evicted, held, err)
	}
	token := first.mustHave()
	second.mustWait()
	s.mustReleaseAs("bob", "k", token)
	second.mustHave()
}

func (s *store) mustSetPool(to, before backend.Pool) {
	s.t.Helper()
	got, found, err := s.client().SetPool(s.ctx, s.scope, to)
	if err != nil || found != (before.Name != "") || got != before {
		s.t.Fatalf("SetPool(%+v) = %+v, %v, %v; want %+v", to, got, found, err, before)
	}
	s.mustSeePools(to.Name, to)
}

func setPool(_ testing.TB, s *store) {
	s.mustClaim("p", 3, 10, 7)
	s.mustSetPool(backend.Pool{Name: "p", Capacity: 20, Remaining: 2}, backend.Pool{Name: "p", Capacity: 10, Remaining: 7})
	s.mustNotClaim("p", 3, 10, 2)
	s.mustClaim("p", 2, 10, 0)
	s.mustSetPool(backend.Pool{Name: "p", Capacity: 0, Remaining: 1}, backend.Pool{Name: "p", Capacity: 20, Remaining: 0})
	s.mustClaim("p", 1, 10, 0)
	s.mustRestock("p", 1, 1)
}

func setPoolMakes(_ testing.TB, s *store) {
	s.mustSetPool(backend.Pool{Name: "p", Capacity: 20, Remaining: 2}, backend.Pool{})
	s.mustClaim("p", 2, 50, 0)
	s.mustNotClaim("p", 1, 50, 0)
	for _, n := range s.neighbours() {
		n.mustSeePools("")
	}
}

func dropPool(t testing.TB, s *store) {
	s.mustClaim("p", 3, 10, 7)
	s.mustClaim("other", 3, 10, 7)
	for _, want := range []bool{true, false} {
		if dropped, err := s.client().DropPool(s.ctx, s.scope, "p"); dropped != want || err != nil {
			t.Fatalf("DropPool = %v, %v; want %v", dropped, err, want)
		}
	}
	if _, err := s.client().Restock(s.ctx, s.scope, "p", 1); !errors.Is(err, backend.ErrNoPool) {
		t.Fatalf("Restock to a pool that was dropped: %v, want ErrNoPool", err)
	}
	s.mustSeePools("", backend.Pool{Name: "other", Capacity: 10, Remaining: 7})
	s.advance(1)
	s.mustClaim("p", 5, 5, 0)
}

func operatorsPoolsCount(t testing.TB, s *store) {
	for i := range MaxPools {
		s.mustSetPool(backend.Pool{Name: fmt.Sprint("p", i), Capacity: 1, Remaining: 1}, backend.Pool{})
	}
	s.mustBeTooMany("one more")
	if _, _, err := s.client().SetPool(s.ctx, s.scope, backend.Pool{Name: "one more"}); !errors.Is(err, backend.ErrTooManyPools) {
		t.Fatalf("SetPool of one pool too many: %v", err)
	}
	s.mustSetPool(backend.Pool{Name: "p0"}, backend.Pool{Name: "p0", Capacity: 1, Remaining: 1})
	if dropped, err := s.client().DropPool(s.ctx, s.scope, "p0"); !dropped || err != nil {
		t.Fatalf("DropPool = %v, %v", dropped, err)
	}
	s.mustClaim("one more", 1, 10, 9)
	s.mustBeTooMany("p0")
}

func evictedDoesNotCount(t testing.TB, s *store) {
	s = s.sameClient()
	for i := range MaxLeases {
		s.mustAcquireAs("alice", fmt.Sprint(i), s.units(100))
	}
	s.mustHaveTooMany("one more")
	if _, held, err := s.client().Evict(s.ctx, s.scope, "1"); !held || err != nil {
		t.Fatalf("Evict = %v, %v", held, err)
	}
	s.mustAcquireAs("alice", "one more", s.units(100))
	s.mustHaveTooMany("1")
}
