package inprocess

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"raisinproxy/backend"
)

// DefaultReapInterval is how often expired leases are dropped from memory if
// Options does not say.
const DefaultReapInterval = 30 * time.Second

// Options of a Store. The zero value is ready for use.
type Options struct {
	// Log is where a durable store says what happens to its disk; nil: nowhere.
	Log *slog.Logger
	// Clock is the time of the store; nil stands for the machine's own.
	Clock Clock
	// ReapInterval is the pause between two runs of the reaper, in real time
	// whatever Clock says; 0 or less stands for DefaultReapInterval. It bounds
	// how long a lease that nobody released keeps its memory. No answer depends
	// on it.
	ReapInterval time.Duration
	// MaxPools is how many pools a tenant may have; 0 stands for any number.
	MaxPools int
	// MaxLeases is how many live leases a user may have, those that are waited for
	// included; 0 stands for any number.
	MaxLeases int
	// MaxWaiters is how many calls may wait for one lock; 0 stands for any number.
	MaxWaiters int
	// MaxTTL is the longest lease that callers can have. A store that does not know of
	// all leases grants nothing for so long; see Open.
	MaxTTL time.Duration
	// ContinueOnRestore lets such a store grant at once: nobody holds a lease any more.
	ContinueOnRestore bool
	// VerifyAnswers lets a durable store tell an answer only when damage to what it
	// rests on would be noticed at the next start. Otherwise that is so a moment later,
	// and an answer costs one sync instead of two.
	VerifyAnswers bool

	// For tests. The zero values are the machine's own.
	disk   vfs.FS
	bootID string // what Clock.Boot counts from
}

// Store is a backend.Backend in memory, and on disk too if Open made it. It is
// safe for concurrent use. Close it to stop its goroutines.
type Store struct {
	clock   Clock
	tokens  tokenClock
	seed    maphash.Seed
	shards  []shard
	tenants tenants
	users   users
	journal *journal // nil: nothing is kept on disk
	home    *folder  // where that is
	pause   pause    // of grants; does not change while the store is open
	maxTTL  time.Duration

	maxWaiters int          // for one lock; 0: any number
	apart      atomic.Int64 // by how many microseconds the wall clock is ahead of the boot clock, as was told last; 0: nothing was
	left       atomic.Int64 // leases that were dropped since giveBack gave something back

	backingUp atomic.Bool // a backup is being made
	closed    atomic.Bool
	stop      chan struct{} // closed by Close, ends the reaper
	reaper    sync.WaitGroup
}

var _ backend.Backend = (*Store)(nil)

// New makes an empty store that is in memory only, and starts its reaper, which
// Close stops.
func New(opts Options) *Store {
	s := unstarted(opts)
	s.start(opts.ReapInterval)
	return s
}

// unstarted is an empty store without its goroutines.
func unstarted(opts Options) *Store {
	if opts.Clock == nil {
		opts.Clock = systemClock{}
	}
	s := &Store{
		clock:      opts.Clock,
		seed:       maphash.MakeSeed(),
		tenants:    tenants{limit: opts.MaxPools},
		users:      users{limit: int64(opts.MaxLeases)},
		maxTTL:     opts.MaxTTL,
		maxWaiters: opts.MaxWaiters,
		shards:     make([]shard, shardCount),
		stop:       make(chan struct{}),
	}
	for i := range s.shards {
		s.shards[i].init()
	}
	return s
}

func (s *Store) start(reapInterval time.Duration) {
	if reapInterval <= 0 {
		reapInterval = DefaultReapInterval
	}
	s.reaper.Go(func() { s.reapEvery(reapInterval) })
}

// Close stops the store's goroutines and waits for them. It may be called more
// than once, at the same time too. Calls that begin after it fail with
// backend.ErrUnavailable; calls that are under way are finished, or fail in the
// same way. A durable store then gives its folder back, which waits for the disk;
// the error is what went wrong with that, and nothing that was acknowledged is
// lost by it.
func (s *Store) Close() error {
	if s.closed.CompareAndSwap(false, true) {
		close(s.stop)
	}
	s.reaper.Wait()
	if s.journal == nil {
		return nil
	}
	return s.journal.close()
}

// Immediate reports that every call that is not to wait for its turn answers from
// memory, without I/O and without waiting for another one, so that a caller may make
// it where it must not block. A durable store waits for its disk.
func (s *Store) Immediate() bool { return s.journal == nil }

// ready says why a call must not begin. Nothing was applied then.
func (s *Store) ready(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
	}
	if s.closed.Load() {
		return errClosed
	}
	if s.journal != nil {
		return s.journal.unwritable()
	}
	return nil
}

// settle returns when an answer may be told: at once if nothing is kept on disk.
func (s *Store) settle(ctx context.Context, b basis) error {
	if s.journal == nil {
		return nil
	}
	return s.journal.await(ctx, b)
}

// keySize is the room that callers keep on their stack for a key: the longest
// name and a scope of ordinary length. A key that needs more goes to the heap.
const keySize = backend.MaxNameBytes + 256

// appendKey encodes a name in its scope. Every part follows its length, so two
// different (scope, name) never give the same bytes, whatever they contain.
func appendKey(buf []byte, scope backend.Scope, name string) []byte {
	buf = appendScope(buf, scope)
	buf = binary.AppendUvarint(buf, uint64(len(name)))
	return append(buf, name...)
}

// appendScope begins a key: all keys of a scope, and no others, begin so.
func appendScope(buf []byte, scope backend.Scope) []byte {
	for _, part := range [...]string{scope.Tenant, scope.Repository, scope.Branch} {
		buf = binary.AppendUvarint(buf, uint64(len(part)))
		buf = append(buf, part...)
	}
	return buf
}

// shardOf finds the shard of a key made by appendKey.
func (s *Store) shardOf(key []byte) *shard {
	return &s.shards[maphash.Bytes(s.seed, key)%shardCount]
}
