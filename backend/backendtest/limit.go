package backendtest

import (
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
