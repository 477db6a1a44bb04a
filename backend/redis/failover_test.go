package redis

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"raisinproxy/backend"
	"raisinproxy/backend/redis/redistest"
)

// working makes claims and locks without end, and counts the claims that were acknowledged, and those in doubt.
func working(t *testing.T, s *Store, acknowledged, inDoubt *atomic.Int64) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var workers sync.WaitGroup
	for i := range 4 {
		workers.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				c, err := s.Claim(context.WithoutCancel(ctx), scope, fmt.Sprint("p", i), 1, 1_000_000)
				switch {
				case err == nil && c.Claimed:
					acknowledged.Add(1)
				case errors.Is(err, backend.ErrInDoubt):
					inDoubt.Add(1)
				}
				_, _ = s.Acquire(context.WithoutCancel(ctx), scope, fmt.Sprint("k", i, "-", n), backend.Request{TTL: time.Minute})
			}
		})
	}
	return func() { cancel(); workers.Wait() }
}

// Changes wait for a replica, and an operator has it promoted: what was not acknowledged may be
// gone, and is no loss.
func TestAPlannedFailoverIsNoLoss(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t, redistest.AOFAlways)
	replica := redistest.StartReplica(t, master, redistest.AOFAlways)
	sentinel := redistest.StartSentinel(t, "locks", master)
	sentinel.AwaitReplicas("locks", 1)
	o := options(t, "")
	o.URLs, o.SentinelMaster = []string{sentinel.URL()}, "locks"
	o.WaitReplicas, o.WaitTimeout, o.Timeout = 1, 100*time.Millisecond, time.Second
	s, other := open(t, o), open(t, second(t, o))
	var acknowledged, inDoubt atomic.Int64
	stops := []func(){working(t, s, &acknowledged, &inDoubt), working(t, other, &acknowledged, &inDoubt)}
	eventually(t, "claims are acknowledged", func() bool { return acknowledged.Load() > 100 })
	sentinel.Failover("locks")
	eventually(t, "the other one is master", func() bool { return replica.Info(t.Context(), "role") == "master" })
	// The old master goes on, and nothing that it does is acknowledged.
	eventually(t, "calls are in doubt, for want of a replica", func() bool { return inDoubt.Load() > 20 })
	master.Do("REPLICAOF", "127.0.0.1", replica.Port) // what the Sentinel does too, in its own time
	eventually(t, "it has a replica", func() bool { return replica.Info(t.Context(), "connected_slaves") == "1" })
	before := acknowledged.Load()
	eventually(t, "claims are acknowledged again, or a loss was noticed", func() bool {
		return acknowledged.Load() > before+200 || isLost(s)() || isLost(other)()
	})
	for _, stop := range stops {
		stop()
	}
	for _, proxy := range []*Store{s, other} {
		_, why := proxy.watch.lossOf()
		if why != "" {
			t.Errorf("a loss was noticed where there is none: %s", why)
		}
	}
	left := int64(0)
	for i := range 4 {
		var n int64
		if _, err := fmt.Sscan(fmt.Sprint(replica.Do("HGET", keyOf(o.Namespace, poolKind, scope, fmt.Sprint("p", i)), "n")), &n); err != nil {
			t.Fatal(err)
		}
		left += n
	}
	if gone := 4_000_000 - left; gone < acknowledged.Load() {
		t.Errorf("%d claims were acknowledged, %d units are gone", acknowledged.Load(), gone)
	}
}
