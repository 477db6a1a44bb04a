package redis

import (
	"context"

	"raisinproxy/backend"
)

// AcquireFirst implements backend.Locker. Which keys are free is read for some at once, first for one, which mostly is,
// then for more; of those that look free each is tried in its turn.
func (s *Store) AcquireFirst(ctx context.Context, scope backend.Scope, keys []string, r backend.Request) (string, backend.Grant, error) {
	const most = 16
	r.Wait = 0
	for size := 1; len(keys) > 0; size = min(4*size, most) {
		some := keys[:min(size, len(keys))]
		keys = keys[len(some):]
		for i, l := range readTogether(some, func(key string) (backend.Lease, bool, error) {
			return s.see(ctx, keyOf(s.opts.Namespace, lockKind, scope, key), key)
		}) {
			if l.err != nil {
				return "", backend.Grant{}, l.err
			}
			if l.found {
				continue
			}
			// That others stand in line says the script, which drops those of dead proxies.
			grant, err := s.Acquire(ctx, scope, some[i], r)
			if err != nil {
				return "", backend.Grant{}, err
			}
			if grant.Acquired {
				return some[i], grant, nil
			}
		}
	}
	return "", backend.Grant{}, nil
}

// see reads who holds a lock, as Look does. found is false if it is free.
func (s *Store) see(ctx context.Context, id, key string) (l backend.Lease, found bool, err error) {
	for {
		longest := s.watch.longest()
		r, err := s.ask(ctx, lookScript, id, nil, func(evidence) []any { return []any{milliseconds(longest)} })
		if err != nil {
			return backend.Lease{}, false, err
		}
		if r.word != "STRANGE" {
			return leaseOf(key, r)
		}
		if err := s.askLongest(ctx); err != nil {
			return backend.Lease{}, false, s.unavailable(ctx, err)
		}
		if s.watch.longest() == longest {
			return backend.Lease{}, false, &backend.LockValueError{Key: key, Value: r.at(0)}
		}
	}
}
