package redis

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"raisinproxy/backend"
	"raisinproxy/backend/redis/redistest"
)

// waitingCalls are calls that were made while Redis was away, and what became of each.
type waitingCalls struct {
	claims []func() (backend.Claimed, error)
	grants []func() (backend.Grant, error)
}

const many = 16

// waitOn makes calls on pools and locks that this proxy has not seen.
func waitOn(t *testing.T, s *Store) *waitingCalls {
	t.Helper()
	w := &waitingCalls{}
	for i := range many {
		w.claims = append(w.claims, background(func() (backend.Claimed, error) { return s.Claim(t.Context(), scope, fmt.Sprint("p", i), 1, 2) }))
		w.grants = append(w.grants, background(func() (backend.Grant, error) {
			return s.Acquire(t.Context(), scope, fmt.Sprint("k", i), backend.Request{TTL: time.Minute})
		}))
	}
	return w
}

// expectNothing: each was refused, since what was sold and granted before is lost.
func (w *waitingCalls) expectNothing(t *testing.T) {
	t.Helper()
	for i := range many {
		if c, err := w.claims[i](); c.Claimed || !errors.Is(err, backend.ErrStateLost) && !errors.Is(err, backend.ErrUnavailable) {
			t.Errorf("Claim on the sold-out pool p%d that waited = %+v, %v; want ErrStateLost", i, c, err)
		}
		if g, err := w.grants[i](); g.Acquired || !errors.Is(err, backend.ErrUnavailable) {
			t.Errorf("Acquire of the held lock k%d that waited = %+v, %v; want ErrUnavailable", i, g, err)
		}
	}
}

// sellAndHold sells out pools and holds locks, half of each before half and half after it.
func sellAndHold(t *testing.T, s *Store, half func()) (greatest int64) {
	t.Helper()
	for i := range many {
		mustClaim(t, s, fmt.Sprint("p", i), 1, 2, 1)
		key := fmt.Sprint("k", i)
		if token := mustAcquire(t, s, key, time.Minute); i%2 == 0 { // one that is free, and has a token, in what is saved
			if ok, err := s.Release(t.Context(), scope, key, backend.Proof{Token: token}); !ok || err != nil {
				t.Fatal(ok, err)
			}
		}
	}
	half()
	for i := range many {
		mustClaim(t, s, fmt.Sprint("p", i), 1, 2, 0)
		if i%2 == 0 {
			greatest = mustAcquire(t, s, fmt.Sprint("k", i), time.Minute)
		}
	}
	return greatest
}

// Redis comes back without what it had acknowledged while calls of another proxy wait for it.
func TestCallsThatWaitOverALossAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		save bool // part of the data are in a snapshot
	}{{"with an old snapshot", true}, {"with nothing", false}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, redistest.RDBOnly)
			o := options(t, server.URL())
			o.Timeout = 8 * time.Second
			s, other := open(t, o), open(t, second(t, o))
			sellAndHold(t, s, func() {
				if c.save {
					server.Do("SAVE")
				}
			})
			server.Kill()
			calls := waitOn(t, other)
			server.Restart()
			calls.expectNothing(t)
			eventually(t, "the loss is noticed", isLost(other))
		})
	}
}

// Redis comes back with all its data and a clock that went back: tokens that another proxy
// was granted just before are not given again, nor smaller ones.
func TestTokensOfCallsThatWaitedRiseThoughTheClockWentBack(t *testing.T) {
	t.Parallel()
	server, clock := redistest.StartWithClock(t, redistest.AOFAlways)
	o := options(t, server.URL())
	o.Timeout, o.MaxClockSkew = 8*time.Second, 2*time.Second
	s, other := open(t, o), open(t, second(t, o))
	mustAcquire(t, other, "seen", time.Minute)
	greatest := sellAndHold(t, s, func() {})
	server.Kill()
	var calls []func() (backend.Grant, error)
	for i := range 8 {
		calls = append(calls, background(func() (backend.Grant, error) {
			return other.Acquire(t.Context(), scope, fmt.Sprint("new", i), backend.Request{TTL: time.Minute})
		}))
	}
	clock.Step(-time.Second)
	server.Restart()
	for i, wait := range calls {
		if g, err := wait(); err == nil && g.Token <= greatest || err != nil && !errors.Is(err, backend.ErrUnavailable) {
			t.Errorf("Acquire of new%d = %+v, %v; want a token above %d", i, g, err, greatest)
		}
	}
	eventually(t, "the clock has passed every token", func() bool {
		g, err := other.Acquire(t.Context(), scope, "later", backend.Request{TTL: time.Minute})
		if g.Acquired && g.Token <= greatest {
			t.Fatalf("token %d after %d", g.Token, greatest)
		}
		return err == nil
	})
}

// A proxy that was just started has seen no pool, and not yet that everything is gone.
func TestAWipedRedisIsNoticedBeforeAPoolIsMade(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		wipe func(t *testing.T, server *redistest.Server, o *Options)
	}{
		{"FLUSHALL", func(_ *testing.T, server *redistest.Server, _ *Options) { server.Do("FLUSHALL") }},
		{"the beat is deleted", func(_ *testing.T, server *redistest.Server, o *Options) {
			server.Do("DEL", beatKey(o.Namespace, 0), keyOf(o.Namespace, poolKind, scope, "p"), keyOf(o.Namespace, lockKind, scope, "k"))
		}},
		// The process stays, and so do the connections to it.
		{"the data of another Redis", func(t *testing.T, server *redistest.Server, _ *Options) {
			stranger := redistest.Start(t)
			server.Do("REPLICAOF", "127.0.0.1", stranger.Port)
			server.AwaitLink()
			server.Promote()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			o := options(t, server.URL())
			s, other := open(t, o), open(t, second(t, o))
			mustClaim(t, s, "p", 1, 1, 0)
			mustAcquire(t, s, "k", time.Minute)
			withoutHeartbeat(other)
			mustAcquire(t, other, "warm", time.Minute)
			c.wipe(t, server, &o)
			if got, err := other.Restock(t.Context(), scope, "p", 1); errors.Is(err, backend.ErrNoPool) || err == nil {
				t.Errorf("Restock of a pool that was lost = %d, %v", got, err)
			}
			if got, err := other.Claim(t.Context(), scope, "p", 1, 1); err == nil {
				t.Errorf("Claim of a sold-out pool that was lost = %+v", got)
			}
			if got, err := other.Acquire(t.Context(), scope, "k", backend.Request{TTL: time.Minute}); err == nil {
				t.Errorf("Acquire of a held lock that was lost = %+v", got)
			}
		})
	}
}

// onShard gives n names whose keys of this kind are on one master of a Cluster.
func onShard(c *redistest.Cluster, o *Options, kind string, shard, n int) []string {
	var names []string
	for i := 0; len(names) < n; i++ {
		if name := fmt.Sprint("n", i); c.Owner(keyOf(o.Namespace, kind, scope, name)) == shard {
			names = append(names, name)
		}
	}
	return names
}

// A shard that has not the id record loses everything, while calls of another proxy wait for it or not.
func TestTheLossOfOneShardIsNoticed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		lose func(shard *redistest.Server, waiting func())
	}{
		{"FLUSHALL", func(shard *redistest.Server, waiting func()) { shard.Do("FLUSHALL"); waiting() }},
		{"a crash, and the disk is empty", func(shard *redistest.Server, waiting func()) {
			shard.Kill()
			if err := os.RemoveAll(shard.AOF()); err != nil {
				panic(err)
			}
			waiting()
			shard.Restart()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cluster := redistest.StartCluster(t, 3, redistest.AOFAlways)
			o := options(t, "")
			o.URLs, o.Timeout = cluster.URLs(), 6*time.Second
			shard := (cluster.Owner(idKey(o.Namespace)) + 1) % 3
			pools, locks := onShard(cluster, &o, poolKind, shard, 5), onShard(cluster, &o, lockKind, shard, 5)
			s, other := open(t, o), open(t, second(t, o))
			for i := range pools {
				mustClaim(t, s, pools[i], 1, 1, 0)
				mustAcquire(t, s, locks[i], time.Minute)
			}
			var claims []func() (backend.Claimed, error)
			var grants []func() (backend.Grant, error)
			c.lose(cluster.Masters[shard], func() {
				for i := range pools {
					claims = append(claims, background(func() (backend.Claimed, error) { return other.Claim(t.Context(), scope, pools[i], 1, 1) }))
					grants = append(grants, background(func() (backend.Grant, error) {
						return other.Acquire(t.Context(), scope, locks[i], backend.Request{TTL: time.Minute})
					}))
				}
			})
			for i := range pools {
				if got, err := claims[i](); err == nil {
					t.Errorf("Claim of a sold-out pool that was lost = %+v", got)
				}
				if got, err := grants[i](); err == nil {
					t.Errorf("Acquire of a held lock that was lost = %+v", got)
				}
			}
			for _, proxy := range []*Store{other, s} {
				eventually(t, "the loss is noticed", isLost(proxy))
				if _, err := proxy.Claim(t.Context(), scope, pools[0], 1, 1); !errors.Is(err, backend.ErrStateLost) {
					t.Errorf("Claim: %v, want ErrStateLost", err)
				}
				if _, err := proxy.Acquire(t.Context(), scope, locks[0], backend.Request{TTL: time.Minute}); !errors.Is(err, backend.ErrUnavailable) {
					t.Errorf("Acquire: %v, want ErrUnavailable", err)
				}
			}
		})
	}
}

// A proxy that starts after the loss of a shard misses its beat too, though it has never seen it.
func TestANewProxyMissesTheBeatOfAShard(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3)
	o := options(t, "")
	o.URLs = cluster.URLs()
	shard := (cluster.Owner(idKey(o.Namespace)) + 1) % 3
	s := open(t, o)
	pool := onShard(cluster, &o, poolKind, shard, 1)[0]
	mustClaim(t, s, pool, 1, 1, 0)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	cluster.Masters[shard].Do("FLUSHALL")
	fresh := open(t, second(t, o))
	if got, err := fresh.Claim(t.Context(), scope, pool, 1, 1); !errors.Is(err, backend.ErrStateLost) {
		t.Fatalf("Claim = %+v, %v; want ErrStateLost", got, err)
	}
}

// The slot of a beat moves, key and all: that is no loss, and the master finds another beat.
func TestABeatWhoseSlotMovesIsNotMissed(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3)
	o := options(t, "")
	o.URLs = cluster.URLs()
	s := open(t, o)
	key := beatKey(o.Namespace, 0)
	from := cluster.Owner(key)
	to := (from + 1) % 3
	pool, lock := onShard(cluster, &o, poolKind, from, 3), onShard(cluster, &o, lockKind, from, 1)[0]
	old := onShard(cluster, &o, poolKind, from, 5)[4]
	mustClaim(t, s, old, 1, 100, 99)
	token := mustAcquire(t, s, lock, time.Minute)
	cluster.Migrate(cluster.Slot(key), from, to, func(step string) {
		for i := range pool {
			if _, err := s.Claim(t.Context(), scope, pool[i], 1, 1); errors.Is(err, backend.ErrStateLost) {
				t.Fatalf("%s: Claim: %v", step, err)
			}
		}
		// What is there needs no look at the beat.
		if c, err := s.Claim(t.Context(), scope, old, 1, 100); err != nil || !c.Claimed {
			t.Errorf("%s: Claim on a pool that is there = %+v, %v", step, c, err)
		}
		if ok, err := s.Renew(t.Context(), scope, lock, backend.Proof{Token: token}, time.Minute); err != nil || !ok {
			t.Errorf("%s: Renew = %v, %v", step, ok, err)
		}
	})
	fresh := onShard(cluster, &o, poolKind, from, 4)[3]
	eventually(t, "pools are made on the master that has lost its beat's slot", func() bool {
		_, err := s.Claim(t.Context(), scope, fresh, 1, 1)
		return err == nil
	})
	if isLost(s)() {
		t.Fatal("a loss was noticed where there is none")
	}
}

func TestUnitsThatNobodyOfOursWritesAreRefused(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := options(t, server.URL())
	s := open(t, o)
	for _, units := range []string{"-3", "07", "1e3", "9223372036854775808", "", "x", "+1", " 1", "-0", "1.0"} {
		server.Do("HSET", keyOf(o.Namespace, poolKind, scope, "p"), "n", units)
		want := backend.PoolValueError{Pool: "p", Value: units}
		claimed, err := s.Claim(t.Context(), scope, "p", 1, 10)
		if got, ok := errors.AsType[*backend.PoolValueError](err); !ok || *got != want {
			t.Errorf("n = %q: Claim = %+v, %v; want an error with the pool and the value", units, claimed, err)
		}
		left, err := s.Restock(t.Context(), scope, "p", 1)
		if got, ok := errors.AsType[*backend.PoolValueError](err); !ok || *got != want {
			t.Errorf("n = %q: Restock = %d, %v; want an error with the pool and the value", units, left, err)
		}
		if got := server.Do("HGET", keyOf(o.Namespace, poolKind, scope, "p"), "n"); got != units {
			t.Errorf("n is %v now, it was %q", got, units)
		}
	}
	server.Do("HSET", keyOf(o.Namespace, poolKind, scope, "p"), "n", "9223372036854775807")
	mustClaim(t, s, "p", 1, 0, 9223372036854775806)
	mustClaim(t, s, "other", 1, 2, 1) // inventory has not stopped
}

// A clock beyond what a token can be is not believed, and leaves nothing behind.
func TestAClockFarInTheFutureIsNotRemembered(t *testing.T) {
	t.Parallel()
	server, clock := redistest.StartWithClock(t, redistest.AOFAlways)
	o := options(t, server.URL())
	log := &logBuffer{}
	o.Log = slog.New(slog.NewTextHandler(log, nil))
	o.Timeout = time.Second
	s := open(t, o)
	token := mustAcquire(t, s, "k", time.Minute)
	clock.Step(240 * 365 * 24 * time.Hour)
	eventually(t, "it is reported", func() bool { return log.has("its clock cannot be used") })
	eventually(t, "an acquire is refused for the clock", func() bool {
		g, err := s.Acquire(t.Context(), scope, "other", backend.Request{TTL: time.Minute})
		if err == nil || !errors.Is(err, backend.ErrUnavailable) && !errors.Is(err, backend.ErrInDoubt) {
			t.Fatalf("Acquire = %+v, %v; want ErrUnavailable for the clock", g, err)
		}
		// In doubt is a call of which a copy was not answered in time; the next one says more.
		return errors.Is(err, backend.ErrUnavailable) && strings.Contains(err.Error(), "2255")
	})
	clock.Step(0)
	eventually(t, "locks are granted again", func() bool {
		g, err := s.Acquire(t.Context(), scope, "next", backend.Request{TTL: time.Minute})
		if g.Acquired && g.Token <= token {
			t.Fatalf("token %d after %d", g.Token, token)
		}
		return err == nil
	})
}

// What the scripts themselves compare.
func TestScriptsMakeNothingOnAServerThatIsNotTheOneThatWasJudged(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, options(t, server.URL()))
	withoutHeartbeat(s)
	e, err := s.watch.counts(s.servers.single.Options().Addr)
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(e.judged) // run_id, replid, name of the beat, its key
	other := func(i int, word string) string {
		changed := append([]string(nil), words...)
		changed[i] = word
		return strings.Join(changed, " ")
	}
	for _, c := range []struct{ name, judged, word string }{
		{"another process", other(0, strings.Repeat("0", 40)), "JUDGE"},
		{"another history", other(1, strings.Repeat("0", 40)), "JUDGE"},
		{"a beat that was made anew", other(2, "another"), "JUDGE"},
		{"no beat", other(3, words[3]+"x"), "NOBEAT"},
		{"nothing judged", "", "JUDGE"},
	} {
		for _, call := range []*call{
			{script: claimScript, key: keyOf(s.opts.Namespace, poolKind, scope, "p"), args: fixed(1, 10, "gen", "*", "1", "", 0, c.judged)},
			{script: setScript, key: keyOf(s.opts.Namespace, poolKind, scope, "p"), args: fixed(1, "", "gen", "*", "", 0, c.judged)},
			{script: dropScript, key: keyOf(s.opts.Namespace, poolKind, scope, "p"), args: fixed("gen", "", 0, c.judged)},
			{script: countScript, key: keyOf(s.opts.Namespace, poolKind, scope, "p"), args: fixed("", 0, c.judged)},
			{script: scanScript, key: keyOf(s.opts.Namespace, poolKind, scope, "p"), args: fixed(c.judged, "0", "*", 10)},
			{script: restockScript, key: keyOf(s.opts.Namespace, poolKind, scope, "p"), args: fixed(1, "", 0, c.judged)},
			{script: acquireScript, key: keyOf(s.opts.Namespace, lockKind, scope, "k"), args: fixed(1000, 1000, 0, 0, c.judged, 1000)},
		} {
			call.nonce = s.nonce()
			r, err := call.request(s, "")
			if err != nil {
				t.Fatal(err)
			}
			answer, err := s.servers.single.Eval(t.Context(), r.script.text, []string{r.key}, r.args...).StringSlice()
			if err != nil || answer[0] != c.word {
				t.Errorf("%s: %s is answered %v, %v; want %s", c.name, r.script.name, answer, err, c.word)
			}
			if n := server.Do("EXISTS", r.key); n != int64(0) {
				t.Errorf("%s: %s has made the key", c.name, r.script.name)
			}
		}
	}
}

// What rests on a judgement is not sent after the next one: neither from the queue, nor on a
// connection that is made then.
func TestNothingIsSentOnWhatWasKnownBeforeTheLastJudgement(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, options(t, server.URL()))
	withoutHeartbeat(s)
	fresh, err := connect(&s.opts, s.watch.connected)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = fresh.close() }() // it is of this test
	e, err := s.watch.grants(s.servers.single.Options().Addr)
	if err != nil {
		t.Fatal(err)
	}
	stale, current := &request{epoch: e.epoch, done: make(chan struct{})}, &request{done: make(chan struct{})}
	s.watch.lose("for this test")
	l := &lane{store: s, node: s.servers.single, queue: []*request{stale, current}, running: 1, trailed: true}
	if batch, _, _ := l.take(); len(batch) != 1 || batch[0] != current || judge(stale.err) != unsent {
		t.Errorf("of two requests %d are sent; the error of the one that is out of date is %v", len(batch), stale.err)
	}
	if err := fresh.single.Ping(withEpoch(t.Context(), e.epoch)).Err(); judge(err) != unsent {
		t.Errorf("a connection that is made for what is out of date: %v", err)
	}
	if err := fresh.single.Ping(withEpoch(t.Context(), s.watch.epoch.Load())).Err(); err != nil {
		t.Errorf("a connection: %v", err)
	}
}
