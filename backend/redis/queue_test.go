package redis

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"raisinproxy/backend"
	"raisinproxy/backend/redis/redistest"
)

// inLine is a call that waits.
type inLine struct {
	t      testing.TB
	key    string
	cancel context.CancelFunc
	wait   func() (backend.Grant, error)
}

const (
	// forLong is a wait whose end no test sees.
	forLong = 10 * time.Minute
	// patience bounds how long a test waits for a call: it ends then, which fails the test.
	patience = 30 * time.Second
)

// callInLine has a call wait.
func callInLine(t testing.TB, s *Store, key string, ttl, wait time.Duration) *inLine {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return &inLine{t, key, cancel, background(func() (backend.Grant, error) {
		return s.Acquire(ctx, scope, key, backend.Request{TTL: ttl, Wait: wait})
	})}
}

// standInLine has a call wait, and returns when it stands in line.
func standInLine(t testing.TB, s *Store, key string, ttl time.Duration) *inLine {
	t.Helper()
	before := waitersOf(t, s, key)
	w := callInLine(t, s, key, ttl, forLong)
	eventually(t, "the call stands in line", func() bool { return waitersOf(t, s, key) > before })
	return w
}

func waitersOf(t testing.TB, s *Store, key string) int64 {
	t.Helper()
	l, _, err := s.Look(t.Context(), scope, key)
	if err != nil {
		t.Fatal(err)
	}
	return l.Waiters
}

func (w *inLine) mustHave() int64 {
	w.t.Helper()
	g, err := w.wait()
	if err != nil || !g.Acquired {
		w.t.Fatalf("the call that waited for %q was answered %+v, %v; want the lock", w.key, g, err)
	}
	return g.Token
}

// mustRelease releases the lock "k".
func mustRelease(t testing.TB, s *Store, token int64) {
	t.Helper()
	if ok, err := s.Release(context.Background(), scope, "k", backend.Proof{Token: token}); !ok || err != nil {
		t.Fatalf("Release = %v, %v", ok, err)
	}
}

// proxyByHand asks as a proxy does whose calls do only what a test says.
type proxyByHand struct {
	t    testing.TB
	s    *Store
	key  string
	name string // of twelve characters
}

// byHand is such a proxy, at the lock "k".
func byHand(t testing.TB, s *Store, name string) *proxyByHand {
	return &proxyByHand{t, s, keyOf(s.opts.Namespace, lockKind, scope, "k"), (name + "------------")[:12]}
}

// send runs a script once.
func (p *proxyByHand) send(sc *script, ticket string, args func(e evidence) []any) reply {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 30*time.Second)
	defer cancel()
	r, err := p.s.attempt(ctx, &call{key: p.key}, func(s *Store, addr string) (*request, error) {
		e, err := s.watch.grants(addr)
		if err != nil {
			return nil, err
		}
		c := &call{nonce: p.name + ticket, notAfter: s.clock.now() + time.Minute.Microseconds()}
		return &request{script: sc, key: p.key, args: c.head(args(e)...)}, nil
	}, nil, true, false)
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

func (p *proxyByHand) ask(ticket string) reply {
	p.t.Helper()
	return p.send(acquireScript, ticket, func(e evidence) []any {
		return p.s.acquireArgs(e, backend.Request{TTL: time.Minute}, forLong)
	})
}

func (p *proxyByHand) mustStand(tickets ...string) {
	p.t.Helper()
	for _, ticket := range tickets {
		if r := p.ask(ticket); r.word != "QUEUED" {
			p.t.Fatalf("%s is answered %+v, want QUEUED", ticket, r)
		}
	}
}

func (p *proxyByHand) poll() reply {
	p.t.Helper()
	return p.send(pollScript, "poll", func(evidence) []any { return []any{milliseconds(p.s.watch.longest()), 0} })
}

// numbers makes tickets.
func numbers(n int) []string {
	var all []string
	for i := range n {
		all = append(all, strconv.Itoa(i))
	}
	return all
}

// mustHaveNoLine sees that nothing of a line is left in the hash of the lock "k".
func mustHaveNoLine(t *testing.T, server *redistest.Server, o Options) {
	t.Helper()
	for _, field := range server.Do("HKEYS", keyOf(o.Namespace, lockKind, scope, "k")).([]any) {
		if name := field.(string); strings.ContainsAny(name[:1], "qkpo") {
			t.Errorf("the hash has the field %q still", name)
		}
	}
}

// evaluated is how many scripts of calls and polls the server has run.
func evaluated(t *testing.T, server *redistest.Server) int {
	t.Helper()
	text, err := server.Admin().Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	stats := parseInfo(text)["cmdstat_evalsha"]
	calls, _, _ := strings.Cut(strings.TrimPrefix(stats, "calls="), ",")
	n, _ := strconv.Atoi(calls)
	return n
}

// However many calls a proxy had in line when it died, it is noticed once: scripts drop a hundred of them each.
func TestADeadProxyCostsOnceWhateverItHadInLine(t *testing.T) {
	t.Parallel()
	server, clock := redistest.StartWithClock(t)
	o := options(t, server.URL())
	s := open(t, o)
	holder := mustAcquire(t, s, "k", time.Hour/20)
	dead := byHand(t, s, "dead")
	dead.mustStand(numbers(200)...)
	w := standInLine(t, s, "k", time.Minute)
	clock.Step(4 * time.Second) // longer than a proxy lives that does not ask
	before := evaluated(t, server)
	mustRelease(t, s, holder)
	token := w.mustHave()
	// One to release it, which drops a hundred, two polls, the grant, and what polls came between.
	if n := evaluated(t, server) - before; n > 10 {
		t.Errorf("%d scripts were run until the next living call had the lock", n)
	}
	mustHaveNoLine(t, server, o)
	mustRelease(t, s, token)
}

// The dead are dropped a hundred by each script, and the reply says that there are more.
func TestAScriptDropsAHundredOfTheDead(t *testing.T) {
	t.Parallel()
	server, clock := redistest.StartWithClock(t)
	o := options(t, server.URL())
	s := open(t, o)
	mustAcquire(t, s, "k", time.Second)
	dead, living := byHand(t, s, "dead"), byHand(t, s, "living")
	dead.mustStand(numbers(250)...)
	living.mustStand("mine")
	clock.Step(4 * time.Second)
	var words []string
	for range 3 {
		words = append(words, living.poll().word)
	}
	if got := strings.Join(words, " "); got != "MORE MORE OFFER" {
		t.Errorf("polls are answered %s, want MORE MORE OFFER", got)
	}
	if r := living.ask("mine"); r.word != "GRANTED" {
		t.Errorf("the living call is answered %+v", r)
	}
	mustHaveNoLine(t, server, o)
}

// A proxy that may not publish, or may not subscribe, hands over all the same, and says so when it starts.
func TestDeafProxiesHandOverByPolls(t *testing.T) {
	t.Parallel()
	for _, denied := range []string{"-publish", "-subscribe", "resetchannels"} {
		t.Run(denied, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, "user default on nopass ~* &* +@all "+denied)
			o := options(t, server.URL())
			log := &logBuffer{}
			o.Log = slog.New(slog.NewTextHandler(log, nil))
			s := open(t, o)
			if !log.has("may not tell each other") || !log.has("+publish +subscribe") {
				t.Errorf("no warning at the start:\n%s", log)
			}
			other := open(t, second(t, o))
			token := mustAcquire(t, s, "k", time.Minute)
			var line []*inLine
			for i := range 4 {
				line = append(line, standInLine(t, []*Store{other, s}[i%2], "k", time.Minute))
			}
			for _, w := range line {
				mustRelease(t, s, token)
				token = w.mustHave()
			}
			mustRelease(t, s, token)
			mustHaveNoLine(t, server, o)
		})
	}
}

// A session that does not take the lock which is offered to it lets the next one pass, and stays in line.
func TestAStuckSessionCostsOneOffer(t *testing.T) {
	t.Parallel()
	server, clock := redistest.StartWithClock(t)
	o := options(t, server.URL())
	s := open(t, o)
	holder := mustAcquire(t, s, "k", time.Minute)
	stuck, next := byHand(t, s, "stuck"), byHand(t, s, "next")
	stuck.mustStand("first")
	next.mustStand("second", "third")
	mustRelease(t, s, holder)
	if r := next.ask("second"); r.word != "QUEUED" {
		t.Fatalf("the second in line is answered %+v while the lock is offered to the first", r)
	}
	if r := stuck.poll(); r.word != "OFFER" || r.at(2) != "stuck-------first" {
		t.Fatalf("the first in line is told %+v, want an offer", r)
	}
	clock.Step(1600 * time.Millisecond)
	if r := next.poll(); r.word != "OFFER" || r.at(2) != "next--------second" {
		t.Fatalf("the second in line is told %+v, want an offer", r)
	}
	stuck.poll()
	if n := waitersOf(t, s, "k"); n != 3 {
		t.Errorf("%d are in line, want 3", n)
	}
	for _, turn := range []struct {
		p      *proxyByHand
		ticket string
	}{{next, "second"}, {next, "third"}, {stuck, "first"}} {
		r := turn.p.ask(turn.ticket)
		if r.word != "GRANTED" {
			t.Fatalf("%s is answered %+v when it is its turn", turn.ticket, r)
		}
		mustRelease(t, s, r.int(0))
	}
	mustHaveNoLine(t, server, o)
}

// The answer to a call that takes the lock in its turn is lost: it asks again under the same nonce.
func TestALostAnswerToWhoTakesItsTurnIsGivenAgain(t *testing.T) {
	t.Parallel()
	s, server, link, o := linked(t)
	o.URL = server.URL()
	other := open(t, second(t, o))
	key := keyOf(o.Namespace, lockKind, scope, "k")
	for range 3 {
		token := mustAcquire(t, other, "k", time.Minute)
		w := standInLine(t, other, "k", time.Minute)
		w.cancel()
		_, _ = w.wait()
		w = standInLine(t, s, "k", time.Minute)
		link.Next(redistest.Rule{DropAnswer: true})
		mustRelease(t, other, token)
		token = w.mustHave()
		if link.Pending() > 0 {
			t.Fatal("vacuous: no answer was dropped")
		}
		if last := server.Do("HGET", key, "t"); last != strconv.FormatInt(token, 10) {
			t.Errorf("the call has the token %d, the lock %v: it was granted twice", token, last)
		}
		mustHaveNoLine(t, server, o)
		mustRelease(t, s, token)
	}
}

// A copy of a request to stand in line arrives when the call has left it.
func TestALateCopyStandsInNoLine(t *testing.T) {
	t.Parallel()
	s, server, link, o := patient(t)
	o.URL = server.URL()
	other := open(t, second(t, o))
	token := mustAcquire(t, other, "k", time.Minute)
	hold, done := make(chan struct{}), make(chan struct{})
	link.Next(redistest.Rule{Hold: hold, Done: done, Break: true})
	w := callInLine(t, s, "k", time.Minute, forLong)
	eventually(t, "the call stands in line", func() bool { return waitersOf(t, other, "k") == 1 })
	if link.Pending() > 0 {
		t.Fatal("vacuous: nothing was held")
	}
	w.cancel()
	if g, err := w.wait(); !errors.Is(err, context.Canceled) || !errors.Is(err, backend.ErrUnavailable) || g.Acquired {
		t.Fatalf("a cancelled wait = %+v, %v", g, err)
	}
	close(hold)
	<-done
	if n := waitersOf(t, other, "k"); n != 0 {
		t.Errorf("%d are in line, want none", n)
	}
	mustRelease(t, other, token)
	mustAcquire(t, other, "k", time.Minute)
	mustHaveNoLine(t, server, o)
}

// A call leaves the line of another proxy's lock at each place, and while the lock is offered to it.
func TestWhoIsOfferedTheLockAndLeavesHandsItOn(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := options(t, server.URL())
	s := open(t, o)
	holder := mustAcquire(t, s, "k", time.Minute)
	gone, next := byHand(t, s, "gone"), byHand(t, s, "next")
	gone.mustStand("1", "2")
	next.mustStand("3")
	mustRelease(t, s, holder)
	for _, ticket := range []string{"2", "1"} {
		if r := gone.send(settleScript, ticket, func(evidence) []any { return []any{"1", 0, 0} }); r.word != "NOTHING" || r.at(0) != "0" {
			t.Fatalf("settling is answered %+v", r)
		}
	}
	if offer, _ := server.Do("HGET", next.key, "o").(string); !strings.HasPrefix(offer, "2 ") {
		t.Errorf("the offer is %q, want one to the third", offer)
	}
	if r := next.poll(); r.word != "OFFER" {
		t.Errorf("the next one is told %+v, want an offer", r)
	}
	if r := gone.ask("1"); r.word != "GIVENUP" {
		t.Errorf("a copy of what has left is answered %+v", r)
	}
}

// Another proxy's script drops tickets of calls that wait still: the clock was set forward, or back, past what they
// say of their lives. They stand in line again.
func TestWaitersOutliveStepsOfRedissClock(t *testing.T) {
	t.Parallel()
	for _, step := range []time.Duration{10 * time.Second, -time.Hour} {
		t.Run(step.String(), func(t *testing.T) {
			t.Parallel()
			server, clock := redistest.StartWithClock(t)
			o := options(t, server.URL())
			o.MaxTTL = 3 * time.Hour
			s, other := open(t, o), open(t, second(t, o))
			token := mustAcquire(t, s, "k", time.Minute)
			line := []*inLine{standInLine(t, other, "k", time.Minute), standInLine(t, s, "k", time.Minute), standInLine(t, other, "k", time.Minute)}
			clock.Step(step)
			mustRelease(t, s, token)
			served := make(chan int64)
			for _, w := range line {
				go func() {
					g, err := w.wait()
					if err != nil || !g.Acquired {
						t.Errorf("a call that waited over a step of the clock: %+v, %v", g, err)
					}
					served <- g.Token
				}()
			}
			for range line {
				mustRelease(t, s, <-served)
			}
			mustHaveNoLine(t, server, o)
		})
	}
}

// An offer is out when the clock is set back: it does not last for as long as the step.
func TestAnOfferDoesNotOutliveAStepBack(t *testing.T) {
	t.Parallel()
	server, clock := redistest.StartWithClock(t)
	o := options(t, server.URL())
	s := open(t, o)
	holder := mustAcquire(t, s, "k", time.Minute)
	stuck := byHand(t, s, "stuck")
	stuck.mustStand("first")
	w := standInLine(t, s, "k", time.Minute)
	mustRelease(t, s, holder)
	clock.Step(-time.Hour)
	w.mustHave()
}

// The master that took over knows nothing of those in line, and has given their numbers to nobody. They stand in line
// there, in the order in which they came.
func TestWaitersOutliveAFailoverThatLostThem(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t, redistest.AOFAlways)
	replica, replication := redistest.StartReplicaOverLink(t, master, redistest.AOFAlways)
	link := redistest.StartLink(t, master)
	o := options(t, link.URL())
	o.ContinueOnLoss, o.MaxClockSkew = true, 100*time.Millisecond
	s := open(t, o)
	token := mustAcquire(t, s, "k", time.Hour/20)
	first := standInLine(t, s, "k", time.Minute)
	replica.AwaitOffset(master)
	replication.Break()
	var line []*inLine
	first.cancel()
	_, _ = first.wait() // there is one in line on the replica, and it is none of those that wait
	for range 3 {
		line = append(line, standInLine(t, s, "k", time.Minute))
	}
	replica.Promote()
	link.To(replica)
	master.Kill()
	eventually(t, "all stand in line on the new master", func() bool {
		l, held, err := s.Look(t.Context(), scope, "k")
		return err == nil && held && l.Waiters >= 3
	})
	for _, w := range line {
		eventually(t, "the lock is released", func() bool {
			ok, err := s.Release(t.Context(), scope, "k", backend.Proof{Token: token})
			return err == nil && ok
		})
		token = w.mustHave()
	}
}

// Redis was emptied. Nothing is granted in the pause, whoever waits.
func TestAWaitThatEndsInAPauseIsNoAnswer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := options(t, server.URL())
	s := open(t, o)
	mustAcquire(t, s, "k", time.Minute)
	standing := callInLine(t, s, "k", time.Minute, 3*time.Second)
	eventually(t, "the call stands in line", func() bool { return waitersOf(t, s, "k") == 1 })
	server.Do("FLUSHALL")
	eventually(t, "the loss is noticed", isLost(s))
	coming := callInLine(t, s, "k", time.Minute, time.Second)
	for _, w := range []*inLine{standing, coming} {
		if g, err := w.wait(); !errors.Is(err, backend.ErrPaused) || g.Acquired {
			t.Errorf("a wait that ended in a pause = %+v, %v; want ErrPaused", g, err)
		}
	}
}

// Somebody has deleted the lock, or Redis has lost it alone. Who waited gets it.
func TestWaitersOutliveTheirLock(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := options(t, server.URL())
	s := open(t, o)
	mustAcquire(t, s, "k", time.Minute)
	w := standInLine(t, s, "k", time.Minute)
	server.Do("DEL", keyOf(o.Namespace, lockKind, scope, "k"))
	w.mustHave()
}

// A line lives for longer than a retention that is short.
func TestALineOutlivesAShortRetention(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := options(t, server.URL())
	o.Retention = 10 * time.Millisecond
	s := open(t, o)
	key := keyOf(o.Namespace, lockKind, scope, "k")
	holder := mustAcquire(t, s, "k", time.Minute)
	p := byHand(t, s, "proxy")
	p.mustStand("1", "2")
	lives := func(when string, lease int64) {
		t.Helper()
		if left := server.Do("PTTL", key).(int64); left < lease+5_000 {
			t.Errorf("%s: the line lives for %d ms, want 10 s more than the lease", when, left)
		}
	}
	lives("in a lease", 60_000)
	mustRelease(t, s, holder)
	lives("when the lock is free", 0)
	r := p.ask("1")
	lives("in the next lease", 60_000)
	mustRelease(t, s, r.int(0))
	mustRelease(t, s, p.ask("2").int(0))
	eventually(t, "without a line, the lock is forgotten", func() bool { return server.Do("EXISTS", key) == int64(0) })
}

// What a store counts is its own.
func TestAStoreCountsItsLeasesAndWaiters(t *testing.T) {
	t.Parallel()
	o := options(t, redistest.URL(t))
	o.MaxLeases = 10
	s, other := open(t, o), open(t, second(t, o))
	ask := backend.Request{TTL: time.Minute, User: "alice"}
	if g, err := s.Acquire(t.Context(), scope, "k", ask); err != nil || !g.Acquired {
		t.Fatal(g, err)
	}
	standInLine(t, s, "k", time.Minute)
	standInLine(t, other, "k", time.Minute)
	for _, store := range []*Store{s, other} {
		want := map[*Store][2]int64{s: {1, 1}, other: {0, 1}}[store]
		if leases, waiters := store.Held(); leases != want[0] || waiters != want[1] {
			t.Errorf("Held = %d, %d; want %v", leases, waiters, want)
		}
	}
}

// Whoever ends a lease offers the lock to the next in line, before anybody polls.
func TestAFreeLockIsOffered(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := options(t, server.URL())
	s := open(t, o)
	holder := mustAcquire(t, s, "k", time.Minute)
	byHand(t, s, "proxy").mustStand("1")
	before, err := server.Admin().Time(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	mustRelease(t, s, holder)
	offer, _ := server.Do("HGET", keyOf(o.Namespace, lockKind, scope, "k"), "o").(string)
	number, text, _ := strings.Cut(offer, " ")
	end, _ := strconv.ParseInt(text, 10, 64)
	if number != "0" || !time.UnixMicro(end).After(before.Add(pollEvery)) {
		t.Errorf("the offer is %q, want one to the first that the next poll finds", offer)
	}
}

// A lock is offered to a call that does not wait any more: its proxy hears of it and has the next one get the lock.
func TestOffersAreHeardAndRefused(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := options(t, server.URL())
	s := open(t, o)
	mustAcquire(t, s, "another", time.Minute)
	standInLine(t, s, "another", time.Minute)
	channel := channelOf(o.Namespace, s.life)
	eventually(t, "the proxy listens", func() bool { return server.Do("PUBSUB", "NUMSUB", channel).([]any)[1] == int64(1) })

	holder := mustAcquire(t, s, "k", time.Minute)
	gone, next := byHand(t, s, s.life), byHand(t, s, "next")
	gone.mustStand("gone")
	next.mustStand("1")
	server.Do("PUBLISH", channel, "what no proxy says")
	server.Do("PUBLISH", channel, "nothing")
	mustRelease(t, s, holder)
	eventually(t, "the ticket is dropped", func() bool { return waitersOf(t, s, "k") == 1 })
	if r := next.ask("1"); r.word != "GRANTED" {
		t.Errorf("the next in line is answered %+v", r)
	}
}

// A pause after a loss is shorter than the wait.
func TestWhoWaitsOverAPauseIsGrantedTheLock(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := options(t, server.URL())
	o.MaxTTL = 2 * time.Second
	s := open(t, o)
	mustAcquire(t, s, "k", 2*time.Second)
	standing := standInLine(t, s, "k", time.Second)
	server.Do("FLUSHALL")
	eventually(t, "the loss is noticed", isLost(s))
	coming := callInLine(t, s, "k", time.Second, forLong)
	standing.mustHave()
	coming.mustHave()
}

// The slot of a lock moves to another master amid the hand-overs.
func TestALineMovesWithItsSlot(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3)
	o := options(t, "")
	o.URLs = cluster.URLs()
	s, other := open(t, o), open(t, second(t, o))
	key := keyOf(o.Namespace, lockKind, scope, "k")
	token := mustAcquire(t, s, "k", time.Minute)
	var line []*inLine
	for i := range 8 {
		line = append(line, standInLine(t, []*Store{s, other}[i%2], "k", time.Minute))
	}
	next := func() {
		t.Helper()
		mustRelease(t, other, token)
		token, line = line[0].mustHave(), line[1:]
	}
	next()
	from := cluster.Owner(key)
	if moved := cluster.Migrate(cluster.Slot(key), from, (from+1)%3, func(string) { next() }); moved == 0 {
		t.Error("vacuous: no key has moved")
	}
	for len(line) > 0 {
		next()
	}
}

// The name space is exported while calls wait: none of them is granted anything any more.
func TestWaitersAreToldThatTheirLockHasMoved(t *testing.T) {
	t.Parallel()
	o := options(t, redistest.URL(t))
	s := open(t, o)
	mustAcquire(t, s, "k", time.Minute)
	w := standInLine(t, s, "k", time.Minute)
	mustExport(t, o)
	if g, err := w.wait(); !errors.Is(err, backend.ErrMoved) || g.Acquired {
		t.Errorf("a wait for a lock that was exported = %+v, %v; want ErrMoved", g, err)
	}
}

// Nothing is offered that would be refused: a ticket would go to the tail for it.
func TestNothingIsOfferedInAPause(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := options(t, server.URL())
	s, other := open(t, o), open(t, second(t, o))
	key := keyOf(o.Namespace, lockKind, scope, "k")
	holder := mustAcquire(t, other, "k", time.Minute)
	p := byHand(t, other, "proxy")
	p.mustStand("1")
	s.watch.lose("a test says so")
	for name, end := range map[string]func(){
		"Release": func() { mustRelease(t, s, holder) },
		"Evict": func() {
			if _, held, err := s.Evict(t.Context(), scope, "k"); !held || err != nil {
				t.Fatal(held, err)
			}
		},
	} {
		lease := server.Do("HMGET", key, "t", "r").([]any)
		left := server.Do("PTTL", key)
		end()
		if n := server.Do("HEXISTS", key, "o"); n != int64(0) {
			t.Errorf("%s: the lock is offered", name)
		}
		server.Do("HSET", key, "t", lease[0], "r", lease[1]) // held as before
		server.Do("PEXPIRE", key, left)
	}
	server.Do("HDEL", key, "r")
	early := func(evidence) []any { return []any{milliseconds(time.Hour), s.watch.offersFrom()} }
	if r := p.send(pollScript, "poll", early); r.word != "WAIT" {
		t.Errorf("a poll in the pause is answered %+v", r)
	}
	if r := p.send(pollScript, "poll", func(evidence) []any { return []any{milliseconds(time.Hour), 0} }); r.word != "OFFER" {
		t.Errorf("a poll of a proxy that knows no pause is answered %+v", r)
	}
}

// Redis was replaced and grants nothing yet. A call that waits has the lock when it does; one whose wait is over before is
// not told that somebody has it.
func TestAWaitForARedisThatGrantsNothingYet(t *testing.T) {
	t.Parallel()
	s := open(t, options(t, redistest.URL(t)))
	until := func(d time.Duration) {
		s.watch.mu.Lock()
		defer s.watch.mu.Unlock()
		s.watch.state.Earliest, s.watch.state.Early = s.clock.now()+d.Microseconds(), time.Now().Add(time.Hour)
	}
	until(time.Hour)
	if g, err := callInLine(t, s, "k", time.Minute, 100*time.Millisecond).wait(); !errors.Is(err, backend.ErrUnavailable) || g.Acquired {
		t.Errorf("a wait that was too short = %+v, %v; want ErrUnavailable", g, err)
	}
	// It grants again just before the wait is over, and nobody has noticed.
	w := callInLine(t, s, "k", time.Minute, 500*time.Millisecond)
	eventually(t, "the call stands in line", func() bool { return waitersOf(t, s, "k") == 1 })
	until(0)
	if g, err := w.wait(); !errors.Is(err, backend.ErrUnavailable) || g.Acquired {
		t.Errorf("a wait that was too short by little = %+v, %v; want ErrUnavailable", g, err)
	}
	until(100 * time.Millisecond)
	callInLine(t, s, "k", time.Minute, forLong).mustHave()
}

// The only ones in line for a free lock are a dead proxy's.
func TestTheFirstFreeKeyIsNotKeptForTheDead(t *testing.T) {
	t.Parallel()
	server, clock := redistest.StartWithClock(t)
	s := open(t, options(t, server.URL()))
	holder := mustAcquire(t, s, "k", time.Minute)
	byHand(t, s, "dead").mustStand(numbers(150)...)
	mustRelease(t, s, holder)
	ask := backend.Request{TTL: time.Minute}
	if key, g, err := s.AcquireFirst(t.Context(), scope, []string{"k"}, ask); err != nil || g.Acquired {
		t.Fatalf("AcquireFirst of a lock that is offered = %q, %+v, %v", key, g, err)
	}
	clock.Step(4 * time.Second)
	if key, g, err := s.AcquireFirst(t.Context(), scope, []string{"k"}, ask); err != nil || !g.Acquired {
		t.Errorf("AcquireFirst = %q, %+v, %v; want the lock", key, g, err)
	}
}
