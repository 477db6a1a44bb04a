package inprocess

import (
	"context"
	"fmt"
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
// has ended before the call or the store is closed, with backend.ErrPaused if the
// store does not know of all leases yet, and with backend.ErrTokensExhausted; nothing changed then. A durable store fails with
// backend.ErrInDoubt, ErrUnwritable and ErrOutOfResources too, and with
// ErrUnavailable if its disk takes longer than ttl, twice.
func (s *Store) Acquire(ctx context.Context, scope backend.Scope, key string, ttl time.Duration) (backend.Grant, error) {
	if err := s.ready(ctx); err != nil {
		return backend.Grant{}, err
	}
	var buf [keySize]byte
	id := appendKey(buf[:0], scope, key)
	for range 2 {
		grant, end, rests, err := s.acquire(id, ttl)
		if err := s.settle(ctx, rests); err != nil {
			return backend.Grant{}, err
		}
		// A lease that ended while it was written is nobody's any more.
		if err != nil || !grant.Acquired || s.journal == nil || s.clock.Boot() < end {
			return grant, err
		}
	}
	return backend.Grant{}, fmt.Errorf("%w: the disk takes longer than the lease of %v", backend.ErrUnavailable, ttl)
}

func (s *Store) acquire(id []byte, ttl time.Duration) (g backend.Grant, end time.Duration, b basis, err error) {
	sh := s.shardOf(id)
	sh.mu.Lock()
	defer sh.mu.Unlock()

	now := s.clock.Boot()
	l := sh.leases[string(id)]
	if l != nil && l.live(now) {
		return backend.Grant{}, 0, sh.seen(), nil
	}
	if s.pause.runs(now) {
		return backend.Grant{}, 0, sh.seen(), s.pause.refusal(now)
	}
	wall := s.clock.Wall()
	token, err := s.tokens.next(wall)
	if err != nil {
		return backend.Grant{}, 0, sh.seen(), err
	}
	end = deadline(now, ttl)
	if err := sh.recordLease(id, token, end, ttl); err != nil {
		return backend.Grant{}, 0, basis{}, err
	}
	if l == nil {
		sh.insert(string(id), token, end)
	} else {
		l.token = token
		sh.expiry.postpone(l, end)
	}
	return backend.Grant{Acquired: true, Token: token, ExpiresAt: wall.Add(ttl)}, end, sh.changed(), nil
}

// Renew implements backend.Locker. It fails with backend.ErrUnavailable, as
// Acquire does; if the store is durable, with backend.ErrInDoubt, ErrUnwritable
// and ErrOutOfResources too.
func (s *Store) Renew(ctx context.Context, scope backend.Scope, key string, token int64, ttl time.Duration) (bool, error) {
	if err := s.ready(ctx); err != nil {
		return false, err
	}
	var buf [keySize]byte
	renewed, rests, err := s.renew(appendKey(buf[:0], scope, key), token, ttl)
	if err := s.settle(ctx, rests); err != nil {
		return false, err
	}
	return renewed, err
}

func (s *Store) renew(id []byte, token int64, ttl time.Duration) (bool, basis, error) {
	sh := s.shardOf(id)
	sh.mu.Lock()
	defer sh.mu.Unlock()

	l := sh.leases[string(id)]
	if l == nil || l.token != token {
		return false, sh.seen(), nil
	}
	now := s.clock.Boot()
	if !l.live(now) {
		rests, err := sh.bury(l)
		return false, rests, err
	}
	if end := deadline(now, ttl); end > l.deadline {
		if err := sh.recordLease(id, token, end, ttl); err != nil {
			return false, basis{}, err
		}
		sh.expiry.postpone(l, end)
		return true, sh.changed(), nil
	}
	return true, sh.seen(), nil
}

// Release implements backend.Locker. It fails as Renew does.
func (s *Store) Release(ctx context.Context, scope backend.Scope, key string, token int64) (bool, error) {
	if err := s.ready(ctx); err != nil {
		return false, err
	}
	var buf [keySize]byte
	released, rests, err := s.release(appendKey(buf[:0], scope, key), token)
	if err := s.settle(ctx, rests); err != nil {
		return false, err
	}
	return released, err
}

func (s *Store) release(id []byte, token int64) (bool, basis, error) {
	sh := s.shardOf(id)
	sh.mu.Lock()
	defer sh.mu.Unlock()

	l := sh.leases[string(id)]
	if l == nil || l.token != token {
		return false, sh.seen(), nil
	}
	if !l.live(s.clock.Boot()) {
		rests, err := sh.bury(l)
		return false, rests, err
	}
	if err := sh.recordEnd(l); err != nil {
		return false, basis{}, err
	}
	sh.remove(l)
	return true, sh.changed(), nil
}
