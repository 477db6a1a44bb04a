package inprocess

import (
	"context"
	"time"

	"raisinproxy/backend"
)

// Look implements backend.Locker. It fails as Renew does.
func (s *Store) Look(ctx context.Context, scope backend.Scope, key string) (backend.Lease, bool, error) {
	if err := s.ready(ctx); err != nil {
		return backend.Lease{}, false, err
	}
	var buf [keySize]byte
	lease, held, rests := s.look(appendKey(buf[:0], scope, key), key)
	if err := s.settle(ctx, rests); err != nil {
		return backend.Lease{}, false, err
	}
	return lease, held, nil
}

func (s *Store) look(id []byte, key string) (seen backend.Lease, held bool, b basis) {
	sh := s.shardOf(id)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	now := s.clock.Boot()
	if l := sh.leases[string(id)]; l != nil && l.live(now) {
		return s.tell(sh, l, key, now), true, sh.seen()
	}
	return backend.Lease{Key: key, Waiters: sh.waiters(string(id))}, false, sh.seen()
}

// tell is a lease that runs, as others see it.
func (s *Store) tell(sh *shard, l *lease, key string, now time.Duration) backend.Lease {
	seen := backend.Lease{
		Key: key, User: l.user.named(), Token: l.token,
		ExpiresAt: s.wallOf(l.deadline, now), Waiters: sh.waiters(l.key),
	}
	if l.acquired > 0 {
		seen.AcquiredAt = time.UnixMicro(l.acquired).UTC()
	}
	return seen
}

// wallOf is a time of the boot clock by the wall clock. What is told of one lease is the same each time, as long as
// the wall clock is not set: the two clocks are not read at one moment, and differ by less than clockNoise each time.
func (s *Store) wallOf(at, now time.Duration) time.Time {
	apart := s.clock.Wall().UnixMicro() - now.Microseconds()
	if was := s.apart.Load(); was != 0 && max(apart-was, was-apart) < clockNoise.Microseconds() {
		apart = was
	} else {
		s.apart.Store(apart)
	}
	return time.UnixMicro(apart + at.Microseconds()).UTC()
}

const clockNoise = time.Millisecond

// waiters is how many calls stand in line for a lock.
func (sh *shard) waiters(id string) int64 {
	if q := sh.queues[id]; q != nil {
		return int64(len(q.ends))
	}
	return 0
}

// Count implements backend.Inventory. It fails as Renew does.
func (s *Store) Count(ctx context.Context, scope backend.Scope, name string) (backend.Pool, bool, error) {
	if err := s.ready(ctx); err != nil {
		return backend.Pool{}, false, err
	}
	var buf [keySize]byte
	seen, found, rests := s.count(appendKey(buf[:0], scope, name), name)
	if err := s.settle(ctx, rests); err != nil {
		return backend.Pool{}, false, err
	}
	return seen, found, nil
}

func (s *Store) count(id []byte, name string) (seen backend.Pool, found bool, b basis) {
	sh := s.shardOf(id)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	p := sh.pools[string(id)]
	if p == nil {
		return backend.Pool{}, false, sh.seen()
	}
	return p.tell(name), true, sh.seen()
}

// tell is a pool as others see it.
func (p *pool) tell(name string) backend.Pool {
	return backend.Pool{Name: name, Capacity: p.capacity, Remaining: p.remaining}
}

// Held is how many leases there are, and how many calls stand in line for one, in all scopes.
// Leases that are over count until the reaper comes.
func (s *Store) Held() (leases, waiters int64) {
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		leases += int64(len(sh.leases))
		for _, q := range sh.queues {
			waiters += int64(len(q.ends))
		}
		sh.mu.Unlock()
	}
	return leases, waiters
}
