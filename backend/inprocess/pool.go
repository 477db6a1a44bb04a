package inprocess

import (
	"context"
	"fmt"
	"math"

	"raisinproxy/backend"
	"raisinproxy/backend/moving"
)

// A pool is a count of units, never below zero. Its shard's mutex guards it. It
// lives as long as the store, unless an operator drops it: a pool that went away would be sold once more.
type pool struct {
	remaining int64
	capacity  int64 // of its first claim, or unknownCapacity
}

// unknownCapacity is that of a pool of a version that did not keep it.
const unknownCapacity = moving.UnknownCapacity

// Claim implements backend.Inventory. It fails with backend.ErrUnavailable, if
// ctx has ended before the call or the store is closed; nothing changed then. A
// durable store fails with backend.ErrInDoubt, ErrUnwritable and
// ErrOutOfResources too.
func (s *Store) Claim(ctx context.Context, scope backend.Scope, name string, n, capacity int64) (backend.Claimed, error) {
	if err := s.ready(ctx); err != nil {
		return backend.Claimed{}, err
	}
	var buf [keySize]byte
	claimed, rests, err := s.claim(appendKey(buf[:0], scope, name), n, capacity)
	if err := s.settle(ctx, rests); err != nil {
		return backend.Claimed{}, err
	}
	return claimed, err
}

func (s *Store) claim(id []byte, n, capacity int64) (backend.Claimed, basis, error) {
	sh := s.shardOf(id)
	sh.mu.Lock()
	defer sh.mu.Unlock()

	p, known := sh.pools[string(id)]
	if !known {
		if !s.tenants.take(tenantOf(id)) {
			return backend.Claimed{}, basis{}, backend.ErrTooManyPools
		}
		p = &pool{remaining: capacity, capacity: capacity}
	}
	left, claimed := p.remaining, n <= p.remaining
	if claimed {
		left -= n
	}
	if known && !claimed {
		return backend.Claimed{Remaining: left}, sh.seen(), nil
	}
	if err := sh.recordPool(id, pool{remaining: left, capacity: p.capacity}); err != nil {
		if !known {
			s.tenants.giveBack(tenantOf(id))
		}
		return backend.Claimed{}, basis{}, err
	}
	p.remaining = left
	if !known {
		sh.pools[string(id)] = p
	}
	return backend.Claimed{Claimed: claimed, Remaining: left}, sh.changed(), nil
}

// Restock implements backend.Inventory. It fails with backend.ErrNoPool,
// backend.ErrCountOverflow, and as Claim does; nothing changed then.
func (s *Store) Restock(ctx context.Context, scope backend.Scope, name string, n int64) (int64, error) {
	if err := s.ready(ctx); err != nil {
		return 0, err
	}
	var buf [keySize]byte
	remaining, rests, err := s.restock(appendKey(buf[:0], scope, name), n)
	if err := s.settle(ctx, rests); err != nil {
		return 0, err
	}
	return remaining, err
}

func (s *Store) restock(id []byte, n int64) (int64, basis, error) {
	sh := s.shardOf(id)
	sh.mu.Lock()
	defer sh.mu.Unlock()

	p := sh.pools[string(id)]
	if p == nil {
		return 0, sh.seen(), backend.ErrNoPool
	}
	if n > math.MaxInt64-p.remaining {
		return 0, sh.seen(), fmt.Errorf("%w: %d + %d", backend.ErrCountOverflow, p.remaining, n)
	}
	if err := sh.recordPool(id, pool{remaining: p.remaining + n, capacity: p.capacity}); err != nil {
		return 0, basis{}, err
	}
	p.remaining += n
	return p.remaining, sh.changed(), nil
}
