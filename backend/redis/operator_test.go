package redis

import (
	"context"
	"errors"
	"testing"
	"time"

	"raisinproxy/backend"
	"raisinproxy/backend/redis/redistest"
)

func mustSet(t *testing.T, s *Store, capacity, remaining int64) {
	t.Helper()
	if _, _, err := s.SetPool(t.Context(), scope, backend.Pool{Name: "p", Capacity: capacity, Remaining: remaining}); err != nil {
		t.Fatalf("SetPool: %v", err)
	}
}

func mustDrop(t *testing.T, s *Store, pool string, want bool) {
	t.Helper()
	if dropped, err := s.DropPool(t.Context(), scope, pool); dropped != want || err != nil {
		t.Fatalf("DropPool(%q) = %v, %v; want %v", pool, dropped, err, want)
	}
}

// Pools of two lives are one pool of Redis: that it has no units for a while is no loss for who has seen it before.
func TestADroppedPoolIsNoLossForOtherProxies(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := options(t, server.URL())
	s, other, third := open(t, o), open(t, second(t, o)), open(t, second(t, o))
	for round := range int64(3) {
		for i, proxy := range []*Store{s, other, third} {
			mustClaim(t, proxy, "p", 1, 10, 9-int64(i))
		}
		mustDrop(t, s, "p", true)
		if _, err := other.Restock(t.Context(), scope, "p", 1); !errors.Is(err, backend.ErrNoPool) {
			t.Fatalf("round %d: Restock: %v, want ErrNoPool", round, err)
		}
		if p, found, err := third.Count(t.Context(), scope, "p"); found || err != nil {
			t.Fatalf("round %d: Count = %+v, %v, %v", round, p, found, err)
		}
		mustDrop(t, other, "p", false)
	}
	if left := server.Do("PTTL", keyOf(o.Namespace, poolKind, scope, "p")); left != int64(-1) {
		t.Errorf("what is known of the pool lives for %v ms, want for ever", left)
	}
	if isLost(s)() || isLost(other)() || isLost(third)() {
		t.Error("a loss was noticed where there is none")
	}
}

// A note about a call that was given up does not take with it what is known of a pool that was dropped.
func TestADroppedPoolIsKnownAfterACallThatWasGivenUp(t *testing.T) {
	s, server, link, o := linked(t)
	mustClaim(t, s, "dropped", 1, 10, 9)
	mustDrop(t, s, "dropped", true)
	giveUp(t, s, link, "dropped")()
	if left := server.Do("PTTL", keyOf(o.Namespace, poolKind, scope, "dropped")); left != int64(-1) {
		t.Errorf("what is known of the pool lives for %v ms, want for ever", left)
	}
}

func TestAnOperatorSetsPoolsBeforeAdopt(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := options(t, server.URL())
	s, other := open(t, o), open(t, second(t, o))
	for _, pool := range []string{"p", "kept", "gone"} {
		mustClaim(t, s, pool, 1, 180, 179)
	}
	mustClaim(t, other, "p", 1, 180, 178)
	kept := keyOf(o.Namespace, poolKind, scope, "kept")
	gen := server.Do("HGET", kept, "gen")
	server.Do("FLUSHALL")
	server.Do("HSET", kept, "n", 180, "gen", gen, "seq", 0)
	eventually(t, "the loss is noticed", func() bool { return isLost(s)() && isLost(other)() })
	if _, err := s.DropPool(t.Context(), scope, "kept"); !errors.Is(err, backend.ErrStateLost) {
		t.Errorf("DropPool: %v, want ErrStateLost", err)
	}
	eventually(t, "a missing pool is set", func() bool {
		before, found, err := other.SetPool(t.Context(), scope, backend.Pool{Name: "p", Capacity: 180, Remaining: 178})
		if err == nil && found {
			t.Fatalf("SetPool of a pool that is gone tells %+v", before)
		}
		return err == nil
	})
	before, found, err := s.SetPool(t.Context(), scope, backend.Pool{Name: "kept", Capacity: 180, Remaining: 170})
	if want := (backend.Pool{Name: "kept", Capacity: backend.UnknownCapacity, Remaining: 180}); before != want || !found || err != nil {
		t.Errorf("SetPool = %+v, %v, %v; want %+v", before, found, err, want)
	}
	expectStopped(t, s) // until adopt
	if _, err := Adopt(t.Context(), o, AdoptOptions{Init: true}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "inventory goes on", func() bool { return !isLost(s)() && !isLost(other)() })
	mustClaim(t, s, "p", 1, 1, 177)
	mustClaim(t, other, "p", 1, 1, 176)
	mustClaim(t, other, "kept", 1, 1, 169)

	// That a pool is missing is not made good by dropping it.
	if _, _, err := s.Count(t.Context(), scope, "gone"); !errors.Is(err, backend.ErrPoolMissing) {
		t.Errorf("Count: %v, want ErrPoolMissing", err)
	}
	if _, err := s.DropPool(t.Context(), scope, "gone"); !errors.Is(err, backend.ErrPoolMissing) {
		t.Errorf("DropPool: %v, want ErrPoolMissing", err)
	}
	if _, err := s.Claim(t.Context(), scope, "gone", 1, 180); !errors.Is(err, backend.ErrPoolMissing) {
		t.Errorf("Claim: %v, want ErrPoolMissing", err)
	}
	// One that an operator drops afterwards is not missing.
	mustDrop(t, s, "kept", true)
	if _, found, err := other.Count(t.Context(), scope, "kept"); found || err != nil {
		t.Errorf("Count = %v, %v", found, err)
	}
	mustClaim(t, other, "kept", 1, 5, 4)
}

// Whoever sets a pool that went back sets it, and inventory has stopped nevertheless: others went back with it.
func TestSettingAPoolThatWentBackNoticesTheLoss(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := options(t, server.URL())
	s := open(t, o)
	mustClaim(t, s, "p", 1, 10, 9)
	server.Do("HSET", keyOf(o.Namespace, poolKind, scope, "p"), "n", 10, "seq", 0)
	mustSet(t, s, 10, 5)
	expectStopped(t, s)
	if got := server.Do("HGET", keyOf(o.Namespace, poolKind, scope, "p"), "n"); got != "5" {
		t.Errorf("the pool has %v units, want 5", got)
	}
}

// The hints of the errors about such values name the operator's functions.
func TestAnOperatorMendsValuesThatNobodyOfOursWrites(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := options(t, server.URL())
	o.MaxTTL = time.Hour
	s := open(t, o)
	pool, lock := keyOf(o.Namespace, poolKind, scope, "p"), keyOf(o.Namespace, lockKind, scope, "k")
	for _, fields := range [][]any{{"n", "-3"}, {"n", ""}, {"n", "5", "seq", "x y"}, {"n", "5", "c", "x"}} {
		for name, mend := range map[string]func(){
			"SetPool":  func() { mustSet(t, s, 10, 5) },
			"DropPool": func() { mustDrop(t, s, "p", true) },
		} {
			server.Do("DEL", pool)
			s.known.forgetPools()
			server.Do(append([]any{"HSET", pool}, fields...)...)
			mend()
			if c, err := s.Claim(t.Context(), scope, "p", 1, 5); err != nil || c.Remaining != 4 {
				t.Errorf("%v, %s: Claim = %+v, %v", fields, name, c, err)
			}
			if p, found, err := s.Count(t.Context(), scope, "p"); err != nil || !found || p.Capacity < 5 {
				t.Errorf("%v, %s: Count = %+v, %v, %v", fields, name, p, found, err)
			}
		}
	}
	token := mustAcquire(t, s, "k", time.Minute)
	for _, spoil := range [][]any{{"PERSIST", lock}, {"HSET", lock, "r", "x"}, {"HSET", lock, "r", "0"}, {"HSET", lock, "t", "1e9"}} {
		server.Do(spoil...)
		if _, _, err := s.Look(t.Context(), scope, "k"); err == nil {
			t.Fatalf("vacuous: %v", spoil)
		}
		if _, held, err := s.Evict(t.Context(), scope, "k"); !held || err != nil {
			t.Errorf("%v: Evict = %v, %v", spoil, held, err)
		}
		next := mustAcquire(t, s, "k", time.Minute)
		if next <= token {
			t.Errorf("%v: token %d after %d", spoil, next, token)
		}
		token = next
	}
}

// A holder's name is told as it is, by each copy.
func TestWhoWasEvictedIsToldByName(t *testing.T) {
	t.Parallel()
	s, _, link, _ := linked(t)
	for _, user := range []string{"", "alice", "a b", " %20\t\n", "%", "ü 中", "u"} {
		if g, err := s.Acquire(t.Context(), scope, "k", backend.Request{TTL: time.Minute, User: user}); !g.Acquired || err != nil {
			t.Fatal(g, err)
		}
		link.Next(redistest.Rule{DropAnswer: true})
		if l, held, err := s.Evict(t.Context(), scope, "k"); l.User != user || !held || err != nil {
			t.Errorf("Evict of %q = %+v, %v, %v", user, l, held, err)
		}
	}
}

// All that a call was answered is told when it is settled, too.
func TestACallOfAnOperatorIsToldWhenItIsSettled(t *testing.T) {
	t.Parallel()
	s, server, link, o := linked(t)
	settled := func(call func()) {
		t.Helper()
		link.Next(redistest.Rule{DropAnswer: true}, redistest.Rule{DropAnswer: true})
		call()
		if link.Pending() > 0 {
			t.Error("vacuous: an answer has arrived")
		}
	}
	if g, err := s.Acquire(t.Context(), scope, "k", backend.Request{TTL: time.Minute, User: "alice"}); !g.Acquired || err != nil {
		t.Fatal(g, err)
	}
	seen, _, err := s.Look(t.Context(), scope, "k")
	if err != nil {
		t.Fatal(err)
	}
	settled(func() {
		l, held, err := s.Evict(t.Context(), scope, "k")
		if l.Token != seen.Token || l.User != "alice" || !l.AcquiredAt.Equal(seen.AcquiredAt) || l.ExpiresAt.IsZero() || !held || err != nil {
			t.Errorf("Evict = %+v, %v, %v; want %+v", l, held, err, seen)
		}
	})
	mustClaim(t, s, "p", 1, 10, 9)
	settled(func() {
		p, found, err := s.SetPool(t.Context(), scope, backend.Pool{Name: "p", Capacity: 5, Remaining: 4})
		if want := (backend.Pool{Name: "p", Capacity: 10, Remaining: 9}); p != want || !found || err != nil {
			t.Errorf("SetPool = %+v, %v, %v; want %+v", p, found, err, want)
		}
	})
	mustClaim(t, s, "p", 1, 10, 3)
	settled(func() {
		if dropped, _, err := s.drop(t.Context(), keyOf(o.Namespace, poolKind, scope, "p")); !dropped || err != nil {
			t.Errorf("DropPool = %v, %v", dropped, err)
		}
	})
	mustClaim(t, s, "p", 1, 10, 9)
	if got := server.Do("HGET", keyOf(o.Namespace, poolKind, scope, "p"), "c"); got != "10" {
		t.Errorf("the capacity is %v, want 10", got)
	}
}

// The last token is above all that this proxy has seen: only the lock knows it.
func TestTheTokenOfAnEvictedLockIsRemembered(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := options(t, server.URL())
	s := open(t, o)
	mustAcquire(t, s, "k", time.Minute)
	ahead := time.Now().Add(time.Hour).UnixMicro()
	server.Do("HSET", keyOf(o.Namespace, lockKind, scope, "k"), "t", ahead)
	l, held, err := s.Evict(t.Context(), scope, "k")
	if l.Token != ahead || !held || err != nil {
		t.Fatalf("Evict = %+v, %v, %v; want token %d", l, held, err, ahead)
	}
	if next := mustAcquire(t, s, "k", time.Minute); next <= ahead {
		t.Errorf("token %d after %d", next, ahead)
	}
}

// The retry is answered; then others go on, and only then the first copy arrives.
func TestACopyOfAnOperatorsCallDoesNothingLater(t *testing.T) {
	s, server, link, o := patient(t)
	o.URL = server.URL()
	other := open(t, second(t, o))
	mustAcquire(t, other, "k", time.Minute)
	mustClaim(t, other, "p", 1, 10, 9)

	arrive := holdingBack(t, link, func() {
		if _, held, err := s.Evict(t.Context(), scope, "k"); !held || err != nil {
			t.Fatal(held, err)
		}
	})
	token := mustAcquire(t, other, "k", time.Minute)
	arrive()
	if ok, err := other.Renew(t.Context(), scope, "k", backend.Proof{Token: token}, time.Minute); !ok || err != nil {
		t.Errorf("Renew = %v, %v: the next lease was evicted too", ok, err)
	}

	arrive = holdingBack(t, link, func() { mustSet(t, s, 20, 15) })
	mustClaim(t, other, "p", 5, 0, 10)
	arrive()
	mustClaim(t, other, "p", 5, 0, 5)

	arrive = holdingBack(t, link, func() {
		if dropped, _, err := s.drop(t.Context(), keyOf(o.Namespace, poolKind, scope, "p")); !dropped || err != nil {
			t.Fatal(dropped, err)
		}
	})
	mustClaim(t, other, "p", 1, 10, 9)
	arrive()
	mustClaim(t, other, "p", 1, 10, 8)
}

func TestACancelledCallOfAnOperatorThatWasAppliedIsInDoubt(t *testing.T) {
	s, server, link, o := linked(t)
	mustAcquire(t, s, "k", time.Minute)
	mustClaim(t, s, "p", 1, 10, 9)
	for name, call := range map[string]func(ctx context.Context) (bool, error){
		"Evict": func(ctx context.Context) (bool, error) { _, held, err := s.Evict(ctx, scope, "k"); return held, err },
		"SetPool": func(ctx context.Context) (bool, error) {
			_, found, err := s.SetPool(ctx, scope, backend.Pool{Name: "p"})
			return found, err
		},
		"DropPool": func(ctx context.Context) (bool, error) {
			dropped, _, err := s.drop(ctx, keyOf(o.Namespace, poolKind, scope, "p"))
			return dropped, err
		},
	} {
		mustSet(t, s, 10, 5)
		if ok, err := cancelled(t, server, link, call); ok || !errors.Is(err, backend.ErrInDoubt) || !errors.Is(err, context.Canceled) {
			t.Errorf("%s = %v, %v; want ErrInDoubt and Canceled", name, ok, err)
		}
	}
}

// Somebody has noted the name to make the pool anew, and it is dropped once more before he does: he notes it again.
func TestAPoolThatIsMadeWhileItIsDroppedCounts(t *testing.T) {
	t.Parallel()
	o := options(t, redistest.URL(t))
	o.MaxPools = 1
	s, other := open(t, o), open(t, second(t, o))
	id := keyOf(o.Namespace, poolKind, scope, "p")
	mustClaim(t, s, "p", 1, 10, 9)
	mustDrop(t, s, "p", true)
	tries := 0
	r, err := s.making(t.Context(), scope, "p", func(making string) (reply, bool, error) {
		if tries++; tries == 2 {
			mustDrop(t, other, "p", false) // which takes the name off
		}
		return s.claim(t.Context(), id, 1, 10, making)
	})
	if err != nil || r.word != "CLAIMED" || tries != 3 {
		t.Fatalf("after %d tries: %v, %v", tries, r, err)
	}
	if _, err := other.Claim(t.Context(), scope, "another", 1, 10); !errors.Is(err, backend.ErrTooManyPools) {
		t.Errorf("a pool beyond the limit: %v, want ErrTooManyPools", err)
	}
	mustDrop(t, s, "p", true)
	if _, _, err := other.SetPool(t.Context(), scope, backend.Pool{Name: "another"}); err != nil {
		t.Errorf("a pool in the place of one that was dropped: %v", err)
	}
	if _, err := s.Claim(t.Context(), scope, "p", 1, 10); !errors.Is(err, backend.ErrTooManyPools) {
		t.Errorf("a pool beyond the limit: %v, want ErrTooManyPools", err)
	}
}
