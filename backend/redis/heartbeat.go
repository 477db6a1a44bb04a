package redis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// beatEvery is how often Redis is looked at: so old may be what a proxy knows of the tokens of
// others, of a change of master, and of the configuration.
const beatEvery = time.Second

// beatUntilStopped looks at Redis until Close, which ends ctx.
func (s *Store) beatUntilStopped(ctx context.Context) {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-s.watch.look:
		}
		_ = s.beat(ctx) // it has logged what is new
		if s.leases != nil {
			s.leases.forget(time.Now())
		}
	}
}

// beat looks at Redis once, and logs when that begins or ceases to fail. It gives what failed.
func (s *Store) beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	err := s.lookAtRedis(ctx)
	err = errors.Join(err, s.watch.save(s.clock.floor()))
	select {
	case <-s.stop: // it fails since the Store is being closed
		return nil
	default:
	}
	switch failing := err != nil; {
	case failing && !s.failing:
		s.log.Error("redis: the heartbeat fails", "error", err)
	case !failing && s.failing:
		s.log.Info("redis: the heartbeat is answered again")
	}
	s.failing = err != nil
	return err
}

// lookAtRedis looks at every master. One that does not answer does not keep the others from
// being judged.
func (s *Store) lookAtRedis(ctx context.Context) error {
	var mu sync.Mutex
	samples := make(map[string]sample)
	masters := make(map[string]*goredis.Client)
	failed := make(map[string]bool)
	var failures []error
	err := s.probe.each(ctx, func(ctx context.Context, node *goredis.Client) error {
		one, err := lookAt(ctx, node)
		if err == nil {
			s.warnOfConfig(ctx, node, one)
		}
		mu.Lock()
		defer mu.Unlock()
		addr := node.Options().Addr
		if err != nil {
			failed[addr] = true
			failures = append(failures, fmt.Errorf("%s: %w", addr, err))
			return nil
		}
		samples[addr], masters[addr] = one, node
		return nil
	})
	if err != nil || len(failed) > 0 {
		s.probe.changed(ctx)
	}
	if err != nil || len(samples) == 0 {
		return errors.Join(append(failures, err)...)
	}
	s.pruneLanes(ctx)
	current := s.watch.saw(samples, failed)
	maps.DeleteFunc(masters, func(addr string, _ *goredis.Client) bool { _, ok := current[addr]; return !ok })
	return errors.Join(append(failures, s.beatAll(ctx, masters))...)
}

// lookAt takes a sample of a master.
func lookAt(ctx context.Context, node *goredis.Client) (sample, error) {
	one, err := takeSample(ctx, node)
	switch {
	case err != nil:
		return sample{}, err
	case !one.master:
		return sample{}, errors.New("this Redis is a replica")
	case one.loading:
		return sample{}, errors.New("this Redis is loading its data")
	}
	return one, nil
}

// warnOfConfig tells once for each process what its configuration puts at risk.
func (s *Store) warnOfConfig(ctx context.Context, node *goredis.Client, one sample) {
	if _, told := s.warned.LoadOrStore(one.RunID+one.policy+strconv.FormatBool(one.aof), true); told {
		return
	}
	log := s.log.With("redis", node.Options().Addr)
	if one.policy != "noeviction" {
		log.Warn("redis: maxmemory-policy may evict locks and pools: inventory is refused until it is noeviction", "policy", one.policy)
	}
	s.warnIfDeaf(ctx, node, log)
	if !one.aof {
		log.Warn("redis: appendonly is off: a crash loses acknowledged state, which stops inventory")
		return
	}
	if fsync := configOf(ctx, node, "appendfsync"); fsync != "" && fsync != "always" {
		log.Warn("redis: appendfsync is not always: a power failure may lose what was acknowledged in the last second or more", "appendfsync", fsync)
	}
	if configOf(ctx, node, "no-appendfsync-on-rewrite") == "yes" {
		log.Warn("redis: no-appendfsync-on-rewrite is yes: nothing is synced while the AOF is rewritten")
	}
}

// configOf reads a parameter; "" if that is not permitted.
func configOf(ctx context.Context, node *goredis.Client, name string) string {
	return node.ConfigGet(ctx, name).Val()[name]
}

// pruneLanes drops the lanes of servers that are not masters any more.
func (s *Store) pruneLanes(ctx context.Context) {
	if s.servers.cluster == nil {
		return
	}
	var mu sync.Mutex
	current := make(map[*goredis.Client]bool)
	if err := s.servers.each(ctx, func(_ context.Context, node *goredis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		current[node] = true
		return nil
	}); err != nil {
		return
	}
	s.lanes.mu.Lock()
	defer s.lanes.mu.Unlock()
	for node := range s.lanes.of {
		if !current[node] {
			delete(s.lanes.of, node)
		}
	}
}

// eval runs a script that may be repeated without harm, and gives its texts.
func (s *servers) eval(ctx context.Context, sc *script, key string, args ...any) ([]string, error) {
	var texts []string
	for range 3 { // more than one redirect is a topology in motion
		node, err := s.forKey(ctx, key)
		if err != nil {
			return nil, err
		}
		if texts, err = node.Eval(ctx, sc.text, []string{key}, args...).StringSlice(); err == nil {
			return texts, nil
		}
		if judge(err) != elsewhere {
			return nil, err
		}
		s.changed(ctx)
	}
	return nil, errors.New("the Cluster's slots are moving")
}

// empty tells whether no key begins with namespace.
func (s *servers) empty(ctx context.Context, namespace string) (bool, error) {
	pattern := globOf(namespace) + ":*"
	found := errors.New("found")
	err := s.each(ctx, func(ctx context.Context, node *goredis.Client) error {
		keys := node.Scan(ctx, 0, pattern, 1000).Iterator()
		if keys.Next(ctx) {
			return found
		}
		return keys.Err()
	})
	if errors.Is(err, found) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking for keys of the name space: %w", err)
	}
	return true, nil
}

func flag(on bool) string {
	if on {
		return "1"
	}
	return "0"
}
