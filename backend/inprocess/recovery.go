package inprocess

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// recover takes over what is on disk.
func (s *Store) recover(j *journal, home *folder, boot string) error {
	r := recovery{store: s, now: s.clock.Boot(), opening: j.db.NewBatch()}
	if err := r.read(j.db, boot, home.isMarked()); err != nil {
		return damaged(home.path, err)
	}
	_ = r.opening.Set(formatKey, []byte(formatVersion), nil) // fails on indexed batches only
	_ = r.opening.Set(bootKey, []byte(boot), nil)
	// In one batch: a deadline is never on disk beside the name of another boot.
	err := apply(j.db, r.opening)
	if err = errors.Join(j.unwritable(), err); err != nil {
		return whyNot(home.path, err)
	}
	if !home.isMarked() {
		if err := home.mark(); err != nil {
			return whyNot(home.path, err)
		}
	}
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
	sameBoot bool          // the machine was not restarted since the deadlines were written
	opening  *pebble.Batch // what has to be changed on disk
	ceiling  int64
}

func (r *recovery) read(db *pebble.DB, boot string, whole bool) error {
	format, err := readMeta(db, formatKey)
	switch {
	case err != nil:
		return err
	case format != "" && format != formatVersion:
		return fmt.Errorf("its format is %q, and this version of the program reads %q", format, formatVersion)
	case format == "" && whole:
		return fmt.Errorf("%w: its first records are missing", errRecord)
	}
	then, err := readMeta(db, bootKey)
	if err != nil {
		return err
	}
	r.sameBoot = then == boot
	return r.readAll(db)
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

func (r *recovery) readAll(db *pebble.DB) error {
	records, err := db.NewIter(nil)
	if err != nil {
		return err
	}
	for ok := records.First(); ok; ok = records.Next() {
		value, err := records.ValueAndErr()
		if err == nil {
			err = r.take(records.Key(), value)
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
		remaining, err := readInt(value)
		r.store.shardOf(id).pools[string(id)] = &pool{remaining: remaining}
		r.store.tenants.found(tenantOf(id))
		return err
	case metaPrefix:
		var err error
		if bytes.Equal(key, ceilingKey) {
			r.ceiling, err = readInt(value)
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
	key := append([]byte{leasePrefix}, id...)
	if !r.sameBoot {
		record.deadline = deadline(r.now, record.ttl)
		_ = r.opening.Set(key, appendLease(nil, record), nil)
	}
	if record.deadline <= r.now {
		return r.opening.Delete(key, nil)
	}
	r.store.shardOf(id).insert(string(id), record.token, record.deadline)
	return nil
}
