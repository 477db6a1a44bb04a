package torture

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"raisinproxy/backend/redis/redistest"
)

// Redis is the store of a run, and the networks to it.
type Redis struct {
	Server  *redistest.Server // the master
	Link    *redistest.Link   // from the proxies to the master
	Timeout time.Duration     // of the proxies' calls
	MaxTTL  time.Duration     // the longest lease

	Replica     *redistest.Server // nil: there is none
	ReplicaLink *redistest.Link   // from the replica to the master

	Cluster *redistest.Cluster // instead of Server and Link
	First   *redistest.Link    // from the first proxy to the master, where it has one of its own
}

// KillRedis ends Redis by SIGKILL while it works, and starts it again on what it has on
// disk.
type KillRedis struct{}

// Strike implements Fault.
func (KillRedis) Strike(ctx context.Context, s *Site) error {
	if err := s.awaitAcknowledged(ctx); err != nil {
		return err
	}
	s.AwaitCalls(ctx, 2)
	if !s.run.Wants.Loss {
		s.Redis.Server.Kill()
	} else {
		s.recorder.losing(s.Redis.Server.Kill)
		s.pausedSince(s.recorder.now(), s.keys())
	}
	err := pause(ctx, s.between(0, s.Redis.Timeout))
	s.Redis.Server.Restart()
	return err
}

// StopRedis stops Redis until calls have given up, and lets it go on with what they left.
type StopRedis struct{}

// Strike implements Fault.
func (StopRedis) Strike(ctx context.Context, s *Site) error {
	outage, err := s.beforeOutage(ctx)
	if err != nil {
		return err
	}
	s.Redis.Server.Stop()
	defer s.Redis.Server.Continue()
	s.AwaitCalls(ctx, 3)
	err = outage.ask(ctx)
	return errors.Join(err, pause(ctx, s.between(s.Redis.Timeout/4, s.Redis.Timeout)))
}

// OutOfMemory lets Redis reach its maxmemory while calls go on, and raises it when calls were refused for that.
type OutOfMemory struct{}

// Strike implements Fault.
func (OutOfMemory) Strike(ctx context.Context, s *Site) error {
	s.AwaitCalls(ctx, 2)
	s.Redis.Server.Do("CONFIG", "SET", "maxmemory", "1")
	for range 10 {
		s.recorder.awaitCode(ctx, "53000")
	}
	s.Redis.Server.Do("CONFIG", "SET", "maxmemory", "0")
	return s.awaitAcknowledged(ctx)
}

// PromoteReplica makes the replica the master after it has missed some changes that were
// acknowledged. The old master is not reached again.
type PromoteReplica struct{}

// Strike implements Fault.
func (PromoteReplica) Strike(ctx context.Context, s *Site) error {
	s.Redis.ReplicaLink.Break()
	if err := s.awaitAcknowledged(ctx); err != nil {
		return err
	}
	s.Redis.Replica.Promote()
	s.recorder.losing(func() { s.Redis.Link.To(s.Redis.Replica) })
	s.pausedSince(s.recorder.now(), s.keys())
	return nil
}

// LostAnswers lets Redis carry out calls, and nobody hear of it.
type LostAnswers struct{}

// Strike implements Fault.
func (LostAnswers) Strike(ctx context.Context, s *Site) error {
	return s.onLink(ctx, func() redistest.Rule { return redistest.Rule{DropAnswer: true} })
}

// SlowAnswers lets answers come late, some when the lease that they grant is over.
type SlowAnswers struct{}

// Strike implements Fault.
func (SlowAnswers) Strike(ctx context.Context, s *Site) error {
	return s.onLink(ctx, func() redistest.Rule { return redistest.Rule{DelayAnswer: s.late()} })
}

// LateRequests lets requests arrive late, when their sender has tried again, so that they
// arrive twice, or has given up.
type LateRequests struct{}

// Strike implements Fault.
func (LateRequests) Strike(ctx context.Context, s *Site) error {
	var held sync.WaitGroup
	defer held.Wait()
	return s.onLink(ctx, func() redistest.Rule {
		hold, late := make(chan struct{}), s.late()
		held.Go(func() {
			defer close(hold)
			_ = pause(ctx, late) // an ended run holds nothing back
		})
		return redistest.Rule{Hold: hold}
	})
}

// late is for a call: in time or too late.
func (s *Site) late() time.Duration { return s.between(0, s.Redis.Timeout*3/2) }

// onLink lets a rule strike one request after the other for a while.
func (s *Site) onLink(ctx context.Context, rule func() redistest.Rule) error {
	defer s.Redis.Link.Clear()
	again := time.NewTicker(s.TTL / 10)
	defer again.Stop()
	for begin := time.Now(); time.Since(begin) < 4*s.Redis.Timeout; {
		if s.Redis.Link.Pending() == 0 {
			s.Redis.Link.Next(rule())
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// awaitAcknowledged returns when clients have been told of some more changes, which are
// there to be lost.
func (s *Site) awaitAcknowledged(ctx context.Context) error {
	const some = 20
	for range some {
		s.recorder.awaitTold(ctx)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("vacuous: fewer than %d changes were acknowledged that could be lost: %w", some, err)
	}
	return nil
}
