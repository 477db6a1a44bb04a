package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"raisinproxy/backend"
	"raisinproxy/backend/redis/redistest"
)

const anyNumber = 1 << 30

// expectNoList: nothing is told, rather than a part.
func expectNoList(t *testing.T, s *Store) {
	t.Helper()
	if found, err := s.Leases(t.Context(), scope, "", anyNumber); !errors.Is(err, backend.ErrUnavailable) || found != nil {
		t.Errorf("Leases = %d, %v; want ErrUnavailable", len(found), err)
	}
	if found, err := s.Pools(t.Context(), scope, "", anyNumber); !errors.Is(err, backend.ErrUnavailable) && !errors.Is(err, backend.ErrStateLost) || found != nil {
		t.Errorf("Pools = %d, %v; want ErrUnavailable", len(found), err)
	}
}

func TestAListOfAClusterIsNeverAPartOfIt(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 2, "cluster-require-full-coverage no")
	o := clusterOptions(t, cluster)
	s := open(t, o)
	const each = 8
	for i := range each {
		mustAcquire(t, s, fmt.Sprint("k", i), time.Minute)
		mustClaim(t, s, fmt.Sprint("k", i), 1, 10, 9)
	}
	for i := range cluster.Masters {
		if keys := cluster.Keys(i, o.Namespace+":lock:"); len(keys) == 0 || len(keys) == each {
			t.Fatalf("vacuous: master %d has %d of %d locks", i, len(keys), each)
		}
	}
	leases, err := s.Leases(t.Context(), scope, "", each)
	pools, err2 := s.Pools(t.Context(), scope, "", each)
	if len(leases) != each || len(pools) != each || err != nil || err2 != nil {
		t.Fatalf("Leases: %d, %v; Pools: %d, %v; want %d", len(leases), err, len(pools), err2, each)
	}
	// A slot without a master is one of a master that is not known here.
	cluster.Masters[1].Do("CLUSTER", "DELSLOTS", 16383)
	expectNoList(t, s)
	cluster.Masters[1].Do("CLUSTER", "ADDSLOTS", 16383)
	if found, err := s.Leases(t.Context(), scope, "", each); len(found) != each || err != nil {
		t.Fatalf("Leases: %d, %v; want %d", len(found), err, each)
	}
	cluster.Masters[1].Kill()
	expectNoList(t, s)
	cluster.Masters[0].Await("the other master has noticed", func(ctx context.Context) bool {
		nodes, err := cluster.Masters[0].Admin().ClusterNodes(ctx).Result()
		return err == nil && strings.Contains(nodes, "fail")
	})
	expectNoList(t, s)
}

// A slot that is on its way has its keys on two masters.
func TestNothingIsListedWhileSlotsMove(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 2)
	o := clusterOptions(t, cluster)
	s := open(t, o)
	mustAcquire(t, s, "k", time.Minute)
	key := keyOf(o.Namespace, lockKind, scope, "k")
	from := cluster.Owner(key)
	cluster.Migrate(cluster.Slot(key), from, 1-from, func(step string) {
		if strings.HasPrefix(step, "migrating") {
			expectNoList(t, s)
		}
	})
	eventually(t, "the lock is told of again", func() bool {
		found, err := s.Leases(t.Context(), scope, "", 1)
		return err == nil && len(found) == 1
	})
}

func TestAListOfAStoppedRedisEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s, server, _, _ := patient(t)
	server.Stop()
	defer server.Continue()
	ctx, cancel := context.WithCancel(t.Context())
	first := background(func() ([]backend.Lease, error) { return s.Leases(ctx, scope, "", 1) })
	eventually(t, "it is under way", func() bool { return len(s.listing) == 1 })
	waiting, giveUp := context.WithCancel(t.Context())
	second := background(func() ([]backend.Pool, error) { return s.Pools(waiting, scope, "", 1) })
	giveUp()
	if _, err := second(); !errors.Is(err, backend.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("a list that waits for its turn: %v, want ErrUnavailable and Canceled", err)
	}
	cancel()
	if _, err := first(); !errors.Is(err, backend.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("Leases: %v, want ErrUnavailable and Canceled", err)
	}
}

// That nothing is there says only a server that has its data.
func TestNothingIsListedOfARedisWithoutItsData(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := options(t, server.URL())
	o.Timeout = time.Second
	s := open(t, o)
	mustAcquire(t, s, "k", time.Minute)
	mustClaim(t, s, "p", 1, 10, 9)
	withoutHeartbeat(s)
	server.Do("FLUSHALL")
	if found, err := s.Leases(t.Context(), scope, "", 1); !errors.Is(err, backend.ErrUnavailable) || found != nil {
		t.Errorf("Leases = %v, %v; want ErrUnavailable", found, err)
	}
	if !isLost(s)() {
		t.Error("the loss was not noticed")
	}
	if found, err := s.Pools(t.Context(), scope, "", 1); !errors.Is(err, backend.ErrStateLost) || found != nil {
		t.Errorf("Pools = %v, %v; want ErrStateLost", found, err)
	}
	if p, found, err := s.Count(t.Context(), scope, "p"); !errors.Is(err, backend.ErrStateLost) || found {
		t.Errorf("Count = %v, %v, %v; want ErrStateLost", p, found, err)
	}
}

// A count that is older than one that was told is no count.
func TestAPoolThatWentBackIsALossForWhoLooks(t *testing.T) {
	t.Parallel()
	for name, look := range map[string]func(s *Store) error{
		"Count": func(s *Store) error { _, _, err := s.Count(t.Context(), scope, "p"); return err },
		"Pools": func(s *Store) error { _, err := s.Pools(t.Context(), scope, "", 1); return err },
		"Drop":  func(s *Store) error { _, err := s.DropPool(t.Context(), scope, "p"); return err },
	} {
		server := redistest.Start(t)
		o := options(t, server.URL())
		s := open(t, o)
		mustClaim(t, s, "p", 1, 10, 9)
		mustClaim(t, s, "p", 1, 10, 8)
		server.Do("HSET", keyOf(o.Namespace, poolKind, scope, "p"), "n", 9, "seq", 1)
		if err := look(s); !errors.Is(err, backend.ErrStateLost) {
			t.Errorf("%s: %v, want ErrStateLost", name, err)
		}
	}
}

// What nobody of ours writes is told by name, to who asks for it. What no call can name is no lock and no pool.
func TestAListHasNoValuesThatNobodyOfOursWrites(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := options(t, server.URL())
	s := open(t, o)
	mustAcquire(t, s, "good", time.Minute)
	mustClaim(t, s, "good", 1, 10, 9)
	for _, part := range []string{"default:shop:main:%zz", "default:shop:main:a:b", "default:shop:main:%61", "default:shop:main"} {
		server.Do("SET", o.Namespace+":lock:{"+part+"}", "the user's")
		server.Do("SET", o.Namespace+":pool:{"+part+"}", "the user's")
	}
	leases, err := s.Leases(t.Context(), scope, "", 1)
	pools, err2 := s.Pools(t.Context(), scope, "", 1)
	if len(leases) != 1 || len(pools) != 1 || err != nil || err2 != nil {
		t.Fatalf("Leases: %v, %v; Pools: %v, %v; want one of each", leases, err, pools, err2)
	}

	mustAcquire(t, s, "odd lock", time.Minute)
	server.Do("PERSIST", keyOf(o.Namespace, lockKind, scope, "odd lock"))
	found, err := s.Leases(t.Context(), scope, "", anyNumber)
	if got, ok := errors.AsType[*backend.LockValueError](err); !ok || got.Key != "odd lock" || got.Value != "ttl=-1" || found != nil {
		t.Errorf("Leases = %v, %v; want an error with the lock and the value", found, err)
	}
	for _, c := range []struct{ field, value, told string }{{"n", "-3", "-3"}, {"seq", "x", "seq x"}, {"c", "1e3", "capacity 1e3"}} {
		server.Do("HSET", keyOf(o.Namespace, poolKind, scope, "odd pool"), "n", "5", "seq", "1", "c", "5", c.field, c.value)
		want := backend.PoolValueError{Pool: "odd pool", Value: c.told}
		found, err := s.Pools(t.Context(), scope, "", anyNumber)
		if got, ok := errors.AsType[*backend.PoolValueError](err); !ok || *got != want || found != nil {
			t.Errorf("Pools = %v, %v; want %v", found, err, &want)
		}
		_, _, err = s.Count(t.Context(), scope, "odd pool")
		if got, ok := errors.AsType[*backend.PoolValueError](err); !ok || *got != want {
			t.Errorf("Count: %v, want %v", err, &want)
		}
	}
	server.Do("SET", keyOf(o.Namespace, lockKind, scope, "theirs"), "the user's")
	if found, err := s.Leases(t.Context(), scope, "theirs", 1); !errors.Is(err, backend.ErrUnavailable) || found != nil {
		t.Errorf("Leases = %v, %v; want ErrUnavailable, as from Acquire", found, err)
	}
	if leases, err := s.Leases(t.Context(), scope, "good", 1); len(leases) != 1 || err != nil {
		t.Errorf("Leases = %v, %v; want the one that is as it should be", leases, err)
	}
}

// A cursor of one process leads to other keys in the next.
func TestAListDoesNotGoOnAtAnotherProcess(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.AOFAlways)
	o := options(t, server.URL())
	o.Timeout = time.Minute
	s := open(t, o)
	server.Do("EVAL", `for i = 1, tonumber(ARGV[1]) do redis.call('HSET', KEYS[1] .. i .. '}', 't', '1') end`,
		1, strings.TrimSuffix(keyOf(o.Namespace, lockKind, scope, "k"), "}"), 3*scanned)
	pages := 0
	where := listing{kind: lockKind, scope: scope, judge: s.watch.sees}
	err := s.scan(t.Context(), where, func([]string) error {
		if pages++; pages == 1 {
			server.Kill()
			server.Restart()
		}
		return nil
	})
	if !errors.Is(err, backend.ErrUnavailable) || pages != 1 {
		t.Errorf("after %d pages: %v, want ErrUnavailable after the first", pages, err)
	}
}

// Redis gives keys in many pages, some of them twice.
func TestALongListHasEachOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := options(t, server.URL())
	s := open(t, o)
	const many = 5*scanned + 7
	server.Do("EVAL", `for i = 1, tonumber(ARGV[1]) do redis.call('HSET', KEYS[1] .. i .. '}', 'n', i, 'seq', '1', 'gen', 'g') end`,
		1, strings.TrimSuffix(keyOf(o.Namespace, poolKind, scope, "p"), "}"), many)
	server.Do("EVAL", `for i = 1, tonumber(ARGV[1]) do redis.call('SET', 'other' .. i, '') end`, 0, many)
	found, err := s.Pools(t.Context(), scope, "p", many)
	if err != nil || len(found) != many {
		t.Fatalf("Pools: %d, %v; want %d", len(found), err, many)
	}
	for i, p := range found {
		if i > 0 && found[i-1].Name >= p.Name || p.Name != fmt.Sprint("p", p.Remaining) || p.Capacity != backend.UnknownCapacity {
			t.Fatalf("%+v after %+v", p, found[max(i, 1)-1])
		}
	}
	if found, err := s.Pools(t.Context(), scope, "p", many-1); !errors.Is(err, backend.ErrTooManyRows) || found != nil {
		t.Errorf("Pools, one fewer at most: %d, %v; want ErrTooManyRows", len(found), err)
	}
}

// A pool that a version without capacities has made, or a hand, is told of without one, whatever claims say.
func TestAPoolOfBeforeHasNoCapacityUntilItIsSet(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := options(t, server.URL())
	s := open(t, o)
	server.Do("HSET", keyOf(o.Namespace, poolKind, scope, "p"), "n", 5, "gen", "g", "seq", 3)
	mustCount := func(capacity, remaining int64) {
		t.Helper()
		want := backend.Pool{Name: "p", Capacity: capacity, Remaining: remaining}
		if p, found, err := s.Count(t.Context(), scope, "p"); p != want || !found || err != nil {
			t.Errorf("Count = %+v, %v, %v; want %+v", p, found, err, want)
		}
	}
	mustCount(backend.UnknownCapacity, 5)
	mustClaim(t, s, "p", 1, 100, 4)
	mustCount(backend.UnknownCapacity, 4)
	before, found, err := s.SetPool(t.Context(), scope, backend.Pool{Name: "p", Capacity: 7, Remaining: 6})
	if want := (backend.Pool{Name: "p", Capacity: backend.UnknownCapacity, Remaining: 4}); before != want || !found || err != nil {
		t.Errorf("SetPool = %+v, %v, %v; want %+v", before, found, err, want)
	}
	mustCount(7, 6)
	mustClaim(t, s, "p", 1, 100, 5)
	if left, err := s.Restock(t.Context(), scope, "p", 10); left != 15 || err != nil {
		t.Fatal(left, err)
	}
	mustCount(7, 15)
}
