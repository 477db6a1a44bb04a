package inprocess

import (
	"context"
	"fmt"
	"raisinproxy/backend"
	"sync/atomic"
	"testing"
	"time"
)

func benchStore(b *testing.B) *Store {
	b.Helper()
	s := New(Options{})
	b.Cleanup(func() { s.Close() })
	return s
}

// fill takes n leases.
func fill(b *testing.B, s *Store, n int) {
	b.Helper()
	for i := range n {
		acquire(b, s, fmt.Sprintf("event:%08d", i), time.Hour)
	}
}

// BenchmarkAcquireRelease takes and frees keys that nobody else wants.
func BenchmarkAcquireRelease(b *testing.B) {
	s := benchStore(b)
	var worker atomic.Int64
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		ctx, key := context.Background(), fmt.Sprint("seat:", worker.Add(1))
		for pb.Next() {
			g, err := s.Acquire(ctx, scope, key, backend.Request{TTL: time.Hour})
			if err != nil || !g.Acquired {
				b.Errorf("Acquire = %+v, %v", g, err)
				return
			}
			if ok, _ := s.Release(ctx, scope, key, backend.Proof{Token: g.Token}); !ok {
				b.Error("Release is false")
				return
			}
		}
	})
}

// BenchmarkAcquireContended asks for a key that somebody holds.
func BenchmarkAcquireContended(b *testing.B) {
	s := benchStore(b)
	acquire(b, s, "seat:14A", 24*time.Hour)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		ctx := context.Background()
		for pb.Next() {
			if g, err := s.Acquire(ctx, scope, "seat:14A", backend.Request{TTL: time.Hour}); err != nil || g.Acquired {
				b.Errorf("Acquire = %+v, %v", g, err)
				return
			}
		}
	})
}

// BenchmarkRenew moves the ends of many leases.
func BenchmarkRenew(b *testing.B) {
	s := benchStore(b)
	var worker atomic.Int64
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		ctx, key := context.Background(), fmt.Sprint("seat:", worker.Add(1))
		g, _ := s.Acquire(ctx, scope, key, backend.Request{TTL: time.Hour})
		for pb.Next() {
			if ok, err := s.Renew(ctx, scope, key, backend.Proof{Token: g.Token}, time.Hour); !ok || err != nil {
				b.Errorf("Renew = %v, %v", ok, err)
				return
			}
		}
	})
}

// BenchmarkClaimHotPool sells one pool to everybody.
func BenchmarkClaimHotPool(b *testing.B) {
	s := benchStore(b)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		ctx := context.Background()
		for pb.Next() {
			if c, err := s.Claim(ctx, scope, "tickets", 1, 1<<62); err != nil || !c.Claimed {
				b.Errorf("Claim = %+v, %v", c, err)
				return
			}
		}
	})
}

// BenchmarkAcquireAmong takes and frees a new key beside so many live leases.
func BenchmarkAcquireAmong(b *testing.B) {
	for _, live := range []int{1_000, 1_000_000} {
		b.Run(fmt.Sprint(live), func(b *testing.B) {
			s := benchStore(b)
			fill(b, s, live)
			keys := make([]string, 1024) // so that all shards are met
			for i := range keys {
				keys[i] = fmt.Sprint("seat:", i)
			}
			ctx := context.Background()
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				key := keys[i%len(keys)]
				g, err := s.Acquire(ctx, scope, key, backend.Request{TTL: time.Minute})
				if err != nil || !g.Acquired {
					b.Fatalf("Acquire = %+v, %v", g, err)
				}
				_, _ = s.Release(ctx, scope, key, backend.Proof{Token: g.Token})
			}
		})
	}
}

// BenchmarkBytesPerLock reports the memory of a live lease, its name included.
func BenchmarkBytesPerLock(b *testing.B) {
	const live = 1_000_000
	for b.Loop() {
		s := New(Options{})
		before := heapInUse()
		fill(b, s, live)
		b.ReportMetric(float64(heapInUse()-before)/live, "B/lock")
		s.Close()
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkBytesPerWaiter reports the memory of a call in line, without the goroutine that the
// call has anyway.
func BenchmarkBytesPerWaiter(b *testing.B) {
	const locks, waiters = 100, 10_000
	for b.Loop() {
		s := New(Options{})
		fill(b, s, locks)
		before, end := heapInUse(), deadline(s.clock.Boot(), time.Hour)
		for i := range locks * waiters {
			id := appendKey(nil, scope, fmt.Sprintf("event:%08d", i%locks))
			sh := s.shardOf(id)
			sh.mu.Lock()
			_, err := s.join(sh, id, end, time.Hour, nil)
			sh.mu.Unlock()
			if err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(heapInUse()-before)/(locks*waiters), "B/waiter")
		s.Close()
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkReap drops a million leases that are over, as the reaper does.
func BenchmarkReap(b *testing.B) {
	const live = 1_000_000
	for b.Loop() {
		s, clock := newStore(b)
		fill(b, s, live)
		clock.Advance(time.Hour)
		start := time.Now()
		s.reap()
		b.ReportMetric(float64(time.Since(start).Nanoseconds())/live, "ns/lease")
		s.Close()
	}
	b.ReportMetric(0, "ns/op")
}

func BenchmarkBootClock(b *testing.B) {
	for b.Loop() {
		systemClock{}.Boot()
	}
}
