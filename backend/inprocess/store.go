package inprocess

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"raisinproxy/backend"
)

// DefaultReapInterval is how often expired leases are dropped from memory if
// Options does not say.
const DefaultReapInterval = 30 * time.Second

// Options of a Store. The zero value is ready for use.
type Options struct {
	// Clock is the time of the store; nil stands for the machine's own.
	Clock Clock
	// ReapInterval is the pause between two runs of the reaper, in real time
	// whatever Clock says; 0 or less stands for DefaultReapInterval. It bounds
	// how long a lease that nobody released keeps its memory. No answer depends
	// on it.
	ReapInterval time.Duration
}

// Store is a backend.Backend in memory. It is safe for concurrent use. Close it
// to stop its goroutine.
type Store struct {
	clock  Clock
	tokens tokenClock
	seed   maphash.Seed
	shards []shard

	closed atomic.Bool
	stop   chan struct{} // closed by Close, ends the reaper
	reaper sync.WaitGroup
}

var _ backend.Backend = (*Store)(nil)

// New makes an empty store and starts its reaper, which Close stops.
func New(opts Options) *Store {
	if opts.Clock == nil {
		opts.Clock = systemClock{}
	}
	if opts.ReapInterval <= 0 {
		opts.ReapInterval = DefaultReapInterval
	}
	s := &Store{
		clock:  opts.Clock,
		seed:   maphash.MakeSeed(),
		shards: make([]shard, shardCount),
		stop:   make(chan struct{}),
	}
	for i := range s.shards {
		s.shards[i].init()
	}
	s.reaper.Go(func() { s.reapEvery(opts.ReapInterval) })
	return s
}

// Close stops the reaper and waits for it. It may be called more than once, at
// the same time too, and never fails. Calls that begin after it fail with
// backend.ErrUnavailable; calls that are under way are finished.
func (s *Store) Close() error {
	if s.closed.CompareAndSwap(false, true) {
		close(s.stop)
	}
	s.reaper.Wait()
	return nil
}

// Immediate reports that every call answers from memory, without I/O and
// without waiting for another one, so that a caller may make it where it must
// not block.
func (s *Store) Immediate() bool { return true }

// ready says why a call must not begin. Nothing was applied then.
func (s *Store) ready(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
	}
	if s.closed.Load() {
		return fmt.Errorf("%w: the store is closed", backend.ErrUnavailable)
	}
	return nil
}

// keySize is the room that callers keep on their stack for a key: the longest
// name and a scope of ordinary length. A key that needs more goes to the heap.
const keySize = backend.MaxNameBytes + 256

// appendKey encodes a name in its scope. Every part follows its length, so two
// different (scope, name) never give the same bytes, whatever they contain.
func appendKey(buf []byte, scope backend.Scope, name string) []byte {
	for _, part := range [...]string{scope.Tenant, scope.Repository, scope.Branch, name} {
		buf = binary.AppendUvarint(buf, uint64(len(part)))
		buf = append(buf, part...)
	}
	return buf
}

// shardOf finds the shard of a key made by appendKey.
func (s *Store) shardOf(key []byte) *shard {
	return &s.shards[maphash.Bytes(s.seed, key)%shardCount]
}
