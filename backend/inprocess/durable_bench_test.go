package inprocess

import (
	"context"
	"fmt"
	"path/filepath"
	"raisinproxy/backend"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// durable is a store in a folder of the machine, for what its disk can do.
func durable(b *testing.B) *Store {
	b.Helper()
	s, err := Open(filepath.Join(b.TempDir(), "data"), Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}

// callers runs b.N calls from so many goroutines and reports how many syncs
// carried them.
func callers(b *testing.B, n int, call func(ctx context.Context, caller int) error) {
	ctx := b.Context()
	var left atomic.Int64
	left.Store(int64(b.N))
	var all sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for i := range n {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				if err := call(ctx, i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}

// BenchmarkDurableClaimHotPool sells one pool to so many callers at once.
func BenchmarkDurableClaimHotPool(b *testing.B) {
	for _, n := range []int{1, 32, 256} {
		b.Run(fmt.Sprintf("callers=%d", n), func(b *testing.B) {
			s := durable(b)
			callers(b, n, func(ctx context.Context, _ int) error {
				c, err := s.Claim(ctx, scope, "tickets", 1, 1<<62)
				if err == nil && !c.Claimed {
					err = fmt.Errorf("Claim = %+v", c)
				}
				return err
			})
		})
	}
}

// BenchmarkDurableAcquireRelease takes and frees keys that nobody else wants.
func BenchmarkDurableAcquireRelease(b *testing.B) {
	for _, n := range []int{1, 32, 256} {
		b.Run(fmt.Sprintf("callers=%d", n), func(b *testing.B) {
			s := durable(b)
			callers(b, n, func(ctx context.Context, caller int) error {
				key := fmt.Sprint("seat:", caller)
				g, err := s.Acquire(ctx, scope, key, backend.Request{TTL: time.Hour})
				if err != nil {
					return err
				}
				if ok, err := s.Release(ctx, scope, key, backend.Proof{Token: g.Token}); !ok || err != nil {
					return fmt.Errorf("Release = %v, %w", ok, err)
				}
				return nil
			})
		})
	}
}
