package backendtest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"raisinproxy/backend"
)

var seeingCases = []testCase{
	{"the leases of a scope are told, and no others", leasesOfAScope},
	{"a lease that is over or released is not told", overIsNotTold},
	{"holders, times and waiters of leases are told", leasesAreSeen},
	{"a prefix is a prefix, whatever characters it has", prefixIsAPrefix},
	{"more leases than asked for are too many", tooManyLeases},
	{"a pool is told", poolIsSeen},
	{"the pools of a scope are told, and no others", poolsOfAScope},
	{"more pools than asked for are too many", tooManyPools},
	{"what is there all the time is told while others come and go", seenAmidChanges},
}

const many = 1000

func (s *store) leases(prefix string) []backend.Lease {
	s.t.Helper()
	found, err := s.client().Leases(s.ctx, s.scope, prefix, many)
	if err != nil {
		s.t.Fatalf("Leases(%.40q): %v", prefix, err)
	}
	return found
}

func (s *store) pools(prefix string) []backend.Pool {
	s.t.Helper()
	found, err := s.client().Pools(s.ctx, s.scope, prefix, many)
	if err != nil {
		s.t.Fatalf("Pools(%.40q): %v", prefix, err)
	}
	return found
}

func (s *store) mustSeeLeases(prefix string, want ...string) {
	s.t.Helper()
	var keys []string
	for _, l := range s.leases(prefix) {
		keys = append(keys, l.Key)
	}
	slices.Sort(want)
	if !slices.Equal(keys, want) {
		s.t.Fatalf("Leases(%.40q) in %+v: %q, want %q", prefix, s.scope, keys, want)
	}
}

func (s *store) mustSeePools(prefix string, want ...backend.Pool) {
	s.t.Helper()
	if found := s.pools(prefix); !slices.Equal(found, want) {
		s.t.Fatalf("Pools(%.40q) in %+v: %+v, want %+v", prefix, s.scope, found, want)
	}
}

// neighbours are scopes that are easily taken for the store's own.
func (s *store) neighbours() []*store {
	var all []*store
	for _, scope := range []backend.Scope{
		{Tenant: "default", Repository: "shop", Branch: "main2"},
		{Tenant: "default", Repository: "shop", Branch: ""},
		{Tenant: "default", Repository: "shopmain", Branch: ""},
		{Tenant: "default", Repository: "", Branch: "main"},
		{Tenant: "defaultshop", Repository: "", Branch: "main"},
		{Tenant: "*", Repository: "*", Branch: "*"},
	} {
		all = append(all, s.in(scope))
	}
	return all
}

func leasesOfAScope(_ testing.TB, s *store) {
	s.mustSeeLeases("")
	for _, key := range []string{"b", "a", "a/2", "a/1"} {
		s.mustAcquireAs("alice", key, s.units(100))
	}
	for i, n := range s.neighbours() {
		n.mustAcquireAs("alice", fmt.Sprint("a", i), s.units(100))
	}
	s.mustSeeLeases("", "a", "a/1", "a/2", "b")
	s.mustSeeLeases("a", "a", "a/1", "a/2")
	s.mustSeeLeases("a/", "a/1", "a/2")
	s.mustSeeLeases("c")
	for i, n := range s.neighbours() {
		n.mustSeeLeases("", fmt.Sprint("a", i))
	}
}

func overIsNotTold(_ testing.TB, s *store) {
	s.mustAcquireAs("alice", "over", s.units(3))
	token := s.mustAcquireAs("alice", "released", s.units(100))
	s.mustAcquireAs("alice", "kept", s.units(100))
	s.mustSeeLeases("", "kept", "over", "released")
	s.mustReleaseAs("alice", "released", token)
	s.advance(5)
	s.mustSeeLeases("", "kept")
}

func leasesAreSeen(t testing.TB, s *store) {
	at := s.Wall()
	token := s.mustAcquireAs("alice", "k", s.units(longWait))
	others := s.mustAcquire("old", s.units(longWait))
	first := s.join("bob", "k", s.units(longWait), s.units(longWait))
	second := s.join("carol", "k", s.units(longWait), s.units(longWait))
	found := s.leases("")
	if len(found) != 2 || found[0].Key != "k" || found[1].Key != "old" {
		t.Fatalf("Leases = %+v", found)
	}
	l := found[0]
	if l.User != "alice" || l.Token != token || l.Waiters != 2 || !s.about(l.AcquiredAt, at) || !s.about(l.ExpiresAt, at.Add(s.units(longWait))) {
		t.Errorf("Leases tells %+v of a lease of alice with token %d from %v on, for which two wait", l, token, at)
	}
	if one, _ := s.look("k"); !s.same(one, l) {
		t.Errorf("Look tells %+v, and Leases %+v", one, l)
	}
	if l := found[1]; l.User != "" || l.Token != others || l.Waiters != 0 {
		t.Errorf("Leases tells %+v of a lease of nobody with token %d", l, others)
	}
	for _, w := range []*waiting{first, second} {
		w.mustBeCancelled()
	}
}

// same tells whether two readings are of one lease.
func (s *store) same(a, b backend.Lease) bool {
	if !s.about(a.AcquiredAt, b.AcquiredAt) || !s.about(a.ExpiresAt, b.ExpiresAt) {
		return false
	}
	a.AcquiredAt, a.ExpiresAt = b.AcquiredAt, b.ExpiresAt
	return a == b
}

func prefixIsAPrefix(_ testing.TB, s *store) {
	strange := []string{"%", "_", "*", "?", "[a]", "[^a]", `\`, `\*`, "'", `"`, "{x}", "ü", "中", " ", "\n", "a:b", "a|b", "\u00ff"}
	for _, name := range strange {
		s.mustAcquireAs("alice", name+"1", s.units(100))
		s.mustClaim(name+"1", 1, 5, 4)
	}
	s.mustAcquireAs("alice", "plain", s.units(100))
	for _, name := range strange {
		want := name + "1"
		also := []string{want}
		pools := []backend.Pool{{Name: want, Capacity: 5, Remaining: 4}}
		if name == `\` {
			also = append(also, `\*1`)
			pools = []backend.Pool{{Name: `\*1`, Capacity: 5, Remaining: 4}, pools[0]}
		}
		s.mustSeeLeases(name, also...)
		s.mustSeePools(name, pools...)
	}
}

func tooManyLeases(t testing.TB, s *store) {
	for i := range 4 {
		s.mustAcquireAs("alice", fmt.Sprint("k", i), s.units(100))
	}
	for most, fine := range map[int]bool{0: false, 3: false, 4: true, 5: true} {
		found, err := s.client().Leases(s.ctx, s.scope, "k", most)
		if fine && (err != nil || len(found) != 4) || !fine && (!errors.Is(err, backend.ErrTooManyRows) || found != nil) {
			t.Errorf("Leases, %d at most, of 4: %d, %v", most, len(found), err)
		}
	}
	if found, err := s.client().Leases(s.ctx, s.scope, "other", 0); err != nil || len(found) != 0 {
		t.Errorf("Leases, none at most, of none: %+v, %v", found, err)
	}
}

func poolIsSeen(t testing.TB, s *store) {
	if p, found, err := s.client().Count(s.ctx, s.scope, "p"); found || err != nil || p != (backend.Pool{}) {
		t.Fatalf("Count of no pool = %+v, %v, %v", p, found, err)
	}
	s.mustClaim("p", 3, 10, 7)
	s.mustClaim("p", 1, 99, 6)
	s.mustRestock("p", 8, 14)
	s.mustNotClaim("sold nothing", 11, 10, 10)
	for _, want := range []backend.Pool{{Name: "p", Capacity: 10, Remaining: 14}, {Name: "sold nothing", Capacity: 10, Remaining: 10}} {
		if p, found, err := s.client().Count(s.ctx, s.scope, want.Name); !found || err != nil || p != want {
			t.Errorf("Count = %+v, %v, %v; want %+v", p, found, err, want)
		}
	}
	for _, n := range s.neighbours() {
		if p, found, err := n.client().Count(n.ctx, n.scope, "p"); found || err != nil {
			t.Errorf("Count in %+v = %+v, %v, %v", n.scope, p, found, err)
		}
	}
}

func poolsOfAScope(_ testing.TB, s *store) {
	s.mustSeePools("")
	s.mustClaim("b", 1, 10, 9)
	s.mustClaim("a", 0+1, 1, 0)
	s.mustNotClaim("a/1", 2, 0, 0)
	for i, n := range s.neighbours() {
		n.mustClaim(fmt.Sprint("a", i), 1, 20, 19)
	}
	a, a1, b := backend.Pool{Name: "a", Capacity: 1}, backend.Pool{Name: "a/1"}, backend.Pool{Name: "b", Capacity: 10, Remaining: 9}
	s.mustSeePools("", a, a1, b)
	s.mustSeePools("a", a, a1)
	s.mustSeePools("a/", a1)
	s.mustSeePools("c")
	for i, n := range s.neighbours() {
		n.mustSeePools("", backend.Pool{Name: fmt.Sprint("a", i), Capacity: 20, Remaining: 19})
	}
}

func tooManyPools(t testing.TB, s *store) {
	for i := range 3 {
		s.mustClaim(fmt.Sprint("p", i), 1, 10, 9)
	}
	for most, fine := range map[int]bool{0: false, 2: false, 3: true} {
		found, err := s.client().Pools(s.ctx, s.scope, "p", most)
		if fine && (err != nil || len(found) != 3) || !fine && (!errors.Is(err, backend.ErrTooManyRows) || found != nil) {
			t.Errorf("Pools, %d at most, of 3: %d, %v", most, len(found), err)
		}
	}
}

func seenAmidChanges(t testing.TB, s *store) {
	s = s.unplanned()
	for i := range 5 {
		s.mustAcquireAs("alice", fmt.Sprint("kept ", i), s.units(longWait))
		s.mustClaim(fmt.Sprint("kept ", i), 1, 10, 9)
	}
	together(4, func(i int) {
		if i == 0 {
			for range 20 {
				if n := len(s.leases("kept ")); n != 5 {
					t.Errorf("%d leases are told of, want 5", n)
				}
				if n := len(s.pools("kept ")); n != 5 {
					t.Errorf("%d pools are told of, want 5", n)
				}
			}
			return
		}
		for j := range 40 {
			key := fmt.Sprint("other ", i, j%7)
			s.releaseAs("bob", key, s.mustAcquireAs("bob", key, s.units(longWait)))
			s.claim(key, 1, 10)
		}
	})
}
