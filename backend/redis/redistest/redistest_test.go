package redistest

import (
	"context"
	"testing"
	"time"
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
