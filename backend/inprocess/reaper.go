package inprocess

import (
	"runtime/debug"
	"time"
)

// reapBatch bounds how many leases are dropped under one hold of a shard's
// mutex, which callers wait for: some tens of microseconds.
const reapBatch = 64

// reapEvery drops leases that are over, until the store is closed.
func (s *Store) reapEvery(interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	var poisoned <-chan struct{} // nil: never
	if s.journal != nil {
		poisoned = s.journal.poisoned
	}
	for {
		select {
		case <-s.stop:
			return
		case <-poisoned:
			s.drop()
			return
		case <-ticker.C:
			s.reap()
		}
	}
}

// reap drops every lease that is over. It goes round the shards a batch at a
// time rather than emptying one after the other, so that a caller who waits for
// a shard gets it before the reaper comes back to it.
func (s *Store) reap() {
	for again := true; again; {
		again = false
		now := s.clock.Boot()
		for i := range s.shards {
			if s.closed.Load() {
				return
			}
			if s.shards[i].reap(now) {
				again = true
			}
			if s.journal != nil {
				s.journal.throttle(reapedBytes)
			}
		}
	}
	s.giveBack()
	s.users.forget()
}

// reapFor drops leases that are over until a user may have one more, and reports whether
// that is so. It takes a batch of a shard's at most, since a call waits for it.
func (s *Store) reapFor(name string) bool {
	u := s.users.found(name)
	defer u.drop()
	now := s.clock.Boot()
	for i := range s.shards {
		s.shards[i].reap(now)
		if u.leases.Load() <= s.users.limit { // with the one that u counts here
			return true
		}
	}
	return false
}

// crowd is how many leases must have gone before memory goes back to the system and the
// disk is tidied. Both cost about as much as what is left, which is at most a third of
// those who went: so a lease pays for it once, wherever the crowd comes from.
const crowd = 32 << 10

// giveBack returns what a crowd of leases took, after it has left: to Go's heap what the
// shards keep, and then to the system what that and the data folder keep. By itself Go
// would collect no garbage for two minutes in a store that is idle.
func (s *Store) giveBack() {
	for i := range s.shards {
		s.left.Add(int64(s.shards[i].shrink()))
	}
	if s.left.Load() < crowd {
		return
	}
	s.left.Store(0)
	if s.journal != nil {
		s.journal.compact(s.stop)
	}
	debug.FreeOSMemory()
}

// reap drops up to reapBatch leases that were over at now, and reports whether
// there may be more.
func (sh *shard) reap(now time.Duration) bool {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for range reapBatch {
		if len(sh.expiry) == 0 || sh.expiry[0].lease.live(now) {
			return false
		}
		if sh.recordEnd(sh.expiry[0].lease) != nil {
			return false // it will not be written, and memory must not say that it was
		}
		sh.remove(sh.expiry[0].lease)
	}
	return true
}

// drop forgets all state, which is not that of the disk any more. No call reads
// it after this: each finds that the store cannot be written.
func (s *Store) drop() {
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		sh.init()
		sh.expiry, sh.peak, sh.unused, sh.unusedCount = nil, 0, nil, 0
		sh.mu.Unlock()
	}
}
