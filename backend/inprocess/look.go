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
	lease, held, rests := s.look(appendKey(buf[:0], scope, key))
	lease.Key = key
	if err := s.settle(ctx, rests); err != nil {
		return backend.Lease{}, false, err
	}
	return lease, held, nil
}

func (s *Store) look(id []byte) (seen backend.Lease, held bool, b basis) {
	sh := s.shardOf(id)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if q := sh.queues[string(id)]; q != nil {
		seen.Waiters = int64(len(q.ends))
	}
	now := s.clock.Boot()
	l := sh.leases[string(id)]
	if l == nil || !l.live(now) {
		return seen, false, sh.seen()
	}
	seen.User, seen.Token, seen.ExpiresAt = l.user.named(), l.token, s.clock.Wall().Add(l.deadline-now)
	if l.acquired > 0 {
		seen.AcquiredAt = time.UnixMicro(l.acquired).UTC()
	}
	return seen, true, sh.seen()
}
