package torture

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"raisinproxy/backend/history"
	"raisinproxy/backend/redis/redistest"
)

// LoseWhileCallsWait kills a Redis that keeps nothing, and starts it again, while calls wait for it on locks and pools
// that their proxy has never seen: held ones, and sold-out ones.
type LoseWhileCallsWait struct {
	// Shard is which master of the Cluster that is, if Redis is one.
	Shard int
}

// waiting is how many locks, and how many pools, there are.
const waiting = 8

// Strike implements Fault.
func (f LoseWhileCallsWait) Strike(ctx context.Context, s *Site) error {
	server := s.Redis.Server
	if c := s.Redis.Cluster; c != nil {
		server = c.Masters[f.Shard]
	}
	locks, pools := s.names("held", "lock", f.Shard), s.names("sold", "pool", f.Shard)
	if err := s.sellAndHold(ctx, locks, pools); err != nil {
		return err
	}
	begin := s.recorder.now()
	s.recorder.losing(server.Kill)
	killed := s.recorder.now()
	finish := s.ask(ctx, locks, pools)
	s.recorder.awaitWaiting(ctx, 2*waiting)
	back := s.recorder.now() // not before
	server.Restart()
	err := finish(back)
	s.recorder.paused(killed, locks, back-killed+s.Redis.MaxTTL)
	s.recorder.lost(begin, locks, s.Redis.MaxTTL)
	return err
}

// names are as many that nobody has used, on this master of a Cluster.
func (s *Site) names(what, kind string, shard int) []string {
	var names []string
	for len(names) < waiting {
		name := s.fresh(what)
		if c := s.Redis.Cluster; c == nil || c.Owner(redisKey(kind, name)) == shard {
			names = append(names, name)
		}
	}
	return names
}

// sellAndHold sells out the pools, two units each, and takes the locks through the first proxy.
func (s *Site) sellAndHold(ctx context.Context, locks, pools []string) error {
	c := s.witness(firstWitness)
	var calls []history.Operation
	for i := range locks {
		claim := history.Operation{Kind: history.Claim, Name: pools[i], Units: 1, Capacity: 2}
		calls = append(calls, claim, claim, history.Operation{Kind: history.Acquire, Name: locks[i], TTL: s.Redis.MaxTTL})
	}
	for _, o := range calls {
		if told, err := c.call(ctx, o); err != nil || !told.OK {
			return errors.Join(fmt.Errorf("vacuous: refused: %v", &told), err)
		}
	}
	return nil
}

// ask makes calls on the locks and pools through the last proxy, all at once. They have to wait until Redis is there
// again, most of them at least: finish waits for them.
func (s *Site) ask(ctx context.Context, locks, pools []string) (finish func(back time.Duration) error) {
	var asking sync.WaitGroup
	var mu sync.Mutex
	var answers []history.Operation
	var failed []error
	for i := range locks {
		for _, o := range []history.Operation{
			{Kind: history.Claim, Name: pools[i], Units: 1, Capacity: 2},
			{Kind: history.Acquire, Name: locks[i], TTL: s.TTL},
		} {
			c := s.witness(firstWitness + 2*(len(s.Proxies)-1))
			asking.Go(func() {
				told, err := c.call(ctx, o)
				mu.Lock()
				defer mu.Unlock()
				answers, failed = append(answers, told), append(failed, err)
			})
		}
	}
	return func(back time.Duration) error {
		asking.Wait()
		waited := 0
		for i := range answers {
			if answers[i].Return > back {
				waited++
			}
		}
		if waited < waiting {
			failed = append(failed, fmt.Errorf("vacuous: only %d calls have waited until Redis was there again", waited))
		}
		return errors.Join(failed...)
	}
}

// LoseTwice has Redis lose everything, starts a proxy again that has noticed, and has Redis lose everything once more,
// before anybody has adopted the first loss.
type LoseTwice struct{}

// Strike implements Fault.
func (LoseTwice) Strike(ctx context.Context, s *Site) error {
	if err := s.awaitAcknowledged(ctx); err != nil {
		return err
	}
	for _, p := range s.Proxies {
		begin := s.recorder.now()
		if err := s.lose(ctx, s.Redis.Server); err != nil {
			return err
		}
		s.recorder.lost(begin, s.keys(), s.TTL)
		p.Kill()
		if err := p.Start(); err != nil {
			return err
		}
		if err := pause(ctx, s.Redis.MaxTTL/2); err != nil { // in the middle of the pause
			return err
		}
	}
	return nil
}

// lose kills a Redis that keeps nothing, and waits until a loss has been told since it is there again.
func (s *Site) lose(ctx context.Context, server *redistest.Server) error {
	s.recorder.losing(server.Kill)
	s.pausedSince(s.recorder.now(), s.keys())
	server.Restart()
	s.recorder.awaitCode(ctx, "55000")
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("vacuous: nobody was told of the loss: %w", err)
	}
	return nil
}
