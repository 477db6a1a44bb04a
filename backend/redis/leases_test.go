package redis

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"raisinproxy/backend"
)

// take counts a lease that is granted.
func (c *leaseCount) take(t *testing.T, user, key string, ttl time.Duration) {
	t.Helper()
	r := backend.Request{TTL: ttl, User: user}
	if _, err := c.counted(backend.Scope{}, key, r, func() (backend.Grant, error) { return backend.Grant{Acquired: true}, nil }); err != nil {
		t.Fatal(err)
	}
}

// TestOverLeasesAreForgotten, and what stays counts on.
func TestOverLeasesAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newLeaseCount(20_000)
		for i := range 10_000 {
			c.take(t, "alice", fmt.Sprint(i), time.Second)
		}
		for i := range 10 {
			c.take(t, "alice", fmt.Sprint("stays", i), time.Minute)
		}
		<-time.After(time.Second)
		c.forget(time.Now())
		if len(c.held) != 10 || len(c.ends) != 10 || c.users["alice"].live != 10 {
			t.Errorf("%d leases are known, %d of them by their end, and %d count; want 10", len(c.held), len(c.ends), c.users["alice"].live)
		}
		if c.peak != 10 || cap(c.ends) > 100 {
			t.Errorf("peak %d, heap of %d: the memory was not given back", c.peak, cap(c.ends))
		}
		<-time.After(time.Minute)
		c.forget(time.Now())
		if len(c.held) != 0 || len(c.users) != 0 {
			t.Errorf("%d leases of %d users are known at the end", len(c.held), len(c.users))
		}
	})
}

// TestACallForgetsFewLeases: a call after a crowd's end does not pay for all of it, and is
// not refused for those that are over.
func TestACallForgetsFewLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 10 * forgotAtOnce
		c := newLeaseCount(limit)
		for i := range limit - 1 {
			c.take(t, "alice", fmt.Sprint(i), time.Second)
		}
		<-time.After(time.Second)
		c.take(t, "alice", "first", time.Minute)
		if n := len(c.held); n != limit-forgotAtOnce {
			t.Errorf("%d leases are known after one call, want %d", n, limit-forgotAtOnce)
		}
		for i := range limit - 1 {
			c.take(t, "alice", fmt.Sprint("next", i), time.Minute)
		}
		if n := len(c.held); n != limit {
			t.Errorf("%d leases are known, want %d", n, limit)
		}
	})
}

// TestAFullUserIsNotRefusedForWhatIsOver, however much of it there is.
func TestAFullUserIsNotRefusedForWhatIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 3 * forgotAtOnce
		c := newLeaseCount(limit)
		for i := range limit {
			c.take(t, "bob", fmt.Sprint("bob", i), time.Second)
		}
		for i := range limit {
			c.take(t, "alice", fmt.Sprint(i), 2*time.Second)
		}
		<-time.After(2 * time.Second)
		c.take(t, "alice", "after", time.Second)
	})
}

// TestTheNextHoldersLeaseCounts: who stands in line may have the lock before the one who released it, or whose lease an
// operator has ended, is told so.
func TestTheNextHoldersLeaseCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newLeaseCount(1)
		for i, user := range []string{"bob", "alice"} {
			r := backend.Request{TTL: time.Minute, User: user}
			granted := backend.Grant{Acquired: true, Token: int64(i + 1)}
			if _, err := c.counted(backend.Scope{}, "k", r, func() (backend.Grant, error) { return granted, nil }); err != nil {
				t.Fatal(err)
			}
		}
		c.renewed(backend.Scope{}, "k", 1, time.Hour)
		c.released(backend.Scope{}, "k", 1)
		if _, ok := c.begin("alice"); ok {
			t.Error("the lease of alice does not count")
		}
		<-time.After(time.Minute)
		c.take(t, "alice", "other", time.Minute)
	})
}
