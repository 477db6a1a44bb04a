package redis

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"

	"raisinproxy/backend"
)

// Claim implements backend.Inventory. It fails with backend.ErrStateLost when acknowledged changes
// are gone, until `raisinproxy adopt`, and for missing pools after an adopt that did not allow their creation.
func (s *Store) Claim(ctx context.Context, scope backend.Scope, pool string, n, capacity int64) (backend.Claimed, error) {
	id := keyOf(s.opts.Namespace, poolKind, scope, pool)
	r, err := s.making(ctx, scope, pool, func(making string) (reply, bool, error) {
		return s.claim(ctx, id, n, capacity, making)
	})
	if err != nil {
		return backend.Claimed{}, err
	}
	switch r.word {
	case "CLAIMED", "SHORT":
		// A claim that is short waits for no replica: what it has read may be another's, who was not told.
		if r.word == "CLAIMED" || s.opts.WaitReplicas == 0 {
			s.known.sawPool(id, poolState{gen: r.at(1), seq: r.int(2)})
		}
		return backend.Claimed{Claimed: r.word == "CLAIMED", Remaining: r.int(0)}, nil
	case "NOPOOL":
		return backend.Claimed{}, backend.ErrPoolMissing // adopt did not allow to create it
	case "STRANGE":
		return backend.Claimed{}, strangePool(pool, r)
	case "LOST":
		return backend.Claimed{}, s.lostPool(id)
	}
	return backend.Claimed{}, unexpected(r)
}

// claim runs the script. It makes a pool that is missing if both its caller and the watch
// let it; mayCreate is what the watch said.
func (s *Store) claim(ctx context.Context, id string, n, capacity int64, making string) (r reply, mayCreate bool, err error) {
	gen := rand.Text()[:12]
	r, err = s.do(ctx, &call{script: claimScript, key: id, taken: n, judge: s.watch.counts, args: func(e evidence) []any {
		mayCreate = e.create
		seen := s.known.pool(id)
		return []any{n, capacity, gen, making, flag(mayCreate), seen.gen, seen.seq, e.judged}
	}})
	return r, mayCreate, err
}

// Restock implements backend.Inventory. It fails with backend.ErrStateLost as Claim does.
func (s *Store) Restock(ctx context.Context, scope backend.Scope, pool string, n int64) (int64, error) {
	id := keyOf(s.opts.Namespace, poolKind, scope, pool)
	var mayCreate bool
	r, err := s.do(ctx, &call{script: restockScript, key: id, judge: s.watch.counts, args: func(e evidence) []any {
		mayCreate = e.create
		seen := s.known.pool(id)
		return []any{n, seen.gen, seen.seq, e.judged}
	}})
	if err != nil {
		return 0, err
	}
	switch r.word {
	case "RESTOCKED":
		s.known.sawPool(id, poolState{gen: r.at(1), seq: r.int(2)})
		return r.int(0), nil
	case "NOPOOL":
		if r.at(1) == "" && !mayCreate { // so a claim will not create it
			return 0, backend.ErrPoolMissing
		}
		return 0, backend.ErrNoPool
	case "OVERFLOW":
		return 0, fmt.Errorf("%w: %s + %d", backend.ErrCountOverflow, r.at(0), n)
	case "STRANGE":
		return 0, strangePool(pool, r)
	case "LOST":
		return 0, s.lostPool(id)
	}
	return 0, unexpected(r)
}

// strangePool is a pool with values that none of our scripts writes. It is none that can be counted on.
func strangePool(pool string, r reply) error {
	value := r.at(0)
	switch {
	case !isCount(value):
	case !isCount(r.at(1)):
		value = "seq " + r.at(1)
	default:
		value = "capacity " + r.at(2)
	}
	return &backend.PoolValueError{Pool: pool, Value: value}
}

// capacityOf is that of a pool as the scripts tell it.
func capacityOf(text string) int64 {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	return backend.UnknownCapacity
}

// isCount tells whether text is what Redis writes for a count.
func isCount(text string) bool {
	n, err := strconv.ParseInt(text, 10, 64)
	return err == nil && n >= 0 && strconv.FormatInt(n, 10) == text
}

// lostPool stops inventory: a pool is not what it was.
func (s *Store) lostPool(id string) error {
	s.watch.lose("changes of a pool are gone: " + id)
	_, err := s.watch.counts("")
	return err
}
