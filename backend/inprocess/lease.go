package inprocess

import (
	"context"
	"math"
	"time"

	"raisinproxy/backend"
)

// A lease is the record of one key. Its shard's mutex guards it. A lease that is
// over may still have its record; see live.
type lease struct {
	key      string // as made by appendKey
	token    int64
	deadline time.Duration // on the boot clock
	at       int           // where it is in its shard's expiry heap
	next     *lease        // in the shard's list of unused records
}

// live reports whether the lease still runs. At its deadline it is over.
func (l *lease) live(now time.Duration) bool { return now < l.deadline }

// deadline is now+ttl, or the end of time where that is beyond it.
func deadline(now, ttl time.Duration) time.Duration {
	if ttl > math.MaxInt64-now {
		return math.MaxInt64
	}
	return now + ttl
}

// Acquire implements backend.Locker. It fails with backend.ErrUnavailable if ctx
// has ended before the call or the store is closed, and with
// backend.ErrTokensExhausted; nothing changed then.
func (s *Store) Acquire(ctx context.Context, scope backend.Scope, key string, ttl time.Duration) (backend.Grant, error) {
	if err := s.ready(ctx); err != nil {
		return backend.Grant{}, err
	}
	var buf [keySize]byte
	id := appendKey(buf[:0], scope, key)
	sh := s.shardOf(id)
	sh.mu.Lock()
	defer sh.mu.Unlock()

	now := s.clock.Boot()
	l := sh.leases[string(id)]
	if l != nil && l.live(now) {
		return backend.Grant{}, nil
	}
	wall := s.clock.Wall()
	token, err := s.tokens.next(wall)
	if err != nil {
		return backend.Grant{}, err
	}
	end := deadline(now, ttl)
	if l == nil {
		sh.insert(string(id), token, end)
	} else {
		l.token = token
		sh.expiry.postpone(l, end)
	}
	return backend.Grant{Acquired: true, Token: token, ExpiresAt: wall.Add(ttl)}, nil
}

// Renew implements backend.Locker. It fails with backend.ErrUnavailable only, as
// Acquire does.
func (s *Store) Renew(ctx context.Context, scope backend.Scope, key string, token int64, ttl time.Duration) (bool, error) {
	if err := s.ready(ctx); err != nil {
		return false, err
	}
	var buf [keySize]byte
	id := appendKey(buf[:0], scope, key)
	sh := s.shardOf(id)
	sh.mu.Lock()
	defer sh.mu.Unlock()

	l := sh.leases[string(id)]
	if l == nil || l.token != token {
		return false, nil
	}
	now := s.clock.Boot()
	if !l.live(now) {
		return false, nil
	}
	if end := deadline(now, ttl); end > l.deadline {
		sh.expiry.postpone(l, end)
	}
	return true, nil
}

// Release implements backend.Locker. It fails with backend.ErrUnavailable only,
// as Acquire does.
func (s *Store) Release(ctx context.Context, scope backend.Scope, key string, token int64) (bool, error) {
	if err := s.ready(ctx); err != nil {
		return false, err
	}
	var buf [keySize]byte
	id := appendKey(buf[:0], scope, key)
	sh := s.shardOf(id)
	sh.mu.Lock()
	defer sh.mu.Unlock()

	l := sh.leases[string(id)]
	if l == nil || l.token != token || !l.live(s.clock.Boot()) {
		return false, nil
	}
	sh.remove(l)
	return true, nil
}
