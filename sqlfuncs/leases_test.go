package sqlfuncs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"raisinproxy/backend"
	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// timedLocks are leases by the clock of package time.
type timedLocks struct {
	recorder

	mu     sync.Mutex
	leases map[string]time.Time
	err    error // of the next acquire
}

func (l *timedLocks) Acquire(_ context.Context, _ backend.Scope, key string, ttl time.Duration) (backend.Grant, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.err; err != nil {
		l.err = nil
		return backend.Grant{}, err
	}
	if l.leases[key].After(time.Now()) {
		return backend.Grant{}, nil
	}
	l.leases[key] = time.Now().Add(ttl)
	return backend.Grant{Acquired: true, Token: 1}, nil
}

func (l *timedLocks) Release(_ context.Context, _ backend.Scope, key string, _ int64) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	held := l.leases[key].After(time.Now())
	delete(l.leases, key)
	return held, nil
}

func (l *timedLocks) Renew(_ context.Context, _ backend.Scope, key string, _ int64, ttl time.Duration) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.leases[key].After(time.Now()) {
		return false, nil
	}
	l.leases[key] = time.Now().Add(ttl)
	return true, nil
}

// limited is a service in which a user may have three leases.
type limited struct {
	*sqlfuncs.Service
	t     *testing.T
	locks *timedLocks
}

func newLimited(t *testing.T) *limited {
	locks := &timedLocks{leases: map[string]time.Time{}}
	l := &limited{Service: sqlfuncs.NewService(locks, time.Hour), t: t, locks: locks}
	l.LimitLeases(3)
	return l
}

// call gives the first column, or the SQLSTATE.
func (l *limited) call(user, name string, args ...datum.Datum) string {
	f, ok := sqlfuncs.Lookup(name)
	if !ok {
		l.t.Fatal(name)
	}
	row, err := l.Call(l.t.Context(), &sqlfuncs.Caller{User: user}, f, args, func(*pgerr.Error) {})
	if e, ok := errors.AsType[*pgerr.Error](err); ok {
		if e.Code == "53400" && !strings.Contains(e.Hint, "max_leases_per_user") {
			l.t.Errorf("the hint does not name the setting: %q", e.Hint)
		}
		return string(e.Code)
	}
	return fmt.Sprint(row[0].Int != 0)
}

func (l *limited) acquire(user, key string, ms int64) string {
	return l.call(user, "raisin_lock_acquire", datum.OfText(key), datum.OfInt(ms))
}

func (l *limited) want(what, got, want string) {
	l.t.Helper()
	if got != want {
		l.t.Errorf("%s: %s, want %s", what, got, want)
	}
}

// TestLeasesOfAUserAreLimited: live ones, and not those of others.
func TestLeasesOfAUserAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimited(t)
		for _, key := range []string{"a", "b", "c"} {
			l.want("acquire "+key, l.acquire("alice", key, 1000), "true")
		}
		l.want("the fourth", l.acquire("alice", "d", 1000), "53400")
		l.want("the fourth is not granted", l.acquire("bob", "d", 1000), "true")
		l.want("one that is held is not asked for", l.acquire("alice", "a", 1000), "53400")
		l.want("a key of somebody else's", l.acquire("bob", "a", 1000), "false")
		l.want("renew", l.call("alice", "raisin_lock_renew", datum.OfText("a"), datum.OfInt(1), datum.OfInt(5000)), "true")
		l.want("release", l.call("alice", "raisin_lock_release", datum.OfText("b"), datum.OfInt(1)), "true")
		l.want("release again", l.call("alice", "raisin_lock_release", datum.OfText("b"), datum.OfInt(1)), "false")
		l.want("in its place", l.acquire("alice", "b", 1000), "true")
		l.want("and no more", l.acquire("alice", "d", 1000), "53400")
		<-time.After(1500 * time.Millisecond) // b and c are over, a was renewed
		l.want("after the end of two", l.acquire("alice", "e", 9000), "true")
		l.want("after the end of two", l.acquire("alice", "f", 9000), "true")
		l.want("the renewed one counts", l.acquire("alice", "g", 9000), "53400")
	})
}

// TestLeasesOfAnUnknownOutcomeCount: they may be live. Those of a failure do not.
func TestLeasesOfAnUnknownOutcomeCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimited(t)
		for range 5 {
			l.locks.err = backend.ErrUnavailable
			l.want("an outage", l.acquire("alice", "a", 1000), "58000")
		}
		for _, key := range []string{"a", "b", "c"} {
			l.locks.err = backend.ErrInDoubt
			l.want("in doubt", l.acquire("alice", key, 1000), "40003")
		}
		l.want("three may be live", l.acquire("alice", "d", 1000), "53400")
		<-time.After(time.Second)
		l.want("they are over, if they were", l.acquire("alice", "d", 1000), "true")
	})
}

// TestLeasesRaceForTheLimit: many at once get no more than the limit.
func TestLeasesRaceForTheLimit(t *testing.T) {
	l := newLimited(t)
	var granted atomic.Int64
	var group sync.WaitGroup
	for i := range 64 {
		group.Go(func() {
			if l.acquire("alice", fmt.Sprint(i), 3_600_000) == "true" {
				granted.Add(1)
			}
		})
	}
	group.Wait()
	if n := granted.Load(); n != 3 {
		t.Errorf("%d leases were granted, want 3", n)
	}
}
