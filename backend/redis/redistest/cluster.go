package redistest

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"raisinproxy/internal/testservers"
)

const (
	slotCount = 16384
	// busOffset is how far the port of a node's bus is above its own.
	busOffset = 10000
)

// Cluster is a Redis Cluster.
type Cluster struct {
	Masters  []*Server
	Replicas []*Server // the i-th of the i-th master; nil if there are none
	ids      []string  // of the masters
	t        testing.TB
}

// StartCluster runs a Cluster of so many masters without replicas that share the slots evenly.
func StartCluster(t testing.TB, masters int, lines ...string) *Cluster {
	t.Helper()
	c := &Cluster{t: t}
	for range masters {
		s := c.startNode(lines)
		c.Masters = append(c.Masters, s)
		c.ids = append(c.ids, s.Do("CLUSTER", "MYID").(string))
	}
	for i, s := range c.Masters {
		s.Do("CLUSTER", "SET-CONFIG-EPOCH", i+1)
		slots := []any{"CLUSTER", "ADDSLOTS"}
		for slot := i * slotCount / masters; slot < (i+1)*slotCount/masters; slot++ {
			slots = append(slots, slot)
		}
		s.Do(slots...)
		c.meet(s)
	}
	c.awaitNodes(masters)
	return c
}

// StartClusterWithReplicas is StartCluster with a replica of each master, which takes over when that is away.
func StartClusterWithReplicas(t testing.TB, masters int, lines ...string) *Cluster {
	t.Helper()
	// However old its data are: what is lost by that is what the tests are about.
	lines = append(lines, "cluster-replica-validity-factor 0", "repl-ping-replica-period 1")
	c := StartCluster(t, masters, lines...)
	for range masters {
		s := c.startNode(lines)
		c.Replicas = append(c.Replicas, s)
		c.meet(s)
	}
	c.awaitNodes(2 * masters)
	for i, s := range c.Replicas {
		s.Do("CLUSTER", "REPLICATE", c.ids[i])
	}
	for i, s := range c.Replicas {
		s.AwaitLink()
		c.Masters[i].awaitAcknowledgement()
	}
	// Who votes has to know of the replica too.
	for _, s := range append(slices.Clone(c.Masters), c.Replicas...) {
		s.Await("every node knows the replicas", func(ctx context.Context) bool {
			nodes, err := s.admin.ClusterNodes(ctx).Result()
			return err == nil && strings.Count(nodes, " slave ")+strings.Count(nodes, "myself,slave ") == masters
		})
	}
	return c
}

func (c *Cluster) startNode(lines []string) *Server {
	c.t.Helper()
	return start(c.t, testservers.RedisOptions{
		Port:  freePortOfNode(c.t),
		Lines: append(slices.Clone(lines), "cluster-enabled yes", "cluster-node-timeout 2000"),
	})
}

func (c *Cluster) meet(s *Server) {
	c.t.Helper()
	s.Do("CLUSTER", "MEET", "127.0.0.1", c.Masters[0].Port)
}

// awaitNodes waits until every node knows of so many and thinks that the Cluster works.
func (c *Cluster) awaitNodes(n int) {
	c.t.Helper()
	for _, s := range append(slices.Clone(c.Masters), c.Replicas...) {
		s.Await("the cluster is up", func(ctx context.Context) bool {
			info, err := s.admin.ClusterInfo(ctx).Result()
			return err == nil && strings.Contains(info, "cluster_state:ok") &&
				strings.Contains(info, fmt.Sprintf("cluster_known_nodes:%d\r", n))
		})
	}
}

// freePortOfNode is a free port, and so is that of the bus.
func freePortOfNode(t testing.TB) int {
	t.Helper()
	for {
		port := freePort(t)
		if port+busOffset > 65535 {
			continue
		}
		if bus, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port+busOffset)); err == nil {
			bus.Close()
			return port
		}
	}
}

// URLs are the addresses of all nodes.
func (c *Cluster) URLs() []string {
	var urls []string
	for _, s := range append(slices.Clone(c.Masters), c.Replicas...) {
		urls = append(urls, "redis://"+s.Addr())
	}
	return urls
}

// Owner is which of the masters owns the slot of key.
func (c *Cluster) Owner(key string) int {
	c.t.Helper()
	slot := c.Slot(key)
	all, err := c.Masters[0].admin.ClusterSlots(c.t.Context()).Result() //nolint:staticcheck // Redis 6.2 has no CLUSTER SHARDS
	if err != nil {
		c.t.Fatal(err)
	}
	for _, slots := range all {
		if i := slices.Index(c.ids, slots.Nodes[0].ID); slots.Start <= slot && slot <= slots.End && i >= 0 {
			return i
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

// CutOff has the i-th replica miss what its master does from now on. It may take over all the same.
func (c *Cluster) CutOff(i int) {
	c.t.Helper()
	replica := c.Replicas[i]
	replica.Do("CONFIG", "SET", "masterauth", "wrong")
	replica.Do("CONFIG", "SET", "masteruser", "nobody")
	replica.Await("the replica is cut off", func(ctx context.Context) bool {
		// It may be connecting just now.
		if err := c.Masters[i].admin.ClientKillByFilter(ctx, "TYPE", "replica").Err(); err != nil {
			return false
		}
		return replica.Info(ctx, "master_link_status") == "down"
	})
}

// AwaitFailover waits until the i-th replica has taken over, and is the i-th master then. It had not before the time
// that this gives.
func (c *Cluster) AwaitFailover(i int) (notBefore time.Time) {
	c.t.Helper()
	c.Replicas[i].Await("the replica has taken over", func(ctx context.Context) bool {
		asked := time.Now()
		if c.Replicas[i].Info(ctx, "role") == "master" {
			return true
		}
		notBefore = asked
		return false
	})
	c.Masters[i], c.Replicas[i] = c.Replicas[i], c.Masters[i]
	c.ids[i] = c.Masters[i].Do("CLUSTER", "MYID").(string)
	return notBefore
}

// Failover makes the i-th replica the master in good order: nothing is lost by that.
func (c *Cluster) Failover(i int) {
	c.t.Helper()
	c.Replicas[i].Do("CLUSTER", "FAILOVER")
	c.AwaitFailover(i)
	c.Replicas[i].Await("the old master has heard of it", func(ctx context.Context) bool {
		return c.Replicas[i].Info(ctx, "role") == "slave"
	})
}

// Migrate moves a slot with its keys from one master to another, as redis-cli
// --cluster reshard does, and says how many keys moved. Between its steps it calls between, if given.
func (c *Cluster) Migrate(slot, from, to int, between func(step string)) (moved int) {
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
		moved += len(keys)
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
	return moved
}

// AwaitReplica waits until the i-th replica has all that its master has.
func (c *Cluster) AwaitReplica(i int) {
	c.t.Helper()
	c.Replicas[i].AwaitLink()
	c.Masters[i].awaitAcknowledgement()
}

// Keys are the keys of the i-th master that begin so.
func (c *Cluster) Keys(i int, prefix string) []string {
	c.t.Helper()
	keys, err := c.Masters[i].admin.Keys(c.t.Context(), prefix+"*").Result()
	if err != nil {
		c.t.Fatal(err)
	}
	return keys
}
