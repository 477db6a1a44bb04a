package redis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"raisinproxy/backend"
	"raisinproxy/backend/redis/redistest"
)

func isLost(s *Store) func() bool { return s.watch.lost }

// known waits until calls reach the server again.
func reachable(t *testing.T, s *Store) {
	t.Helper()
	eventually(t, "calls are answered again", func() bool {
		_, err := s.Renew(t.Context(), scope, "nothing", backend.Proof{Token: 1}, time.Second)
		return err == nil
	})
}

// expectStopped: inventory is refused, locks that are held are not touched.
func expectStopped(t *testing.T, s *Store) {
	t.Helper()
	if _, err := s.Claim(t.Context(), scope, "p", 1, 100); !errors.Is(err, backend.ErrStateLost) {
		t.Fatalf("Claim after a loss: %v, want ErrStateLost", err)
	}
	if _, err := s.Restock(t.Context(), scope, "p", 1); !errors.Is(err, backend.ErrStateLost) {
		t.Fatalf("Restock after a loss: %v, want ErrStateLost", err)
	}
}

func TestAKilledRedisWithAOFAlwaysLosesNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.AOFAlways)
	s := open(t, options(t, server.URL()))
	mustClaim(t, s, "p", 100, 180, 80)
	held := mustAcquire(t, s, "held", time.Minute)
	free := mustAcquire(t, s, "free", time.Minute)
	if ok, err := s.Release(t.Context(), scope, "free", backend.Proof{Token: free}); !ok || err != nil {
		t.Fatal(ok, err)
	}
	server.Kill()
	server.Restart()
	reachable(t, s)
	eventually(t, "claims are answered", func() bool {
		c, err := s.Claim(t.Context(), scope, "p", 81, 180)
		return err == nil && c == backend.Claimed{Remaining: 80}
	})
	if ok, err := s.Renew(t.Context(), scope, "held", backend.Proof{Token: held}, time.Minute); !ok || err != nil {
		t.Fatalf("Renew by the holder = %v, %v", ok, err)
	}
	var next backend.Grant
	eventually(t, "locks are granted", func() bool {
		var err error
		next, err = s.Acquire(t.Context(), scope, "free", backend.Request{TTL: time.Minute})
		return err == nil
	})
	if !next.Acquired || next.Token <= free {
		t.Fatalf("Acquire = %+v, want a token above %d", next, free)
	}
	if isLost(s)() {
		t.Fatal("a loss was noticed where there is none")
	}
}

// After a restart another proxy may have been granted tokens that this one does not know of: a
// clock that went back by less than the skew must not repeat them.
func TestNothingIsGrantedAfterARestartUntilTheClockIsPastEveryToken(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.AOFAlways)
	o := options(t, server.URL())
	o.MaxClockSkew = time.Hour
	s := open(t, o)
	mustAcquire(t, s, "before", time.Minute)
	server.Kill()
	server.Restart()
	reachable(t, s)
	if g, err := s.Acquire(t.Context(), scope, "k", backend.Request{TTL: time.Minute}); !errors.Is(err, backend.ErrUnavailable) || g.Acquired {
		t.Fatalf("Acquire = %+v, %v; want ErrUnavailable", g, err)
	}
}

// A clock that was a century ahead for a moment, and is right again when Redis is restarted, is not waited for until
// then. Tokens go on above all that may have been granted.
func TestAClockThatWasFarAheadIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	server, clock := redistest.StartWithClock(t, redistest.AOFAlways)
	o := options(t, server.URL())
	o.MaxClockSkew, o.MaxTTL = 2*time.Second, 3*time.Second
	s := open(t, o)
	clock.Step(100 * 365 * 24 * time.Hour)
	ahead := mustAcquire(t, s, "ahead", time.Second)
	clock.Step(0)
	server.Kill()
	server.Restart()
	reachable(t, s)
	eventually(t, "locks are granted again", func() bool {
		g, err := s.Acquire(t.Context(), scope, "k", backend.Request{TTL: time.Second})
		if g.Acquired && g.Token < ahead+o.MaxClockSkew.Microseconds() {
			t.Fatalf("token %d, another proxy may have been granted those up to %v after %d", g.Token, o.MaxClockSkew, ahead)
		}
		return err == nil && g.Acquired
	})
}

func TestAKilledRedisWithoutAOFStopsInventoryUntilAdopt(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.RDBOnly)
	o := options(t, server.URL())
	o.MaxTTL = 3 * time.Second
	s := open(t, o)
	mustClaim(t, s, "p", 1, 180, 179)
	server.Do("SAVE") // the id record is in the snapshot, 179 units too
	mustClaim(t, s, "p", 100, 180, 79)
	mustClaim(t, s, "later", 1, 10, 9)
	server.Kill()
	server.Restart()
	eventually(t, "the loss is noticed", isLost(s))
	noticed := time.Now()
	reachable(t, s)
	expectStopped(t, s)
	if g, err := s.Acquire(t.Context(), scope, "k", backend.Request{TTL: time.Second}); err == nil && time.Since(noticed) < o.MaxTTL-time.Second {
		t.Fatalf("Acquire = %+v before the leases that were lost are over", g)
	}
	eventually(t, "locks are granted when the longest lease is over", func() bool {
		g, err := s.Acquire(t.Context(), scope, "k", backend.Request{TTL: time.Second})
		return err == nil && g.Acquired
	})

	adopted, err := Adopt(t.Context(), o, AdoptOptions{})
	if err != nil || len(adopted.Before) != 1 {
		t.Fatalf("Adopt = %+v, %v; want one predecessor", adopted, err)
	}
	eventually(t, "inventory goes on", func() bool { return !isLost(s)() })
	mustClaim(t, s, "p", 1, 180, 178) // as the operator found it
	for _, missing := range []string{"later", "new"} {
		if _, err := s.Claim(t.Context(), scope, missing, 1, 10); !errors.Is(err, backend.ErrPoolMissing) {
			t.Fatalf("Claim of a pool that is missing: %v, want ErrPoolMissing", err)
		}
		if _, err := s.Restock(t.Context(), scope, missing, 1); !errors.Is(err, backend.ErrPoolMissing) {
			t.Fatalf("Restock of a pool that is missing: %v, want ErrPoolMissing", err)
		}
	}
	// The operator sets it.
	server.Do("HSET", keyOf(o.Namespace, poolKind, scope, "later"), "n", 7)
	mustClaim(t, s, "later", 1, 10, 6)
	mustClaim(t, s, "later", 1, 10, 5)
	// Or lets claims create those that are missing, new ones too.
	if _, err := Adopt(t.Context(), o, AdoptOptions{AllowCreate: true}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "pools are created again", func() bool {
		c, err := s.Claim(t.Context(), scope, "new", 1, 10)
		return err == nil && c == backend.Claimed{Claimed: true, Remaining: 9}
	})
}

func TestAdoptMayAllowToCreateMissingPools(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := options(t, server.URL())
	s := open(t, o)
	mustClaim(t, s, "p", 1, 180, 179)
	server.Do("FLUSHALL")
	eventually(t, "the loss is noticed", isLost(s))
	expectStopped(t, s)
	if _, err := Adopt(t.Context(), o, AdoptOptions{}); !errors.Is(err, ErrNoID) {
		t.Fatalf("Adopt without an id record: %v, want ErrNoID", err)
	}
	if _, err := Adopt(t.Context(), o, AdoptOptions{Init: true, AllowCreate: true}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "inventory goes on", func() bool { return !isLost(s)() })
	mustClaim(t, s, "p", 1, 180, 179)
	if _, err := Adopt(t.Context(), o, AdoptOptions{Init: true}); err == nil {
		t.Fatal("Adopt with Init replaced an id record")
	}
}

func TestAWipedNamespaceIsNotTakenForANewOne(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := options(t, server.URL())
	s := open(t, o)
	mustClaim(t, s, "p", 1, 180, 179)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	server.Do("FLUSHALL")
	s = open(t, o)
	expectStopped(t, s)
	// Init alone does not allow pools to be created: this proxy has seen the name space before.
	if _, err := Adopt(t.Context(), o, AdoptOptions{Init: true}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "inventory goes on", func() bool { return !isLost(s)() })
	if _, err := s.Claim(t.Context(), scope, "p", 1, 180); !errors.Is(err, backend.ErrStateLost) {
		t.Fatalf("Claim of a pool that is missing: %v, want ErrStateLost", err)
	}
}

func TestALossIsRememberedOverARestartOfTheProxy(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := options(t, server.URL())
	s := open(t, o)
	mustClaim(t, s, "p", 1, 180, 179)
	s.watch.lose("for this test")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, o)
	expectStopped(t, s)
}

func TestWhatOneProxyNoticesStopsTheOthers(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := options(t, server.URL())
	s, other := open(t, o), open(t, second(t, o))
	mustClaim(t, other, "p", 1, 180, 179)
	s.watch.lose("for this test")
	eventually(t, "the other proxy has stopped", isLost(other))
	expectStopped(t, other)
}

func TestAPoolThatWentBackIsNoticedByItsOwnCount(t *testing.T) {
	t.Parallel()
	for _, loss := range []struct {
		name string
		do   func(server *redistest.Server, key string)
	}{
		{"it is missing", func(server *redistest.Server, key string) { server.Do("DEL", key) }},
		{"it is an earlier state", func(server *redistest.Server, key string) { server.Do("HSET", key, "n", 180, "seq", 1) }},
		{"it is another pool of the same name", func(server *redistest.Server, key string) { server.Do("HSET", key, "gen", "other", "seq", 99) }},
	} {
		t.Run(loss.name, func(t *testing.T) {
			server := redistest.Start(t)
			o := options(t, server.URL())
			s := open(t, o)
			mustClaim(t, s, "p", 1, 180, 179)
			mustClaim(t, s, "p", 1, 180, 178)
			loss.do(server, keyOf(o.Namespace, poolKind, scope, "p"))
			if _, err := s.Claim(t.Context(), scope, "p", 1, 180); !errors.Is(err, backend.ErrStateLost) {
				t.Fatalf("Claim: %v, want ErrStateLost", err)
			}
			expectStopped(t, s)
		})
	}
}

// A crash of the machine, or a restored backup: the server comes back with an AOF that is whole and old.
func TestAnOldAOFIsNoticed(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.AOFAlways)
	o := options(t, server.URL())
	s := open(t, o)
	mustClaim(t, s, "p", 1, 180, 179)
	old := copyOf(t, server.AOF())
	before := beatOf(s)
	mustClaim(t, s, "p", 100, 180, 79)
	eventually(t, "a beat has been written since", func() bool { return beatOf(s) > before+1 })
	server.Kill()
	if err := errors.Join(os.RemoveAll(server.AOF()), os.Rename(old, server.AOF())); err != nil {
		t.Fatal(err)
	}
	s.known.forgetPools() // so that only the beat can tell, as for pools that others have used
	server.Restart()
	eventually(t, "the loss is noticed", isLost(s))
	reachable(t, s)
	expectStopped(t, s)
}

func beatOf(s *Store) int64 {
	_, beat := s.watch.beatKnown(beatKey(s.opts.Namespace, 0))
	return beat.Last
}

func copyOf(t *testing.T, path string) string {
	t.Helper()
	to := path + ".old"
	if out, err := exec.CommandContext(t.Context(), "cp", "-r", path, to).CombinedOutput(); err != nil {
		t.Log(string(out))
		t.Fatal(err)
	}
	return to
}

func TestOnStateLossContinueGoesOnGrantingLocks(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := options(t, server.URL())
	o.ContinueOnLoss = true
	s := open(t, o)
	s.watch.lose("for this test")
	mustAcquire(t, s, "k", time.Minute)
	expectStopped(t, s)
}

func TestAStateFileOfAnotherNamespaceIsRefused(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := options(t, server.URL())
	open(t, o)
	o.Namespace += "x"
	if s, err := Open(t.Context(), o); err == nil {
		s.Close()
		t.Fatal("Open took the state file of another name space")
	}
}

func TestKeysWithoutAnIDRecordAreNotAdoptedByThemselves(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := options(t, server.URL())
	server.Do("HSET", keyOf(o.Namespace, poolKind, scope, "p"), "n", 5)
	s := open(t, o)
	expectStopped(t, s)
	if _, err := Adopt(t.Context(), o, AdoptOptions{Init: true}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "inventory goes on", func() bool { return !isLost(s)() })
	mustClaim(t, s, "p", 1, 10, 4)
}

func offsetOf(t *testing.T, server *redistest.Server) int64 {
	t.Helper()
	offset, err := strconv.ParseInt(server.Info(t.Context(), "master_repl_offset"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return offset
}

// knownOffset is how far the proxy knows its only master to have come.
func knownOffset(s *Store) (offset int64) {
	s.watch.mu.Lock()
	defer s.watch.mu.Unlock()
	for _, n := range s.watch.state.Nodes {
		offset = n.Offset
	}
	return offset
}

// A replica that lags is promoted: what it did not have is lost, and the id record does not show it.
func TestTheFailoverToALaggingReplicaIsNoticed(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t, redistest.AOFAlways)
	replica, replication := redistest.StartReplicaOverLink(t, master, redistest.AOFAlways)
	link := redistest.StartLink(t, master)
	o := options(t, link.URL())
	s := open(t, o)
	mustClaim(t, s, "p", 100, 180, 80)
	replica.AwaitOffset(master)
	replication.Break()
	mustClaim(t, s, "p", 80, 180, 0)
	held := mustAcquire(t, s, "k", time.Minute)
	offset := offsetOf(t, master)
	eventually(t, "the proxy knows how far the master has come", func() bool { return knownOffset(s) >= offset })
	s.known.forgetPools() // so that only the offset can tell, as for pools that others have used
	replica.Promote()
	link.To(replica)
	eventually(t, "the loss is noticed", isLost(s))
	reachable(t, s)
	expectStopped(t, s)

	// The lock is lost too. Whoever gets it next has a greater token, and the old holder nothing.
	o.ContinueOnLoss = true
	o.StateFile = second(t, o).StateFile
	other := open(t, o)
	next := mustAcquire(t, other, "k", time.Minute)
	if next <= held {
		t.Fatalf("token %d after %d", next, held)
	}
	if ok, err := s.Renew(t.Context(), scope, "k", backend.Proof{Token: held}, time.Minute); ok || err != nil {
		t.Fatalf("Renew by the holder whose lock was lost = %v, %v", ok, err)
	}
}

func TestTheFailoverToAReplicaInStepLosesNothing(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t, redistest.AOFAlways)
	replica := redistest.StartReplica(t, master, redistest.AOFAlways)
	link := redistest.StartLink(t, master)
	s := open(t, options(t, link.URL()))
	mustClaim(t, s, "p", 100, 180, 80)
	replica.AwaitOffset(master)
	master.Stop() // so that nothing more is written to it
	replica.Promote()
	link.To(replica)
	eventually(t, "claims are answered", func() bool {
		c, err := s.Claim(t.Context(), scope, "p", 81, 180)
		return err == nil && c == backend.Claimed{Remaining: 80}
	})
	if isLost(s)() {
		t.Fatal("a loss was noticed where there is none")
	}
	master.Continue()
}

// Each case is a master that is another process or has another history than the one known.
func TestWhatANewMasterTellsOfALoss(t *testing.T) {
	const addr, elsewhere = "a:1", "b:2"
	known := node{RunID: "run", ReplID: "history", Offset: 100}
	old := time.Hour // so long has the process been running
	for _, c := range []struct {
		name string
		at   string
		s    sample
		lost bool
	}{
		{"a replica that had everything", elsewhere, sample{node: node{RunID: "other", ReplID: "next"}, replID2: "history", second: 101, uptime: old}, false},
		{"a replica that lacked a change", elsewhere, sample{node: node{RunID: "other", ReplID: "next"}, replID2: "history", second: 100, uptime: old}, true},
		{"a replica of somebody else", elsewhere, sample{node: node{RunID: "other", ReplID: "next"}, replID2: "unknown", second: 200, uptime: old}, true},
		{"a restart without AOF", addr, sample{node: node{RunID: "other", ReplID: "next"}}, true},
		{"a restart without AOF that claims to continue", addr, sample{node: node{RunID: "other", ReplID: "next"}, replID2: "history", second: 200}, true},
		{"a restart with AOF", addr, sample{node: node{RunID: "other", ReplID: "next"}, aof: true}, false},
		{"an old process with an unknown history", addr, sample{node: node{RunID: "other", ReplID: "next"}, aof: true, uptime: old}, true},
		{"the same process with its first replica", addr, sample{node: node{RunID: "run", ReplID: "next"}, uptime: old}, false},
		{"the same process after it was a replica", addr, sample{node: node{RunID: "run", ReplID: "next"}, replID2: "unknown", second: 200, uptime: old}, true},
	} {
		o := Options{}.withDefaults()
		w := newWatch(&o, state{Seen: time.Now(), Nodes: map[string]node{addr: known}}, &serverClock{})
		w.log = slog.New(slog.DiscardHandler)
		w.saw(map[string]sample{c.at: c.s}, nil)
		if w.lost() != c.lost {
			t.Errorf("%s: a loss is noticed: %v, want %v", c.name, w.lost(), c.lost)
		}
	}
}

// A planned failover. The nodes of a Cluster do not learn of it at once: the old master is named once more, and
// does not know of it itself. Then the new one is seen again.
func TestAMasterThatIsNamedOnceMoreIsNoLoss(t *testing.T) {
	const first, second = "a:1", "b:2"
	o := Options{}.withDefaults()
	w := newWatch(&o, state{Seen: time.Now(), Nodes: map[string]node{first: {RunID: "run", ReplID: "history", Offset: 100}}}, &serverClock{})
	w.log = slog.New(slog.DiscardHandler)
	old := sample{node: node{RunID: "run", ReplID: "history", Offset: 100}, replID2: "before", second: 50, master: true, uptime: time.Hour}
	next := sample{node: node{RunID: "other", ReplID: "next", Offset: 120}, replID2: "history", second: 101, master: true, uptime: time.Hour}
	for i, samples := range []map[string]sample{{second: next}, {first: old}, {second: next}, {first: old, second: next}, {second: next}} {
		current := w.saw(samples, nil)
		if w.lost() {
			t.Fatalf("look %d: a loss is noticed", i)
		}
		if _, ok := current[first]; ok {
			t.Fatalf("look %d: the old master gets a beat, which is lost", i)
		}
		if _, ok := w.state.Nodes[first]; ok {
			t.Fatalf("look %d: calls may go to the old master", i)
		}
		if n := w.state.Nodes[second]; n.ReplID != "next" {
			t.Fatalf("look %d: the new master is %+v", i, n)
		}
	}
	// It is no excuse for ever: if the old one stays, what the new one acknowledged is gone.
	for n, by := range w.succeeded {
		by.seen = by.seen.Add(-2 * succession)
		w.succeeded[n] = by
	}
	w.saw(map[string]sample{first: old}, nil)
	if !w.lost() {
		t.Fatal("the old master is taken for the new one")
	}
}

// withoutHeartbeat stops looking, as if the next second never came.
func withoutHeartbeat(s *Store) {
	s.endBeats()
	s.beats.Wait()
}

func TestHowFarTheMasterHasComeIsAskedAlongWithTheCalls(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t)
	redistest.StartReplica(t, master) // without one Redis does not count
	s := open(t, options(t, master.URL()))
	withoutHeartbeat(s)
	before := knownOffset(s)
	mustClaim(t, s, "p", 1, 10, 9)
	mustClaim(t, s, "p", 1, 10, 8)
	key := keyOf(s.opts.Namespace, poolKind, scope, "p")
	if master.Do("HGET", key, "n") != "8" {
		t.Fatal("the claims are not made")
	}
	offset := offsetOf(t, master)
	eventually(t, "the proxy knows how far the master has come", func() bool { return knownOffset(s) >= offset && knownOffset(s) > before })
}

func TestNoCallReachesAServerThatWasNotLookedAt(t *testing.T) {
	t.Parallel()
	server, stranger := redistest.Start(t), redistest.Start(t)
	link := redistest.StartLink(t, server)
	o := options(t, link.URL())
	s := open(t, o)
	mustClaim(t, s, "p", 1, 10, 9)
	withoutHeartbeat(s)
	there := keyOf(o.Namespace, poolKind, scope, "there")
	stranger.Do("HSET", there, "n", "5")
	link.To(stranger)
	for name, call := range map[string]func(ctx context.Context) (any, error){
		"Claim of a pool that is there": func(ctx context.Context) (any, error) { return s.Claim(ctx, scope, "there", 1, 10) },
		"Claim of a new pool":           func(ctx context.Context) (any, error) { return s.Claim(ctx, scope, "new", 1, 10) },
		"Acquire": func(ctx context.Context) (any, error) {
			return s.Acquire(ctx, scope, "k", backend.Request{TTL: time.Minute})
		},
	} {
		ctx, giveUp := context.WithCancel(t.Context())
		opened := link.Opened()
		wait := background(func() (any, error) { return call(ctx) })
		// The third connection says that the first two got nowhere.
		eventually(t, "the call has tried to get through", func() bool { return link.Opened() >= opened+3 })
		giveUp()
		if got, err := wait(); err == nil {
			t.Errorf("%s on a server that nobody has looked at = %+v", name, got)
		}
	}
	if n := stranger.Do("DBSIZE"); n != int64(1) {
		t.Errorf("the server has %v keys now", n)
	}
	if n := stranger.Do("HGET", there, "n"); n != "5" {
		t.Errorf("its pool has %v units now", n)
	}
}

// Redis changes the id of a master's history when its first replica comes.
func TestAFirstReplicaIsNoLoss(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t)
	s := open(t, options(t, master.URL()))
	mustClaim(t, s, "p", 1, 10, 9)
	before := master.Info(t.Context(), "master_replid")
	redistest.StartReplica(t, master)
	if after := master.Info(t.Context(), "master_replid"); after == before {
		t.Fatal("vacuous: the id of the history is the same")
	}
	beat := beatOf(s)
	eventually(t, "the heartbeat has looked", func() bool { return beatOf(s) > beat })
	mustClaim(t, s, "p", 1, 10, 8)
}

func TestASentinelsFailoverIsFollowed(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t)
	replica := redistest.StartReplica(t, master)
	sentinel := redistest.StartSentinel(t, "locks", master)
	sentinel.AwaitReplicas("locks", 1)
	o := options(t, "")
	o.URLs, o.SentinelMaster = []string{sentinel.URL()}, "locks"
	o.ContinueOnLoss = true
	s := open(t, o)
	tokens := make(map[string]int64)
	for i := range 20 {
		key := fmt.Sprint("k", i)
		tokens[key] = mustAcquire(t, s, key, time.Millisecond*200)
	}
	replica.AwaitOffset(master)
	master.Kill()
	eventually(t, "the new master grants", func() bool {
		g, err := s.Acquire(t.Context(), scope, "other", backend.Request{TTL: time.Minute})
		return err == nil && g.Acquired
	})
	for key, token := range tokens {
		if next := mustAcquire(t, s, key, time.Minute); next <= token {
			t.Errorf("%s: token %d after %d", key, next, token)
		}
	}
}

// The master becomes a replica while connections to it stay open.
func TestAMasterThatBecomesAReplicaIsLeft(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t)
	replica := redistest.StartReplica(t, master)
	sentinel := redistest.StartSentinel(t, "locks", master)
	sentinel.AwaitReplicas("locks", 1)
	o := options(t, "")
	o.URLs, o.SentinelMaster = []string{sentinel.URL()}, "locks"
	s := open(t, o)
	token := mustAcquire(t, s, "k", 2*time.Minute)
	replica.AwaitOffset(master)
	sentinel.Failover("locks")
	eventually(t, "the other one is master", func() bool { return replica.Info(t.Context(), "role") == "master" })
	eventually(t, "the holder can renew", func() bool {
		ok, err := s.Renew(t.Context(), scope, "k", backend.Proof{Token: token}, 2*time.Minute)
		if err == nil && !ok {
			t.Fatal("Renew by the holder is false")
		}
		return ok
	})
	if g, err := s.Acquire(t.Context(), scope, "k", backend.Request{TTL: 2 * time.Minute}); g.Acquired {
		t.Fatalf("a lock that is held was granted: %+v, %v", g, err)
	}
}
