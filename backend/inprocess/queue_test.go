package inprocess

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"raisinproxy/backend"
)

// inLine has a user wait for a lock, and returns when the call stands in line.
func inLine(ctx context.Context, t *testing.T, s *Store, user, key string) <-chan result[backend.Grant] {
	t.Helper()
	before := s.waitersFor(key)
	answer := call(func() (backend.Grant, error) {
		return s.Acquire(ctx, scope, key, backend.Request{TTL: time.Hour, Wait: time.Hour, User: user})
	})
	for end := time.Now().Add(time.Minute); s.waitersFor(key) == before; {
		if time.Now().After(end) {
			t.Fatal("the call does not stand in line")
		}
		<-time.After(time.Millisecond)
	}
	return answer
}

func (s *Store) waitersFor(key string) int64 {
	id := appendKey(nil, scope, key)
	sh := s.shardOf(id)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.waiters(string(id))
}

// TestACallThatIsGivenUpAsItIsServedHoldsNothing: the lock is handed over after the call's context
// has ended, and before the call could leave the line.
func TestACallThatIsGivenUpAsItIsServedHoldsNothing(t *testing.T) {
	s, _ := newStore(t)
	acquire(t, s, "k", time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	first := inLine(ctx, t, s, "alice", "k")
	patient, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	second := inLine(patient, t, s, "bob", "k")
	id := appendKey(nil, scope, "k")
	sh := s.shardOf(id)
	sh.mu.Lock()
	cancel()
	if _, err := s.end(sh, sh.leases[string(id)]); err != nil {
		t.Fatal(err)
	}
	sh.mu.Unlock()
	if r := <-first; r.err == nil && r.answer.Acquired {
		// It had its answer before it saw that nobody wants it.
		if ok, err := s.Release(t.Context(), scope, "k", backend.Proof{Token: r.answer.Token, User: "alice"}); !ok || err != nil {
			t.Errorf("Release = %v, %v", ok, err)
		}
	} else if !errors.Is(r.err, context.Canceled) || !errors.Is(r.err, backend.ErrUnavailable) {
		t.Errorf("a call that was given up = %+v", r)
	}
	if r := <-second; r.err != nil || !r.answer.Acquired {
		t.Errorf("the next in line = %+v", r)
	}
}

// TestALineStaysWhenTheJournalIsFull: a lock that cannot be handed over is kept for those in line.
func TestALineStaysWhenTheJournalIsFull(t *testing.T) {
	inBubble(t, "line", func(t *testing.T) {
		m, s, g := gated(t)
		token := acquire(t, s, "k", time.Hour)
		waits := func(user string) <-chan result[backend.Grant] {
			return call(func() (backend.Grant, error) {
				return s.Acquire(t.Context(), scope, "k", backend.Request{TTL: time.Hour, Wait: time.Hour, User: user})
			})
		}
		first := waits("alice")
		synctest.Wait()
		second := waits("bob")
		synctest.Wait()
		g.shut.Store(true)
		released := call(func() (bool, error) { return s.Release(t.Context(), scope, "other", backend.Proof{}) })
		stuck := call(func() (backend.Claimed, error) { return s.Claim(t.Context(), scope, "p", 1, 10) })
		synctest.Wait()
		fill := []byte(strings.Repeat("x", backend.MaxNameBytes))
		for err := error(nil); err == nil; {
			_, _, err = s.claim(fill, 1, 1<<40)
		}
		id := appendKey(nil, scope, "k")
		sh := s.shardOf(id)
		sh.mu.Lock()
		sh.remove(sh.leases[string(id)]) // as if it had ended: the journal has no room for more
		s.serve(sh, string(id))
		sh.mu.Unlock()
		if g, _, _, err := s.acquireOrJoin(sh, id, backend.Request{TTL: time.Hour, User: "carol"}, 0); err != nil || g.token != 0 {
			t.Errorf("a call that does not wait was answered %+v, %v; want a refusal", g, err)
		}
		third := waits("dave")
		synctest.Wait()
		if n := s.waitersFor("k"); n != 3 {
			t.Errorf("%d stand in line, want 3", n)
		}
		g.open(nil)
		<-released
		<-stuck
		synctest.Wait() // what waited is written
		m.clock.Advance(retryAfter)
		r := <-first
		if r.err != nil || !r.answer.Acquired || r.answer.Token <= token {
			t.Fatalf("the first in line = %+v", r)
		}
		for i, next := range []struct {
			user   string
			answer <-chan result[backend.Grant]
		}{{"bob", second}, {"dave", third}} {
			before := []string{"alice", "bob"}[i]
			if ok, err := s.Release(t.Context(), scope, "k", backend.Proof{Token: r.answer.Token, User: before}); !ok || err != nil {
				t.Fatalf("Release by %s = %v, %v", before, ok, err)
			}
			if r = <-next.answer; r.err != nil || !r.answer.Acquired {
				t.Fatalf("%s in line = %+v", next.user, r)
			}
		}
	})
}

// TestHoldersGoOnAfterARestart: and capacities, and what operators have set and dropped.
func TestHoldersGoOnAfterARestart(t *testing.T) {
	for name, restarted := range map[string]func(*machine) *machine{"killed": (*machine).killed, "unplugged": (*machine).unplugged} {
		t.Run(name, func(t *testing.T) {
			m := newMachine()
			s := m.open(t)
			g, err := s.Acquire(t.Context(), scope, "k", backend.Request{TTL: time.Hour, User: "alice"})
			if err != nil {
				t.Fatal(err)
			}
			claim(t, s, "p", 3, 10)
			claim(t, s, "dropped", 3, 10)
			if _, _, err := s.SetPool(t.Context(), scope, backend.Pool{Name: "set", Capacity: 7, Remaining: 5}); err != nil {
				t.Fatal(err)
			}
			if ok, err := s.DropPool(t.Context(), scope, "dropped"); !ok || err != nil {
				t.Fatal(ok, err)
			}
			before, _, _ := s.Look(t.Context(), scope, "k")
			m = restarted(m)
			s = m.open(t)
			after, held, err := s.Look(t.Context(), scope, "k")
			if err != nil || !held || after.User != "alice" || after.Token != g.Token || !after.AcquiredAt.Equal(before.AcquiredAt) {
				t.Errorf("Look = %+v, %v, %v; it was %+v", after, held, err, before)
			}
			if ok, err := s.Release(t.Context(), scope, "k", backend.Proof{Token: g.Token, User: "bob"}); ok || err != nil {
				t.Errorf("Release by another = %v, %v", ok, err)
			}
			pools, err := s.Pools(t.Context(), scope, "", 10)
			if want := []backend.Pool{{Name: "p", Capacity: 10, Remaining: 7}, {Name: "set", Capacity: 7, Remaining: 5}}; err != nil || !slices.Equal(pools, want) {
				t.Errorf("Pools = %+v, %v; want %+v", pools, err, want)
			}
		})
	}
}
