package redistest

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestAServerKeepsItsAOFOverAKill(t *testing.T) {
	s := Start(t, AOFAlways)
	s.Do("SET", "k", "v")
	s.Kill()
	s.Restart()
	s.Await("the AOF is loaded", func(ctx context.Context) bool { return s.Admin().Get(ctx, "k").Val() == "v" })
}

func TestAServerWithoutAOFForgets(t *testing.T) {
	s := Start(t, RDBOnly)
	s.Do("SET", "k", "saved")
	s.Do("SAVE")
	s.Do("SET", "k", "lost")
	s.Kill()
	s.Restart()
	if got := s.Do("GET", "k"); got != "saved" {
		t.Errorf("k is %v, want the snapshot's", got)
	}
}

func TestAStoppedServerAnswersWhenContinued(t *testing.T) {
	s := Start(t)
	s.Do("PING")
	s.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := s.Admin().Set(ctx, "k", "late", 0).Err(); err == nil {
		t.Error("a stopped server answered")
	}
	s.Continue()
	s.Await("what was sent is done", func(ctx context.Context) bool { return s.Admin().Get(ctx, "k").Val() == "late" })
}

func TestASentinelFailsOver(t *testing.T) {
	master := Start(t)
	replica := StartReplica(t, master)
	sentinel := StartSentinel(t, "locks", master)
	sentinel.AwaitReplicas("locks", 1)
	master.Kill()
	replica.Await("the replica is promoted", func(ctx context.Context) bool { return replica.Info(ctx, "role") == "master" })
}

func TestAClusterMovesASlotWithItsKeys(t *testing.T) {
	c := StartCluster(t, 3)
	from := c.Owner("k")
	to := (from + 1) % 3
	c.Masters[from].Do("SET", "k", "v")
	c.Migrate(c.Slot("k"), from, to, nil)
	if got := c.Masters[to].Do("GET", "k"); got != "v" || c.Owner("k") != to {
		t.Errorf("k is %v, its owner %d; want v, %d", got, c.Owner("k"), to)
	}
}

// A connection that carries many calls is not slow for ever because one answer was.
func TestALinkDelaysOneAnswer(t *testing.T) {
	s := Start(t)
	link := StartLink(t, s)
	options, err := redis.ParseURL(link.URL())
	if err != nil {
		t.Fatal(err)
	}
	options.PoolSize, options.ContextTimeoutEnabled, options.MaxRetries = 1, true, -1
	client := redis.NewClient(options)
	defer client.Close()
	one := redis.NewScript("return 1")
	if err := one.Load(t.Context(), client).Err(); err != nil {
		t.Fatal(err)
	}
	const late = time.Second
	link.Next(Rule{DelayAnswer: late})
	sent := time.Now()
	if err := one.EvalSha(t.Context(), client, nil).Err(); err != nil || time.Since(sent) < late {
		t.Errorf("answered after %v with %v, want %v at least", time.Since(sent), err, late)
	}
	ctx, cancel := context.WithTimeout(t.Context(), late)
	defer cancel()
	if err := one.EvalSha(ctx, client, nil).Err(); err != nil {
		t.Errorf("the next answer: %v", err)
	}
	if n := link.Opened(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}

// A replica that was cut off takes over without what its master did since.
func TestAReplicaOfAClusterTakesOver(t *testing.T) {
	c := StartClusterWithReplicas(t, 3)
	i := c.Owner("k")
	c.Masters[i].Do("SET", "k", "old")
	c.Replicas[i].AwaitOffset(c.Masters[i])
	c.CutOff(i)
	c.Masters[i].Do("SET", "k", "new")
	c.Masters[i].Kill()
	c.AwaitFailover(i)
	if got := c.Masters[i].Do("GET", "k"); got != "old" {
		t.Errorf("k is %v, want old", got)
	}
	j := (i + 1) % 3
	c.Failover(j)
	if role := c.Replicas[j].Info(t.Context(), "role"); role != "slave" {
		t.Errorf("after a failover in good order the old master is %q", role)
	}
}
