package inprocess

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
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
	// ErrNewer: a newer version of the program has written the folder. Nothing in it was changed.
	ErrNewer = errors.New("the lock store is of a newer version of the program")
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
// A store that was restored from a backup, or repaired, does not know of all leases.
// Acquire fails with backend.ErrPaused until they are over, Options.MaxTTL after the
// first start at the least, and after another one if the machine was restarted meanwhile.
//
// It fails with ErrInUse, ErrDamaged, ErrNewer, ErrSealed, or what the system says.
func Open(dir string, opts Options) (*Store, error) {
	opts = opts.onDisk()
	home, err := lockFolder(opts.disk, dir)
	if err != nil {
		return nil, err
	}
	if err := home.whySealed(); err != nil {
		return nil, errors.Join(err, home.unlock())
	}
	return openLocked(home, opts)
}

// onDisk gives a copy with what a durable store needs besides.
func (o Options) onDisk() Options {
	if o.disk == nil {
		o.disk = vfs.Default
	}
	if o.bootID == "" {
		o.bootID = bootID()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// openLocked opens the store in a folder that is locked, sealed or not. If it fails the folder is not locked any more.
func openLocked(home *folder, opts Options) (*Store, error) {
	s := unstarted(opts)
	if err := s.load(home, opts); err != nil {
		return nil, errors.Join(err, home.unlock())
	}
	s.start(opts.ReapInterval)
	go s.journal.run(func() error { return s.journal.release(home) })
	return s, nil
}

// load takes over what is in a folder. Nothing there is changed before it was found
// to be all that it should be.
func (s *Store) load(home *folder, opts Options) error {
	known, err := home.verify()
	if err != nil {
		return whyNot(home.path, err)
	}
	r := recovery{store: s, now: s.clock.Boot(), boot: opts.bootID}
	s.home = home
	if home.isMarked() || home.hasManifest() {
		if err := r.readFolder(home, opts.Log); err != nil {
			return whyNot(home.path, err)
		}
	}
	r.beginPause(opts)
	j := newJournal(opts.Log)
	if err := j.openDB(home, known, opts.VerifyAnswers); err != nil {
		return whyNot(home.path, err)
	}
	if err := s.recover(j, home, &r); err != nil {
		return errors.Join(err, j.closeDB())
	}
	return nil
}

// verify compares the folder with its ledger, and gives what that says.
func (f *folder) verify() (known ledgerRecord, err error) {
	if f.mark, err = f.readMark(); err != nil {
		return known, err
	}
	switch f.mark {
	case markedOld:
		return known, f.verifyUnledgered()
	case markedPart:
		return known, errPart
	}
	known, err = readLedger(f)
	switch {
	case err == nil:
		err = known.compare(f)
	case f.mark == unmarked && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNoLedger)):
		err = nil
	}
	return known, err
}

// verifyUnledgered looks for what pebble does not miss in a store without a ledger: all
// logs. (In one with a ledger there may be none after a crash: when pebble opens a store
// it removes the logs that it has written to tables, and then makes the next. So it does
// when an old store is taken over, which begins with a ledger.)
func (f *folder) verifyUnledgered() error {
	names, err := f.fs.List(f.path)
	isLog := func(name string) bool { return strings.HasSuffix(name, ".log") }
	if err == nil && !slices.ContainsFunc(names, isLog) && !slices.Contains(names, ledgerName) {
		err = errors.New("there is no log, and there always is one")
	}
	return err
}

// release closes the store on disk and lets others have the folder.
func (j *journal) release(home *folder) error {
	if errors.Is(j.unwritable(), errPanic) {
		return j.ledger.close() // pebble would wait for itself; the folder stays locked while the process lives
	}
	j.readers.Wait() // they end when the journal does
	if j.unwritable() != nil {
		return errors.Join(j.closeDB(), home.unlock())
	}
	// What the log holds goes to tables, so that the next start has less to read. Then the
	// manifest is in the ledger, and it may lag behind the end of the last log, which is empty.
	return errors.Join(j.db.Flush(), j.closeDB(), home.unlock())
}

// closeDB closes the store on disk.
func (j *journal) closeDB() error {
	return errors.Join(j.db.Close(), j.ledger.close())
}

// openDB opens the store on disk.
func (j *journal) openDB(home *folder, known ledgerRecord, strict bool) error {
	j.ledger = newLedger(home, strict)
	if err := j.ledger.begin(home, known); err != nil {
		return errors.Join(fmt.Errorf("cannot write to the folder: %w", err), j.ledger.close())
	}
	j.disk = &failStop{FS: j.ledger, onFailure: j.poison}
	opts := pebbleOptions(j.disk, j.log)
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
	fault := j.unwritable()
	if fault == nil && err == nil {
		j.db = db
		j.ledger.writeBehind(j.disk)
		return nil
	}
	// Nothing that pebble says after a failed write counts.
	if err == nil {
		err = db.Close()
	}
	return errors.Join(fault, err, j.ledger.close())
}

// whyNot tells a system that refuses from a folder that does not hold all it
// should.
func whyNot(path string, err error) error {
	switch {
	case errors.Is(err, ErrDamaged):
		return err
	case errors.Is(err, ErrNewer):
		return fmt.Errorf("cannot open %s: %w", path, err)
	case errors.Is(err, errPart):
		return fmt.Errorf("%s %w: take another one", path, errPart)
	}
	if _, refused := errors.AsType[syscall.Errno](err); refused && !errors.Is(err, fs.ErrNotExist) && !pebble.IsCorruptionError(err) {
		return fmt.Errorf("cannot open the lock store in %s: %w", path, err)
	}
	return damaged(path, err)
}

func damaged(path string, err error) error {
	return fmt.Errorf("%w: nothing in %s was changed: restore the folder from a backup, or see what `raisinproxy repair --data-dir %s` can read, "+
		"or move it away to begin anew, without any lease and with every pool full: %w", ErrDamaged, path, path, err)
}
