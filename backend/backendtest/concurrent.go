package backendtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

var concurrentCases = []testCase{
	{"one of many acquires of a free key wins", oneWinnerOfFree},
	{"one of many acquires of an expired key wins", oneWinnerOfExpired},
	{"one of many releases of a lease is true", oneReleaseIsTrue},
	{"holders exclude one another and their tokens rise", holdersExclude},
	{"no renewal outlives its release", noRenewalOutlives},
	{"many leases of many keys leave none behind", noneLeftBehind},
	{"500 claims on 180 units sell each unit once", exactly180},
	{"500 claims on one unit sell it once", exactlyOne},
	{"many first claims create one pool", oneCreation},
	{"units are neither made nor lost by claims and restocks", conservation},
}

// winners counts the n concurrent calls that answer true.
func winners(n int, call func(i int) bool) int {
	var won atomic.Int32
	together(n, func(i int) {
		if call(i) {
			won.Add(1)
		}
	})
	return int(won.Load())
}

func oneWinnerOfFree(t testing.TB, s *store) {
	for round := range 20 {
		key := fmt.Sprint("k", round)
		won := winners(50, func(int) bool { return s.acquire(key, s.units(1000)).Acquired })
		if won != 1 {
			t.Fatalf("round %d: %d of 50 acquires won, want 1", round, won)
		}
	}
}

func oneWinnerOfExpired(t testing.TB, s *store) {
	const keys = 20
	old := make([]int64, keys)
	for i := range old {
		old[i] = s.mustAcquire(fmt.Sprint("k", i), s.units(1))
	}
	s.advance(2)
	for i := range old {
		key := fmt.Sprint("k", i)
		var renewed atomic.Bool
		won := winners(50, func(caller int) bool {
			if caller%5 == 0 { // the former holder tries too
				if s.renew(key, old[i], s.units(1000)) || s.release(key, old[i]) {
					renewed.Store(true)
				}
				return false
			}
			return s.acquire(key, s.units(1000)).Acquired
		})
		if won != 1 || renewed.Load() {
			t.Fatalf("%s: %d acquires won, want 1; old token good: %v", key, won, renewed.Load())
		}
	}
}

func oneReleaseIsTrue(t testing.TB, s *store) {
	for round := range 20 {
		token := s.mustAcquire("k", s.units(1000))
		if won := winners(20, func(int) bool { return s.release("k", token) }); won != 1 {
			t.Fatalf("round %d: %d of 20 releases were true, want 1", round, won)
		}
	}
}

func holdersExclude(t testing.TB, s *store) {
	var inside, grants atomic.Int32
	var last atomic.Int64
	together(8, func(int) {
		for range 200 {
			g := s.acquire("k", s.units(100_000))
			if !g.Acquired {
				continue
			}
			grants.Add(1)
			if inside.Add(1) != 1 {
				t.Error("two holders at once")
			}
			if before := last.Swap(g.Token); before >= g.Token {
				t.Errorf("token %d after %d", g.Token, before)
			}
			inside.Add(-1)
			if !s.release("k", g.Token) {
				t.Error("the holder's release was false")
			}
		}
	})
	if grants.Load() == 0 {
		t.Error("nobody was ever granted the key")
	}
	s.mustAcquire("k", s.unit)
}

// noRenewalOutlives is the client library that goes on renewing in the
// background while the lock is released.
func noRenewalOutlives(t testing.TB, s *store) {
	for range 50 {
		token := s.mustAcquire("k", s.units(1000))
		var released atomic.Bool
		var renewer sync.WaitGroup
		renewer.Go(func() {
			for {
				late := released.Load() // before the call: one under way may be true
				ok := s.renew("k", token, s.units(1000))
				if ok && late {
					t.Error("renewed after the release")
				}
				if !ok || late {
					return
				}
			}
		})
		ok := s.release("k", token)
		released.Store(true)
		renewer.Wait()
		if !ok {
			t.Fatal("the holder's release was false")
		}
	}
	s.mustAcquire("k", s.unit)
}

func noneLeftBehind(_ testing.TB, s *store) {
	const keys = 16
	key := func(i int) string { return fmt.Sprint("k", i%keys) }
	together(8, func(worker int) {
		random := rand.New(rand.NewPCG(1, uint64(worker)))
		for range 200 {
			k := key(random.IntN(keys))
			if g := s.acquire(k, s.units(100_000)); g.Acquired {
				if !s.renew(k, g.Token, s.units(200_000)) || !s.release(k, g.Token) {
					s.t.Errorf("%s: the holder's renew or release was false", k)
				}
			}
		}
	})
	for i := range keys {
		s.mustAcquire(key(i), s.unit)
	}
}

// sellOut has 500 callers claim a unit each and checks what was sold.
func sellOut(t testing.TB, s *store, capacity int64) {
	var mu sync.Mutex
	var left []int64
	together(500, func(int) {
		c := s.claim("p", 1, capacity)
		if c.Claimed {
			mu.Lock()
			defer mu.Unlock()
			left = append(left, c.Remaining)
		} else if c.Remaining != 0 {
			t.Errorf("refused with %d remaining", c.Remaining)
		}
	})
	slices.Sort(left)
	if int64(len(left)) != capacity {
		t.Fatalf("%d claims succeeded, want %d", len(left), capacity)
	}
	for i, remaining := range left {
		if remaining != int64(i) {
			t.Fatalf("the remaining counts told are %v, want each of 0 to %d once", left, capacity-1)
		}
	}
	s.mustNotClaim("p", 1, capacity, 0)
}

func exactly180(t testing.TB, s *store) { sellOut(t, s, 180) }

func exactlyOne(t testing.TB, s *store) { sellOut(t, s, 1) }

func oneCreation(t testing.TB, s *store) {
	const callers = 50
	for round := range 10 {
		pool := fmt.Sprint("p", round)
		var seen sync.Map
		together(callers, func(i int) {
			c := s.claim(pool, 1, 1000*int64(i+1))
			if !c.Claimed {
				t.Errorf("%s: refused with %d remaining", pool, c.Remaining)
			}
			if _, twice := seen.LoadOrStore(c.Remaining, true); twice {
				t.Errorf("%s: two claims were told that %d remain", pool, c.Remaining)
			}
		})
		if capacity := s.remaining(pool) + callers; capacity%1000 != 0 || capacity < 1000 || capacity > 1000*callers {
			t.Errorf("%s: the units sold and left are %d, which is nobody's capacity", pool, capacity)
		}
	}
}

func conservation(t testing.TB, s *store) {
	const capacity, workers = 100, 8
	s.mustNotClaim("p", capacity+1, capacity, capacity)
	var held, refused atomic.Int64
	together(workers, func(worker int) {
		random := rand.New(rand.NewPCG(2, uint64(worker)))
		var mine int64
		for range 300 {
			if n := random.Int64N(40) + 1; random.IntN(2) == 0 {
				c := s.claim("p", n, capacity)
				if c.Remaining < 0 || c.Remaining > capacity || !c.Claimed && c.Remaining >= n {
					t.Errorf("Claim(%d) = %+v", n, c)
				}
				if c.Claimed {
					mine += n
				} else {
					refused.Add(1)
				}
			} else if n = min(n, mine); n > 0 {
				if left := s.restock("p", n); left < n || left > capacity {
					t.Errorf("Restock(%d) = %d", n, left)
				}
				mine -= n
			}
		}
		held.Add(mine)
	})
	if left := s.remaining("p"); left+held.Load() != capacity {
		t.Errorf("%d held and %d left, want %d in all", held.Load(), left, capacity)
	}
	if refused.Load() == 0 {
		t.Error("vacuous: no claim was ever refused")
	}
}
