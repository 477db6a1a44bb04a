package inprocess

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Errors of Open; compare with errors.Is.
var (
	// ErrInUse: a process has the data folder open. Its number is in the text.
	ErrInUse = errors.New("the data folder is in use")
	// ErrDamaged: the folder does not hold all that was once acknowledged. It was
	// left as it is.
	ErrDamaged = errors.New("the lock store is damaged")
)

// Open makes a durable store of the data folder dir, which it creates if need
// be, and starts its goroutines, which Close stops. Until then no other process
// can open the folder.
//
// An answer of a durable store has reached the disk before it is told, and so
// has everything that it rests on. When a write fails, the store becomes
// unwritable: calls that wait fail with backend.ErrInDoubt, all later ones with
// backend.ErrUnwritable, and Open of the folder, in a new process at the latest,
// goes on from what is on disk.
//
// Leases that were running go on. If the machine was not restarted they end
// when they would have; after a restart, of which nobody knows how long it took,
// they get their full time again. Fencing tokens rise across all this, and when
// the wall clock goes back.
//
// It fails with ErrInUse, ErrDamaged, or what the system says.
func Open(dir string, opts Options) (*Store, error) {
	if opts.disk == nil {
		opts.disk = vfs.Default
	}
	if opts.bootID == "" {
		opts.bootID = bootID()
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	home, err := lockFolder(opts.disk, dir)
	if err != nil {
		return nil, err
	}
	j := newJournal(opts.Log)
	if err := j.openDB(home); err != nil {
		return nil, errors.Join(err, home.unlock())
	}
	s := unstarted(opts)
	if err := s.recover(j, home, opts.bootID); err != nil {
		return nil, errors.Join(err, j.db.Close(), home.unlock())
	}
	s.start(opts.ReapInterval)
	go j.run(func() error { return j.release(home) })
	return s, nil
}

// release closes the store on disk and lets others have the folder.
func (j *journal) release(home *folder) error {
	if errors.Is(j.unwritable(), errPanic) {
		return nil // it would wait for itself; the folder stays locked while the process lives
	}
	if j.unwritable() != nil {
		return errors.Join(j.db.Close(), home.unlock())
	}
	// Tables have checksums, while a log with a damaged end looks like one whose last
	// write was cut short. So none is left after a clean end.
	return errors.Join(j.db.Flush(), j.db.Close(), home.unlock())
}

// openDB opens the store on disk.
func (j *journal) openDB(home *folder) error {
	disk := &failStop{FS: home.fs, onFailure: j.poison}
	if home.isMarked() && !home.hasLog() {
		return damaged(home.path, errors.New("there is no log, and there always is one"))
	}
	opts := pebbleOptions(disk, j.log)
	opts.Lock = home.lock
	opts.ErrorIfNotExists = home.isMarked()
	db, err := pebble.Open(home.path, opts)
	if fault := j.unwritable(); fault != nil {
		// Nothing that pebble says after a failed write counts.
		if err == nil {
			err = db.Close()
		}
		return errors.Join(whyNot(home.path, fault), err)
	}
	if err != nil {
		return whyNot(home.path, err)
	}
	j.db = db
	return nil
}

// whyNot tells a system that refuses from a folder that does not hold all it
// should.
func whyNot(path string, err error) error {
	if _, refused := errors.AsType[syscall.Errno](err); refused && !errors.Is(err, fs.ErrNotExist) && !pebble.IsCorruptionError(err) {
		return fmt.Errorf("cannot open the lock store in %s: %w", path, err)
	}
	return damaged(path, err)
}

func damaged(path string, err error) error {
	return fmt.Errorf("%w: %s was left as it is: restore the folder from a backup, or move it away to begin anew, "+
		"without any lease and with every pool full: %w", ErrDamaged, path, err)
}

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
	return string(value), closer.Close()
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
