package inprocess

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// A RepairReport says what of a data folder can be read.
type RepairReport struct {
	// Missing is what is known to be gone: files that are missing, cut off or changed,
	// and records that cannot be read. Empty: the store is whole.
	Missing []error
	// Leases and Pools are how many can be read, in the state of the last change that can.
	Leases, Pools int
	// Kept is where the damaged folder is now; "": where it was, unchanged.
	Kept string
}

// Repair says what can be read of the store in a data folder that no process has open.
// Without inPlace nothing is changed. With it, if anything is missing, the folder is
// moved to the path that the report names as Kept, and one with all that can be read
// takes its place: what was changed by lost records is as it was before them, so units
// may be sold again and leases be held that were given back.
//
// It fails with ErrInUse, with ErrDamaged if nothing can be read, with ErrNewer, or with
// what the system says; then the folder is where it was.
func Repair(dir string, inPlace bool, log *slog.Logger) (report RepairReport, err error) {
	if _, err := os.Stat(dir); err != nil {
		return report, err
	}
	home, err := lockFolder(vfs.Default, dir)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, home.unlock()) }()
	found, err := salvage(home, log)
	report = RepairReport{Missing: distinct(found.missing), Leases: found.count(leasePrefix), Pools: found.count(poolPrefix)}
	if err != nil || !inPlace || len(report.Missing) == 0 {
		return report, err
	}
	stamp := time.Now().UTC().Format("20060102-150405")
	repaired, kept := dir+".repaired-"+stamp, dir+".damaged-"+stamp
	if err := found.store(home, repaired, log); err != nil {
		return report, fmt.Errorf("cannot make the store anew in %s: %w", repaired, err)
	}
	if err := os.Rename(dir, kept); err != nil {
		return report, err
	}
	report.Kept, home.path = kept, kept
	if err := os.Rename(repaired, dir); err != nil {
		return report, err
	}
	return report, syncFolder(vfs.Default, vfs.Default.PathDir(dir))
}

// A salvaged store is what can be read of a damaged one.
type salvaged struct {
	missing []error
	records map[string][]byte
}

func (s *salvaged) count(prefix byte) (n int) {
	for key := range s.records {
		if key[0] == prefix {
			n++
		}
	}
	return n
}

// salvage reads what can be read, in a copy in memory, so that nothing is changed.
func salvage(home *folder, log *slog.Logger) (*salvaged, error) {
	s := &salvaged{}
	if _, err := home.verify(); err != nil {
		s.missing = eachOf(err)
	}
	scratch := &folder{fs: vfs.NewMem(), path: home.fs.PathBase(home.path)}
	if err := s.copyStore(home, scratch); err != nil {
		return s, err
	}
	first := s.read(scratch, log)
	if errors.Is(first, ErrNewer) {
		return s, whyNot(home.path, first) // what this version cannot read is not missing
	}
	if first == nil {
		return s, nil
	}
	s.missing = append(s.missing, first)
	// A log that is damaged in its middle is left with what comes before: pebble takes it
	// then, and what comes after in other logs.
	if err := s.cutLogs(scratch); err != nil {
		return s, err
	}
	err := s.read(scratch, log)
	if len(s.records) == 0 && err != nil {
		return s, damaged(home.path, fmt.Errorf("nothing of it can be read: %w", err))
	}
	return s, nil
}

// distinct drops what is said twice: records are read from both ends.
func distinct(missing []error) (each []error) {
	said := map[string]bool{}
	for _, err := range missing {
		if !said[err.Error()] {
			said[err.Error()] = true
			each = append(each, err)
		}
	}
	return each
}

func eachOf(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

func (s *salvaged) copyStore(from, to *folder) error {
	names, err := from.fs.List(from.path)
	if err != nil {
		return err
	}
	if err := to.fs.MkdirAll(to.path, 0o700); err != nil {
		return err
	}
	for _, name := range names {
		if !storeFiles.MatchString(name) || name == "lost+found" || name == "LOCK" || name == ControlFile {
			continue
		}
		if err := vfs.CopyAcrossFS(from.fs, from.fs.PathJoin(from.path, name), to.fs, to.fs.PathJoin(to.path, name)); err != nil {
			s.missing = append(s.missing, fmt.Errorf("%s: %w", name, err))
		}
	}
	return nil
}

// cutLogs leaves of each log what can be read from its beginning on.
func (s *salvaged) cutLogs(scratch *folder) error {
	names, err := scratch.fs.List(scratch.path)
	if err != nil {
		return err
	}
	for _, name := range names {
		id, ok := parseFileID(name)
		if !ok || id.kind != logFile {
			continue
		}
		text, err := scratch.read(name)
		if err != nil {
			return err
		}
		var whole bytes.Buffer
		if err := copyRecords(record.NewWriter(&whole), logReader(record.NewReader, strings.NewReader(text), id.num)); err != nil {
			return err
		}
		if err := scratch.write(name, whole.String()); err != nil {
			return err
		}
	}
	return nil
}

// logReader reads a log. The type of its number has no name outside pebble.
func logReader[N ~uint64](newReader func(io.Reader, N) *record.Reader, r io.Reader, num uint64) *record.Reader {
	return newReader(r, N(num))
}

func copyRecords(to *record.Writer, from *record.Reader) error {
	for {
		r, err := from.Next()
		if err != nil {
			return to.Close() // what follows cannot be read
		}
		content, err := io.ReadAll(r)
		if err != nil {
			return to.Close()
		}
		if _, err := to.WriteRecord(content); err != nil {
			return err
		}
	}
}

// read takes what pebble can read of a store. What follows a damaged block is read
// from the other end.
func (s *salvaged) read(scratch *folder, log *slog.Logger) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%w: %v", errPanic, cause)
		}
	}()
	s.records = map[string][]byte{}
	opts := readOptions(scratch.fs, log, func(error) {})
	opts.ReadOnly = true
	db, err := pebble.Open(scratch.path, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if format, err := readMeta(db, formatKey); err == nil && errors.Is(checkFormat(format), ErrNewer) {
		return checkFormat(format)
	}
	return errors.Join(s.readRecords(db, (*pebble.Iterator).First, (*pebble.Iterator).Next), s.readRecords(db, (*pebble.Iterator).Last, (*pebble.Iterator).Prev))
}

func (s *salvaged) readRecords(db *pebble.DB, begin, step func(*pebble.Iterator) bool) error {
	records, err := db.NewIter(nil)
	if err != nil {
		return err
	}
	for ok := begin(records); ok; ok = step(records) {
		key := string(records.Key())
		if _, known := s.records[key]; known {
			continue
		}
		value, err := records.ValueAndErr()
		if err == nil {
			err = checkRecord(records.Key(), value)
		}
		if err != nil {
			s.missing = append(s.missing, fmt.Errorf("%.60q: %w", key, err))
			continue
		}
		s.records[key] = bytes.Clone(value)
	}
	return errors.Join(records.Error(), records.Close())
}

// checkRecord tells whether the program would take a record.
func checkRecord(key, value []byte) (err error) {
	switch {
	case len(key) > 0 && key[0] == leasePrefix:
		_, err = readLease(value)
	case len(key) > 0 && key[0] == poolPrefix:
		_, err = readPool(value)
	case bytes.Equal(key, ceilingKey):
		_, err = readInt(value)
	case bytes.Equal(key, pauseKey):
		_, err = readPause(value)
	case len(key) == 0 || key[0] != metaPrefix:
		err = errRecord
	}
	return err
}

// store makes a store of what was read, with the files of others that are in the folder.
func (s *salvaged) store(home *folder, path string, log *slog.Logger) (err error) {
	made, err := Open(path, Options{Log: log})
	if err != nil {
		return err
	}
	batch := made.journal.db.NewBatch()
	for key, value := range s.records {
		if key[0] != metaPrefix {
			_ = batch.Set([]byte(key), value, nil) // fails on indexed batches only
		}
	}
	// Deadlines are of this boot. Of one that is not known, all leases have their full time again.
	boot := s.records[string(bootKey)]
	if boot == nil {
		boot = []byte(unknownBoot())
	}
	_ = batch.Set(bootKey, boot, nil)
	_ = batch.Set(ceilingKey, appendInt(nil, s.ceiling(time.Now())), nil)
	// Leases of which the lost records told may run.
	_ = batch.Set(pauseKey, appendPause(nil, s.pause(time.Now())), nil)
	err = apply(made.journal.db, batch)
	if err := errors.Join(err, made.journal.unwritable(), made.Close()); err != nil {
		return err
	}
	if err := copyFile(home, path, sealFile); err != nil {
		return err
	}
	return copyFile(home, path, "SALTS")
}

// ceiling is above every token that was told, as far as the wall clock was never ahead
// of what it is now: the last ceiling may be among what is lost.
func (s *salvaged) ceiling(now time.Time) int64 {
	last := now.UnixMicro() + tokenLead
	if known, err := readInt(s.records[string(ceilingKey)]); err == nil {
		last = max(last, known)
	}
	for key, value := range s.records {
		if l, err := readLease(value); err == nil && key[0] == leasePrefix {
			last = max(last, l.token)
		}
	}
	return last
}

// pause is of all leases that may have been granted.
func (s *salvaged) pause(now time.Time) pause {
	p := pause{why: "was repaired at " + now.UTC().Format(time.RFC3339)}
	for key, value := range s.records {
		p.cover([]byte(key), value)
	}
	return p
}

// copyFile copies what is in the data folder beside the store: a seal, and what the front end keeps there.
func copyFile(home *folder, path, name string) error {
	text, err := home.read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	file, err := os.OpenFile(home.fs.PathJoin(path, name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Sync(), file.Close())
}
