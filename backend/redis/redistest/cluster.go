package redistest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
)

const slotCount = 16384

// Cluster is a Redis Cluster of masters without replicas.
type Cluster struct {
	Masters []*Server
	ids     []string
	t       testing.TB
}

// StartCluster runs a Cluster of so many masters that share the slots evenly.
func StartCluster(t testing.TB, masters int, lines ...string) *Cluster {
	t.Helper()
	c := &Cluster{t: t}
	for range masters {
		s := Start(t, append(lines, "cluster-enabled yes", "cluster-node-timeout 2000", fmt.Sprintf("cluster-port %d", freePort(t)))...)
		c.Masters = append(c.Masters, s)
		c.ids = append(c.ids, s.Do("CLUSTER", "MYID").(string))
	}
	for i, s := range c.Masters {
		s.Do("CLUSTER", "SET-CONFIG-EPOCH", i+1)
		s.Do("CLUSTER", "ADDSLOTSRANGE", i*slotCount/masters, (i+1)*slotCount/masters-1)
		s.Do("CLUSTER", "MEET", "127.0.0.1", c.Masters[0].Port, busPort(c.Masters[0]))
	}
	for _, s := range c.Masters {
		s.Await("the cluster is up", func(ctx context.Context) bool {
			info, err := s.admin.ClusterInfo(ctx).Result()
			return err == nil && strings.Contains(info, "cluster_state:ok") &&
				strings.Contains(info, fmt.Sprintf("cluster_known_nodes:%d", masters))
		})
	}
	return c
}

// busPort reads the port of the cluster's bus from the lines that chose it.
func busPort(s *Server) string {
	for _, line := range s.lines {
		if port, ok := strings.CutPrefix(line, "cluster-port "); ok {
			return port
		}
	}
	return ""
}

// URLs are the addresses of all masters.
func (c *Cluster) URLs() []string {
	urls := make([]string, len(c.Masters))
	for i, s := range c.Masters {
		urls[i] = "redis://" + s.Addr()
	}
	return urls
}

// Owner is which master owns the slot of key.
func (c *Cluster) Owner(key string) int {
	c.t.Helper()
	slot := c.Slot(key)
	shards, err := c.Masters[0].admin.ClusterShards(c.t.Context()).Result()
	if err != nil {
		c.t.Fatal(err)
	}
	for _, shard := range shards {
		for _, slots := range shard.Slots {
			if i := slices.Index(c.ids, shard.Nodes[0].ID); slots.Start <= int64(slot) && int64(slot) <= slots.End && i >= 0 {
				return i
			}
		}
	}
	c.t.Fatalf("no master owns slot %d", slot)
	return 0
}

// Slot is the slot of key.
func (c *Cluster) Slot(key string) int {
	c.t.Helper()
	return int(c.Masters[0].Do("CLUSTER", "KEYSLOT", key).(int64))
}

// Migrate moves a slot with its keys from one master to another, as redis-cli
// --cluster reshard does. Between its steps it calls between, if given.
func (c *Cluster) Migrate(slot, from, to int, between func(step string)) {
	c.t.Helper()
	source, target := c.Masters[from], c.Masters[to]
	step := func(name string) {
		if between != nil {
			between(name)
		}
	}
	target.Do("CLUSTER", "SETSLOT", slot, "IMPORTING", c.ids[from])
	source.Do("CLUSTER", "SETSLOT", slot, "MIGRATING", c.ids[to])
	step("migrating, keys not moved")
	for {
		keys := source.Do("CLUSTER", "GETKEYSINSLOT", slot, 100).([]any)
		if len(keys) == 0 {
			break
		}
		args := append([]any{"MIGRATE", "127.0.0.1", target.Port, "", 0, 5000, "KEYS"}, keys...)
		source.Do(args...)
	}
	step("migrating, keys moved")
	for _, s := range []*Server{target, source} {
		s.Do("CLUSTER", "SETSLOT", slot, "NODE", c.ids[to])
	}
	step("slot handed over")
	for i, s := range c.Masters {
		if i != from && i != to {
			s.Do("CLUSTER", "SETSLOT", slot, "NODE", c.ids[to])
		}
	}
}
