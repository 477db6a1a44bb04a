package inprocess

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// ErrBackupRuns says that a backup of the store is being made. There is one at a time.
var ErrBackupRuns = errors.New("another backup of the store is being made")

// A BackupReport says what is in a backup.
type BackupReport struct {
	Pools int
	AsOf  time.Time // all that was acknowledged before is in it
}

// Backup makes a copy of a durable store in the folder dest, while the store is used.
// dest must not exist, or be empty, in a folder that does, and not in the data folder.
// Open takes the copy as it takes any store.
//
// In it are all pools as they were at one moment after the call, and the tokens rise on.
// Leases are not: when the copy is opened some time, others may have been granted since,
// so all count as over, and nothing is granted until they are; see Open.
//
// It writes nothing to the data folder and holds up no caller. What goes wrong at dest, or
// with ctx, ends the backup and nothing else: dest is as it was before, or, where it could
// not be emptied, is refused by Open. It fails with ErrBackupRuns too, and with
// backend.ErrUnwritable and backend.ErrUnavailable if the store is unwritable or closed,
// or becomes so before all is read.
func (s *Store) Backup(ctx context.Context, dest string) (BackupReport, error) {
	dest, err := resolve(dest)
	if err != nil {
		return BackupReport{}, err
	}
	return s.backup(ctx, vfs.Default, dest)
}

func (s *Store) backup(ctx context.Context, disk vfs.FS, dest string) (BackupReport, error) {
	if s.journal == nil {
		return BackupReport{}, errors.New("the store is in memory only")
	}
	if !s.backingUp.CompareAndSwap(false, true) {
		return BackupReport{}, ErrBackupRuns
	}
	defer s.backingUp.Store(false)
	if err := s.ready(ctx); err != nil {
		return BackupReport{}, err
	}
	r := newBackupReader(s.clock.Wall, s.maxTTL)
	return r.backup(ctx, s.home, disk, dest, s.journal.read)
}

// BackupFolder makes a backup of a data folder that no process has open, as Store.Backup
// does. It fails with ErrInUse if one has, with ErrSealed, and with ErrDamaged.
func BackupFolder(ctx context.Context, dir, dest string, opts Options) (report BackupReport, err error) {
	if _, err := os.Stat(dir); err != nil {
		return report, err
	}
	if dest, err = resolve(dest); err != nil {
		return report, err
	}
	home, err := lockFolder(vfs.Default, dir)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, home.unlock()) }()
	if err := home.whySealed(); err != nil {
		return report, err // what is in it may be sold by another store
	}
	if _, err := home.verify(); err != nil {
		return report, whyNot(dir, err)
	}
	if !home.isMarked() {
		return report, fmt.Errorf("there is no lock store in %s", dir)
	}
	r := newBackupReader(systemClock{}.Wall, opts.MaxTTL)
	return r.backup(ctx, home, vfs.Default, dest, func(_ func(error), use func(*pebble.DB) error) error {
		err := readOnly(home, slog.New(slog.DiscardHandler), use)
		if err != nil && ctx.Err() == nil {
			err = whyNot(dir, err)
		}
		return err
	})
}

// resolve gives the path of dest without symbolic links. dest itself need not exist.
func resolve(dest string) (string, error) {
	dest, err := filepath.Abs(dest)
	if err != nil {
		return "", err
	}
	if whole, err := filepath.EvalSymlinks(dest); err == nil {
		return whole, nil
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(dest))
	if err != nil {
		return "", fmt.Errorf("a backup goes into a folder that exists: %w", err)
	}
	return filepath.Join(parent, filepath.Base(dest)), nil
}

// A backupReader reads of a store what belongs into a backup of it. It is apart from
// what writes that, so that a disk of the backup that hangs holds up no store.
type backupReader struct {
	wall    func() time.Time
	records chan *pebble.Batch
	err     error // this and what follows is known when records is closed
	pools   int
	asOf    time.Time
	ceiling int64
	pause   pause // of a store that is restored from it
}

func newBackupReader(wall func() time.Time, maxTTL time.Duration) *backupReader {
	return &backupReader{wall: wall, records: make(chan *pebble.Batch), pause: pause{ttl: maxTTL}}
}

// A readsStore lets somebody read a store, and tells by stop that the store wants an end of it.
type readsStore func(stop func(error), use func(*pebble.DB) error) error

// backup copies the store of home, which source lets it read.
func (r *backupReader) backup(ctx context.Context, home *folder, disk vfs.FS, dest string, source readsStore) (BackupReport, error) {
	to, err := newBackupTarget(disk, dest, home)
	if err != nil {
		return BackupReport{}, fmt.Errorf("cannot make a backup in %s: %w", dest, err)
	}
	reading, stop := context.WithCancelCause(ctx)
	defer stop(nil) // if it cannot be written, it need not be read
	go func() {
		defer close(r.records)
		r.err = source(stop, func(db *pebble.DB) error { return r.read(reading, db) })
	}()
	err = to.write(r, home)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if err != nil {
		return BackupReport{}, errors.Join(fmt.Errorf("the backup in %s failed: %w", dest, err), to.abandon())
	}
	return BackupReport{Pools: r.pools, AsOf: r.asOf}, to.complete()
}

// backupChunk is how much of a backup is read at a time.
const backupChunk = 256 << 10

// read reads a store. What is not of the kind that the program writes is not copied to
// where it would be found when the backup is needed.
func (r *backupReader) read(ctx context.Context, db *pebble.DB) error {
	r.asOf = r.wall()
	if err := new(recovery).readHead(db, true); err != nil {
		return err
	}
	batch := new(pebble.Batch)
	send := func() error {
		select {
		case r.records <- batch:
			batch = new(pebble.Batch)
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	err := eachRecord(db, func(key, value []byte) error {
		if err := checkRecord(key, value); err != nil {
			return err
		}
		r.note(key, value)
		if key[0] == poolPrefix {
			_ = batch.Set(key, value, nil) // fails on indexed batches only
		}
		if batch.Len() < backupChunk {
			return ctx.Err()
		}
		return send()
	})
	if err == nil {
		err = send()
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause // and not at which record
	}
	return err
}

// note keeps what a backup has to know of a record.
func (r *backupReader) note(key, value []byte) {
	r.pause.cover(key, value)
	switch {
	case key[0] == poolPrefix:
		r.pools++
	case bytes.Equal(key, ceilingKey):
		r.ceiling, _ = readInt(value) // it was checked
	case bytes.Equal(key, pauseKey):
		if p, err := readPause(value); err == nil && p.deadline == 0 {
			r.pause.why = p.why // a backup that nobody has opened since is as old as it was
		}
	}
}

// opening are the records of the whole store that is in the backup.
func (r *backupReader) opening() *pebble.Batch {
	if r.pause.why == "" {
		r.pause.why = "was restored from a backup of " + r.asOf.UTC().Format(time.RFC3339Nano)
	}
	batch := new(pebble.Batch)
	_ = batch.Set(formatKey, []byte(formatVersion), nil) // fails on indexed batches only
	_ = batch.Set(ceilingKey, appendInt(nil, r.ceiling), nil)
	_ = batch.Set(pauseKey, appendPause(nil, r.pause), nil)
	return batch
}

// read lets somebody read the store, which is not closed before that has returned. An
// iterator sees it as it was at one moment.
func (j *journal) read(stop func(error), use func(*pebble.DB) error) (err error) {
	if err := j.beginReading(); err != nil {
		return err
	}
	defer j.readers.Done()
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%w: %v", errPanic, cause) // of a damaged file
		}
	}()
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-j.poisoned:
			stop(j.unwritable())
		case <-j.closing:
			stop(errClosed)
		case <-done:
		}
	}()
	return use(j.db)
}

func (j *journal) beginReading() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.fault.Load() != nil:
		return *j.fault.Load()
	case j.closed:
		return errClosed
	}
	j.readers.Add(1)
	return nil
}
