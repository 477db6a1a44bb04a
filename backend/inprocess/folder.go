package inprocess

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	// pidFile holds the process that has the folder open, for people and for the
	// message to a second one. The lock on the file LOCK is what counts.
	pidFile = "PID"
	// markFile says that the folder holds a whole store. It is written when the
	// first records are durable: from then on, missing ones are a loss.
	markFile    = "RAISINPROXY"
	oldMarkText = "Locks and inventory of raisinproxy. Do not change what is in this folder, or copy it while the server runs.\n"
	markText    = oldMarkText + "What has to be in it is noted in " + ledgerName + ".\n"
	// partMarkText is there, before all other files, while a backup is made.
	partMarkText = "A backup of the locks and inventory of raisinproxy that was not completed.\n"
	// ControlFile is the socket of the process that has the folder open, if it makes one.
	ControlFile = "CONTROL"
)

// errPart: the folder is a backup that was not completed.
var errPart = errors.New("is a backup that was not completed")

// A folder is the data folder, locked.
type folder struct {
	fs   vfs.FS
	path string
	lock *pebble.Lock
	mark mark
}

// A mark is what markFile says of a folder.
type mark int

const (
	unmarked   mark = iota // a store is made here, or was not completely made
	markedOld              // whole, by a version of the program that kept no ledger
	markedFull             // whole, with a ledger
	markedPart             // a backup that is being made, or was not completely made
)

// lockFolder makes the folder if there is none. It fails with ErrInUse if a
// process has it open.
func lockFolder(disk vfs.FS, path string) (*folder, error) {
	if err := makeFolder(disk, path); err != nil {
		return nil, fmt.Errorf("cannot make the data folder: %w", err)
	}
	f := &folder{fs: disk, path: path}
	if name := f.foreign(); name != "" {
		return nil, fmt.Errorf("the data folder %s holds %q, which is not of a lock store: name a folder of its own", path, name)
	}
	lock, err := pebble.LockDirectory(path, disk)
	holder := f.holder()
	switch {
	case errors.Is(err, syscall.EAGAIN), err != nil && holder == os.Getpid():
		return nil, fmt.Errorf("%w: %s is open in %s: stop it, or give this one a folder of its own",
			ErrInUse, path, name(holder))
	case err != nil:
		return nil, fmt.Errorf("cannot lock the data folder: %w", err)
	}
	f.lock = lock
	if err := f.write(pidFile, strconv.Itoa(os.Getpid())+"\n"); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot write to the data folder: %w", err), f.unlock())
	}
	return f, nil
}

// makeFolder makes a folder that others cannot read, and lets it survive a crash.
func makeFolder(disk vfs.FS, path string) error {
	if _, err := disk.Stat(path); err == nil {
		return nil
	}
	if err := disk.MkdirAll(path, 0o700); err != nil {
		return err
	}
	return syncFolder(disk, disk.PathDir(path))
}

func syncFolder(disk vfs.FS, path string) error {
	dir, err := disk.OpenDir(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// holder is the process that has, or had, the folder open; 0 if it did not say.
func (f *folder) holder() int {
	text, err := f.read(pidFile)
	pid, invalid := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || invalid != nil {
		return 0
	}
	return pid
}

func name(pid int) string {
	if pid == 0 {
		return "another process"
	}
	return fmt.Sprintf("process %d", pid)
}

// isMarked tells whether a store was completely made here once.
func (f *folder) isMarked() bool { return f.mark != unmarked }

func (f *folder) readMark() (mark, error) {
	text, err := f.read(markFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return unmarked, nil
	case err != nil:
		return unmarked, err
	case text == markText:
		return markedFull, nil
	case text == oldMarkText:
		return markedOld, nil
	case text == partMarkText:
		return markedPart, nil
	}
	return unmarked, fmt.Errorf("%s is changed", markFile)
}

// markFull says that the folder holds a whole store with a ledger. The file is there
// with all its text or not at all, since a part of it would be damage.
func (f *folder) markFull() error {
	if f.mark == markedFull {
		return nil
	}
	if err := f.write(newMarkFile, markText); err != nil {
		return err
	}
	if err := f.fs.Rename(f.fs.PathJoin(f.path, newMarkFile), f.fs.PathJoin(f.path, markFile)); err != nil {
		return err
	}
	if err := syncFolder(f.fs, f.path); err != nil {
		return err
	}
	f.mark = markedFull
	return nil
}

const newMarkFile = markFile + ".new"

// foreign gives the name of something that neither we nor pebble put into a
// folder that is not marked; "" if there is none. SALTS is the front end's.
func (f *folder) foreign() string {
	names, err := f.fs.List(f.path)
	if err != nil || slices.Contains(names, markFile) {
		return "" // what is wrong with it, others tell better
	}
	for _, name := range names {
		if !storeFiles.MatchString(name) {
			return name
		}
	}
	return ""
}

// storeFiles are the files of a store that is being made, and what a new file
// system has.
var storeFiles = regexp.MustCompile(`^(PID|LOCK|LEDGER|CONTROL|RAISINPROXY(\.new)?|SEAL(\.new)?|SALTS.*|lost\+found|(MANIFEST|OPTIONS)-\d+(\.dbtmp)?|marker\..*|temporary\..*|\d+\.(log|sst|blob|dbtmp))$`)

// hasManifest tells whether pebble has made its store here.
func (f *folder) hasManifest() bool {
	names, err := f.fs.List(f.path)
	return err == nil && slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, "marker.manifest.") })
}

func (f *folder) read(name string) (string, error) {
	file, err := f.fs.Open(f.fs.PathJoin(f.path, name))
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(file)
	return string(text), errors.Join(err, file.Close())
}

// write makes a file and lets it survive a crash.
func (f *folder) write(name, text string) error {
	file, err := f.fs.Create(f.fs.PathJoin(f.path, name), vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = io.WriteString(file, text)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return syncFolder(f.fs, f.path)
}

// unlock lets another process have the folder.
func (f *folder) unlock() error {
	// The name of a process that is gone would only mislead.
	err := f.fs.Remove(f.fs.PathJoin(f.path, pidFile))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, f.lock.Close())
}
