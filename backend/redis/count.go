package redis

import (
	"context"

	"raisinproxy/backend"
)

// Count implements backend.Inventory. It fails as Claim does: what a Redis says that has lost state is not told.
func (s *Store) Count(ctx context.Context, scope backend.Scope, pool string) (backend.Pool, bool, error) {
	return s.count(ctx, keyOf(s.opts.Namespace, poolKind, scope, pool), pool)
}

func (s *Store) count(ctx context.Context, id, pool string) (backend.Pool, bool, error) {
	var mayCreate bool
	r, err := s.ask(ctx, countScript, id, s.watch.counts, func(e evidence) []any {
		mayCreate = e.create
		seen := s.known.pool(id)
		return []any{seen.gen, seen.seq, e.judged}
	})
	if err != nil {
		return backend.Pool{}, false, err
	}
	switch r.word {
	case "POOL":
		if s.opts.WaitReplicas == 0 { // see Claim
			s.known.sawPool(id, poolState{gen: r.at(2), seq: r.int(3)})
		}
		return backend.Pool{Name: pool, Remaining: r.int(0), Capacity: capacityOf(r.at(1))}, true, nil
	case "NOPOOL":
		if r.at(1) == "" && !mayCreate {
			return backend.Pool{}, false, backend.ErrPoolMissing
		}
		return backend.Pool{}, false, nil
	case "STRANGE":
		return backend.Pool{}, false, strangePool(pool, r)
	case "LOST":
		return backend.Pool{}, false, s.lostPool(id)
	}
	return backend.Pool{}, false, unexpected(r)
}
