package inprocess

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// failStop is a file system that stops at the first write that fails, as a
// machine does that loses its power: what is written after it goes nowhere, and
// nobody is told. So the folder stays as a crash would have left it, which is
// what recovery is made for.
//
// The embedded store could not be left to handle such an error itself. It goes
// on after a failed sync (later writes may be visible while earlier ones are
// lost), and where it cannot begin a new log it panics in a way that ends the
// process. Here it never meets an error, because onFailure is called before the
// failed operation returns: whoever asked for it is not believed any more.
type failStop struct {
	vfs.FS
	onFailure func(error)
	stopped   atomic.Bool
}

// fail reports the first failure and stops the file system. In this order:
// whoever meets the stopped one must find the failure reported.
func (f *failStop) fail(err error) {
	f.onFailure(err)
	f.stopped.Store(true)
}

// do carries an operation out, unless the file system has stopped.
func (f *failStop) do(operation func() error) error {
	if f.stopped.Load() {
		return nil
	}
	if err := operation(); err != nil {
		f.fail(err)
	}
	return nil
}

// file gives the file that create makes, or one that swallows what it is given.
func (f *failStop) file(create func() (vfs.File, error)) (vfs.File, error) {
	if f.stopped.Load() {
		return discard{}, nil
	}
	file, err := create()
	if err != nil {
		f.fail(err)
		return discard{}, nil //nolint:nilerr // the failure was reported
	}
	return &failStopFile{File: file, fs: f}, nil
}

func (f *failStop) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return f.file(func() (vfs.File, error) { return f.FS.Create(name, category) })
}

func (f *failStop) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return f.file(func() (vfs.File, error) { return f.FS.ReuseForWrite(oldname, newname, category) })
}

func (f *failStop) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return f.file(func() (vfs.File, error) { return f.FS.OpenReadWrite(name, category, opts...) })
}

// OpenDir is how a folder is synced. That there is none is an answer.
func (f *failStop) OpenDir(name string) (vfs.File, error) {
	dir, err := f.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return &failStopFile{File: dir, fs: f}, nil
}

func (f *failStop) Link(oldname, newname string) error {
	return f.do(func() error { return f.FS.Link(oldname, newname) })
}

func (f *failStop) Rename(oldname, newname string) error {
	return f.do(func() error { return f.FS.Rename(oldname, newname) })
}

func (f *failStop) MkdirAll(dir string, perm os.FileMode) error {
	return f.do(func() error { return f.FS.MkdirAll(dir, perm) })
}

// Remove of what is not there is no failure of the disk.
func (f *failStop) Remove(name string) error {
	missing := error(nil)
	err := f.do(func() error {
		err := f.FS.Remove(name)
		if errors.Is(err, fs.ErrNotExist) {
			missing, err = err, nil
		}
		return err
	})
	return errors.Join(missing, err)
}

func (f *failStop) RemoveAll(name string) error {
	return f.do(func() error { return f.FS.RemoveAll(name) })
}

func (f *failStop) Unwrap() vfs.FS { return f.FS }

// failStopFile is a file that is written, or a folder that is synced.
type failStopFile struct {
	vfs.File
	fs *failStop
}

func (f *failStopFile) Write(p []byte) (int, error) {
	return len(p), f.fs.do(func() error { _, err := f.File.Write(p); return err })
}

func (f *failStopFile) WriteAt(p []byte, offset int64) (int, error) {
	return len(p), f.fs.do(func() error { _, err := f.File.WriteAt(p, offset); return err })
}

func (f *failStopFile) Sync() error { return f.fs.do(f.File.Sync) }

func (f *failStopFile) SyncData() error { return f.fs.do(f.File.SyncData) }

func (f *failStopFile) SyncTo(length int64) (full bool, err error) {
	err = f.fs.do(func() (err error) { full, err = f.File.SyncTo(length); return err })
	return full, err
}

// Close gives the file back even when the file system has stopped.
func (f *failStopFile) Close() error {
	if err := f.File.Close(); err != nil {
		f.fs.fail(err)
	}
	return nil
}

// discard is a file of a file system that has stopped.
type discard struct{}

var errStopped = fmt.Errorf("the file system has stopped: %w", fs.ErrClosed)

func (discard) Write(p []byte) (int, error)            { return len(p), nil }
func (discard) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }
func (discard) Sync() error                            { return nil }
func (discard) SyncData() error                        { return nil }
func (discard) SyncTo(int64) (full bool, err error)    { return true, nil }
func (discard) Preallocate(int64, int64) error         { return nil }
func (discard) Close() error                           { return nil }
func (discard) Prefetch(int64, int64) error            { return nil }
func (discard) Fd() uintptr                            { return vfs.InvalidFd }
func (discard) Read([]byte) (int, error)               { return 0, errStopped }
func (discard) ReadAt([]byte, int64) (int, error)      { return 0, errStopped }
func (discard) Stat() (vfs.FileInfo, error)            { return nil, errStopped }
