package backendtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"raisinproxy/backend"
)

var queueCases = []testCase{
	{"a free lock is granted at once to a call that would wait", freeLockIsGrantedAtOnce},
	{"a call that waits gets the lock when it is released", releaseHandsOver},
	{"those in line are served in the order in which they came", firstComeFirstServed},
	{"a call that does not wait is refused while others stand in line", noOvertaking},
	{"each lock has a line of its own", linesAreApart},
	{"a call whose context ends leaves the line", cancelLeavesTheLine},
	{"a call whose context ends at the head of the line holds up nobody", cancelAtTheHead},
	{"a call whose context ends while it is served holds nothing", cancelAsItIsServed},
	{"tokens rise along the line", tokensRiseInLine},
	{"a crowd in line is served one by one, each once", crowdInLine},
	{"Close ends the waits", closeEndsTheWaits},
}

// lastingCases have waits that last over an advance.
var lastingCases = []testCase{
	{"a call that waits gets the lock when the lease ends", endHandsOver},
	{"a renewal keeps those in line waiting", renewalKeepsWaiting},
	{"a wait that runs out is false and leaves nothing", waitRunsOut},
	{"a wait that runs out does not hold up those behind it", waitRunsOutInLine},
	{"the lease of a call that waited begins with its grant", leaseBeginsWithItsGrant},
}

// waiting is a call that stands in line.
type waiting struct {
	s      *store
	key    string
	ttl    time.Duration
	waited time.Duration // when it was seen to wait last: it was not granted the lock before
	cancel context.CancelFunc
	done   chan struct{}
	grant  backend.Grant // this and err are known when done is closed
	err    error
}

// patience bounds how long the suite waits for what has to come without more ado.
const patience = 30 * time.Second

// join has a user wait in line for a lock, and returns when the call stands there.
func (s *store) join(user, key string, ttl, wait time.Duration) *waiting {
	s.t.Helper()
	return s.joinThrough(s.client(), user, key, ttl, wait)
}

func (s *store) joinThrough(client backend.Backend, user, key string, ttl, wait time.Duration) *waiting {
	s.t.Helper()
	before, _ := s.look(key)
	ctx, cancel := context.WithCancel(s.ctx)
	w := &waiting{s: s, key: key, ttl: ttl, waited: s.plan.begin(), cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		w.grant, w.err = client.Acquire(ctx, s.scope, key, backend.Request{TTL: ttl, Wait: wait, User: user})
	}()
	s.until("the call stands in line", func() bool {
		l, _ := s.look(key)
		return l.Waiters > before.Waiters
	})
	return w
}

// until waits for a condition.
func (s *store) until(what string, met func() bool) {
	s.t.Helper()
	for end := time.Now().Add(patience); !met(); {
		if time.Now().After(end) {
			s.t.Fatalf("waited in vain for: %s", what)
		}
		<-time.After(time.Millisecond)
	}
}

// mustBeNoLine waits until nobody stands in line for the lock "k".
func (s *store) mustBeNoLine() {
	s.t.Helper()
	s.until("nobody in line", func() bool {
		l, _ := s.look("k")
		return l.Waiters == 0
	})
}

// mustEnd waits for the call's end.
func (w *waiting) mustEnd() {
	w.s.t.Helper()
	select {
	case <-w.done:
	case <-time.After(patience):
		w.s.t.Fatalf("the call waits for %q still", w.key)
	}
}

// mustHave waits for the call to get the lock.
func (w *waiting) mustHave() (token int64) {
	w.s.t.Helper()
	w.mustEnd()
	if w.err != nil || !w.grant.Acquired {
		w.s.t.Fatalf("the call that waited for %q was answered %+v, %v; want the lock", w.key, w.grant, w.err)
	}
	w.s.plan.granted(w.s.lock(w.key), w.grant.Token, w.waited, w.ttl)
	return w.grant.Token
}

// mustHaveNothing waits for the call to be refused.
func (w *waiting) mustHaveNothing() {
	w.s.t.Helper()
	w.mustEnd()
	if w.err != nil || w.grant != (backend.Grant{}) {
		w.s.t.Fatalf("the call that waited for %q was answered %+v, %v; want false", w.key, w.grant, w.err)
	}
}

// mustBeCancelled ends the call's context, and waits for its error.
func (w *waiting) mustBeCancelled() {
	w.s.t.Helper()
	w.cancel()
	w.mustEnd()
	if w.grant != (backend.Grant{}) || !errors.Is(w.err, backend.ErrUnavailable) || !errors.Is(w.err, context.Canceled) {
		w.s.t.Fatalf("a cancelled wait for %q was answered %+v, %v; want ErrUnavailable and Canceled", w.key, w.grant, w.err)
	}
}

// mustWait sees that the call has not been answered.
func (w *waiting) mustWait() {
	w.s.t.Helper()
	now := w.s.plan.begin()
	select {
	case <-w.done:
		w.s.t.Fatalf("the call that waits for %q was answered %+v, %v", w.key, w.grant, w.err)
	default:
		w.waited = now
	}
}

const longWait = 1000

func freeLockIsGrantedAtOnce(t testing.TB, s *store) {
	r := backend.Request{TTL: s.units(100), Wait: s.units(longWait), User: "alice"}
	g, err := s.client().Acquire(s.ctx, s.scope, "k", r)
	if err != nil || !g.Acquired {
		t.Fatalf("Acquire = %+v, %v", g, err)
	}
	s.mustBeNoLine()
	s.mustReleaseAs("alice", "k", g.Token)
}

func releaseHandsOver(_ testing.TB, s *store) {
	token := s.mustAcquireAs("alice", "k", s.units(longWait))
	w := s.join("bob", "k", s.units(longWait), s.units(longWait))
	w.mustWait()
	s.mustReleaseAs("alice", "k", token)
	s.mustReleaseAs("bob", "k", w.mustHave())
	s.mustAcquireAs("carol", "k", s.unit)
}

func endHandsOver(_ testing.TB, s *store) {
	s.mustAcquireAs("alice", "k", s.units(6))
	w := s.join("bob", "k", s.units(longWait), s.units(longWait))
	s.advance(3)
	w.mustWait()
	s.advance(4)
	s.mustReleaseAs("bob", "k", w.mustHave())
}

func renewalKeepsWaiting(t testing.TB, s *store) {
	token := s.mustAcquireAs("alice", "k", s.units(6))
	w := s.join("bob", "k", s.units(longWait), s.units(longWait))
	for range 3 {
		s.advance(3)
		if !s.renewAs("alice", token, s.units(6)) {
			t.Fatal("the holder cannot renew while others wait")
		}
	}
	w.mustWait()
	s.advance(7)
	w.mustHave()
}

func firstComeFirstServed(_ testing.TB, s *store) {
	token, holder := s.mustAcquireAs("alice", "k", s.units(longWait)), "alice"
	var line []*waiting
	for i := range 6 {
		line = append(line, s.join(fmt.Sprint("user ", i), "k", s.units(longWait), s.units(longWait)))
	}
	for i, w := range line {
		s.mustReleaseAs(holder, "k", token)
		token, holder = w.mustHave(), fmt.Sprint("user ", i)
		for _, behind := range line[i+1:] {
			behind.mustWait()
		}
	}
	s.mustReleaseAs(holder, "k", token)
	s.mustAcquireAs("carol", "k", s.unit)
}

func noOvertaking(_ testing.TB, s *store) {
	token := s.mustAcquireAs("alice", "k", s.units(longWait))
	w := s.join("bob", "k", s.units(longWait), s.units(longWait))
	s.mustReleaseAs("alice", "k", token)
	s.mustBeHeld("k") // or kept for the one who waits
	s.mustReleaseAs("bob", "k", w.mustHave())
}

func linesAreApart(_ testing.TB, s *store) {
	alices := s.mustAcquireAs("alice", "a", s.units(longWait))
	bobs := s.mustAcquireAs("alice", "b", s.units(longWait))
	other := s.in(backend.Scope{Tenant: "other", Repository: "shop", Branch: "main"})
	theirs := other.mustAcquireAs("alice", "a", s.units(longWait))
	a := s.join("carol", "a", s.units(longWait), s.units(longWait))
	b := s.join("carol", "b", s.units(longWait), s.units(longWait))
	c := other.join("carol", "a", s.units(longWait), s.units(longWait))
	s.mustReleaseAs("alice", "b", bobs)
	b.mustHave()
	a.mustWait()
	c.mustWait()
	other.mustReleaseAs("alice", "a", theirs)
	c.mustHave()
	a.mustWait()
	s.mustReleaseAs("alice", "a", alices)
	a.mustHave()
}

func waitRunsOut(_ testing.TB, s *store) {
	token := s.mustAcquireAs("alice", "k", s.units(longWait))
	w := s.join("bob", "k", s.units(longWait), s.units(6))
	s.advance(3)
	w.mustWait()
	s.advance(4)
	w.mustHaveNothing()
	s.mustBeNoLine()
	s.mustReleaseAs("alice", "k", token)
	s.mustAcquireAs("carol", "k", s.unit)
}

func waitRunsOutInLine(_ testing.TB, s *store) {
	token := s.mustAcquireAs("alice", "k", s.units(longWait))
	brief := s.join("bob", "k", s.units(longWait), s.units(6))
	long := s.join("carol", "k", s.units(longWait), s.units(longWait))
	s.advance(7)
	brief.mustHaveNothing()
	long.mustWait()
	s.mustReleaseAs("alice", "k", token)
	s.mustReleaseAs("carol", "k", long.mustHave())
}

func cancelLeavesTheLine(_ testing.TB, s *store) {
	token := s.mustAcquireAs("alice", "k", s.units(longWait))
	w := s.join("bob", "k", s.units(longWait), s.units(longWait))
	w.mustBeCancelled()
	s.mustBeNoLine()
	s.mustReleaseAs("alice", "k", token)
	s.mustAcquireAs("carol", "k", s.unit)
}

func cancelAtTheHead(_ testing.TB, s *store) {
	token := s.mustAcquireAs("alice", "k", s.units(longWait))
	head := s.join("bob", "k", s.units(longWait), s.units(longWait))
	middle := s.join("carol", "k", s.units(longWait), s.units(longWait))
	last := s.join("dave", "k", s.units(longWait), s.units(longWait))
	head.mustBeCancelled()
	s.mustReleaseAs("alice", "k", token)
	token = middle.mustHave()
	last.mustWait()
	s.mustReleaseAs("carol", "k", token)
	last.mustHave()
}

func cancelAsItIsServed(t testing.TB, s *store) {
	for range 20 {
		token := s.mustAcquireAs("alice", "k", s.units(longWait))
		first := s.join("bob", "k", s.units(longWait), s.units(longWait))
		second := s.join("carol", "k", s.units(longWait), s.units(longWait))
		var both sync.WaitGroup
		both.Go(func() { s.releaseAs("alice", "k", token) })
		both.Go(first.cancel)
		both.Wait()
		first.mustEnd()
		switch {
		case first.grant.Acquired && first.err == nil:
			s.mustReleaseAs("bob", "k", first.grant.Token)
		case !errors.Is(first.err, backend.ErrUnavailable) && !errors.Is(first.err, backend.ErrInDoubt) || first.grant.Acquired:
			t.Fatalf("a call that was cancelled as it was served: %+v, %v", first.grant, first.err)
		}
		s.mustReleaseAs("carol", "k", second.mustHave())
	}
}

func leaseBeginsWithItsGrant(_ testing.TB, s *store) {
	token := s.mustAcquireAs("alice", "k", s.units(longWait))
	w := s.join("bob", "k", s.units(10), s.units(longWait))
	s.advance(8)
	w.mustWait()
	s.mustReleaseAs("alice", "k", token)
	token = w.mustHave()
	s.advance(7)
	s.mustReleaseAs("bob", "k", token) // 15 units after it was asked for
}

func tokensRiseInLine(t testing.TB, s *store) {
	last, holder := s.mustAcquireAs("alice", "k", s.units(longWait)), "alice"
	var line []*waiting
	for range 5 {
		line = append(line, s.join("bob", "k", s.units(longWait), s.units(longWait)))
	}
	for _, w := range line {
		s.mustReleaseAs(holder, "k", last)
		next := w.mustHave()
		if next <= last {
			t.Fatalf("the token %d comes after %d", next, last)
		}
		last, holder = next, "bob"
	}
}

func crowdInLine(t testing.TB, s *store) {
	const crowd = 40
	var mu sync.Mutex
	inside, served := 0, 0
	together(crowd, func(i int) {
		user := fmt.Sprint("user ", i)
		g, err := s.client().Acquire(s.ctx, s.scope, "k", backend.Request{TTL: s.units(longWait), Wait: patience, User: user})
		if err != nil || !g.Acquired {
			t.Errorf("Acquire = %+v, %v", g, err)
			return
		}
		mu.Lock()
		if inside++; inside > 1 {
			t.Errorf("%d hold the lock", inside)
		}
		served++
		mu.Unlock()
		mu.Lock()
		inside--
		mu.Unlock()
		s.releaseAs(user, "k", g.Token)
	})
	if served != crowd {
		t.Errorf("%d were served, want %d", served, crowd)
	}
	s.mustBeNoLine()
}

func closeEndsTheWaits(t testing.TB, s *store) {
	if len(s.Clients) > 1 {
		s.Clients = s.Clients[:1]
	}
	s.mustAcquireAs("alice", "k", s.units(longWait))
	w := s.join("bob", "k", s.units(longWait), s.units(longWait))
	if err := s.Clients[0].Close(); err != nil {
		t.Fatal(err)
	}
	w.mustEnd()
	if !errors.Is(w.err, backend.ErrUnavailable) || w.grant.Acquired {
		t.Fatalf("a wait that Close ended = %+v, %v; want ErrUnavailable", w.grant, w.err)
	}
}
