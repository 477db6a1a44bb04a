package redis

import (
	"context"
	"crypto/rand"
	"fmt"

	"raisinproxy/backend"
)

// making runs a call that may make a pool. Under a limit the name is noted first, for the pool as it was not found: if it was
// made and dropped since, its name may not be noted any more. mayCreate says whether missing pools may be made.
func (s *Store) making(ctx context.Context, scope backend.Scope, pool string, try func(making string) (r reply, mayCreate bool, err error)) (reply, error) {
	const anyway, never, tries = "*", "", 5
	if s.opts.MaxPools == 0 {
		r, _, err := try(anyway)
		return r, err
	}
	r, mayCreate, err := try(never)
	for range tries {
		if err != nil || r.word != "NOPOOL" || r.at(1) == "" && !mayCreate {
			return r, err
		}
		if err := s.placeOf(scope, pool).reserve(ctx); err != nil {
			return reply{}, err
		}
		r, mayCreate, err = try(r.at(0))
	}
	if err == nil && r.word == "NOPOOL" {
		return reply{}, fmt.Errorf("%w: the pool is made and dropped all the time", backend.ErrUnavailable)
	}
	return r, err
}

// place is that of a pool among those of its tenant, of which there may be so many.
type place struct {
	s            *Store
	tenant, name string
}

func (s *Store) placeOf(scope backend.Scope, pool string) place {
	return place{s: s, tenant: tenantKey(s.opts.Namespace, scope.Tenant), name: nameInTenant(scope, pool)}
}

// reserve notes the name of a pool that is about to be made, or fails with
// backend.ErrTooManyPools. It may be repeated, and nothing has to be undone: so an answer
// that is lost is no doubt about anything.
func (p place) reserve(ctx context.Context) error {
	limit := p.s.opts.MaxPools
	r, err := p.s.ask(ctx, reserveScript, p.tenant, nil, fixed(p.name, limit, rand.Text()[:8]))
	switch {
	case err != nil:
		return err
	case r.word == "FULL":
		return fmt.Errorf("%w: the tenant has %d", backend.ErrTooManyPools, limit)
	case r.word == "RESERVED":
		return nil
	}
	return unexpected(r)
}

// noted tells by which stamp the pool was noted last, if it was.
func (p place) noted(ctx context.Context) (stamp string, noted bool, err error) {
	r, err := p.s.ask(ctx, notedScript, p.tenant, nil, fixed(p.name))
	if err == nil && r.word != "NOTED" && r.word != "UNNOTED" {
		err = unexpected(r)
	}
	return r.at(0), r.word == "NOTED", err
}

// giveUp makes room for another pool, unless the name was noted anew since.
func (p place) giveUp(ctx context.Context, stamp string) error {
	_, err := p.s.ask(ctx, unnoteScript, p.tenant, nil, fixed(p.name, stamp))
	return err
}
