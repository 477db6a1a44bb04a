package torture

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// redisKey is the key of a lock or a pool in Redis.
func redisKey(kind, name string) string {
	return fmt.Sprintf("raisin:locks:%s:{%s:%s:%s:%s}", kind, scope.Tenant, scope.Repository, scope.Branch, strings.ReplaceAll(name, ":", "%3A"))
}

// KillMaster ends a master of a Cluster by SIGKILL while it works. Its replica takes over, which has all that was
// acknowledged, or not.
type KillMaster struct{ Lossy bool }

// mostClients wait at once only if what they wait for does not come.
const mostClients = clients - 3

// Strike implements Fault.
func (f KillMaster) Strike(ctx context.Context, s *Site) error {
	c := s.Redis.Cluster
	i := c.Owner(redisKey("pool", sharedPool(0)))
	if f.Lossy {
		if err := s.missChanges(ctx, i); err != nil {
			return err
		}
	}
	if f.Lossy {
		s.AwaitCalls(ctx, 2)
		keys := s.keysOn(i)
		s.recorder.losing(c.Masters[i].Kill)
		s.pausedSince(s.recorder.at(c.AwaitFailover(i)), keys)
		return nil
	}
	// It stands still first: calls to it gather, and nobody will ever be told of them.
	c.Masters[i].Stop()
	s.AwaitCalls(ctx, mostClients)
	c.Masters[i].Kill()
	c.AwaitFailover(i)
	if err := s.awaitAcknowledged(ctx); err != nil { // that calls go on is part of it
		return err
	}
	c.Replicas[i].Restart()
	c.AwaitReplica(i)
	return nil
}

// missChanges cuts the replica of the i-th master off, until that has acknowledged some more.
func (s *Site) missChanges(ctx context.Context, i int) error {
	const some = 5
	s.Redis.Cluster.CutOff(i)
	key := redisKey("pool", sharedPool(0))
	seq := func() int {
		text, _ := s.Redis.Cluster.Masters[i].Admin().HGet(ctx, key, "seq").Result() // 0 until there is one
		n, _ := strconv.Atoi(text)
		return n
	}
	for before := seq(); seq() < before+some; {
		s.recorder.awaitTold(ctx)
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("vacuous: the replica has missed fewer than %d changes: %w", some, err)
		}
	}
	return nil
}

// keysOn are the clients' keys on the i-th master.
func (s *Site) keysOn(i int) []string {
	var on []string
	for _, key := range s.keys() {
		if s.Redis.Cluster.Owner(redisKey("lock", key)) == i {
			on = append(on, key)
		}
	}
	return on
}

// PlannedFailover makes a replica the master in good order, while calls go on.
type PlannedFailover struct{}

// Strike implements Fault.
func (PlannedFailover) Strike(ctx context.Context, s *Site) error {
	c := s.Redis.Cluster
	i := c.Owner(redisKey("pool", sharedPool(0)))
	s.AwaitCalls(ctx, 2)
	c.Failover(i)
	if err := s.awaitAcknowledged(ctx); err != nil {
		return err
	}
	c.AwaitReplica(i)
	return nil
}

// MoveSlots moves slots to another master while calls go to them: one with a live lease, one with a pool, and the
// one of a beat.
type MoveSlots struct{}

// Strike implements Fault.
func (MoveSlots) Strike(ctx context.Context, s *Site) error {
	for _, prefix := range []string{"raisin:locks:lock:", "raisin:locks:pool:", "raisin:locks:beat:"} {
		if err := s.move(ctx, prefix); err != nil {
			return err
		}
	}
	return nil
}

// move moves the slot of a key that begins so. A lock has to be held when it moves.
func (s *Site) move(ctx context.Context, prefix string) error {
	c := s.Redis.Cluster
	for {
		for i := range c.Masters {
			for _, key := range c.Keys(i, prefix) {
				if strings.Contains(prefix, ":lock:") && !c.Masters[i].Admin().HExists(ctx, key, "r").Val() {
					continue
				}
				moved := c.Migrate(c.Slot(key), i, (i+1)%len(c.Masters), func(string) { s.recorder.awaitTold(ctx) })
				if moved == 0 {
					return errors.New("vacuous: no key has moved")
				}
				return ctx.Err()
			}
		}
		if err := pause(ctx, time.Millisecond); err != nil {
			return fmt.Errorf("vacuous: no key to move that begins with %s: %w", prefix, err)
		}
	}
}
