package backendtest

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"raisinproxy/backend"
)

var limitCases = []testCase{
	{"a pool beyond the limit is not made", poolBeyondLimit},
	{"pools of all repositories and branches of a tenant count", limitIsPerTenant},
	{"a pool that sold nothing counts too", soldNothingCounts},
	{"racing claims make no more pools than the limit", racingForPools},
	{"racing first claims on one pool count once", racingForOnePool},

	{"a lease beyond the limit is not granted", leaseBeyondLimit},
	{"a lease that is over does not count", overDoesNotCount},
	{"racing acquires get no more leases than the limit", racingForLeases},
	{"a call that waits counts from when it joins the line", waitersCount},
	{"a line that is full takes no more", fullLine},
}

var lastingLimitCases = []testCase{
	{"a call that waited in vain does not count", inVainDoesNotCount},
}

// mustBeTooMany claims from a pool that may not be made, and sees that it was not.
func (s *store) mustBeTooMany(pool string) {
	s.t.Helper()
	for range 2 {
		if c, err := s.client().Claim(s.ctx, s.scope, pool, 1, 10); !errors.Is(err, backend.ErrTooManyPools) || c != (backend.Claimed{}) {
			s.t.Fatalf("Claim(%q) = %+v, %v; want ErrTooManyPools", pool, c, err)
		}
	}
	if _, err := s.client().Restock(s.ctx, s.scope, pool, 1); !errors.Is(err, backend.ErrNoPool) {
		s.t.Fatalf("Restock(%q): %v; want ErrNoPool", pool, err)
	}
}

func (s *store) fill() {
	s.t.Helper()
	for i := range MaxPools {
		s.mustClaim("p"+strconv.Itoa(i), 1, 10, 9)
	}
}

func poolBeyondLimit(_ testing.TB, s *store) {
	s.fill()
	s.mustBeTooMany("one more")
	s.advance(1)
	s.mustBeTooMany("one more")
	s.mustClaim("p0", 1, 10, 8)
	s.mustRestock("p1", 5, 14)
	s.mustNotClaim("p2", 10, 10, 9)
}

func limitIsPerTenant(_ testing.TB, s *store) {
	s.mustClaim("p", 1, 10, 9)
	s.in(backend.Scope{Tenant: s.scope.Tenant, Repository: "other", Branch: "main"}).mustClaim("p", 1, 10, 9)
	s.in(backend.Scope{Tenant: s.scope.Tenant, Repository: "shop", Branch: "other"}).mustClaim("p", 1, 10, 9)
	s.mustBeTooMany("one more")
	s.in(backend.Scope{Tenant: s.scope.Tenant, Repository: "third", Branch: "main"}).mustBeTooMany("p")
	s.in(backend.Scope{Tenant: "another", Repository: "shop", Branch: "main"}).fill()
}

func soldNothingCounts(_ testing.TB, s *store) {
	for i := range MaxPools {
		s.mustNotClaim("p"+strconv.Itoa(i), 11, 10, 10)
	}
	s.mustBeTooMany("one more")
}

func racingForPools(t testing.TB, s *store) {
	var made atomic.Int64
	var group sync.WaitGroup
	for i := range 8 * MaxPools {
		group.Go(func() {
			switch _, err := s.client().Claim(s.ctx, s.scope, "p"+strconv.Itoa(i), 1, 10); {
			case err == nil:
				made.Add(1)
			case !errors.Is(err, backend.ErrTooManyPools):
				t.Error(err)
			}
		})
	}
	group.Wait()
	if n := made.Load(); n != MaxPools {
		t.Errorf("%d pools were made, want %d", n, MaxPools)
	}
}

func racingForOnePool(t testing.TB, s *store) {
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			if _, err := s.client().Claim(s.ctx, s.scope, "p0", 1, 100); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	s.mustClaim("p0", 1, 100, 83)
	s.mustClaim("p1", 1, 10, 9)
	s.mustClaim("p2", 1, 10, 9)
	s.mustBeTooMany("one more")
}

// mustHaveTooMany asks for a lease that alice may not have, and sees that it was not granted.
func (s *store) mustHaveTooMany(key string) {
	const user = "alice"
	s.t.Helper()
	r := backend.Request{TTL: s.units(100), User: user}
	if g, err := s.client().Acquire(s.ctx, s.scope, key, r); !errors.Is(err, backend.ErrTooManyLeases) || g != (backend.Grant{}) {
		s.t.Fatalf("Acquire(%q) by %s = %+v, %v; want ErrTooManyLeases", key, user, g, err)
	}
}

// sameClient is the same store through one client: others may not know of its leases.
func (s *store) sameClient() *store {
	other := *s
	other.Clients = s.Clients[:1]
	return &other
}

func leaseBeyondLimit(_ testing.TB, s *store) {
	s = s.sameClient()
	var tokens []int64
	for i := range MaxLeases {
		tokens = append(tokens, s.mustAcquireAs("alice", strconv.Itoa(i), s.units(100)))
	}
	s.mustHaveTooMany("one more")
	bobs := s.mustAcquireAs("bob", "one more", s.units(100))
	s.mustReleaseAs("alice", "1", tokens[1])
	s.mustNotReleaseAs("alice", "1", tokens[1])
	s.mustAcquireAs("alice", "1", s.units(100))
	s.mustHaveTooMany("again")
	s.mustReleaseAs("bob", "one more", bobs)
	s.mustHaveTooMany("one more")
}

func overDoesNotCount(_ testing.TB, s *store) {
	s = s.sameClient()
	renewed := s.mustAcquireAs("alice", "renewed", s.units(6))
	for i := range MaxLeases - 1 {
		s.mustAcquireAs("alice", strconv.Itoa(i), s.units(6))
	}
	if ok, err := s.client().Renew(s.ctx, s.scope, "renewed", backend.Proof{Token: renewed, User: "alice"}, s.units(100)); !ok || err != nil {
		s.t.Fatalf("Renew = %v, %v", ok, err)
	}
	s.advance(7)
	for i := range MaxLeases - 1 {
		s.mustAcquireAs("alice", "next "+strconv.Itoa(i), s.units(100))
	}
	s.mustHaveTooMany("one more")
}

func racingForLeases(t testing.TB, s *store) {
	s = s.sameClient()
	var granted atomic.Int64
	together(8*MaxLeases, func(i int) {
		switch _, err := s.client().Acquire(s.ctx, s.scope, strconv.Itoa(i), backend.Request{TTL: s.units(1000), User: "alice"}); {
		case err == nil:
			granted.Add(1)
		case !errors.Is(err, backend.ErrTooManyLeases):
			t.Error(err)
		}
	})
	if n := granted.Load(); n != MaxLeases {
		t.Errorf("%d leases were granted, want %d", n, MaxLeases)
	}
}

func waitersCount(_ testing.TB, s *store) {
	s = s.sameClient()
	bobs := s.mustAcquireAs("bob", "k", s.units(1000))
	var gone []*waiting
	for i := range MaxLeases - 1 {
		s.mustAcquireAs("alice", strconv.Itoa(i), s.units(1000))
	}
	gone = append(gone, s.join("alice", "k", s.units(1000), s.units(1000)))
	s.mustHaveTooMany("one more")
	s.mustNotJoin("alice", "k", backend.ErrTooManyLeases)
	gone[0].cancel()
	gone[0].mustEnd()
	token := s.mustAcquireAs("alice", "one more", s.units(1000))
	s.mustReleaseAs("alice", "one more", token)
	again := s.join("alice", "k", s.units(1000), s.units(1000))
	s.mustReleaseAs("bob", "k", bobs)
	again.mustHave()
	s.mustHaveTooMany("one more")
}

// mustNotJoin asks for a place in line that a user may not have.
func (s *store) mustNotJoin(user, key string, want error) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	r := backend.Request{TTL: s.units(1000), Wait: s.units(1000), User: user}
	if g, err := s.client().Acquire(ctx, s.scope, key, r); !errors.Is(err, want) || g != (backend.Grant{}) {
		s.t.Fatalf("Acquire(%q) in line by %s = %+v, %v; want %v", key, user, g, err, want)
	}
}

func inVainDoesNotCount(_ testing.TB, s *store) {
	s = s.sameClient()
	s.mustAcquireAs("bob", "k", s.units(1000))
	for i := range MaxLeases - 1 {
		s.mustAcquireAs("alice", strconv.Itoa(i), s.units(1000))
	}
	w := s.join("alice", "k", s.units(1000), s.units(6))
	s.advance(7)
	w.mustHaveNothing()
	s.mustAcquireAs("alice", "one more", s.units(1000))
	s.mustHaveTooMany("too many")
}

func fullLine(_ testing.TB, s *store) {
	token := s.mustAcquireAs("alice", "k", s.units(1000))
	var line []*waiting
	for range MaxWaiters {
		line = append(line, s.join("bob", "k", s.units(1000), s.units(1000)))
	}
	s.mustNotJoin("carol", "k", backend.ErrTooManyWaiters)
	s.mustReleaseAs("alice", "k", token)
	for _, w := range line {
		s.mustReleaseAs("bob", "k", w.mustHave())
	}
	s.mustAcquireAs("carol", "k", s.unit)
}
