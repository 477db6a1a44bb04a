package inprocess

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Errors of Open; compare with errors.Is.
var (
	// ErrInUse: a process has the data folder open. Its number is in the text.
	ErrInUse = errors.New("the data folder is in use")
	// ErrDamaged: the folder does not hold all that was once acknowledged. Nothing
	// is repaired.
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
	if err == nil && !home.isMarked() {
		// The log of a store that was just made is in an older format, in which damage
		// cannot be told from a write that was cut short. The next one is not.
		if err = db.Close(); err == nil {
			db, err = pebble.Open(home.path, opts)
		}
	}
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
	return fmt.Errorf("%w: nothing in %s was repaired: restore the folder from a backup, or move it away to begin anew, "+
		"without any lease and with every pool full: %w", ErrDamaged, path, err)
}
