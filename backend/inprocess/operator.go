package inprocess

import (
	"context"

	"raisinproxy/backend"
)

// Evict implements backend.Locker. It fails as Renew does.
func (s *Store) Evict(ctx context.Context, scope backend.Scope, key string) (backend.Lease, bool, error) {
	if err := s.ready(ctx); err != nil {
		return backend.Lease{}, false, err
	}
	var buf [keySize]byte
	evicted, held, rests, err := s.evict(appendKey(buf[:0], scope, key), key)
	if err := s.settle(ctx, rests); err != nil {
		return backend.Lease{}, false, err
	}
	return evicted, held, err
}

func (s *Store) evict(id []byte, key string) (seen backend.Lease, held bool, b basis, err error) {
	sh := s.shardOf(id)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	now := s.clock.Boot()
	l := sh.leases[string(id)]
	if l == nil || !l.live(now) {
		return backend.Lease{Key: key}, false, sh.seen(), nil
	}
	seen = s.tell(sh, l, key, now)
	if b, err = s.end(sh, l); err != nil {
		return backend.Lease{}, false, basis{}, err
	}
	return seen, true, b, nil
}

// SetPool implements backend.Inventory. It fails with backend.ErrTooManyPools, and as Claim does.
func (s *Store) SetPool(ctx context.Context, scope backend.Scope, p backend.Pool) (backend.Pool, bool, error) {
	if err := s.ready(ctx); err != nil {
		return backend.Pool{}, false, err
	}
	var buf [keySize]byte
	before, found, rests, err := s.setPool(appendKey(buf[:0], scope, p.Name), p)
	if err := s.settle(ctx, rests); err != nil {
		return backend.Pool{}, false, err
	}
	return before, found, err
}

func (s *Store) setPool(id []byte, to backend.Pool) (before backend.Pool, found bool, b basis, err error) {
	sh := s.shardOf(id)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	p := sh.pools[string(id)]
	if p == nil && !s.tenants.take(tenantOf(id)) {
		return backend.Pool{}, false, basis{}, backend.ErrTooManyPools
	}
	next := pool{remaining: to.Remaining, capacity: to.Capacity}
	if err := sh.recordPool(id, next); err != nil {
		if p == nil {
			s.tenants.giveBack(tenantOf(id))
		}
		return backend.Pool{}, false, basis{}, err
	}
	if p == nil {
		sh.pools[string(id)] = &next
		return backend.Pool{}, false, sh.changed(), nil
	}
	before = p.tell(to.Name)
	*p = next
	return before, true, sh.changed(), nil
}

// DropPool implements backend.Inventory. It fails as Claim does.
func (s *Store) DropPool(ctx context.Context, scope backend.Scope, name string) (bool, error) {
	if err := s.ready(ctx); err != nil {
		return false, err
	}
	var buf [keySize]byte
	dropped, rests, err := s.dropPool(appendKey(buf[:0], scope, name))
	if err := s.settle(ctx, rests); err != nil {
		return false, err
	}
	return dropped, err
}

func (s *Store) dropPool(id []byte) (bool, basis, error) {
	sh := s.shardOf(id)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.pools[string(id)] == nil {
		return false, sh.seen(), nil
	}
	if err := sh.recordNoPool(id); err != nil {
		return false, basis{}, err
	}
	delete(sh.pools, string(id))
	s.tenants.giveBack(tenantOf(id))
	return true, sh.changed(), nil
}
