package inprocess

import (
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"raisinproxy/backend/moving"
)

// ErrNotEmpty means that there is something already: an import goes into an empty store only.
var ErrNotEmpty = errors.New("the lock store is not empty")

// importBatch is how many records are made durable together.
const importBatch = 2_000

// Import fills the store in a data folder, which it creates if need be, with what is in a file. No process
// may have the folder open. The folder is sealed until all is durable, so that half an import is
// never served; after a crash the same Import begins again.
//
// The store must be empty, else it fails with ErrNotEmpty, or sealed by an export and replace set: then
// what is in it was moved away before, and is removed. Tokens go on above those of the file and
// those of the store. Leases have their time from the import on.
func Import(dir, file string, from *moving.File, replace bool, opts Options) error {
	opts = opts.onDisk()
	opts.ReapInterval = never // it would remove records that it has not read
	home, err := lockFolder(opts.disk, dir)
	if err != nil {
		return err
	}
	if err := home.mayImport(from.Header.ID, replace, opts); err != nil {
		return errors.Join(err, home.unlock())
	}
	if err := home.seal(importing, from.Header.ID, file); err != nil {
		return errors.Join(err, home.unlock())
	}
	s, err := openLocked(home, opts)
	if err != nil {
		return err
	}
	if err = s.takeOver(from); err == nil {
		err = home.unseal() // all is durable, and the folder is locked still
	}
	return errors.Join(err, s.Close())
}

// mayImport says why nothing can be imported into a folder; nil: it can.
func (f *folder) mayImport(id string, replace bool, opts Options) error {
	s, err := f.readSeal()
	switch {
	case err != nil:
		return err
	case s == nil:
		return f.mayFill(opts)
	case s.State == importing && s.ID == id, s.State == exported && replace:
		return nil
	case s.State == exported:
		return fmt.Errorf("%w: %s has what was exported to %s: name another folder, or let --replace remove it", ErrNotEmpty, f.path, s.File)
	}
	return s.refusal(f.path)
}

// mayFill says what is in a folder that is not sealed; nil: no lease and no pool.
func (f *folder) mayFill(opts Options) error {
	if _, err := f.verify(); err != nil {
		return whyNot(f.path, err)
	}
	if !f.isMarked() && !f.hasManifest() {
		return nil
	}
	var leases, pools int
	err := readOnly(f, opts.Log, func(db *pebble.DB) error {
		return eachRecord(db, func(key, _ []byte) error {
			switch key[0] {
			case leasePrefix:
				leases++
			case poolPrefix:
				pools++
			}
			return nil
		})
	})
	switch {
	case err != nil:
		return whyNot(f.path, err)
	case leases+pools > 0:
		return fmt.Errorf("%w: %s has %d leases and %d pools; an import goes into a folder of its own, or a new one", ErrNotEmpty, f.path, leases, pools)
	}
	return nil
}

// takeOver puts the records of a file in the place of those that are there. What the store has in memory does not
// change: nobody is to use it but to close it.
func (s *Store) takeOver(from *moving.File) error {
	i := importer{db: s.journal.db, now: s.clock.Boot()}
	i.batch = i.db.NewBatch()
	ceiling := max(from.Totals.GreatestToken, s.journal.ceiling)
	_ = i.batch.Set(ceilingKey, appendInt(nil, ceiling), nil) // fails on indexed batches only, as what follows
	_ = i.batch.DeleteRange([]byte{leasePrefix}, []byte{leasePrefix + 1}, nil)
	_ = i.batch.DeleteRange([]byte{poolPrefix}, []byte{poolPrefix + 1}, nil)
	err := from.Each(i.take)
	if err == nil {
		err = i.flush()
	}
	return errors.Join(err, s.journal.unwritable())
}

// importer writes records in batches.
type importer struct {
	db         *pebble.DB
	batch      *pebble.Batch
	now        time.Duration
	key, value []byte
}

func (i *importer) take(r moving.Record) error {
	if p := r.Pool; p != nil {
		i.key = appendKey(append(i.key[:0], poolPrefix), p.Scope, p.Name)
		i.value = appendPool(i.value[:0], pool{remaining: p.Remaining, capacity: p.Capacity})
	} else {
		l := r.Lease
		i.key = appendKey(append(i.key[:0], leasePrefix), l.Scope, l.Key)
		i.value = appendLease(i.value[:0], &leaseRecord{token: l.Token, deadline: deadline(i.now, l.Remaining), ttl: l.Remaining, acquired: l.Acquired, user: l.User})
	}
	_ = i.batch.Set(i.key, i.value, nil)
	if i.batch.Count() < importBatch {
		return nil
	}
	return i.flush()
}

// flush makes a batch durable, and begins the next.
func (i *importer) flush() error {
	if err := apply(i.db, i.batch); err != nil {
		return err
	}
	if err := i.batch.Close(); err != nil {
		return err
	}
	i.batch = i.db.NewBatch()
	return nil
}
