package inprocess

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"raisinproxy/backend"
)

const (
	// tokenLead is how far ahead of the last token its ceiling is synced: 10 s of
	// the clock that tokens are taken from, in microseconds.
	tokenLead = 10_000_000
	// maxGroupBytes bounds the changes that wait while the disk does not answer.
	maxGroupBytes = 64 << 20
	// reapedBytes is how much of a group the reaper may fill before it lets callers
	// have theirs synced.
	reapedBytes = 256 << 10
)

// A group is the changes that one sync makes durable together.
type group struct {
	batch *pebble.Batch // the journal's mutex guards it until the group is committed
	done  chan struct{} // closed when it is known what became of the group
	err   error         // set before done is closed; nil: the changes are durable
}

func (g *group) end(err error) {
	g.err = err
	close(g.done)
}

// A journal writes the changes of a store to disk. Callers add theirs to the
// open group with the mutex of their shard held, which makes the order of
// changes of a key the order on disk, and wait for the group without it. One
// goroutine commits group after group; while the disk syncs one, the next fills.
//
// It takes no mutex but its own and does no I/O for its callers, so a disk that
// hangs holds up those alone who wait for it, and each of them no longer than
// the caller's context.
type journal struct {
	log    *slog.Logger
	db     *pebble.DB
	disk   *failStop // below db
	ledger *ledger   // below disk

	work     chan struct{}  // there is an open group; room for one
	closing  chan struct{}  // closed by close
	poisoned chan struct{}  // closed when fault is set
	ended    chan struct{}  // closed when the goroutine is gone and the folder free
	readers  sync.WaitGroup // of db, besides the goroutine
	fault    atomic.Pointer[error]
	cause    error // of fault; read when that is set
	closeErr error // of the store on disk; read when ended

	mu         sync.Mutex
	open       *group // nil: nothing was changed since the last commit began
	committing *group // nil: none
	closed     bool
	ceiling    int64  // no token above it is told
	key, value []byte // scratch
}

func newJournal(log *slog.Logger) *journal {
	return &journal{
		log:      log,
		work:     make(chan struct{}, 1),
		closing:  make(chan struct{}),
		poisoned: make(chan struct{}),
		ended:    make(chan struct{}),
	}
}

// join gives the open group. What is refused changed nothing. j.mu is held.
func (j *journal) join() (*group, error) {
	switch {
	case j.fault.Load() != nil:
		return nil, *j.fault.Load()
	case j.closed:
		return nil, errClosed
	case j.open == nil:
		j.open = &group{batch: j.db.NewBatch(), done: make(chan struct{})}
		j.work <- struct{}{} // has room: the last open group was taken out
	case j.open.batch.Len() > maxGroupBytes:
		return nil, fmt.Errorf("%w: the disk does not keep up: %d bytes wait to be written",
			backend.ErrOutOfResources, j.open.batch.Len())
	}
	return j.open, nil
}

// putLease adds the record of a lease to the open group; if its token is above
// the ceiling, the next ceiling too, so that no token is told before a ceiling
// above it is durable.
func (j *journal) putLease(id []byte, l *leaseRecord) (*group, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	g, err := j.join()
	if err != nil {
		return nil, err
	}
	if l.token > j.ceiling {
		j.ceiling = l.token + tokenLead
		j.value = appendInt(j.value[:0], j.ceiling)
		_ = g.batch.Set(ceilingKey, j.value, nil) // fails on indexed batches only
	}
	j.key = append(append(j.key[:0], leasePrefix), id...)
	j.value = appendLease(j.value[:0], l)
	_ = g.batch.Set(j.key, j.value, nil)
	return g, nil
}

// erase removes a record. prefix says what it is of.
func (j *journal) erase(prefix byte, id string) (*group, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	g, err := j.join()
	if err != nil {
		return nil, err
	}
	j.key = append(append(j.key[:0], prefix), id...)
	_ = g.batch.Delete(j.key, nil)
	return g, nil
}

// putPool adds the record of a pool.
func (j *journal) putPool(id []byte, p pool) (*group, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	g, err := j.join()
	if err != nil {
		return nil, err
	}
	j.key = append(append(j.key[:0], poolPrefix), id...)
	j.value = appendPool(j.value[:0], p)
	_ = g.batch.Set(j.key, j.value, nil)
	return g, nil
}

// await returns when everything that an answer rests on is durable, and the
// answer may be told. Groups end in their order, so the last one of a shard
// stands for all before it. It fails with backend.ErrInDoubt if that group
// failed, or if ctx ended first and the call itself changed something; with
// backend.ErrUnavailable if it did not; and with backend.ErrUnwritable if what
// the answer was read from is not to be trusted any more.
func (j *journal) await(ctx context.Context, b basis) error {
	if b.group != nil {
		select {
		case <-b.group.done:
		case <-ctx.Done():
			if b.wrote {
				return fmt.Errorf("%w: %w", backend.ErrInDoubt, ctx.Err())
			}
			return fmt.Errorf("%w: %w", backend.ErrUnavailable, ctx.Err())
		}
		if b.wrote || b.group.err != nil {
			return b.group.err
		}
	}
	return j.unwritable()
}

// unwritable says why nothing can be written any more; nil: it can.
func (j *journal) unwritable() error {
	if fault := j.fault.Load(); fault != nil {
		return *fault
	}
	return nil
}

// run commits groups until the journal is closed or poisoned, and then gives the
// folder back.
func (j *journal) run(release func() error) {
	defer close(j.ended)
	for {
		select {
		case <-j.poisoned:
		case <-j.work:
			// Those whom the last group has woken may have their next change in this one.
			runtime.Gosched()
			if j.commit() == nil {
				continue
			}
		case <-j.closing:
			_ = j.commit() // what is left; it has told its callers
		}
		break
	}
	j.closeErr = release()
}

// commit makes the open group durable.
func (j *journal) commit() error {
	j.mu.Lock()
	g := j.open
	j.open, j.committing = nil, g
	j.mu.Unlock()
	if g == nil {
		return nil
	}
	if err := apply(j.db, g.batch); err != nil {
		j.poison(err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.unwritable(); err != nil {
		return err // and poison has ended the group
	}
	j.committing = nil
	_ = g.batch.Close() // gives its memory back; it is applied
	g.batch = nil
	g.end(nil)
	return nil
}

// apply writes a batch and waits until it is synced. (Apply with the option Sync
// would not do: it hands a failed sync to Logger.Fatalf and returns nil.)
func apply(db *pebble.DB, batch *pebble.Batch) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%w: %v", errPanic, cause)
		}
	}()
	if err := db.ApplyNoSyncWait(batch, pebble.Sync); err != nil {
		return err
	}
	return batch.SyncWait()
}

// poison makes the journal refuse everything from now on: what is pending may or
// may not be on disk, and a sync that failed cannot be made good by another one
// (fsync(2) reports a lost page once). The first cause is kept. It is called from
// within pebble, and takes no other mutex.
func (j *journal) poison(cause error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.fault.Load() != nil {
		return
	}
	fault := fmt.Errorf("%w: %w", backend.ErrUnwritable, cause)
	j.cause = cause
	j.fault.Store(&fault)
	for _, g := range []*group{j.committing, j.open} {
		if g != nil {
			g.end(fmt.Errorf("%w: %w", backend.ErrInDoubt, cause))
		}
	}
	close(j.poisoned)
	j.log.Error("the lock store can no longer be written: calls fail until it is reopened, which takes a restart",
		"error", cause)
}

// throttle waits if more than so many bytes of the open group are to be written first.
func (j *journal) throttle(bytes int) {
	j.mu.Lock()
	g := j.open
	full := g != nil && g.batch.Len() > bytes
	j.mu.Unlock()
	if full {
		<-g.done
	}
}

// close commits what is open and gives the folder back. It may be called more
// than once. What a poisoned journal has to say was said to its callers.
func (j *journal) close() error {
	j.mu.Lock()
	if !j.closed {
		j.closed = true
		close(j.closing)
	}
	j.mu.Unlock()
	<-j.ended
	if j.unwritable() != nil {
		return nil
	}
	return j.closeErr
}

// errClosed is the answer to calls after Close.
var errClosed = fmt.Errorf("%w: the store is closed", backend.ErrUnavailable)

// A basis is what an answer rests on: it may be told when group is durable.
type basis struct {
	group *group // nil: on nothing that is not durable
	wrote bool   // the call itself changed something
}

// errPanic: pebble panicked while it held its own mutexes, so it cannot even be
// closed.
var errPanic = errors.New("panic in the store on disk")
