package inprocess

import (
	"fmt"
	"hash/crc32"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A ledger is the file system below pebble, and keeps a record of what has reached
// the disk: of every log and every manifest the length that was synced, and the
// checksum of so much of it. When the store is opened, compare finds by that record
// what has gone since.
//
// It is needed because pebble takes what it cannot read at the end of a log or a
// manifest for a write that was cut short. So a bit that changed there, or a log
// that is not there any more, looks like a store with fewer changes; and the tables
// that a shorter manifest does not name are deleted. (Tables have checksums of their
// own, and the manifest their sizes.)
//
// The record only ever lags. An entry is written after its file was synced, and the
// folder that names it; it is dropped, durably, before the file is removed or used
// again. So what it says is on the disk, whenever the power fails, and a good store
// is not refused.
//
// It is safe for concurrent use, as far as each of its files is.
type ledger struct {
	vfs.FS
	dir    string // the data folder
	strict bool   // the entry of a log is durable before its sync returns
	where  inode  // the folder's, when it was opened

	mu      sync.Mutex
	entries map[fileID]*ledgerEntry
	marker  uint64 // the marker names a manifest of at least this number
	moving  uint64 // the manifest that it was made to name last; not durable yet if above marker
	version uint64 // counts changes of what is to be written

	writing sync.Mutex // held while a slot is written; taken before mu
	file    vfs.File   // ledgerFile; nil: not begun
	seq     uint64     // of the slot that was written last
	durable uint64     // the version that it holds

	behind  chan struct{} // there is a change that nobody waits for; room for one
	stop    chan struct{}
	follows sync.WaitGroup
}

// fileID is a file that pebble takes the end of on trust.
type fileID struct {
	kind fileKind
	num  uint64
}

type fileKind byte

const (
	logFile      fileKind = 'l'
	manifestFile fileKind = 'm'
)

// String is the file's name.
func (id fileID) String() string {
	if id.kind == logFile {
		return fmt.Sprintf("%06d.log", id.num)
	}
	return fmt.Sprintf("MANIFEST-%06d", id.num)
}

// ledgerEntry is what is known of a file. The ledger's mutex guards it.
type ledgerEntry struct {
	id     fileID
	length int64 // that was synced
	crc    uint32
	named  bool // the folder was synced since the file was made
}

// written tells whether the entry belongs into the record.
func (e *ledgerEntry) written() bool { return e.named && e.length > 0 }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func newLedger(home *folder, strict bool) *ledger {
	return &ledger{
		FS:      home.fs,
		dir:     home.fs.PathJoin(home.path),
		strict:  strict,
		entries: map[fileID]*ledgerEntry{},
		behind:  make(chan struct{}, 1),
		stop:    make(chan struct{}),
	}
}

// identify tells which file a path is; false: none that the ledger has entries of.
func (l *ledger) identify(path string) (fileID, bool) {
	name := l.PathBase(path)
	if l.PathJoin(path) != l.PathJoin(l.dir, name) {
		return fileID{}, false // of another folder: a copy that is being made
	}
	return parseFileID(name)
}

var fileNames = regexp.MustCompile(`^(?:(\d{6,})\.log|MANIFEST-(\d{6,}))$`)

func parseFileID(name string) (fileID, bool) {
	match := fileNames.FindStringSubmatch(name)
	if match == nil {
		return fileID{}, false
	}
	id := fileID{kind: logFile}
	if match[2] != "" {
		id.kind = manifestFile
	}
	var err error
	id.num, err = strconv.ParseUint(match[1]+match[2], 10, 64)
	return id, err == nil
}

// identifyMarker tells which manifest a marker names.
func (l *ledger) identifyMarker(path string) (manifest uint64, ok bool) {
	if l.PathJoin(l.PathDir(path)) != l.dir {
		return 0, false
	}
	_, manifest, ok = parseMarker(l.PathBase(path))
	return manifest, ok
}

var markerNames = regexp.MustCompile(`^marker\.manifest\.(\d+)\.MANIFEST-(\d{6,})$`)

// parseMarker takes the name of a marker apart: the greatest iteration counts, and
// names the manifest in use.
func parseMarker(name string) (iteration, manifest uint64, ok bool) {
	match := markerNames.FindStringSubmatch(name)
	if match == nil {
		return 0, 0, false
	}
	iteration, err1 := strconv.ParseUint(match[1], 10, 64)
	manifest, err2 := strconv.ParseUint(match[2], 10, 64)
	return iteration, manifest, err1 == nil && err2 == nil
}

func (l *ledger) Create(path string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if manifest, ok := l.identifyMarker(path); ok {
		return l.createMarker(path, category, manifest)
	}
	if err := l.forget(path); err != nil {
		return nil, err
	}
	file, err := l.FS.Create(path, category)
	if id, followed := l.identify(path); followed && err == nil {
		return l.follow(id, file), nil
	}
	return file, err
}

// createMarker makes a marker, which names a manifest. That has to be durable by name
// before: pebble syncs the folder for both at once, so a crash might leave the marker
// alone.
func (l *ledger) createMarker(path string, category vfs.DiskWriteCategory, manifest uint64) (vfs.File, error) {
	if err := l.syncFolder(func() error { return syncFolder(l.FS, l.dir) }); err != nil {
		return nil, err
	}
	file, err := l.FS.Create(path, category)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.moving = max(l.moving, manifest)
	return file, nil
}

func (l *ledger) ReuseForWrite(oldpath, newpath string, category vfs.DiskWriteCategory) (vfs.File, error) {
	id, followed := l.identify(newpath)
	if err := l.forget(oldpath, newpath); err != nil {
		return nil, err
	}
	file, err := l.FS.ReuseForWrite(oldpath, newpath, category)
	if err != nil || !followed {
		return file, err
	}
	return l.follow(id, file), nil
}

// OpenReadWrite is for changes in the middle of a file, of which there is no record.
func (l *ledger) OpenReadWrite(path string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	if err := l.forget(path); err != nil {
		return nil, err
	}
	return l.FS.OpenReadWrite(path, category, opts...)
}

// OpenDir gives a folder to sync.
func (l *ledger) OpenDir(path string) (vfs.File, error) {
	dir, err := l.FS.OpenDir(path)
	if err != nil || l.PathJoin(path) != l.dir {
		return dir, err
	}
	return &ledgerDir{File: dir, ledger: l}, nil
}

func (l *ledger) Remove(path string) error {
	if err := l.forget(path); err != nil {
		return err
	}
	return l.FS.Remove(path)
}

func (l *ledger) RemoveAll(path string) error {
	if err := l.forget(path); err != nil {
		return err
	}
	return l.FS.RemoveAll(path)
}

func (l *ledger) Rename(oldpath, newpath string) error {
	if err := l.forget(oldpath, newpath); err != nil {
		return err
	}
	return l.FS.Rename(oldpath, newpath)
}

func (l *ledger) Unwrap() vfs.FS { return l.FS }

// follow begins an entry for a file that was just made.
func (l *ledger) follow(id fileID, file vfs.File) vfs.File {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := &ledgerEntry{id: id}
	l.entries[id] = e
	return &followedFile{File: file, ledger: l, entry: e}
}

// forget drops the entries of files that are about to be something else.
func (l *ledger) forget(paths ...string) error {
	l.mu.Lock()
	var known bool
	for _, path := range paths {
		id, _ := l.identify(path)
		if e := l.entries[id]; e != nil {
			known = known || e.written()
			delete(l.entries, id)
		}
	}
	if known {
		l.version++
	}
	version := l.version
	l.mu.Unlock()
	if !known {
		return nil
	}
	return l.write(version)
}

// synced takes note of what of a file is durable. For a manifest that is durable
// itself when synced returns, since the files that it names, or does not name any
// more, depend on it.
func (l *ledger) synced(e *ledgerEntry, length int64, crc uint32) error {
	l.mu.Lock()
	e.length, e.crc = length, crc
	recorded := e.written() && l.entries[e.id] == e
	if recorded {
		l.version++
	}
	version := l.version
	l.mu.Unlock()
	switch {
	case !recorded:
		return nil
	case e.id.kind == manifestFile, l.strict:
		return l.write(version)
	}
	l.writeSoon()
	return nil
}

// syncFolder syncs the folder and takes note of the names that this made durable.
func (l *ledger) syncFolder(makeDurable func() error) error {
	l.mu.Lock()
	var unnamed []*ledgerEntry
	for _, e := range l.entries {
		if !e.named {
			unnamed = append(unnamed, e)
		}
	}
	moving := l.moving
	l.mu.Unlock()
	if err := makeDurable(); err != nil {
		return err
	}
	l.mu.Lock()
	urgent := moving > l.marker
	l.marker = max(l.marker, moving)
	for _, e := range unnamed {
		e.named = true
		urgent = urgent || e.written() && (l.strict || e.id.kind == manifestFile)
	}
	if urgent || len(unnamed) > 0 {
		l.version++
	}
	version := l.version
	l.mu.Unlock()
	if urgent {
		return l.write(version)
	}
	l.writeSoon()
	return nil
}

// write returns when the record is durable as of a version, or later.
func (l *ledger) write(version uint64) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	if l.durable >= version || l.file == nil {
		return nil
	}
	l.mu.Lock()
	record := ledgerRecord{seq: l.seq + 1, marker: l.marker}
	for _, e := range l.entries {
		if e.written() {
			record.entries = append(record.entries, *e)
		}
	}
	version = l.version
	l.mu.Unlock()
	slot, err := record.encode()
	if err != nil {
		return err
	}
	l.seq = record.seq
	if _, err := l.file.WriteAt(slot, record.offset()); err != nil {
		return err
	}
	if err := l.file.SyncData(); err != nil {
		return err
	}
	l.durable = version
	return nil
}

// writeSoon has the record written beside the caller.
func (l *ledger) writeSoon() {
	select {
	case l.behind <- struct{}{}:
	default:
	}
}

// ledgerPause is between two records that nobody waits for. They share the disk with
// the syncs that callers do wait for.
const ledgerPause = 2 * time.Millisecond

// writeBehind writes the record when nobody waits for it, until close.
func (l *ledger) writeBehind(disk *failStop) {
	l.follows.Go(func() {
		pause := time.NewTimer(0)
		defer pause.Stop()
		for {
			select {
			case <-l.stop:
				return
			case <-pause.C:
			}
			select {
			case <-l.stop:
				return
			case <-l.behind:
				_ = disk.do(l.writeLatest)
				pause.Reset(ledgerPause)
			}
		}
	})
}

func (l *ledger) writeLatest() error {
	l.mu.Lock()
	version := l.version
	l.mu.Unlock()
	return l.write(version)
}

// close ends writeBehind and gives the file back.
func (l *ledger) close() error {
	close(l.stop)
	l.follows.Wait()
	l.writing.Lock()
	defer l.writing.Unlock()
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}

// followedFile is a log or a manifest that is being written, from its beginning.
type followedFile struct {
	vfs.File
	ledger *ledger
	entry  *ledgerEntry
	length int64 // written, and its checksum
	crc    uint32
}

func (f *followedFile) Write(p []byte) (int, error) {
	crc := crc32.Update(f.crc, castagnoli, p) // before Write, which may change p
	n, err := f.File.Write(p)
	if err == nil {
		f.length += int64(len(p))
		f.crc = crc
	}
	return n, err
}

func (f *followedFile) Sync() error { return f.sync(f.File.Sync) }

func (f *followedFile) SyncData() error { return f.sync(f.File.SyncData) }

func (f *followedFile) sync(makeDurable func() error) error {
	length, crc := f.length, f.crc
	if err := makeDurable(); err != nil {
		return err
	}
	if f.entry.id.kind == logFile {
		if err := f.ledger.inPlace(f.File); err != nil {
			return err
		}
	}
	return f.ledger.synced(f.entry, length, crc)
}

// ledgerDir is the data folder, which is synced.
type ledgerDir struct {
	vfs.File
	ledger *ledger
}

func (d *ledgerDir) Sync() error { return d.ledger.syncFolder(d.File.Sync) }

func (d *ledgerDir) SyncData() error { return d.ledger.syncFolder(d.File.SyncData) }
