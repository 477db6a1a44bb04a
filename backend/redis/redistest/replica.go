package redistest

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"raisinproxy/internal/testservers"
)

// StartReplica runs a replica of master and waits until it acknowledges changes.
func StartReplica(t testing.TB, master *Server, lines ...string) *Server {
	t.Helper()
	s := Start(t, append(lines, fmt.Sprintf("replicaof 127.0.0.1 %d", master.Port))...)
	s.AwaitLink()
	master.awaitAcknowledgement()
	return s
}

// awaitAcknowledgement waits until all replicas of this master acknowledge what is sent to
// them: for a moment after the first copy nothing is.
func (s *Server) awaitAcknowledgement() {
	s.t.Helper()
	s.Await("its replicas acknowledge", func(ctx context.Context) bool {
		replicas, err := strconv.Atoi(s.Info(ctx, "connected_slaves"))
		if err != nil || replicas == 0 {
			return false
		}
		pipe := s.Admin().Pipeline() // WAIT is about what its own connection has sent
		pipe.Publish(ctx, "redistest", "")
		have := pipe.Do(ctx, "WAIT", replicas, 100)
		_, err = pipe.Exec(ctx)
		n, _ := have.Int()
		return err == nil && n >= replicas
	})
}

// AwaitLink waits until this replica is connected to its master.
func (s *Server) AwaitLink() {
	s.t.Helper()
	s.Await("the replica is connected", func(ctx context.Context) bool { return s.Info(ctx, "master_link_status") == "up" })
}

// StartReplicaOverLink is StartReplica over a network that can be broken.
func StartReplicaOverLink(t testing.TB, master *Server, lines ...string) (*Server, *Link) {
	t.Helper()
	link := StartLink(t, master)
	s := Start(t, append(lines, fmt.Sprintf("replicaof 127.0.0.1 %d", link.Port()))...)
	s.AwaitLink()
	return s, link
}

// AwaitOffset waits until this replica has all that master has now.
func (s *Server) AwaitOffset(master *Server) {
	s.t.Helper()
	want, _ := strconv.ParseInt(master.Info(s.t.Context(), "master_repl_offset"), 10, 64)
	s.Await("the replica is in step", func(ctx context.Context) bool {
		offset, err := strconv.ParseInt(s.Info(ctx, "slave_repl_offset"), 10, 64)
		return err == nil && offset >= want
	})
}

// Promote makes a replica the master, as a failover does.
func (s *Server) Promote() {
	s.t.Helper()
	s.Do("REPLICAOF", "NO", "ONE")
}

// StartSentinel runs one Sentinel, a quorum by itself, which watches master under
// this name and fails over after a second.
func StartSentinel(t testing.TB, name string, master *Server) *Server {
	t.Helper()
	return start(t, testservers.RedisOptions{Args: []string{"--sentinel"}, Lines: []string{
		fmt.Sprintf("sentinel monitor %s 127.0.0.1 %d 1", name, master.Port),
		fmt.Sprintf("sentinel down-after-milliseconds %s 1000", name),
		fmt.Sprintf("sentinel failover-timeout %s 10000", name),
	}})
}

// AwaitReplicas waits until a Sentinel knows of n replicas of the master, without
// which it cannot fail over.
func (s *Server) AwaitReplicas(name string, n int) {
	s.t.Helper()
	s.Await("the Sentinel knows the replicas", func(ctx context.Context) bool {
		replicas, err := s.admin.Do(ctx, "SENTINEL", "REPLICAS", name).Slice()
		return err == nil && len(replicas) == n
	})
}

// Failover has a Sentinel replace the master, as soon as it knows a replica that may
// become one: what it hears of replicas is up to ten seconds old.
func (s *Server) Failover(name string) {
	s.t.Helper()
	s.Await("the Sentinel begins a failover", func(ctx context.Context) bool {
		return s.admin.Do(ctx, "SENTINEL", "FAILOVER", name).Err() == nil
	})
}
