package redis

import (
	"context"

	"raisinproxy/backend"
)

// AcquireFirst implements backend.Locker.
func (s *Store) AcquireFirst(context.Context, backend.Scope, []string, backend.Request) (string, backend.Grant, error) {
	return "", backend.Grant{}, backend.ErrUnavailable
}

// Leases implements backend.Locker.
func (s *Store) Leases(context.Context, backend.Scope, string, int) ([]backend.Lease, error) {
	return nil, backend.ErrUnavailable
}

// Evict implements backend.Locker.
func (s *Store) Evict(context.Context, backend.Scope, string) (backend.Lease, bool, error) {
	return backend.Lease{}, false, backend.ErrUnavailable
}

// Count implements backend.Inventory.
func (s *Store) Count(context.Context, backend.Scope, string) (backend.Pool, bool, error) {
	return backend.Pool{}, false, backend.ErrUnavailable
}

// Pools implements backend.Inventory.
func (s *Store) Pools(context.Context, backend.Scope, string, int) ([]backend.Pool, error) {
	return nil, backend.ErrUnavailable
}

// SetPool implements backend.Inventory.
func (s *Store) SetPool(context.Context, backend.Scope, backend.Pool) (backend.Pool, bool, error) {
	return backend.Pool{}, false, backend.ErrUnavailable
}

// DropPool implements backend.Inventory.
func (s *Store) DropPool(context.Context, backend.Scope, string) (bool, error) {
	return false, backend.ErrUnavailable
}
