package redis

import (
	"context"
	"errors"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"raisinproxy/backend"
	"raisinproxy/backend/redis/redistest"
)

// linked is a store behind a link, on a server of its own, which knows the scripts.
func linked(t *testing.T) (*Store, *redistest.Server, *redistest.Link, Options) {
	t.Helper()
	server := redistest.Start(t, redistest.AOFAlways)
	s, link, o := linkedTo(t, server, options(t, "").Timeout)
	return s, server, link, o
}

// patient is linked with calls that have more time than a test ever takes: its end shows nothing
// there, so the test says by itself when a call has to try again.
func patient(t *testing.T) (*Store, *redistest.Server, *redistest.Link, Options) {
	t.Helper()
	server := redistest.Start(t, redistest.AOFAlways)
	s, link, o := linkedTo(t, server, time.Minute)
	return s, server, link, o
}

func linkedTo(t *testing.T, server *redistest.Server, timeout time.Duration) (*Store, *redistest.Link, Options) {
	t.Helper()
	link := redistest.StartLink(t, server)
	o := options(t, link.URL())
	o.Timeout = timeout
	s := open(t, o)
	warm(t, s)
	return s, link, o
}

// warm runs every script once, so that each request after it is one EVALSHA.
func warm(t *testing.T, s *Store) {
	t.Helper()
	token := mustAcquire(t, s, "warm", time.Minute)
	if ok, err := s.Renew(t.Context(), scope, "warm", backend.Proof{Token: token}, time.Minute); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if ok, err := s.Release(t.Context(), scope, "warm", backend.Proof{Token: token}); !ok || err != nil {
		t.Fatal(ok, err)
	}
	mustClaim(t, s, "warm", 1, 10, 9)
	if left, err := s.Restock(t.Context(), scope, "warm", 1); left != 10 || err != nil {
		t.Fatal(left, err)
	}
	if _, held, err := s.Evict(t.Context(), scope, "warm"); held || err != nil {
		t.Fatal(held, err)
	}
	if _, found, err := s.SetPool(t.Context(), scope, backend.Pool{Name: "warm"}); !found || err != nil {
		t.Fatal(found, err)
	}
	if dropped, err := s.DropPool(t.Context(), scope, "warm"); !dropped || err != nil {
		t.Fatal(dropped, err)
	}
	node, err := s.servers.forKey(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := node.ScriptLoad(t.Context(), settleScript.text).Err(); err != nil {
		t.Fatal(err)
	}
}

// holdingBack makes a call of a patient store whose first copy is held back and whose connection
// breaks then, so that it is answered by its second copy. arrive lets the first one arrive.
func holdingBack(t *testing.T, link *redistest.Link, call func()) (arrive func()) {
	t.Helper()
	hold, done := make(chan struct{}), make(chan struct{})
	link.Next(redistest.Rule{Hold: hold, Done: done, Break: true})
	call()
	if link.Pending() > 0 {
		t.Fatal("vacuous: nothing was held")
	}
	return func() {
		close(hold)
		<-done
	}
}

// everyOutcome makes each call in turn with what do does to it, and checks that the call was
// answered as if nothing had happened, and applied once.
func everyOutcome(t *testing.T, s, other *Store, do func(call func())) {
	t.Helper()
	var grant backend.Grant
	var claimed backend.Claimed
	var ok bool
	var left int64
	var err error

	do(func() { grant, err = s.Acquire(t.Context(), scope, "k", backend.Request{TTL: time.Minute}) })
	if err != nil || !grant.Acquired {
		t.Fatalf("Acquire = %+v, %v", grant, err)
	}
	if g, err := other.Acquire(t.Context(), scope, "k", backend.Request{TTL: time.Minute}); err != nil || g.Acquired {
		t.Fatalf("somebody else's Acquire = %+v, %v", g, err)
	}
	do(func() { ok, err = s.Renew(t.Context(), scope, "k", backend.Proof{Token: grant.Token}, 2*time.Minute) })
	if err != nil || !ok {
		t.Fatalf("Renew = %v, %v", ok, err)
	}
	do(func() { ok, err = s.Release(t.Context(), scope, "k", backend.Proof{Token: grant.Token}) })
	if err != nil || !ok {
		t.Fatalf("Release = %v, %v", ok, err)
	}
	mustAcquire(t, other, "k", time.Minute)

	do(func() { claimed, err = s.Claim(t.Context(), scope, "p", 3, 10) })
	if want := (backend.Claimed{Claimed: true, Remaining: 7}); err != nil || claimed != want {
		t.Fatalf("Claim = %+v, %v; want %+v", claimed, err, want)
	}
	do(func() { left, err = s.Restock(t.Context(), scope, "p", 2) })
	if err != nil || left != 9 {
		t.Fatalf("Restock = %d, %v; want 9", left, err)
	}
	mustClaim(t, other, "p", 9, 0, 0)

	var before backend.Pool
	do(func() {
		before, ok, err = s.SetPool(t.Context(), scope, backend.Pool{Name: "p", Capacity: 20, Remaining: 5})
	})
	if want := (backend.Pool{Name: "p", Capacity: 10}); err != nil || !ok || before != want {
		t.Fatalf("SetPool = %+v, %v, %v; want %+v", before, ok, err, want)
	}
	mustClaim(t, other, "p", 4, 0, 1)
	do(func() { ok, _, err = s.drop(t.Context(), keyOf(s.opts.Namespace, poolKind, scope, "p")) })
	if err != nil || !ok {
		t.Fatalf("DropPool = %v, %v", ok, err)
	}
	mustClaim(t, other, "p", 1, 3, 2)

	var evicted backend.Lease
	do(func() { evicted, ok, err = s.Evict(t.Context(), scope, "k") })
	if err != nil || !ok || evicted.Token <= grant.Token || evicted.AcquiredAt.IsZero() || evicted.ExpiresAt.IsZero() {
		t.Fatalf("Evict = %+v, %v, %v", evicted, ok, err)
	}
	if next := mustAcquire(t, other, "k", time.Minute); next <= evicted.Token {
		t.Fatalf("the token %d comes after %d", next, evicted.Token)
	}
}

func TestAnAnswerThatIsDroppedIsGivenToTheRetry(t *testing.T) {
	s, server, link, o := linked(t)
	o.URL = server.URL()
	other := open(t, second(t, o))
	everyOutcome(t, s, other, func(call func()) {
		link.Next(redistest.Rule{DropAnswer: true})
		call()
		if link.Pending() > 0 {
			t.Fatal("vacuous: no answer was dropped")
		}
	})
}

func TestARequestThatIsDuplicatedIsAppliedOnce(t *testing.T) {
	s, server, link, o := linked(t)
	o.URL = server.URL()
	other := open(t, second(t, o))
	everyOutcome(t, s, other, func(call func()) {
		link.Next(redistest.Rule{Copies: 2})
		call()
		if link.Pending() > 0 {
			t.Fatal("vacuous: nothing was duplicated")
		}
	})
}

func TestACopyThatArrivesAfterTheRetryWasAnsweredDoesNothing(t *testing.T) {
	s, server, link, o := patient(t)
	o.URL = server.URL()
	other := open(t, second(t, o))
	everyOutcome(t, s, other, func(call func()) {
		arrive := holdingBack(t, link, call)
		arrive()
	})
}

// Later calls drop the answers that have arrived, but not that of a call whose copy is on its way.
func TestACopyDoesNothingAlthoughOtherCallsCameBetween(t *testing.T) {
	s, _, link, _ := patient(t)
	mustClaim(t, s, "p", 1, 100, 99)
	arrive := holdingBack(t, link, func() { mustClaim(t, s, "p", 10, 100, 89) })
	mustClaim(t, s, "p", 1, 100, 88)
	mustClaim(t, s, "p", 1, 100, 87)
	arrive()
	mustClaim(t, s, "p", 1, 100, 86)
}

// The retry is refused since somebody holds the lock; then it is released, and only
// then the first copy arrives. Its caller was told false.
func TestACopyOfARefusedAcquireGrantsNothingLater(t *testing.T) {
	s, server, link, o := patient(t)
	o.URL = server.URL()
	other := open(t, second(t, o))
	token := mustAcquire(t, other, "k", time.Minute)
	arrive := holdingBack(t, link, func() {
		if g, err := s.Acquire(t.Context(), scope, "k", backend.Request{TTL: time.Minute}); err != nil || g.Acquired {
			t.Fatalf("Acquire of a held key = %+v, %v", g, err)
		}
	})
	if ok, err := other.Release(t.Context(), scope, "k", backend.Proof{Token: token}); !ok || err != nil {
		t.Fatal(ok, err)
	}
	arrive()
	mustAcquire(t, other, "k", time.Minute)
}

// The retry is granted and released; only then the first copy arrives. Its caller has had
// its lease: another one would be nobody's, and keep everybody out.
func TestACopyOfAReleasedAcquireGrantsNothingLater(t *testing.T) {
	s, server, link, o := patient(t)
	o.URL = server.URL()
	other := open(t, second(t, o))
	var token int64
	arrive := holdingBack(t, link, func() { token = mustAcquire(t, s, "k", time.Minute) })
	if ok, err := s.Release(t.Context(), scope, "k", backend.Proof{Token: token}); !ok || err != nil {
		t.Fatal(ok, err)
	}
	arrive()
	mustAcquire(t, other, "k", time.Minute)
}

// The first copy is granted the lease, the second is on its way, and the caller has its answer from a
// third one or from settling. The lease is released, and only then the second copy arrives: it is newer than the
// one that was granted, and nobody waits for it.
func TestACopyBetweenTheGrantAndTheAnswerGrantsNothingLater(t *testing.T) {
	for name, answer := range map[string]*script{"answered by a third copy": acquireScript, "settled": settleScript} {
		t.Run(name, func(t *testing.T) {
			s := open(t, options(t, redistest.URL(t)))
			warm(t, s)
			id := keyOf(s.opts.Namespace, lockKind, scope, "k")
			first := s.clock.now() + time.Minute.Microseconds()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			send := func(sc *script, copied string, notAfter int64) reply {
				t.Helper()
				r, err := s.attempt(ctx, &call{key: id}, func(s *Store, addr string) (*request, error) {
					args := []any{"0", 0, 0}
					if sc == acquireScript {
						e, err := s.watch.grants(addr)
						if err != nil {
							return nil, err
						}
						args = []any{60_000, 60_000, e.floor, e.earliest, e.judged, 60_000, "", 0, 0}
					}
					return &request{script: sc, key: id, args: append([]any{"nonce", notAfter, copied}, args...)}, nil
				}, nil, true, false)
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			granted := send(acquireScript, "0", first)
			told := send(answer, "1", first+2)
			if granted.word != "GRANTED" || !told.changed() {
				t.Fatalf("granted %v, told %v", granted, told)
			}
			if ok, err := s.Release(t.Context(), scope, "k", backend.Proof{Token: granted.int(0)}); !ok || err != nil {
				t.Fatal(ok, err)
			}
			if r := send(acquireScript, "1", first+1); r.word != "GIVENUP" {
				t.Errorf("a copy that nobody waits for was answered %v, want GIVENUP", r)
			}
			mustAcquire(t, s, "k", time.Minute)
		})
	}
}

// The retry is refused since nothing may be granted yet; the first copy arrives when it may.
func TestACopyOfAnEarlyAcquireGrantsNothingLater(t *testing.T) {
	server, clock := redistest.StartWithClock(t, redistest.AOFAlways)
	s, link, o := linkedTo(t, server, time.Minute)
	o.URL = server.URL()
	other := open(t, second(t, o))
	const early = 20 * time.Second // more than the retry takes, less than the copies may take
	s.watch.mu.Lock()
	s.watch.state.Earliest, s.watch.state.Early = time.Now().Add(early).UnixMicro(), time.Now().Add(time.Hour)
	s.watch.mu.Unlock()
	arrive := holdingBack(t, link, func() {
		if g, err := s.Acquire(t.Context(), scope, "k", backend.Request{TTL: time.Minute}); !errors.Is(err, backend.ErrUnavailable) || g.Acquired {
			t.Fatalf("Acquire before its time = %+v, %v; want ErrUnavailable", g, err)
		}
	})
	clock.Step(early)
	arrive()
	mustAcquire(t, other, "k", time.Minute)
}

func TestACopyOfARefusedClaimTakesNothingLater(t *testing.T) {
	s, server, link, o := patient(t)
	o.URL = server.URL()
	other := open(t, second(t, o))
	mustClaim(t, other, "p", 10, 10, 0)
	arrive := holdingBack(t, link, func() {
		if c, err := s.Claim(t.Context(), scope, "p", 1, 10); err != nil || c.Claimed {
			t.Fatalf("Claim of a sold-out pool = %+v, %v", c, err)
		}
	})
	if left, err := other.Restock(t.Context(), scope, "p", 5); left != 5 || err != nil {
		t.Fatal(left, err)
	}
	arrive()
	mustClaim(t, other, "p", 5, 0, 0)
}

func TestARequestThatArrivesAfterItsTimeDoesNothing(t *testing.T) {
	s, _, link, o := linked(t)
	quick := hasty(t, o, 200*time.Millisecond)
	mustClaim(t, s, "p", 1, 10, 9)
	hold := make(chan struct{})
	// No copy arrives, and no settling either.
	var rules []redistest.Rule
	var done []chan struct{}
	for range 8 {
		d := make(chan struct{})
		done = append(done, d)
		rules = append(rules, redistest.Rule{Hold: hold, Done: d})
	}
	link.Next(rules...)
	_, err := quick.Claim(t.Context(), scope, "p", 1, 10)
	if !errors.Is(err, backend.ErrInDoubt) {
		t.Fatalf("a Claim that was never answered: %v, want ErrInDoubt", err)
	}
	held := len(rules) - link.Pending()
	if held == 0 {
		t.Fatal("vacuous: nothing was held")
	}
	<-time.After(quick.opts.Timeout) // the copies' time is over then
	close(hold)
	for _, d := range done[:held] {
		<-d
	}
	link.Clear()
	mustClaim(t, s, "p", 9, 0, 0)
}

// background makes a call that takes its time.
func background[T any](call func() (T, error)) (wait func() (T, error)) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := call()
		done <- result{value, err}
	}()
	return func() (T, error) {
		r := <-done
		return r.value, r.err
	}
}

func TestAStoppedRedisAppliesARepeatedCallOnce(t *testing.T) {
	_, server, _, o := linked(t)
	o.Timeout = 6 * time.Second
	s := open(t, second(t, o))
	o.URL = server.URL()
	other := open(t, second(t, o))
	everyOutcome(t, s, other, func(call func()) {
		server.Stop()
		wait := background(func() (struct{}, error) { call(); return struct{}{}, nil })
		<-time.After(o.attemptTime() * 9 / 8) // the first copy has been given up, the second is waiting
		server.Continue()
		_, _ = wait() // call has checked it
	})
}

func TestACallToAStoppedRedisIsInDoubtAndAppliedAtMostOnce(t *testing.T) {
	s, server, _, o := linked(t)
	quick := hasty(t, o, 200*time.Millisecond)
	mustClaim(t, quick, "p", 1, 10, 9)
	server.Stop()
	_, err := quick.Claim(t.Context(), scope, "p", 1, 10)
	if !errors.Is(err, backend.ErrInDoubt) {
		t.Fatalf("Claim on a stopped Redis: %v, want ErrInDoubt", err)
	}
	server.Continue()
	c, err := s.Claim(t.Context(), scope, "p", 1, 10)
	if err != nil || !c.Claimed || c.Remaining < 7 {
		t.Fatalf("the next Claim = %+v, %v; want 7 or 8 remaining", c, err)
	}
}

// cancelled makes call with a context that ends when Redis, which is stopped, has the request,
// and lets Redis go on when the call is being settled: asked about on this connection or on
// another.
func cancelled[T any](t *testing.T, server *redistest.Server, link *redistest.Link, call func(ctx context.Context) (T, error)) (T, error) {
	t.Helper()
	server.Stop()
	written := make(chan struct{})
	link.Next(redistest.Rule{Done: written}, redistest.Rule{})
	ctx, cancel := context.WithCancel(t.Context())
	wait := background(func() (T, error) { return call(ctx) })
	<-written
	opened := link.Opened()
	cancel()
	eventually(t, "it is being settled", func() bool { return link.Pending() == 0 || link.Opened() > opened })
	link.Clear()
	server.Continue()
	return wait()
}

func TestACancelledAcquireIsUndone(t *testing.T) {
	s, server, link, _ := linked(t)
	g, err := cancelled(t, server, link, func(ctx context.Context) (backend.Grant, error) {
		return s.Acquire(ctx, scope, "k", backend.Request{TTL: time.Minute})
	})
	if !errors.Is(err, backend.ErrUnavailable) || !errors.Is(err, context.Canceled) || g.Acquired {
		t.Fatalf("Acquire = %+v, %v; want ErrUnavailable and Canceled", g, err)
	}
	mustAcquire(t, s, "k", time.Minute)
}

func TestACancelledClaimIsUndone(t *testing.T) {
	s, server, link, _ := linked(t)
	mustClaim(t, s, "p", 1, 10, 9)
	c, err := cancelled(t, server, link, func(ctx context.Context) (backend.Claimed, error) { return s.Claim(ctx, scope, "p", 5, 10) })
	if !errors.Is(err, backend.ErrUnavailable) || !errors.Is(err, context.Canceled) || c.Claimed {
		t.Fatalf("Claim = %+v, %v; want ErrUnavailable and Canceled", c, err)
	}
	mustClaim(t, s, "p", 9, 10, 0)
}

func TestACancelledReleaseThatWasAppliedIsInDoubt(t *testing.T) {
	s, server, link, _ := linked(t)
	token := mustAcquire(t, s, "k", time.Minute)
	_, err := cancelled(t, server, link, func(ctx context.Context) (bool, error) {
		return s.Release(ctx, scope, "k", backend.Proof{Token: token})
	})
	if !errors.Is(err, backend.ErrInDoubt) || !errors.Is(err, context.Canceled) {
		t.Fatalf("Release: %v, want ErrInDoubt and Canceled", err)
	}
}

func TestACancelledCallThatCannotBeSettledIsInDoubt(t *testing.T) {
	s, server, _, _ := linked(t)
	mustClaim(t, s, "p", 1, 10, 9)
	server.Stop()
	defer server.Continue()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.Claim(ctx, scope, "p", 1, 10); !errors.Is(err, backend.ErrInDoubt) || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Claim: %v, want ErrInDoubt and DeadlineExceeded", err)
	}
}

func TestAnAcquireThatIsAnsweredAfterItsLeaseIsNotDelivered(t *testing.T) {
	s, _, link, _ := linked(t)
	const ttl = 200 * time.Millisecond
	link.Next(redistest.Rule{DelayAnswer: 2 * ttl})
	sent := time.Now()
	g, err := s.Acquire(t.Context(), scope, "k", backend.Request{TTL: ttl})
	switch {
	case err == nil && g.Acquired: // the second try came in time
		if !g.ExpiresAt.After(sent.Add(2 * ttl)) {
			t.Fatalf("the lease that was granted first was delivered: %+v", g)
		}
		if ok, err := s.Release(t.Context(), scope, "k", backend.Proof{Token: g.Token}); !ok || err != nil {
			t.Fatalf("Release of it = %v, %v", ok, err)
		}
	case !errors.Is(err, backend.ErrUnavailable):
		t.Fatalf("Acquire = %+v, %v; want a new lease or ErrUnavailable", g, err)
	}
	mustAcquire(t, s, "k", time.Minute)
}

// The requests are late, so for Redis the leases are young when their answers are too late.
func TestALeaseThatIsNotDeliveredIsReleased(t *testing.T) {
	s, server, link, o := linked(t)
	o.URL = server.URL()
	other := open(t, second(t, o))
	const ttl = 400 * time.Millisecond
	late := redistest.Rule{DelayRequest: 3 * ttl / 2}
	for range 20 { // acquire, release, acquire, release, however often each is sent
		link.Next(late)
	}
	if g, err := s.Acquire(t.Context(), scope, "k", backend.Request{TTL: ttl}); !errors.Is(err, backend.ErrUnavailable) || g.Acquired {
		t.Fatalf("Acquire = %+v, %v; want ErrUnavailable", g, err)
	}
	link.Clear()
	mustAcquire(t, other, "k", time.Minute)
}

func TestAnAcquireThatIsAlwaysAnsweredTooLateIsUnavailable(t *testing.T) {
	s, _, _, _ := linked(t)
	g, err := s.Acquire(t.Context(), scope, "k", backend.Request{TTL: time.Nanosecond}) // it takes longer than that to ask
	if !errors.Is(err, backend.ErrUnavailable) || g.Acquired {
		t.Fatalf("Acquire = %+v, %v; want ErrUnavailable", g, err)
	}
}

func TestARedisThatIsGoneIsAnOutageAndNeverContention(t *testing.T) {
	s, server, _, o := linked(t)
	o.URL = server.URL()
	quick := hasty(t, o, 200*time.Millisecond)
	token := mustAcquire(t, s, "k", time.Minute)
	server.Kill()
	for range 3 {
		g, err := quick.Acquire(t.Context(), scope, "k", backend.Request{TTL: time.Minute})
		expectOutage(t, "Acquire", g.Acquired, err)
		ok, err := quick.Renew(t.Context(), scope, "k", backend.Proof{Token: token}, time.Minute)
		expectOutage(t, "Renew", ok, err)
		ok, err = quick.Release(t.Context(), scope, "k", backend.Proof{Token: token})
		expectOutage(t, "Release", ok, err)
		c, err := quick.Claim(t.Context(), scope, "p", 1, 10)
		expectOutage(t, "Claim", c.Claimed, err)
		_, err = quick.Restock(t.Context(), scope, "p", 1)
		expectOutage(t, "Restock", false, err)
	}
}

// A connection that dies amid its handshake has carried no request.
func TestARedisThatNeverEndsTheHandshakeIsAnOutage(t *testing.T) {
	s, _, link, o := linked(t)
	quick := hasty(t, o, 400*time.Millisecond)
	withoutHeartbeat(quick)
	withoutHeartbeat(s)
	hangsUp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	defer all.Wait()
	defer hangsUp.Close()
	all.Go(func() {
		for {
			conn, err := hangsUp.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 1)) // the handshake begins
			conn.Close()
		}
	})
	link.To(&redistest.Server{Port: hangsUp.Addr().(*net.TCPAddr).Port})
	ok, err := quick.Renew(t.Context(), scope, "k", backend.Proof{Token: 1}, time.Minute)
	expectOutage(t, "Renew", ok, err)
}

// expectOutage: nothing could be written to the server, so nothing is in doubt.
func expectOutage(t *testing.T, call string, ok bool, err error) {
	t.Helper()
	if ok || !errors.Is(err, backend.ErrUnavailable) || errors.Is(err, backend.ErrInDoubt) {
		t.Errorf("%s = %v, %v; want ErrUnavailable", call, ok, err)
	}
}

// giveUp makes a claim whose request is held back, and cancels it.
func giveUp(t *testing.T, s *Store, link *redistest.Link, pool string) (arrive func()) {
	t.Helper()
	hold, done := make(chan struct{}), make(chan struct{})
	link.Next(redistest.Rule{Hold: hold, Done: done})
	ctx, cancel := context.WithCancel(t.Context())
	wait := background(func() (backend.Claimed, error) { return s.Claim(ctx, scope, pool, 5, 10) })
	eventually(t, "the request is on its way", func() bool { return link.Pending() == 0 })
	cancel()
	if c, err := wait(); !errors.Is(err, backend.ErrUnavailable) || !errors.Is(err, context.Canceled) || c.Claimed {
		t.Fatalf("Claim = %+v, %v; want ErrUnavailable and Canceled", c, err)
	}
	return func() { close(hold); <-done }
}

func TestACallThatWasGivenUpDoesNothingLater(t *testing.T) {
	s, _, link, _ := linked(t)
	mustClaim(t, s, "p", 1, 10, 9)
	arrive := giveUp(t, s, link, "p")
	arrive()
	mustClaim(t, s, "p", 9, 10, 0)
}

// What is noted about a call that did nothing goes away by itself, and a pool does not go with it.
func TestARecordOfNotesOnlyGoesAwayAndAPoolStays(t *testing.T) {
	s, server, link, o := linked(t)
	giveUp(t, s, link, "p")()
	key := keyOf(o.Namespace, poolKind, scope, "p")
	if left := server.Do("PTTL", key).(int64); left <= 0 || left > 120_000 {
		t.Errorf("the note lives for %d ms, want a minute or two", left)
	}
	mustClaim(t, s, "p", 1, 10, 9)
	if left := server.Do("PTTL", key).(int64); left != -1 {
		t.Errorf("the pool lives for %d ms, want for ever", left)
	}
	giveUp(t, s, link, "p")()
	if left := server.Do("PTTL", key).(int64); left != -1 {
		t.Errorf("after a call was given up the pool lives for %d ms, want for ever", left)
	}
}

func TestALeaseThatIsOverIsNotHandedOutToTheRetry(t *testing.T) {
	s, server, link, o := linked(t)
	id := keyOf(o.Namespace, lockKind, scope, "k")
	link.Next(redistest.Rule{DropAnswer: true})
	wait := background(func() (backend.Grant, error) {
		g, _, err := s.acquire(t.Context(), id, "k", backend.Request{TTL: 100 * time.Millisecond}, time.Time{})
		return g, err
	})
	var first int64
	eventually(t, "the first copy is granted", func() bool {
		text, _ := server.Do("HGET", id, "t").(string)
		first, _ = strconv.ParseInt(text, 10, 64)
		return first > 0
	})
	g, err := wait()
	if err != nil || !g.Acquired || g.Token <= first {
		t.Fatalf("the retry's grant is %+v, %v; want one after token %d", g, err, first)
	}
}

func TestAHolderThatWasCutOffPastItsLeaseHasNothingAndHarmsNobody(t *testing.T) {
	s, server, link, o := linked(t)
	o.URL = server.URL()
	other := open(t, second(t, o))
	token := mustAcquire(t, s, "k", 200*time.Millisecond)
	hold, done := make(chan struct{}), make(chan struct{})
	link.Next(redistest.Rule{Hold: hold, Done: done})
	wait := background(func() (bool, error) {
		return s.Renew(t.Context(), scope, "k", backend.Proof{Token: token}, 2*time.Minute)
	})
	var next backend.Grant
	eventually(t, "the lease is over and somebody else has the lock", func() bool {
		var err error
		next, err = other.Acquire(t.Context(), scope, "k", backend.Request{TTL: time.Minute})
		return err == nil && next.Acquired
	})
	close(hold)
	<-done
	if ok, err := wait(); ok || err != nil {
		t.Errorf("Renew by the former holder = %v, %v", ok, err)
	}
	if ok, err := s.Release(t.Context(), scope, "k", backend.Proof{Token: token}); ok || err != nil {
		t.Errorf("Release by the former holder = %v, %v", ok, err)
	}
	if ok, err := other.Renew(t.Context(), scope, "k", backend.Proof{Token: next.Token}, time.Minute); !ok || err != nil {
		t.Errorf("Renew by the holder = %v, %v", ok, err)
	}
}
