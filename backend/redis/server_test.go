package redis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"raisinproxy/backend"
	"raisinproxy/backend/redis/redistest"
)

func TestScriptsThatRedisHasForgottenAreSentAgain(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, options(t, server.URL()))
	for i := range 3 {
		key := fmt.Sprint("k", i)
		token := mustAcquire(t, s, key, time.Minute)
		server.Do("SCRIPT", "FLUSH")
		if ok, err := s.Release(t.Context(), scope, key, backend.Proof{Token: token}); !ok || err != nil {
			t.Fatalf("Release = %v, %v", ok, err)
		}
		mustClaim(t, s, "p", 1, 10, int64(9-i))
	}
}

func TestALoadingRedisIsWaitedForAndNeverContention(t *testing.T) {
	server := redistest.Start(t, redistest.AOFAlways)
	s := open(t, options(t, server.URL()))
	mustClaim(t, s, "p", 1, 10, 9)
	server.Do("DEBUG", "POPULATE", 3000)
	server.Do("BGREWRITEAOF")
	server.Await("the AOF is rewritten", func(ctx context.Context) bool {
		return server.Info(ctx, "aof_rewrite_in_progress") == "0" && server.Info(ctx, "aof_last_bgrewrite_status") == "ok" &&
			server.Info(ctx, "aof_rewrite_scheduled") == "0" && server.Info(ctx, "aof_current_size") != "0"
	})
	server.Kill()
	server.Restart(redistest.AOFAlways, "key-load-delay 500") // µs for each key
	refused := 0
	for {
		loading := server.Info(t.Context(), "loading") == "1"
		c, err := s.Claim(t.Context(), scope, "p", 1, 10)
		if err == nil {
			if !c.Claimed || c.Remaining != 8 {
				t.Fatalf("Claim = %+v, want 8 remaining", c)
			}
			break
		}
		if !errors.Is(err, backend.ErrUnavailable) {
			t.Fatalf("Claim while Redis is loading: %v, want ErrUnavailable", err)
		}
		if loading {
			refused++
		}
	}
	t.Logf("%d claims were refused while loading", refused)
}

func TestRedisWithoutMemoryIsOutOfResourcesAndChangesNothing(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, options(t, server.URL()))
	token := mustAcquire(t, s, "held", time.Minute)
	mustClaim(t, s, "p", 1, 10, 9)
	server.Do("CONFIG", "SET", "maxmemory", "1") // less than it has in use
	if g, err := s.Acquire(t.Context(), scope, "free", backend.Request{TTL: time.Minute}); !errors.Is(err, backend.ErrOutOfResources) || g.Acquired {
		t.Fatalf("Acquire = %+v, %v; want ErrOutOfResources", g, err)
	}
	if _, err := s.Claim(t.Context(), scope, "p", 1, 10); !errors.Is(err, backend.ErrOutOfResources) {
		t.Fatalf("Claim: %v, want ErrOutOfResources", err)
	}
	if _, err := s.Restock(t.Context(), scope, "p", 1); !errors.Is(err, backend.ErrOutOfResources) {
		t.Fatalf("Restock: %v, want ErrOutOfResources", err)
	}
	// Contention is contention, and who holds a lock keeps it or gives it back.
	if g, err := s.Acquire(t.Context(), scope, "held", backend.Request{TTL: time.Minute}); g.Acquired || err != nil {
		t.Fatalf("Acquire of a held key = %+v, %v", g, err)
	}
	if ok, err := s.Renew(t.Context(), scope, "held", backend.Proof{Token: token}, 2*time.Minute); !ok || err != nil {
		t.Fatalf("Renew = %v, %v", ok, err)
	}
	if ok, err := s.Release(t.Context(), scope, "held", backend.Proof{Token: token}); !ok || err != nil {
		t.Fatalf("Release = %v, %v", ok, err)
	}
	server.Do("CONFIG", "SET", "maxmemory", "0")
	mustAcquire(t, s, "free", time.Minute)
	mustClaim(t, s, "p", 9, 10, 0)
}

func TestARedisThatMayEvictPoolsIsRefusedInventory(t *testing.T) {
	server := redistest.Start(t, "maxmemory-policy allkeys-lru")
	o := options(t, server.URL())
	log := &logBuffer{}
	o.Log = slog.New(slog.NewTextHandler(log, nil))
	s := open(t, o)
	if !log.has("maxmemory-policy may evict") {
		t.Errorf("no warning at the start:\n%s", log)
	}
	if _, err := s.Claim(t.Context(), scope, "p", 1, 10); !errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), "allkeys-lru") {
		t.Fatalf("Claim: %v, want ErrUnavailable and the policy", err)
	}
	mustAcquire(t, s, "k", time.Minute)
	server.Do("CONFIG", "SET", "maxmemory-policy", "noeviction")
	eventually(t, "inventory is allowed", func() bool {
		_, err := s.Claim(t.Context(), scope, "p", 1, 10)
		return err == nil
	})
	server.Do("CONFIG", "SET", "maxmemory-policy", "volatile-ttl")
	eventually(t, "inventory is refused", func() bool {
		_, err := s.Claim(t.Context(), scope, "p", 1, 10)
		return errors.Is(err, backend.ErrUnavailable)
	})
}

func TestWhatTheConfigurationPutsAtRiskIsSaidAtTheStart(t *testing.T) {
	for _, c := range []struct{ lines, warning string }{
		{"appendonly no", "appendonly is off"},
		{"appendonly yes\nappendfsync everysec", "appendfsync is not always"},
		{"appendonly yes\nappendfsync always\nno-appendfsync-on-rewrite yes", "no-appendfsync-on-rewrite is yes"},
	} {
		o := options(t, redistest.Start(t, c.lines).URL())
		log := &logBuffer{}
		o.Log = slog.New(slog.NewTextHandler(log, nil))
		open(t, o)
		if !log.has(c.warning) {
			t.Errorf("%s: no warning %q in\n%s", c.lines, c.warning, log)
		}
	}
	log := &logBuffer{}
	o := options(t, redistest.Start(t, redistest.AOFAlways).URL())
	o.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	open(t, o)
	if text := log.String(); text != "" {
		t.Errorf("warnings about a configuration that risks nothing:\n%s", text)
	}
}

func TestSlotsMayMoveWhileCallsRun(t *testing.T) {
	cluster := redistest.StartCluster(t, 3)
	o := options(t, "")
	o.URLs = cluster.URLs()
	s := open(t, o)
	const capacity = 1_000_000
	mustClaim(t, s, "p", 1, capacity, capacity-1)
	key := keyOf(o.Namespace, poolKind, scope, "p")
	lockKey := keyOf(o.Namespace, lockKind, scope, "k")

	stop := make(chan struct{})
	running := func() bool {
		select {
		case <-stop:
			return false
		default:
			return true
		}
	}
	ctx := t.Context()
	var workers sync.WaitGroup
	var mu sync.Mutex
	claims := int64(1)
	calls := make(chan struct{})
	for range 4 {
		workers.Go(func() {
			for running() {
				c, err := s.Claim(ctx, scope, "p", 1, capacity)
				if err != nil || !c.Claimed {
					t.Errorf("Claim = %+v, %v", c, err)
					return
				}
				g, err := s.Acquire(ctx, scope, "k", backend.Request{TTL: time.Minute})
				if err == nil && g.Acquired {
					var ok bool
					if ok, err = s.Release(ctx, scope, "k", backend.Proof{Token: g.Token}); !ok {
						t.Errorf("Release = false, %v", err)
					}
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				claims++
				mu.Unlock()
				select {
				case calls <- struct{}{}:
				default:
				}
			}
		})
	}
	ended := make(chan struct{}) // by a failure, or by stop
	go func() { workers.Wait(); close(ended) }()
	stopAll := sync.OnceFunc(func() { close(stop); <-ended })
	defer stopAll()
	for _, k := range []string{key, lockKey, key} {
		from := cluster.Owner(k)
		cluster.Migrate(cluster.Slot(k), from, (from+1)%3, func(step string) {
			for range 20 { // so many calls in each state of the migration
				select {
				case <-calls:
				case <-ended:
					t.Fatalf("the callers have given up: %s", step)
				}
			}
		})
	}
	stopAll()
	mustClaim(t, s, "p", capacity-claims, 1, 0)
}

func TestTokensRiseOverStepsOfRedissClock(t *testing.T) {
	server, clock := redistest.StartWithClock(t)
	s := open(t, options(t, server.URL()))
	last := int64(0)
	for _, offset := range []time.Duration{0, time.Hour, -time.Hour, -10 * time.Minute, 24 * time.Hour, 0} {
		clock.Step(offset)
		for _, key := range []string{"k", fmt.Sprint("new at ", offset)} {
			token := mustAcquire(t, s, key, time.Minute)
			if token <= last {
				t.Fatalf("clock at %v: token %d after %d", offset, token, last)
			}
			last = token
			if ok, err := s.Release(t.Context(), scope, key, backend.Proof{Token: token}); !ok || err != nil {
				t.Fatalf("Release = %v, %v", ok, err)
			}
		}
	}
}

// Redis's clock is the only one that counts: that of a proxy may show anything.
func TestAServerWhoseClockIsFarFromOursLeasesByItsOwn(t *testing.T) {
	server, clock := redistest.StartWithClock(t)
	clock.Step(5 * time.Minute)
	o := options(t, server.URL())
	s, other := open(t, o), open(t, second(t, o))
	g, err := s.Acquire(t.Context(), scope, "k", backend.Request{TTL: time.Minute})
	if err != nil || !g.Acquired {
		t.Fatal(g, err)
	}
	if end := time.Until(g.ExpiresAt); end < 5*time.Minute+30*time.Second || end > 7*time.Minute {
		t.Errorf("the lease ends in %v by our clock, want what the server's says", end)
	}
	if g, err := other.Acquire(t.Context(), scope, "k", backend.Request{TTL: time.Minute}); g.Acquired || err != nil {
		t.Fatalf("Acquire of a held key = %+v, %v", g, err)
	}
	short := mustAcquire(t, s, "short", 50*time.Millisecond)
	eventually(t, "a short lease is over", func() bool {
		g, err := other.Acquire(t.Context(), scope, "short", backend.Request{TTL: time.Minute})
		return err == nil && g.Acquired && g.Token > short
	})
}

func TestChangesWaitForReplicas(t *testing.T) {
	master := redistest.Start(t)
	replica := redistest.StartReplica(t, master)
	o := options(t, master.URL())
	o.WaitReplicas, o.WaitTimeout = 1, 100*time.Millisecond
	s := open(t, o)
	token := mustAcquire(t, s, "k", time.Minute)
	mustClaim(t, s, "p", 1, 10, 9)
	replica.Stop()
	defer replica.Continue()
	if _, err := s.Claim(t.Context(), scope, "p", 1, 10); !errors.Is(err, backend.ErrInDoubt) {
		t.Fatalf("Claim that no replica has: %v, want ErrInDoubt", err)
	}
	if g, err := s.Acquire(t.Context(), scope, "other", backend.Request{TTL: time.Minute}); !errors.Is(err, backend.ErrInDoubt) || g.Acquired {
		t.Fatalf("Acquire that no replica has = %+v, %v; want ErrInDoubt", g, err)
	}
	replica.Continue()
	eventually(t, "the replica acknowledges again", func() bool {
		ok, err := s.Renew(t.Context(), scope, "k", backend.Proof{Token: token}, 2*time.Minute)
		return ok && err == nil
	})
}

func TestAKeyOfTheUserIsNotTouched(t *testing.T) {
	server := redistest.Start(t)
	o := options(t, server.URL())
	s := open(t, o)
	server.Do("SET", "k", "the user's")
	mustAcquire(t, s, "k", time.Minute)
	mustClaim(t, s, "k", 1, 10, 9)
	// And one that has our name by accident.
	ours := keyOf(o.Namespace, lockKind, scope, "mine")
	server.Do("SET", ours, "the user's")
	if g, err := s.Acquire(t.Context(), scope, "mine", backend.Request{TTL: time.Minute}); !errors.Is(err, backend.ErrUnavailable) || g.Acquired {
		t.Fatalf("Acquire = %+v, %v; want ErrUnavailable", g, err)
	}
	for _, key := range []string{"k", ours} {
		if got := server.Do("GET", key); got != "the user's" {
			t.Errorf("%s is %v now", key, got)
		}
	}
}

func TestTheKeyspaceReturnsToItsSizeWhenTheLocksAreGone(t *testing.T) {
	server := redistest.Start(t)
	o := options(t, server.URL())
	o.Retention = 100 * time.Millisecond
	s := open(t, o)
	before := server.Do("DBSIZE")
	for i := range 200 {
		key := fmt.Sprint("k", i)
		token := mustAcquire(t, s, key, 10*time.Second)
		if ok, err := s.Release(t.Context(), scope, key, backend.Proof{Token: token}); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	eventually(t, "the keys are gone", func() bool { return server.Do("DBSIZE") == before })
}

// However the leases ended, what is left is what was there before them, and the pools.
func TestAnIdleNameSpaceHoldsPoolsAlone(t *testing.T) {
	server := redistest.Start(t)
	o := options(t, server.URL())
	o.Retention, o.MaxPools = time.Second, 10
	s := open(t, o)
	mustClaim(t, s, "p", 1, 10, 9)
	want := server.Do("DBSIZE")
	for i := range 300 {
		key := fmt.Sprint("k", i)
		token := mustAcquire(t, s, key, 500*time.Millisecond)
		var ok bool
		var err error
		switch i % 3 {
		case 0:
			ok, err = s.Release(t.Context(), scope, key, backend.Proof{Token: token})
		case 1:
			ok, err = s.Renew(t.Context(), scope, key, backend.Proof{Token: token}, time.Second)
		default: // it runs out
			continue
		}
		if !ok || err != nil {
			t.Fatal(key, ok, err)
		}
	}
	// What is asked of locks and pools that nobody has leaves nothing either.
	if ok, err := s.Release(t.Context(), scope, "nobody's", backend.Proof{Token: 1}); ok || err != nil {
		t.Error(ok, err)
	}
	if _, err := s.Restock(t.Context(), scope, "no pool", 1); !errors.Is(err, backend.ErrNoPool) {
		t.Error(err)
	}
	eventually(t, "the keys of the locks are gone", func() bool { return server.Do("DBSIZE") == want })
	for _, key := range []string{
		idKey(o.Namespace), beatKey(o.Namespace, 0), tenantKey(o.Namespace, scope.Tenant), keyOf(o.Namespace, poolKind, scope, "p"),
	} {
		if server.Do("EXISTS", key) != int64(1) {
			t.Errorf("%s is gone", key)
		}
	}
	if want != int64(4) {
		t.Errorf("%v keys are left, want 4", want)
	}
}

// The state file does not grow with what the proxy has seen.
func TestTheStateFileStaysSmall(t *testing.T) {
	server := redistest.Start(t)
	o := options(t, server.URL())
	s := open(t, o)
	for i := range 200 {
		mustAcquire(t, s, fmt.Sprint("k", i), time.Minute)
		mustClaim(t, s, fmt.Sprint("p", i), 1, 10, 9)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(o.StateFile)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > 1024 {
		t.Errorf("%d bytes: %s", len(text), text)
	}
}

func TestARecordStaysSmallHoweverManyCalls(t *testing.T) {
	server := redistest.Start(t)
	o := options(t, server.URL())
	s := open(t, o)
	for range 200 {
		token := mustAcquire(t, s, "k", time.Minute)
		if ok, err := s.Release(t.Context(), scope, "k", backend.Proof{Token: token}); !ok || err != nil {
			t.Fatal(ok, err)
		}
		if _, err := s.Claim(t.Context(), scope, "p", 1, 10_000); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{keyOf(o.Namespace, lockKind, scope, "k"), keyOf(o.Namespace, poolKind, scope, "p")} {
		if n := server.Do("HLEN", key).(int64); n > 10 {
			t.Errorf("%s has %d fields", key, n)
		}
	}
}

// Nobody comes for the answers of a proxy that has died; other proxies drop them.
func TestAnswersThatNobodyComesForAreDropped(t *testing.T) {
	server := redistest.Start(t)
	o := options(t, server.URL())
	s := open(t, o)
	mustClaim(t, s, "p", 1, 10_000, 9_999)
	key := keyOf(o.Namespace, poolKind, scope, "p")
	now := time.Now().UnixMicro()
	for i := range 50 {
		server.Do("HSET", key, fmt.Sprint("!dead", i), fmt.Sprint(now-int64(2*time.Minute/time.Microsecond), " CLAIMED 5"))
		server.Do("HSET", key, fmt.Sprint("!young", i), fmt.Sprint(now, " CLAIMED 5"))
	}
	for i := range 400 {
		mustClaim(t, s, "p", 1, 0, 9_998-int64(i))
	}
	dead, young := 0, 0
	for i := range 50 {
		dead += int(server.Do("HEXISTS", key, fmt.Sprint("!dead", i)).(int64))
		young += int(server.Do("HEXISTS", key, fmt.Sprint("!young", i)).(int64))
	}
	if dead > 5 || young != 50 {
		t.Errorf("%d answers that are old and %d of 50 that are not are left", dead, young)
	}
}

func TestTokensEndBelowWhatJSONReadersKnow(t *testing.T) {
	server := redistest.Start(t)
	o := options(t, server.URL())
	s := open(t, o)
	key := keyOf(o.Namespace, lockKind, scope, "k")
	server.Do("HSET", key, "t", strconv.FormatInt(backend.MaxToken-2, 10))
	if token := mustAcquire(t, s, "k", time.Minute); token != backend.MaxToken-1 {
		t.Fatalf("token %d, want the last one", token)
	}
	if ok, err := s.Release(t.Context(), scope, "k", backend.Proof{Token: backend.MaxToken - 1}); !ok || err != nil {
		t.Fatal(ok, err)
	}
	for range 2 {
		if g, err := s.Acquire(t.Context(), scope, "k", backend.Request{TTL: time.Minute}); !errors.Is(err, backend.ErrTokensExhausted) || g.Acquired {
			t.Fatalf("Acquire = %+v, %v; want ErrTokensExhausted", g, err)
		}
	}
}

func TestNoLeaseIsImmortalOrInstant(t *testing.T) {
	server := redistest.Start(t)
	o := options(t, server.URL())
	s := open(t, o)
	for _, ttl := range []time.Duration{time.Second, time.Hour, math.MaxInt64} {
		key := fmt.Sprint(ttl)
		mustAcquire(t, s, key, ttl)
		left, _ := server.Do("PTTL", keyOf(o.Namespace, lockKind, scope, key)).(int64)
		want := milliseconds(ttl) + milliseconds(DefaultRetention)
		if left > want || left < want-5000 {
			t.Errorf("ttl %v: the key lives for %d ms, want nearly %d", ttl, left, want)
		}
	}
}
