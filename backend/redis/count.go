package redis

import (
	"context"

	"raisinproxy/backend"
)

// Count implements backend.Inventory. It fails as Claim does: what a Redis says that has lost state is not told.
func (s *Store) Count(ctx context.Context, scope backend.Scope, pool string) (backend.Pool, bool, error) {
	id := keyOf(s.opts.Namespace, poolKind, scope, pool)
	p, state, found, err := s.count(ctx, id, pool)
	if found && s.opts.WaitReplicas == 0 { // see Claim
		s.known.sawPool(id, state)
	}
	return p, found, err
}

func (s *Store) count(ctx context.Context, id, pool string) (p backend.Pool, state poolState, found bool, err error) {
	var mayCreate bool
	r, err := s.ask(ctx, countScript, id, s.watch.counts, func(e evidence) []any {
		mayCreate = e.create
		seen := s.known.pool(id)
		return []any{seen.gen, seen.seq, e.judged}
	})
	switch {
	case err != nil:
	case r.word == "POOL":
		p = backend.Pool{Name: pool, Remaining: r.int(0), Capacity: capacityOf(r.at(1))}
		return p, poolState{gen: r.at(2), seq: r.int(3)}, true, nil
	case r.word == "NOPOOL":
		if r.at(1) == "" && !mayCreate {
			err = backend.ErrPoolMissing
		}
	case r.word == "STRANGE":
		err = strangePool(pool, r)
	case r.word == "LOST":
		err = s.lostPool(id)
	default:
		err = unexpected(r)
	}
	return backend.Pool{}, poolState{}, false, err
}
