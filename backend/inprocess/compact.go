package inprocess

import (
	"context"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// compact rewrites the store on disk without what was erased, and returns when that is
// done, or at stop, or when the journal is poisoned. Callers go on meanwhile.
//
// Pebble would come to it with more changes only: by its own measure a table of leases
// that are all erased is as good as any. (It would look at what is in its tables but for
// DisableTableStats.)
func (j *journal) compact(stop <-chan struct{}) {
	j.throttle(0) // what was erased last is to go too
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if !j.reading(func() {
		select {
		case <-stop:
		case <-j.poisoned:
		case <-ctx.Done():
		}
		cancel()
	}) {
		return
	}
	defer j.readers.Done()
	if err := compactAll(ctx, j.db); err != nil && ctx.Err() == nil {
		j.poison(err)
	}
}

// reading lets the caller use the store on disk until readers.Done; false: it is closed.
// Until watch returns, which runs beside it, it is not closed either.
func (j *journal) reading(watch func()) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed || j.fault.Load() != nil {
		return false
	}
	j.readers.Add(1)
	j.readers.Go(watch)
	return true
}

func compactAll(ctx context.Context, db *pebble.DB) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%w: %v", errPanic, cause)
		}
	}()
	return db.Compact(ctx, []byte{0}, []byte{0xff}, false)
}
