// Package backend defines what a store of leases and inventory can do. Front
// ends and the SQL functions know only this package; backend/inprocess and
// backend/redis implement it, and backend/backendtest is the suite that both
// must pass.
//
// The rules are those of a lease lock with a fencing token: one holder per key,
// a lease that ends by itself, a token that only rises. A lease is counted from
// the grant on the backend's own clock; the holder must count from before it
// sent the request.
package backend

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// MaxNameBytes is the longest key or pool name that a backend must take.
const MaxNameBytes = 1024

// MaxToken is the first value that no token reaches, so that a reader who keeps
// numbers as IEEE doubles (JSON in a browser) reads every token exactly.
const MaxToken = 1 << 53

// Scope is the name space of keys and pools. Two scopes that differ in any
// field share nothing; an implementation must encode them so that no choice of
// names makes two of them collide.
type Scope struct {
	Tenant     string
	Repository string
	Branch     string
}

// Grant is the answer to Acquire. When Acquired is false the other fields are
// zero: another holder has the key.
type Grant struct {
	Acquired bool
	Token    int64 // fencing token, greater than every earlier one of the key
	// ExpiresAt is the end of the lease by the wall clock, for people to read.
	// Nothing may decide by it whether a lease is over.
	ExpiresAt time.Time
}

// Request is what Acquire is asked for.
type Request struct {
	// TTL is the length of the lease, from its grant; at least 1 ms.
	TTL time.Duration
	// Wait is how long the call may wait in line for a lock that is held, from when
	// it was made; 0 or less: it does not wait.
	Wait time.Duration
	// User is whom the lease belongs to. Nobody else can end or renew it.
	User string
}

// Proof is what a holder shows to end or renew a lease.
type Proof struct {
	Token int64
	User  string
}

// Lease is a lock as others see it.
type Lease struct {
	Key string
	// User is the holder; "" for a lease of a version that did not keep its holders,
	// which any user may end or renew.
	User       string
	Token      int64
	AcquiredAt time.Time // by the wall clock; the zero time if no holder is kept
	ExpiresAt  time.Time // by the wall clock, as in Grant
	Waiters    int64     // how many calls stand in line for it
}

// UnknownCapacity is that of a pool of a version that did not keep it.
const UnknownCapacity = -1

// Pool is a pool as others see it.
type Pool struct {
	Name string
	// Capacity is that of the claim that created it, or what an operator has set; or UnknownCapacity.
	Capacity  int64
	Remaining int64
}

// Claimed is the answer to Claim: whether all units were taken, and what
// remains in the pool after the call.
type Claimed struct {
	Claimed   bool
	Remaining int64
}

// Locker keeps leases. All methods are safe for concurrent use. Callers have
// checked the arguments: 1 to MaxNameBytes bytes of key, ttl of at least 1 ms.
//
// An error means an outage and never contention; contention is a false answer
// without an error. See the Err values for what an error says about what was
// applied. ctx ends the call; what was applied by then is undone, or the error
// wraps ErrInDoubt.
type Locker interface {
	// Acquire grants key for r.TTL unless a live lease exists. Leases are not
	// re-entrant: the holder is refused as anybody else is.
	//
	// With r.Wait it stands in line for as long, and is granted the key in its turn:
	// first come, first served, across all proxies of a store. A call that does not
	// wait is refused while others stand in line. A wait that runs out is a false
	// answer; one that ends while nothing is granted fails with ErrPaused. It fails
	// with ErrTooManyWaiters if the line is full. A call whose ctx has ended holds nothing.
	Acquire(ctx context.Context, scope Scope, key string, r Request) (Grant, error)
	// AcquireFirst grants the first of the keys that is free, and for which nobody stands in
	// line, and tells which that is. It takes at most one, and does not wait, whatever r.Wait says.
	AcquireFirst(ctx context.Context, scope Scope, keys []string, r Request) (key string, g Grant, err error)
	// Release ends the lease and reports true if it still carried this token and
	// belongs to this user.
	Release(ctx context.Context, scope Scope, key string, p Proof) (bool, error)
	// Renew moves the end of the lease to now+ttl, never to an earlier time, and
	// reports true if the lease still carried this token and belongs to this user. It
	// never revives a lease that is over.
	Renew(ctx context.Context, scope Scope, key string, p Proof, ttl time.Duration) (bool, error)
	// Look tells who holds the lock and how many stand in line for it. held is false if
	// it is free; then only Key and Waiters are set.
	Look(ctx context.Context, scope Scope, key string) (l Lease, held bool, err error)
	// Leases tells of all locks of the scope that are held and whose keys begin with prefix,
	// sorted by their keys. Each is told as it is at some moment of the call, and they are not all
	// told of the same moment. It fails with ErrTooManyRows if there are more than most.
	Leases(ctx context.Context, scope Scope, prefix string, most int) ([]Lease, error)
	// Evict ends the lease of whoever holds the lock, for an operator, and tells which it was.
	// held is false if the lock was free.
	Evict(ctx context.Context, scope Scope, key string) (l Lease, held bool, err error)
}

// Inventory keeps counted pools. All methods are safe for concurrent use.
// Callers have checked the arguments: 1 to MaxNameBytes bytes of pool, n of at
// least 1, capacity of at least 0. Errors are as for Locker.
type Inventory interface {
	// Claim takes n units or none. The first claim on a pool creates it with
	// capacity units, even when it asks for more than that; later capacities are
	// ignored. It fails with ErrTooManyPools if the store has a limit of pools for
	// each tenant, and this one has as many.
	Claim(ctx context.Context, scope Scope, pool string, n, capacity int64) (Claimed, error)
	// Restock gives n units back and reports what remains then. It is not capped
	// at the capacity. It fails with ErrNoPool for a pool that no claim has
	// created, and with ErrCountOverflow beyond the range of int64.
	Restock(ctx context.Context, scope Scope, pool string, n int64) (int64, error)
	// Count tells what is in a pool; found is false if there is no such pool.
	Count(ctx context.Context, scope Scope, pool string) (p Pool, found bool, err error)
	// Pools tells of all pools of the scope whose names begin with prefix, as Leases does of locks.
	Pools(ctx context.Context, scope Scope, prefix string, most int) ([]Pool, error)
	// SetPool gives a pool these counts, for an operator, and tells what it had before. It makes
	// the pool if there is none. It works where a loss of state has stopped Claim.
	SetPool(ctx context.Context, scope Scope, p Pool) (before Pool, found bool, err error)
	// DropPool forgets a pool, for an operator: the next claim on it creates it anew, with all its units.
	// It reports false if there was none.
	DropPool(ctx context.Context, scope Scope, pool string) (bool, error)
}

// Backend is a store of both kinds.
type Backend interface {
	Locker
	Inventory
	// Close stops the backend's goroutines and waits for them. Calls after it
	// fail with ErrUnavailable. It may be called more than once.
	Close() error
}

// Errors of every backend; compare with errors.Is. Any other error counts as
// ErrInDoubt, which is the only safe reading of an error that says nothing.
var (
	// ErrNoPool: units were released to a pool that does not exist. Nothing changed.
	ErrNoPool = errors.New("pool does not exist")
	// ErrTooManyPools: the pool would be one more than its tenant may have. Nothing was created.
	ErrTooManyPools = errors.New("too many pools")
	// ErrTooManyLeases: the lease would be one more than its user may have. Nothing changed.
	ErrTooManyLeases = errors.New("too many leases")
	// ErrTooManyWaiters: the line for the lock is full. Nothing changed.
	ErrTooManyWaiters = errors.New("too many calls wait for the lock")
	// ErrTooManyRows: more was asked for than was to be told.
	ErrTooManyRows = errors.New("too many rows")
	// ErrCountOverflow: the count would leave the range of int64. Nothing changed.
	ErrCountOverflow = errors.New("pool count out of range")
	// ErrUnavailable: the store cannot be reached or refuses; certainly nothing
	// was applied, so the call may be repeated.
	ErrUnavailable = errors.New("lock backend unavailable")
	// ErrPaused is an ErrUnavailable: leases may run that the store does not know of, so nothing is granted until they are over.
	ErrPaused = fmt.Errorf("nothing is granted until unknown leases are over: %w", ErrUnavailable)
	// ErrOutOfResources: the store has no room; certainly nothing was applied.
	ErrOutOfResources = errors.New("lock backend out of resources")
	// ErrInDoubt: the outcome is unknown; the call may have been applied.
	ErrInDoubt = errors.New("outcome of the call is unknown")
	// ErrUnwritable: the store can no longer be written until it is reopened.
	ErrUnwritable = errors.New("lock store can no longer be written")
	// ErrStateLost: the store lost acknowledged state; an operator must decide.
	ErrStateLost = errors.New("lock backend lost acknowledged state")
	// ErrPoolMissing is an ErrStateLost: the state was accepted as it was found, and the pool is not in it.
	ErrPoolMissing = fmt.Errorf("pool is missing: %w", ErrStateLost)
	// ErrMoved: pools and leases were exported, so that another store has them, or are being imported.
	// Nothing changed.
	ErrMoved = errors.New("pools and leases are being moved, or were moved to another store")
	// ErrTokensExhausted: the next token would reach MaxToken. Nothing changed.
	ErrTokensExhausted = errors.New("fencing tokens exhausted")
)

// PoolValueError is a pool whose count somebody else than a backend has written, and that is none.
// Nothing changed.
type PoolValueError struct{ Pool, Value string }

func (e *PoolValueError) Error() string {
	return fmt.Sprintf("pool %q has the value %q, which is no count of units", e.Pool, e.Value)
}

// LockValueError is a lock with a value that somebody else than a backend has written, so that nobody can tell whether
// it is held. Nothing changed.
type LockValueError struct{ Key, Value string }

func (e *LockValueError) Error() string {
	return fmt.Sprintf("lock %q has %q, which is no lease that was granted", e.Key, e.Value)
}
