//go:build linux

package main

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	"raisinproxy/backend/history"
	"raisinproxy/backend/redis/redistest"
	"raisinproxy/internal/torture"
)

// redisTimeout is for one call of a proxy, in these tests.
const redisTimeout = 500 * time.Millisecond

// untilBack is for one call that has to wait until a Redis has been started again.
const untilBack = 2 * time.Second

// maxTTL is the longest lease.
const maxTTL = 2 * time.Second

// overRedis is the configuration of a proxy that keeps locks and pools in Redis. A lease
// of two seconds at most, so that what waits for lost leases waits for two seconds.
func overRedis(where string, timeout time.Duration) string {
	return fmt.Sprintf("backend = \"redis\"\nmax_ttl_ms = %d\n[locks.redis]\n%s\ntimeout_ms = %d\nmax_clock_skew_ms = 100\n",
		maxTTL.Milliseconds(), where, timeout.Milliseconds())
}

// at is one Redis, in the configuration of a proxy.
func at(url string) string { return fmt.Sprintf("url = %q", url) }

// redisPlan fills in two proxies on one Redis. All grants are stamped by its clock, read
// once for each; epsilon is for whole milliseconds and for a clock that is being slewed.
func redisPlan(t *testing.T, plan *torture.Plan, store *torture.Redis) {
	store.Timeout, store.MaxTTL = cmp.Or(store.Timeout, redisTimeout), maxTTL
	plan.Redis = store
	if plan.Proxies == nil {
		plan.Proxies = []*torture.Proxy{newProxy(t, overRedis(at(cmp.Or(store.First, store.Link).URL()), store.Timeout)), newProxy(t, overRedis(at(store.Link.URL()), store.Timeout))}
	}
	// A lease ends by the time at which its script began, and is told by the TIME that the script asked for then:
	// the process may be held up in between.
	plan.Rules = history.Rules{Epsilon: 5 * time.Millisecond, StampSlack: 20 * time.Millisecond}
	plan.InDoubt = store.Timeout + redisTimeout
	plan.LongestLease = maxTTL
}

// TestTortureRedis: through two proxies a lock has one holder and a unit is sold once as
// long as Redis loses nothing, whatever becomes of proxies, Redis and the network.
func TestTortureRedis(t *testing.T) {
	unknown := history.Wants{Unknown: true}
	for _, c := range []struct {
		name string
		plan torture.Plan
	}{
		{"quiet", torture.Plan{Fault: torture.Nothing{}}},
		{"cancels and disconnects", torture.Plan{Fault: torture.Nothing{}, Manners: torture.Manners{Cancel: 0.03, GiveUp: 0.01}, Wants: unknown}},
		{"killed proxy", torture.Plan{Fault: torture.KillProxy{}, Wants: unknown}},
		{"stopped proxy", torture.Plan{Fault: torture.StopProxy{}, Manners: torture.Manners{Patience: 200 * time.Millisecond}, Wants: unknown}},
		{"killed Redis with AOF always", torture.Plan{Fault: torture.KillRedis{}, Manners: torture.Manners{GiveUp: 0.02}, Wants: unknown}},
		{"stopped Redis", torture.Plan{Fault: torture.StopRedis{}, Wants: unknown}},
		{"lost answers", torture.Plan{Fault: torture.LostAnswers{}, Manners: torture.Manners{GiveUp: 0.02}, Wants: unknown}},
		{"slow answers", torture.Plan{Fault: torture.SlowAnswers{}, Manners: torture.Manners{GiveUp: 0.02}, Wants: unknown}},
		{"out of memory", torture.Plan{Fault: torture.OutOfMemory{}, Wants: history.Wants{Code: "53000"}}},
		{"late requests", torture.Plan{Fault: torture.LateRequests{}, Manners: torture.Manners{GiveUp: 0.02}, Wants: unknown}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, redistest.AOFAlways)
			plan := c.plan
			redisPlan(t, &plan, &torture.Redis{Server: server, Link: redistest.StartLink(t, server)})
			runTorture(t, &plan)
		})
	}
}

// onlyInMemory is a Redis that comes back without anything.
func onlyInMemory(t *testing.T) *torture.Redis {
	t.Helper()
	server := redistest.Start(t, redistest.RDBOnly)
	return &torture.Redis{Server: server, Link: redistest.StartLink(t, server)}
}

// TestTortureLossyRedis: when Redis loses what was acknowledged, tokens rise all the
// same, no former holder comes back after another, and pools are not sold again: their
// calls are refused.
func TestTortureLossyRedis(t *testing.T) {
	lost := history.Wants{Loss: true}
	for _, c := range []struct {
		name  string
		start func(t *testing.T) *torture.Redis
		plan  torture.Plan
	}{
		{"killed Redis with RDB only", onlyInMemory, torture.Plan{Fault: torture.KillRedis{}, Wants: lost}},
		{"promoted replica that missed changes", func(t *testing.T) *torture.Redis {
			server := redistest.Start(t, redistest.AOFAlways)
			link := redistest.StartLink(t, server)
			replica, replicaLink := redistest.StartReplicaOverLink(t, server, redistest.AOFAlways)
			return &torture.Redis{Server: server, Link: link, Replica: replica, ReplicaLink: replicaLink}
		}, torture.Plan{Fault: torture.PromoteReplica{}, Wants: lost}},
		{"isolated old master", func(t *testing.T) *torture.Redis {
			server := redistest.Start(t, redistest.AOFAlways)
			replica, replicaLink := redistest.StartReplicaOverLink(t, server, redistest.AOFAlways)
			return &torture.Redis{
				Server: server, Link: redistest.StartLink(t, server), First: redistest.StartLink(t, server),
				Replica: replica, ReplicaLink: replicaLink,
			}
		}, torture.Plan{Fault: torture.IsolateMaster{}, Wants: lost}},
		{"calls that wait over the loss", func(t *testing.T) *torture.Redis {
			store := onlyInMemory(t)
			store.Timeout = untilBack
			return store
		}, torture.Plan{Fault: torture.LoseWhileCallsWait{}, Wants: lost}},
		{"a second loss, and proxies that are started again", onlyInMemory, torture.Plan{Fault: torture.LoseTwice{}, Wants: lost}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			plan := c.plan
			redisPlan(t, &plan, c.start(t))
			runTorture(t, &plan)
		})
	}
}

// clusterPlan fills in two proxies on a Cluster.
func clusterPlan(t *testing.T, plan *torture.Plan, cluster *redistest.Cluster, timeout time.Duration, more string) {
	where := fmt.Sprintf("urls = [\"%s\"]\n%s", strings.Join(cluster.URLs(), "\", \""), more)
	plan.Proxies = []*torture.Proxy{newProxy(t, overRedis(where, timeout)), newProxy(t, overRedis(where, timeout))}
	redisPlan(t, plan, &torture.Redis{Cluster: cluster, Timeout: timeout})
}

// TestTortureCluster: on a Cluster holds what holds on one Redis, while slots move and masters change without
// losing what was acknowledged, and nobody is told of a loss.
func TestTortureCluster(t *testing.T) {
	const waits = "wait_replicas = 1\nwait_timeout_ms = 100"
	for _, c := range []struct {
		name  string
		start func(t testing.TB, masters int, lines ...string) *redistest.Cluster
		more  string
		plan  torture.Plan
	}{
		{"quiet", redistest.StartCluster, "", torture.Plan{Fault: torture.Nothing{}}},
		{"slots move", redistest.StartCluster, "", torture.Plan{Fault: torture.MoveSlots{}}},
		{"planned failover", redistest.StartClusterWithReplicas, "", torture.Plan{Fault: torture.PlannedFailover{}}},
		{"planned failover, changes wait for a replica", redistest.StartClusterWithReplicas, waits, torture.Plan{Fault: torture.PlannedFailover{}}},
		{"killed master, changes wait for a replica", redistest.StartClusterWithReplicas, waits, torture.Plan{Fault: torture.KillMaster{}, Wants: history.Wants{Unknown: true}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			plan := c.plan
			clusterPlan(t, &plan, c.start(t, 3, redistest.AOFAlways), redisTimeout, c.more)
			runTorture(t, &plan)
		})
	}
}

// TestTortureLossyCluster: when one shard loses what was acknowledged, that stops as much as a loss of everything.
func TestTortureLossyCluster(t *testing.T) {
	lost := history.Wants{Loss: true}
	t.Run("promoted replica that missed changes", func(t *testing.T) {
		t.Parallel()
		plan := torture.Plan{Fault: torture.KillMaster{Lossy: true}, Wants: lost}
		clusterPlan(t, &plan, redistest.StartClusterWithReplicas(t, 3, redistest.AOFAlways), redisTimeout, "")
		runTorture(t, &plan)
	})
	for shard := range 3 {
		t.Run(fmt.Sprint("calls that wait over the loss of shard ", shard), func(t *testing.T) {
			t.Parallel()
			plan := torture.Plan{Fault: torture.LoseWhileCallsWait{Shard: shard}, Wants: lost}
			clusterPlan(t, &plan, redistest.StartCluster(t, 3, redistest.RDBOnly), 3*untilBack, "") // one that does not mind the loss gets an answer two seconds after the start
			runTorture(t, &plan)
		})
	}
}
