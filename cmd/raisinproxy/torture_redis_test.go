//go:build linux

package main

import (
	"fmt"
	"testing"
	"time"

	"raisinproxy/backend/history"
	"raisinproxy/backend/redis/redistest"
	"raisinproxy/internal/torture"
)

// redisTimeout is for one call of a proxy, in these tests.
const redisTimeout = 500 * time.Millisecond

// redisLease is the longest that is granted, in these tests: what waits for leases that
// are lost waits as long.
const redisLease = 2 * time.Second

// overRedis is the configuration of a proxy that keeps locks and pools in Redis.
func overRedis(url string) string {
	return fmt.Sprintf("backend = \"redis\"\nmax_ttl_ms = %d\n[locks.redis]\nurl = %q\ntimeout_ms = %d\nmax_clock_skew_ms = 100\n", redisLease.Milliseconds(), url, redisTimeout.Milliseconds())
}

// redisPlan fills in two proxies on one Redis. All grants are stamped by its clock, read
// once for each; epsilon is for whole milliseconds and for a clock that is being slewed.
func redisPlan(t *testing.T, plan *torture.Plan, store *torture.Redis) {
	store.Timeout = redisTimeout
	plan.Redis = store
	plan.Proxies = []*torture.Proxy{newProxy(t, overRedis(store.Link.URL())), newProxy(t, overRedis(store.Link.URL()))}
	plan.Rules = history.Rules{Epsilon: 5 * time.Millisecond, StampSlack: time.Millisecond}
	plan.InDoubt = 2 * redisTimeout
	plan.LongestLease = redisLease
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
		{"killed Redis with RDB only", func(t *testing.T) *torture.Redis {
			server := redistest.Start(t, redistest.RDBOnly)
			return &torture.Redis{Server: server, Link: redistest.StartLink(t, server)}
		}, torture.Plan{Fault: torture.KillRedis{}, Wants: lost}},
		{"promoted replica that missed changes", func(t *testing.T) *torture.Redis {
			server := redistest.Start(t, redistest.AOFAlways)
			link := redistest.StartLink(t, server)
			replica, replicaLink := redistest.StartReplicaOverLink(t, server, redistest.AOFAlways)
			return &torture.Redis{Server: server, Link: link, Replica: replica, ReplicaLink: replicaLink}
		}, torture.Plan{Fault: torture.PromoteReplica{}, Wants: lost}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			plan := c.plan
			redisPlan(t, &plan, c.start(t))
			runTorture(t, &plan)
		})
	}
}
