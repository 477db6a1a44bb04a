package redis

import (
	"context"
	"crypto/rand"
	"fmt"

	"raisinproxy/backend"
)

// Claim implements backend.Inventory. It fails with backend.ErrStateLost when acknowledged changes
// are gone, until `raisinproxy adopt`, and for missing pools after an adopt that did not allow their creation.
func (s *Store) Claim(ctx context.Context, scope backend.Scope, pool string, n, capacity int64) (backend.Claimed, error) {
	id := keyOf(s.opts.Namespace, poolKind, scope, pool)
	mayCreate, err := s.watch.mayCount()
	if err != nil {
		return backend.Claimed{}, err
	}
	create := "0"
	if mayCreate {
		create = "1"
	}
	seen := s.known.pool(id)
	r, err := s.do(ctx, &call{script: claimScript, key: id, taken: n, args: []any{
		n, capacity, rand.Text()[:12], create, seen.gen, seen.seq,
	}})
	if err != nil {
		return backend.Claimed{}, err
	}
	switch r.word {
	case "CLAIMED", "SHORT":
		s.known.sawPool(id, poolState{gen: r.at(1), seq: r.int(2)})
		return backend.Claimed{Claimed: r.word == "CLAIMED", Remaining: r.int(0)}, nil
	case "NOPOOL":
		return backend.Claimed{}, fmt.Errorf("%w: the pool is gone, and adopt did not allow to create it", backend.ErrStateLost)
	case "LOST":
		return backend.Claimed{}, s.lostPool(id)
	}
	return backend.Claimed{}, unexpected(r)
}

// Restock implements backend.Inventory. It fails with backend.ErrStateLost as Claim does.
func (s *Store) Restock(ctx context.Context, scope backend.Scope, pool string, n int64) (int64, error) {
	id := keyOf(s.opts.Namespace, poolKind, scope, pool)
	if _, err := s.watch.mayCount(); err != nil {
		return 0, err
	}
	seen := s.known.pool(id)
	r, err := s.do(ctx, &call{script: restockScript, key: id, args: []any{n, seen.gen, seen.seq}})
	if err != nil {
		return 0, err
	}
	switch r.word {
	case "RESTOCKED":
		s.known.sawPool(id, poolState{gen: r.at(1), seq: r.int(2)})
		return r.int(0), nil
	case "NOPOOL":
		return 0, backend.ErrNoPool
	case "OVERFLOW":
		return 0, fmt.Errorf("%w: %s + %d", backend.ErrCountOverflow, r.at(0), n)
	case "LOST":
		return 0, s.lostPool(id)
	}
	return 0, unexpected(r)
}

// lostPool stops inventory: a pool is not what it was.
func (s *Store) lostPool(id string) error {
	s.watch.lose("changes of a pool are gone: " + id)
	return s.watch.lossError()
}
