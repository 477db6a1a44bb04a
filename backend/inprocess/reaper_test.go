package inprocess

import (
	"fmt"
	"math"
	"raisinproxy/backend"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// bubbleClock shows the time of a synctest bubble.
type bubbleClock struct{ start time.Time }

func (c bubbleClock) Boot() time.Duration { return time.Since(c.start) }
func (c bubbleClock) Wall() time.Time     { return time.Now() }

func (c bubbleClock) AfterFunc(at time.Duration, f func()) (stop func() bool) {
	return time.AfterFunc(at-c.Boot(), f).Stop
}

func TestReaperDropsWhatIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Clock: bubbleClock{time.Now()}, ReapInterval: 10 * time.Second})
		defer s.Close()
		for i := range 5000 { // several batches
			acquire(t, s, fmt.Sprint("short", i), 15*time.Second)
		}
		held := acquire(t, s, "long", 25*time.Second)
		renewed := acquire(t, s, "renewed", 15*time.Second)
		if ok, _ := s.Renew(t.Context(), scope, "renewed", backend.Proof{Token: renewed}, 40*time.Second); !ok {
			t.Fatal("Renew failed")
		}

		for _, step := range []struct {
			at   time.Duration
			left int
		}{
			{11 * time.Second, 5002}, // reaped at 10: nothing was over
			{16 * time.Second, 5002}, // over, but the reaper has not come
			{21 * time.Second, 2},    // reaped at 20
			{31 * time.Second, 1},    // reaped at 30
			{40 * time.Second, 0},    // reaped at the very deadline
		} {
			time.Sleep(step.at - s.clock.Boot())
			synctest.Wait()
			if n := s.records(t); n != step.left {
				t.Errorf("at %v: %d records, want %d", step.at, n, step.left)
			}
		}
		if ok, _ := s.Release(t.Context(), scope, "long", backend.Proof{Token: held}); ok {
			t.Error("released a lease that was reaped")
		}
	})
}

func TestCloseStopsTheReaperWithoutATick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		s := New(Options{Clock: bubbleClock{start}, ReapInterval: time.Hour})
		s.Close() // the bubble would not end while the reaper runs
		s.Close()
		if passed := time.Since(start); passed != 0 {
			t.Errorf("Close took %v", passed)
		}
	})
}

// A shard emptied by one call of the reaper would hold up its callers.
func TestReaperWorksInBatches(t *testing.T) {
	s, clock := newStore(t)
	sh := &s.shards[0]
	for i := range 3 * reapBatch {
		sh.insert(fmt.Sprint("k", i), time.Second).token = int64(i)
	}
	clock.Advance(time.Second)
	for _, left := range []int{2 * reapBatch, reapBatch, 0} {
		if more := sh.reap(clock.Boot()); !more || len(sh.leases) != left {
			t.Errorf("more = %v with %d left, want %d left", more, len(sh.leases), left)
		}
	}
	if sh.reap(clock.Boot()) {
		t.Error("more to reap in an empty shard")
	}
}

// Case 18: the memory of a crowd comes back when it has left, whether the leases
// ran out or were released.
func TestMemoryComesBack(t *testing.T) {
	const crowd = 100_000
	s, clock := newStore(t)
	before := heapInUse()
	tokens := make(map[string]int64, crowd/2)
	for i := range crowd {
		key := fmt.Sprint("k", i)
		if token := acquire(t, s, key, time.Minute); i%2 == 0 {
			tokens[key] = token
		}
	}
	acquire(t, s, "stays", time.Hour)
	full := heapInUse()
	for key, token := range tokens {
		if ok, _ := s.Release(t.Context(), scope, key, backend.Proof{Token: token}); !ok {
			t.Fatalf("Release(%q) is false", key)
		}
	}
	clock.Advance(time.Minute)
	s.reap()
	if n := s.records(t); n != 1 {
		t.Errorf("%d records, want 1", n)
	}
	if after := heapInUse(); after-before > (full-before)/50 {
		t.Errorf("heap of %d KiB before, %d KiB full, %d KiB after", before>>10, full>>10, after>>10)
	}
	if g, err := s.Acquire(t.Context(), scope, "stays", backend.Request{TTL: time.Hour}); err != nil || g.Acquired {
		t.Errorf("Acquire of the lease that stayed = %+v, %v", g, err)
	}
}

// What a shard keeps for its next inserts is a few records, not a crowd's.
func TestUnusedRecordsAreFew(t *testing.T) {
	s, _ := newStore(t)
	sh := &s.shards[0]
	for i := range 2 * maxUnused {
		sh.insert(fmt.Sprint("k", i), time.Second).token = int64(i)
	}
	for len(sh.expiry) > 0 {
		sh.remove(sh.expiry[0].lease)
	}
	unused := 0
	for l := sh.unused; l != nil; l = l.next {
		unused++
	}
	if unused != maxUnused || sh.unusedCount != unused {
		t.Errorf("%d unused records are kept and %d counted, want %d", unused, sh.unusedCount, maxUnused)
	}
}

func heapInUse() int64 {
	runtime.GC()
	runtime.GC() // what the first one found is swept by the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// While shrinking, a shard keeps all its leases in order.
func TestShrinkKeepsTheLeases(t *testing.T) {
	s, clock := newStore(t)
	sh := &s.shards[0]
	for i := range 1000 {
		ttl := time.Second
		if i%10 == 0 {
			ttl = time.Duration(i+2) * time.Second
		}
		sh.insert(fmt.Sprint("k", i), ttl).token = int64(i)
	}
	clock.Advance(time.Second)
	s.reap()
	if s.records(t) != 100 || sh.peak != 100 || cap(sh.expiry) > 200 {
		t.Errorf("%d records, peak %d, heap of %d; want 100, 100, few more", s.records(t), sh.peak, cap(sh.expiry))
	}
	for i := 0; i < 1000; i += 10 {
		if l := sh.leases[fmt.Sprint("k", i)]; l == nil || l.token != int64(i) {
			t.Errorf("lease %d is lost", i)
		}
	}
}

// One shrink must not copy so much that callers wait for it.
func TestShrinkIsBounded(t *testing.T) {
	s, clock := newStore(t)
	sh := &s.shards[0]
	const stay = maxMoved + 1
	for i := range 5 * stay {
		ttl := time.Second
		if i < stay {
			ttl = time.Minute
		}
		sh.insert(fmt.Sprint("k", i), ttl).token = int64(i)
	}
	clock.Advance(time.Second)
	s.reap()
	if len(sh.leases) != stay || sh.peak != 5*stay {
		t.Errorf("%d leases, peak %d; want no shrink yet", len(sh.leases), sh.peak)
	}
	sh.remove(sh.expiry[0].lease)
	s.reap()
	if sh.peak != maxMoved {
		t.Errorf("peak %d, want %d after the shrink", sh.peak, maxMoved)
	}
}

// A shard whose leases change all the time does not grow by it.
func TestChurnDoesNotGrow(t *testing.T) {
	s, clock := newStore(t)
	churn := func(round int) {
		for i := range 20_000 {
			key := fmt.Sprint(round, "/", i)
			token := acquire(t, s, key, time.Second)
			if i%2 == 0 {
				release(t, s, key, token)
			}
		}
		clock.Advance(time.Second)
		s.reap()
	}
	churn(0)
	before := heapInUse()
	for round := range 5 {
		churn(round + 1)
	}
	if grown := heapInUse() - before; grown > 1<<20 {
		t.Errorf("the heap grew by %d KiB", grown>>10)
	}
}

// A shard that is read from disk gets its leases in the order of their keys.
func TestFoundLeasesAreOrdered(t *testing.T) {
	s, _ := newStore(t)
	rapid.Check(t, func(rt *rapid.T) {
		sh := &s.shards[0]
		*sh = shard{}
		ends := rapid.SliceOfN(rapid.Int64Range(0, 8), 0, 100).Draw(rt, "ends")
		for i, end := range ends {
			sh.found(&lease{key: fmt.Sprint(i), token: int64(i), deadline: time.Duration(end)})
		}
		sh.index()
		if n := s.records(rt); n != len(ends) || sh.peak != n {
			rt.Fatalf("%d records with a peak of %d, want %d", n, sh.peak, len(ends))
		}
	})
}

// Whatever is done to a shard, its heap is a heap and holds what its map holds.
func TestExpiryStaysInOrder(t *testing.T) {
	s, _ := newStore(t)
	rapid.Check(t, func(rt *rapid.T) {
		sh := &s.shards[0]
		*sh = shard{}
		sh.init()
		next := 0
		ttl := rapid.Custom(func(rt *rapid.T) time.Duration {
			return time.Duration(rapid.OneOf(rapid.Int64Range(0, 8), rapid.Int64Range(0, math.MaxInt64)).Draw(rt, "end"))
		})
		some := func(rt *rapid.T) *lease {
			if len(sh.expiry) == 0 {
				rt.Skip("the shard is empty")
			}
			return sh.expiry[rapid.IntRange(0, len(sh.expiry)-1).Draw(rt, "lease")].lease
		}
		insert := func(rt *rapid.T) {
			next++
			sh.insert(fmt.Sprint(next), ttl.Draw(rt, "end")).token = int64(next)
		}
		rt.Repeat(map[string]func(*rapid.T){
			"insert":  insert,
			"insert2": insert, // so that it grows
			"remove":  func(rt *rapid.T) { sh.remove(some(rt)) },
			"postpone": func(rt *rapid.T) {
				l := some(rt)
				sh.expiry.postpone(l, max(l.deadline, ttl.Draw(rt, "end")))
			},
			"reap": func(rt *rapid.T) {
				now := time.Duration(rapid.Int64Range(0, 8).Draw(rt, "now"))
				sh.reap(now)
				for _, d := range sh.expiry {
					if l := d.lease; !l.live(now) {
						rt.Fatalf("a lease that ended at %d is there after the reaper came at %d", l.deadline, now)
					}
				}
			},
			"": func(rt *rapid.T) { s.records(rt) },
		})
	})
}
