package inprocess

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"
	"strings"

	"raisinproxy/backend"
)

// Leases implements backend.Locker. It fails as Renew does, and with backend.ErrTooManyRows.
func (s *Store) Leases(ctx context.Context, scope backend.Scope, prefix string, most int) ([]backend.Lease, error) {
	var found []backend.Lease
	in := appendScope(nil, scope)
	err := s.eachShard(ctx, func(sh *shard) error {
		now := s.clock.Boot()
		for id, l := range sh.leases {
			key, ok := nameIn(in, id)
			if !ok || !strings.HasPrefix(key, prefix) || !l.live(now) {
				continue
			}
			if len(found) == most {
				return backend.ErrTooManyRows
			}
			found = append(found, s.tell(sh, l, key, now))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b backend.Lease) int { return cmp.Compare(a.Key, b.Key) })
	return found, nil
}

// Pools implements backend.Inventory. It fails as Leases does.
func (s *Store) Pools(ctx context.Context, scope backend.Scope, prefix string, most int) ([]backend.Pool, error) {
	var found []backend.Pool
	in := appendScope(nil, scope)
	err := s.eachShard(ctx, func(sh *shard) error {
		for id, p := range sh.pools {
			name, ok := nameIn(in, id)
			if !ok || !strings.HasPrefix(name, prefix) {
				continue
			}
			if len(found) == most {
				return backend.ErrTooManyRows
			}
			found = append(found, p.tell(name))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b backend.Pool) int { return cmp.Compare(a.Name, b.Name) })
	return found, nil
}

// eachShard reads one shard after the other, and holds up none for longer than it takes to read
// it. It returns when all that was read, or was not there, may be told.
func (s *Store) eachShard(ctx context.Context, read func(*shard) error) error {
	var rests []basis
	for i := range s.shards {
		if err := s.ready(ctx); err != nil {
			return err
		}
		b, err := s.shards[i].reading(read)
		if err != nil {
			return err
		}
		rests = append(rests, b)
	}
	for _, b := range rests {
		if err := s.settle(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

func (sh *shard) reading(read func(*shard) error) (basis, error) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	err := read(sh)
	return sh.seen(), err
}

// nameIn is the name in a key made by appendKey, if it is of the scope that begins so.
func nameIn(scope []byte, key string) (name string, ok bool) {
	rest, ok := strings.CutPrefix(key, string(scope))
	if !ok {
		return "", false
	}
	_, n := binary.Uvarint([]byte(rest))
	return rest[n:], true
}
