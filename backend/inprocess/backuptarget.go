package inprocess

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// A backupTarget is the folder that a backup is made in: a store of its own, on a file
// system of its own, of which the one that is copied learns nothing.
type backupTarget struct {
	home *folder
	made bool // the folder was not there before
}

// newBackupTarget takes a folder that is empty, or makes it. Its first file says that it is
// no whole store.
func newBackupTarget(disk vfs.FS, path string, source *folder) (*backupTarget, error) {
	if isInside(disk, path, source) {
		return nil, errors.New("it is in the data folder")
	}
	made, err := takeEmpty(disk, path)
	if err != nil {
		return nil, err
	}
	t := &backupTarget{home: &folder{fs: disk, path: path}, made: made}
	if err := t.home.write(markFile, partMarkText); err != nil {
		return nil, errors.Join(err, t.abandon())
	}
	home, err := lockFolder(disk, path)
	if err != nil {
		return nil, errors.Join(err, t.abandon())
	}
	t.home = home
	return t, nil
}

// isInside tells whether a path, which need not exist, is that of a folder or leads
// through it.
func isInside(disk vfs.FS, path string, outer *folder) bool {
	where := inodeOf(outer.fs.Stat(outer.path))
	for {
		here := inodeOf(disk.Stat(path))
		if here.known && here.is(where) || !here.known && disk == outer.fs && path == outer.path {
			return true
		}
		parent := disk.PathDir(path)
		if parent == path {
			return false
		}
		path = parent
	}
}

// takeEmpty makes a folder, if it is not there and the one that it is in is.
func takeEmpty(disk vfs.FS, path string) (made bool, err error) {
	info, err := disk.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := disk.Stat(disk.PathDir(path)); err != nil {
			return false, fmt.Errorf("a backup goes into a folder that exists: %w", err)
		}
		return true, makeFolder(disk, path)
	}
	if err != nil {
		return false, err
	}
	if !info.IsDir() {
		return false, errors.New("it is a file")
	}
	names, err := disk.List(path)
	if err != nil {
		return false, err
	}
	for _, name := range names {
		if name != "lost+found" {
			return false, fmt.Errorf("the folder is not empty: it holds %q", name)
		}
	}
	return false, nil
}

// write makes a store of what is read, and reads it again.
func (t *backupTarget) write(r *backupReader, source *folder) error {
	j := newJournal(slog.New(slog.DiscardHandler)) // that it cannot be written is told by the error
	if err := j.openDB(t.home, ledgerRecord{}, false); err != nil {
		return cmp.Or(j.cause, err)
	}
	err := t.fill(j, r)
	if errors.Is(err, errPanic) {
		return errors.Join(err, j.ledger.close()) // pebble would wait for itself
	}
	if err == nil {
		err = j.db.Flush()
	}
	err = errors.Join(err, j.closeDB())
	if j.unwritable() != nil {
		return j.cause // nothing that pebble says after it counts
	}
	if err == nil {
		err = copyFile(source, t.home.path, "SALTS")
	}
	if err == nil {
		err = t.readBack(r)
	}
	return err
}

func (t *backupTarget) fill(j *journal, r *backupReader) error {
	for batch := range r.records {
		if err := errors.Join(j.unwritable(), j.db.Apply(batch, pebble.NoSync)); err != nil {
			return err
		}
	}
	if r.err != nil {
		return r.err
	}
	return errors.Join(apply(j.db, r.opening()), j.unwritable())
}

// readBack finds out whether the store can be opened and has all its pools.
func (t *backupTarget) readBack(r *backupReader) error {
	known, err := readLedger(t.home)
	if err == nil {
		err = known.compare(t.home)
	}
	if err != nil {
		return err
	}
	pools := 0
	err = readOnly(t.home, slog.New(slog.DiscardHandler), func(db *pebble.DB) error {
		if err := new(recovery).readHead(db, true); err != nil {
			return err
		}
		return eachRecord(db, func(key, value []byte) error {
			if key[0] == poolPrefix {
				pools++
			}
			return checkRecord(key, value)
		})
	})
	if err == nil && pools != r.pools {
		err = fmt.Errorf("%d pools were written, and %d are there", r.pools, pools)
	}
	return err
}

// complete says that the folder holds a whole store, and lets others have it.
func (t *backupTarget) complete() error {
	if err := t.home.markFull(); err != nil {
		return errors.Join(err, t.abandon())
	}
	return t.home.unlock()
}

// abandon leaves the folder as it was found, as far as that can be done. What says that it
// is no whole store goes last.
func (t *backupTarget) abandon() error {
	if t.home.lock != nil {
		_ = t.home.unlock() // what remains of it is removed here
	}
	names, err := t.home.fs.List(t.home.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, name := range names {
		if storeFiles.MatchString(name) && name != "lost+found" && name != markFile {
			err = errors.Join(err, t.home.fs.Remove(t.home.fs.PathJoin(t.home.path, name)))
		}
	}
	if err == nil {
		err = t.home.fs.Remove(t.home.fs.PathJoin(t.home.path, markFile))
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err == nil && t.made {
		err = t.home.fs.Remove(t.home.path)
	}
	if err != nil {
		return fmt.Errorf("what was made of it is left in %s: %w", t.home.path, err)
	}
	return nil
}
