package inprocess

import (
	"context"
	"fmt"
	"math"

	"raisinproxy/backend"
)

// A pool is a count of units, never below zero. Its shard's mutex guards it. It
// lives as long as the store: a pool that went away would be sold once more.
type pool struct{ remaining int64 }

// Claim implements backend.Inventory. It fails with backend.ErrUnavailable only,
// if ctx has ended before the call or the store is closed; nothing changed then.
func (s *Store) Claim(ctx context.Context, scope backend.Scope, name string, n, capacity int64) (backend.Claimed, error) {
	if err := s.ready(ctx); err != nil {
		return backend.Claimed{}, err
	}
	var buf [keySize]byte
	id := appendKey(buf[:0], scope, name)
	sh := s.shardOf(id)
	sh.mu.Lock()
	defer sh.mu.Unlock()

	p := sh.pools[string(id)]
	if p == nil {
		p = &pool{remaining: capacity}
		sh.pools[string(id)] = p
	}
	if n > p.remaining {
		return backend.Claimed{Remaining: p.remaining}, nil
	}
	p.remaining -= n
	return backend.Claimed{Claimed: true, Remaining: p.remaining}, nil
}

// Restock implements backend.Inventory. It fails with backend.ErrNoPool,
// backend.ErrCountOverflow, and backend.ErrUnavailable as Claim does; nothing
// changed then.
func (s *Store) Restock(ctx context.Context, scope backend.Scope, name string, n int64) (int64, error) {
	if err := s.ready(ctx); err != nil {
		return 0, err
	}
	var buf [keySize]byte
	id := appendKey(buf[:0], scope, name)
	sh := s.shardOf(id)
	sh.mu.Lock()
	defer sh.mu.Unlock()

	p := sh.pools[string(id)]
	if p == nil {
		return 0, backend.ErrNoPool
	}
	if n > math.MaxInt64-p.remaining {
		return 0, fmt.Errorf("%w: %d + %d", backend.ErrCountOverflow, p.remaining, n)
	}
	p.remaining += n
	return p.remaining, nil
}
