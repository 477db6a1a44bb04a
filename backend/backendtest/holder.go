package backendtest

import (
	"testing"
	"time"

	"raisinproxy/backend"
)

var holderCases = []testCase{
	{"another user cannot release", foreignUserCannotRelease},
	{"another user cannot renew", foreignUserCannotRenew},
	{"the same user can, through any client", sameUserCan},
	{"a lease of nobody is everybody's", leaseOfNobody},
	{"the next holder is another user", nextHolder},
	{"the holder and the times of a lease are seen", leaseIsSeen},
	{"renew changes the end that is seen, and not the beginning", renewIsSeen},
	{"a free lock has no holder", freeLockIsSeen},
}

// mustAcquireAs is mustAcquire for a user.
func (s *store) mustAcquireAs(user, key string, ttl time.Duration) (token int64) {
	s.t.Helper()
	call := s.plan.begin()
	g, err := s.client().Acquire(s.ctx, s.scope, key, backend.Request{TTL: ttl, User: user})
	if err != nil || !g.Acquired {
		s.t.Fatalf("Acquire(%.40q) by %s = %+v, %v; the key is free", key, user, g, err)
	}
	s.plan.granted(s.lock(key), g.Token, call, ttl)
	return g.Token
}

func (s *store) releaseAs(user, key string, token int64) bool {
	s.t.Helper()
	ok, err := s.client().Release(s.ctx, s.scope, key, backend.Proof{Token: token, User: user})
	s.plan.answered(s.lock(key))
	if ok {
		s.plan.released(s.lock(key), token)
	}
	if err != nil {
		s.t.Errorf("Release(%.40q, %d) by %s: %v", key, token, user, err)
	}
	return ok
}

func (s *store) mustReleaseAs(user, key string, token int64) {
	s.t.Helper()
	if !s.releaseAs(user, key, token) {
		s.t.Fatalf("Release(%.40q, %d) by %s, the holder, is false", key, token, user)
	}
}

func (s *store) mustNotReleaseAs(user, key string, token int64) {
	s.t.Helper()
	if s.releaseAs(user, key, token) {
		s.t.Fatalf("Release(%.40q, %d) by %s, who is not the holder, is true", key, token, user)
	}
}

// renewAs renews a lease of the lock "k".
func (s *store) renewAs(user string, token int64, ttl time.Duration) bool {
	const key = "k"
	s.t.Helper()
	call := s.plan.begin()
	ok, err := s.client().Renew(s.ctx, s.scope, key, backend.Proof{Token: token, User: user}, ttl)
	s.plan.answered(s.lock(key))
	if ok {
		s.plan.renewed(s.lock(key), token, call, ttl)
	}
	if err != nil {
		s.t.Errorf("Renew(%.40q, %d) by %s: %v", key, token, user, err)
	}
	return ok
}

func (s *store) look(key string) (backend.Lease, bool) {
	s.t.Helper()
	l, held, err := s.client().Look(s.ctx, s.scope, key)
	if err != nil {
		s.t.Fatalf("Look(%.40q): %v", key, err)
	}
	return l, held
}

func foreignUserCannotRelease(_ testing.TB, s *store) {
	token := s.mustAcquireAs("alice", "k", s.units(100))
	for _, user := range []string{"bob", "", "Alice", "alice "} {
		s.mustNotReleaseAs(user, "k", token)
	}
	s.mustBeHeld("k")
	s.mustReleaseAs("alice", "k", token)
}

func foreignUserCannotRenew(t testing.TB, s *store) {
	token := s.mustAcquireAs("alice", "k", s.units(6))
	s.advance(1)
	if s.renewAs("bob", token, s.units(100)) {
		t.Fatal("bob has renewed alice's lease")
	}
	s.advance(6)
	s.mustAcquireAs("bob", "k", s.unit) // it has ended at its time
}

func sameUserCan(t testing.TB, s *store) {
	token := s.mustAcquireAs("alice", "k", s.units(100))
	for range len(s.Clients) {
		if !s.renewAs("alice", token, s.units(100)) {
			t.Fatal("alice cannot renew her lease")
		}
	}
	s.mustReleaseAs("alice", "k", token)
}

func leaseOfNobody(t testing.TB, s *store) {
	token := s.mustAcquire("k", s.units(100))
	if !s.renewAs("alice", token, s.units(200)) {
		t.Fatal("a lease of nobody cannot be renewed by alice")
	}
	s.mustReleaseAs("bob", "k", token)
}

func nextHolder(_ testing.TB, s *store) {
	first := s.mustAcquireAs("alice", "k", s.units(100))
	s.mustReleaseAs("alice", "k", first)
	second := s.mustAcquireAs("bob", "k", s.units(6))
	s.mustNotReleaseAs("alice", "k", second)
	s.advance(7)
	third := s.mustAcquire("k", s.units(100)) // of nobody, after bob's is over
	s.mustReleaseAs("alice", "k", third)
}

// about tells whether two times are the same, as far as the harness can tell.
func (s *store) about(a, b time.Time) bool { return a.Sub(b).Abs() <= s.slack+time.Millisecond }

func leaseIsSeen(t testing.TB, s *store) {
	at := s.Wall()
	token := s.mustAcquireAs("Ünal \"x\"", "k", s.units(100))
	s.advance(2)
	l, held := s.look("k")
	if !held || l.Key != "k" || l.User != "Ünal \"x\"" || l.Token != token || l.Waiters != 0 {
		t.Errorf("Look = %+v, %v", l, held)
	}
	if !s.about(l.AcquiredAt, at) || !s.about(l.ExpiresAt, at.Add(s.units(100))) {
		t.Errorf("from %v to %v, want %v to %v", l.AcquiredAt, l.ExpiresAt, at, at.Add(s.units(100)))
	}
}

func renewIsSeen(t testing.TB, s *store) {
	at := s.Wall()
	token := s.mustAcquireAs("alice", "k", s.units(50))
	s.advance(2)
	renewed := s.Wall()
	s.renewAs("alice", token, s.units(100))
	l, held := s.look("k")
	if !held || !s.about(l.AcquiredAt, at) || !s.about(l.ExpiresAt, renewed.Add(s.units(100))) {
		t.Errorf("Look = %+v, %v; want from %v to %v", l, held, at, renewed.Add(s.units(100)))
	}
}

func freeLockIsSeen(t testing.TB, s *store) {
	never, held := s.look("never")
	if held || never != (backend.Lease{Key: "never"}) {
		t.Errorf("Look of a lock that was never taken = %+v, %v", never, held)
	}
	s.mustReleaseAs("alice", "k", s.mustAcquireAs("alice", "k", s.units(100)))
	s.mustAcquireAs("alice", "over", s.units(1))
	s.advance(3)
	for _, key := range []string{"k", "over"} {
		if l, held := s.look(key); held || l != (backend.Lease{Key: key}) {
			t.Errorf("Look of a lock that is free again = %+v, %v", l, held)
		}
	}
}
