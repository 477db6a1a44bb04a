package inprocess

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// recover lets the store go on from what was read.
func (s *Store) recover(j *journal, home *folder, r *recovery) error {
	_ = r.opening.Set(formatKey, []byte(formatVersion), nil) // fails on indexed batches only
	r.index()
	err := r.write(j.db)
	if err = errors.Join(j.unwritable(), err); err != nil {
		return whyNot(home.path, err)
	}
	if err := home.markFull(); err != nil {
		return whyNot(home.path, err)
	}
	s.pause = r.pause
	s.tokens.last.Store(r.ceiling)
	j.ceiling = r.ceiling
	s.journal = j
	for i := range s.shards {
		s.shards[i].journal = j
	}
	return nil
}

// recovery reads a store from disk.
type recovery struct {
	store    *Store
	now      time.Duration
	boot     string       // that now counts from
	sameBoot bool         // the machine was not restarted since the deadlines were written
	opening  pebble.Batch // what has to be changed on disk
	over     []string     // leases to be erased, by their keys
	renewed  []*lease     // whose deadlines have to be, in the order of their keys
	ceiling  int64
	pause    pause // as found, and then as it is
}

// index makes the leases findable, when all are read.
func (r *recovery) index() {
	var all sync.WaitGroup
	shards := r.store.shards
	for part := range slices.Chunk(shards, max(1, len(shards)/runtime.GOMAXPROCS(0))) {
		all.Go(func() {
			for i := range part {
				part[i].index()
			}
		})
	}
	all.Wait()
}

// noBoot stands for the boot while the disk has deadlines of two of them. A start that
// finds it was preceded by one that did not come to its end, and takes none for its own.
const noBoot = "none: deadlines are being written"

// portionBytes is how much of what has to be changed is written at once. All of it would be
// in memory twice more, and in a log that pebble keeps.
const portionBytes = memTableBytes

// write writes what has to be changed on disk: after another boot every deadline.
func (r *recovery) write(db *pebble.DB) error {
	boot := r.boot
	if !r.sameBoot {
		boot = noBoot
	}
	_ = r.opening.Set(bootKey, []byte(boot), nil)
	batch := db.NewBatch()
	_ = batch.Apply(&r.opening, nil)
	key, value := []byte{leasePrefix}, []byte(nil)
	for i := range len(r.over) + len(r.renewed) {
		if i < len(r.over) {
			key = append(key[:1], r.over[i]...)
			_ = batch.Delete(key, nil)
		} else {
			l := r.renewed[i-len(r.over)]
			key = append(key[:1], l.key...)
			value = appendLease(value[:0], &leaseRecord{token: l.token, deadline: l.deadline, ttl: r.ttl(l.deadline), acquired: l.acquired, user: l.user.named()})
			_ = batch.Set(key, value, nil)
		}
		if batch.Len() < portionBytes {
			continue
		}
		if err := apply(db, batch); err != nil {
			return err
		}
		_ = batch.Close() // gives its memory back; it is applied
		batch = db.NewBatch()
	}
	_ = batch.Set(bootKey, []byte(r.boot), nil)
	return apply(db, batch)
}

// ttl is that of a lease which this start has given its full time again.
func (r *recovery) ttl(end time.Duration) time.Duration {
	if end == math.MaxInt64 {
		return end
	}
	return end - r.now
}

// readFolder reads every record of a store. It is called once.
func (r *recovery) readFolder(home *folder, log *slog.Logger) error {
	return readOnly(home, log, func(db *pebble.DB) error {
		if err := r.readHead(db, home.isMarked()); err != nil {
			return err
		}
		return eachRecord(db, r.take)
	})
}

// readOnly opens a store for reading, and changes nothing in its folder: a store that
// cannot be read as a whole is not to be opened for writing, because pebble then deletes
// what it has no use for.
func readOnly(home *folder, log *slog.Logger, use func(*pebble.DB) error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%w: %v", errPanic, cause) // of a damaged file
		}
	}()
	var failed atomic.Pointer[error]
	opts := readOptions(home.fs, log, func(err error) { failed.CompareAndSwap(nil, &err) })
	opts.ReadOnly = true
	opts.Lock = home.lock
	db, err := pebble.Open(home.path, opts)
	if err == nil {
		err = useAndClose(db, use)
	}
	if cause := failed.Load(); cause != nil {
		err = errors.Join(*cause, err)
	}
	return err
}

func useAndClose(db *pebble.DB, use func(*pebble.DB) error) (err error) {
	defer func() { err = errors.Join(err, db.Close()) }() // after a panic too: it frees the folder
	return use(db)
}

// readHead reads what the other records are to be read by.
func (r *recovery) readHead(db *pebble.DB, whole bool) error {
	format, err := readMeta(db, formatKey)
	switch {
	case err != nil:
		return err
	case format == "" && whole:
		return fmt.Errorf("%w: its first records are missing", errRecord)
	case format != "":
		if err := checkFormat(format); err != nil {
			return err
		}
	}
	then, err := readMeta(db, bootKey)
	r.sameBoot = then == r.boot
	return err
}

// readMeta reads a text; "" if there is none.
func readMeta(db *pebble.DB, key []byte) (string, error) {
	value, closer, err := db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	copied := string(value) // before Close, after which value is not ours any more
	return copied, closer.Close()
}

func eachRecord(db *pebble.DB, take func(key, value []byte) error) error {
	records, err := db.NewIter(nil)
	if err != nil {
		return err
	}
	for ok := records.First(); ok; ok = records.Next() {
		value, err := records.ValueAndErr()
		if err == nil {
			err = take(records.Key(), value)
		}
		if err != nil {
			return errors.Join(fmt.Errorf("%.60q: %w", records.Key(), err), records.Close())
		}
	}
	return errors.Join(records.Error(), records.Close())
}

// take takes over one record.
func (r *recovery) take(key, value []byte) error {
	id := key[1:]
	switch key[0] {
	case leasePrefix:
		return r.takeLease(id, value)
	case poolPrefix:
		p, err := readPool(value)
		r.store.shardOf(id).pools[string(id)] = &p
		r.store.tenants.found(tenantOf(id))
		return err
	case metaPrefix:
		var err error
		switch {
		case bytes.Equal(key, ceilingKey):
			r.ceiling, err = readInt(value)
		case bytes.Equal(key, pauseKey):
			r.pause, err = readPause(value)
		}
		return err
	}
	return errRecord
}

// takeLease takes over a lease that still runs, or may still run, and drops one
// that is over.
func (r *recovery) takeLease(id, value []byte) error {
	record, err := readLease(value)
	if err != nil {
		return err
	}
	end := r.deadlineOf(record)
	if end <= r.now {
		r.store.left.Add(1)
		r.over = append(r.over, string(id))
		return nil
	}
	l := &lease{key: string(id), token: record.token, deadline: end, acquired: record.acquired, user: r.store.users.found(record.user)}
	r.store.shardOf(id).found(l)
	if !r.sameBoot {
		r.renewed = append(r.renewed, l)
	}
	return nil
}

// deadlineOf is the end of a lease by the clock that runs now.
func (r *recovery) deadlineOf(l leaseRecord) time.Duration {
	if r.sameBoot {
		return l.deadline
	}
	return deadline(r.now, l.ttl)
}
