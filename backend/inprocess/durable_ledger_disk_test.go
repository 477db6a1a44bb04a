package inprocess

import (
	"errors"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// Here the ledger is a file system without pebble on it. No goroutine writes its record
// behind, so what nobody waited for is not written.

// bareLedger is a ledger of an empty folder.
func bareLedger(t *testing.T, m *machine) *ledger {
	t.Helper()
	home := &folder{fs: m.fileSystem(), path: dataDir}
	if err := makeFolder(home.fs, home.path); err != nil {
		t.Fatal(err)
	}
	l := newLedger(home, m.strict)
	if err := l.begin(home, ledgerRecord{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.close() })
	return l
}

// folder is the data folder, without the lock on it.
func (m *machine) folder() *folder { return &folder{fs: m.disk, path: dataDir} }

func (l *ledger) path(name string) string { return l.PathJoin(l.dir, name) }

// A script uses a ledger as pebble might.
type script struct {
	t *testing.T
	l *ledger
}

func (s script) check(errs ...error) {
	s.t.Helper()
	if err := errors.Join(errs...); err != nil {
		s.t.Fatal(err)
	}
}

func (s script) create(name string) vfs.File {
	s.t.Helper()
	file, err := s.l.Create(s.l.path(name), vfs.WriteCategoryUnspecified)
	s.check(err)
	return file
}

// add writes to a file and syncs it.
func (s script) add(file vfs.File, text string) {
	s.t.Helper()
	_, err := io.WriteString(file, text)
	s.check(err, file.Sync())
}

func (s script) syncFolder() {
	s.t.Helper()
	s.check(syncFolder(s.l, s.l.dir))
}

const (
	oldMarker = "marker.manifest.000001.MANIFEST-000001"
	newMarker = "marker.manifest.000002.MANIFEST-000005"
)

// theLife of a data folder: what pebble does to its files, and what it may do.
func (s script) theLife(then func()) {
	var logs, manifests []vfs.File
	for _, step := range []func(){
		func() { manifests = append(manifests, s.create("MANIFEST-000001")) },
		func() { s.add(manifests[0], "one") },
		func() { s.check(s.create(oldMarker).Close()) },
		s.syncFolder,
		func() { logs = append(logs, s.create("000002.log")) },
		s.syncFolder,
		func() { s.add(logs[0], "one") },
		func() { s.add(logs[0], " and two") },
		func() { s.add(manifests[0], " and two") },
		func() { logs = append(logs, s.create("000003.log")) },
		func() { s.add(logs[1], "of the next log") },
		s.syncFolder,
		func() {
			s.check(logs[0].Close())
			again, err := s.l.ReuseForWrite(s.l.path("000002.log"), s.l.path("000004.log"), vfs.WriteCategoryUnspecified)
			s.check(err)
			logs[0] = again
		},
		func() { s.add(logs[0], "two") },
		s.syncFolder,
		func() { manifests = append(manifests, s.create("MANIFEST-000005")) },
		func() { s.add(manifests[1], "all of it") },
		func() { s.check(s.create(newMarker).Close()) },
		s.syncFolder,
		func() { s.check(s.l.Remove(s.l.path(oldMarker))) },
		func() { s.check(manifests[0].Close(), s.l.Remove(s.l.path("MANIFEST-000001"))) },
		func() { s.check(logs[1].Close(), s.l.Rename(s.l.path("000003.log"), s.l.path("kept"))) },
		func() {
			s.check(logs[0].Close())
			file, err := s.l.OpenReadWrite(s.l.path("000004.log"), vfs.WriteCategoryUnspecified)
			s.check(err)
			s.add(file, "TWO")
			s.check(file.Close())
		},
		func() {
			file := s.create("000006.log")
			s.syncFolder()
			s.add(file, "the last one")
			s.check(file.Close())
		},
		func() {
			file := s.create("000006.log")
			s.add(file, "and again")
			s.check(file.Close())
			s.syncFolder()
		},
		func() {
			s.check(s.l.RemoveAll(s.l.path("000006.log")))
		},
		func() { s.check(manifests[1].Close()) },
	} {
		step()
		s.check(s.l.writeLatest()) // as the goroutine may, that writes behind
		then()
	}
}

// Whenever the power fails, the ledger knows nothing that the disk does not: whether that
// makes names durable as late as it may, or at once, without being asked.
func TestLedgerOnlyLags(t *testing.T) {
	for name, atOnce := range map[string]bool{"names late": false, "names at once": true} {
		t.Run(name, func(t *testing.T) {
			m := newMachine()
			begun, crashes := false, 0
			crash := func() {
				if !begun {
					return // there is no record yet
				}
				if atOnce {
					if err := syncFolder(m.disk, dataDir); err != nil {
						t.Fatal(err)
					}
				}
				for _, unsynced := range []int{0, 100} {
					crashes++
					m.checkAfterCrash(t, unsynced)
				}
			}
			m.meet = func(errorfs.Op) error { crash(); return nil }
			s := script{t, bareLedger(t, m)}
			begun = true
			s.theLife(crash)
			if crashes < 200 {
				t.Errorf("vacuous: %d crashes", crashes)
			}
		})
	}
}

// checkAfterCrash compares what is on the disk after a crash with the ledger that is there.
func (m *machine) checkAfterCrash(t *testing.T, unsynced int) {
	t.Helper()
	after := m.crashed(vfs.CrashCloneCfg{UnsyncedDataPercent: unsynced, RNG: rand.New(rand.NewPCG(1, 2))})
	known, err := readLedger(after.folder())
	if err == nil {
		err = known.compare(after.folder())
	}
	if err != nil {
		t.Errorf("after a crash with %d%% of what was not synced: %v", unsynced, err)
	}
	// A crash may leave a marker that was just made, and none of the other names.
	there := after.files(t, "")
	for _, name := range m.files(t, `^marker\.`) {
		_, manifest, _ := parseMarker(name)
		if id := (fileID{manifestFile, manifest}); !slices.Contains(there, id.String()) {
			t.Errorf("%s may be durable, and %s is not", name, id)
		}
	}
}

// A change that is under way while the folder is synced may be later than that.
func TestLedgerTakesWhatComesDuringASyncForLater(t *testing.T) {
	m := newMachine()
	l := bareLedger(t, m)
	s := script{t, l}
	s.add(s.create("MANIFEST-000001"), "one")
	s.check(s.create(oldMarker).Close())
	s.syncFolder()
	s.add(s.create("MANIFEST-000005"), "all of it")
	s.check(l.syncFolder(func() error {
		err := syncFolder(m.disk, dataDir)
		s.check(s.create(newMarker).Close())
		s.add(s.create("000002.log"), "one")
		return err
	}))
	s.check(l.writeLatest())
	for _, unsynced := range []int{0, 100} {
		m.checkAfterCrash(t, unsynced)
	}
	if known := m.durableRecord(t); known.marker != 1 {
		t.Errorf("the marker is to name %d, want 1", known.marker)
	}
	s.syncFolder()
	if known := m.durableRecord(t); known.marker != 5 {
		t.Errorf("the marker is to name %d when it is durable, want 5", known.marker)
	}
}

// durableRecord is that of the ledger if the power fails now.
func (m *machine) durableRecord(t *testing.T) ledgerRecord {
	t.Helper()
	known, err := readLedger(m.crashed(vfs.CrashCloneCfg{}).folder())
	if err != nil {
		t.Fatal(err)
	}
	return known
}

// What pebble deletes files by is in the ledger when it is told that it is durable; what
// logs hold, only if that is asked for.
func TestLedgerIsDurableWhenASyncReturns(t *testing.T) {
	for name, tt := range map[string]struct {
		file   string
		strict bool
		want   bool
	}{
		"a manifest":                   {"MANIFEST-000001", false, true},
		"a log":                        {"000002.log", false, false},
		"a log, with verify = answer":  {"000002.log", true, true},
		"a table is none of its files": {"000003.sst", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine()
			m.strict = tt.strict
			s := script{t, bareLedger(t, m)}
			lengths := func(want ...int64) {
				t.Helper()
				var got []int64
				for _, e := range m.durableRecord(t).entries {
					got = append(got, e.length)
				}
				if !tt.want {
					want = nil
				}
				if !slices.Equal(got, want) {
					t.Errorf("the ledger has files of %d bytes, want %d", got, want)
				}
			}
			file := s.create(tt.file)
			s.add(file, "one")
			lengths() // it has no name that is durable
			s.syncFolder()
			lengths(3)
			s.add(file, " and two")
			lengths(11)
			_, err := io.WriteString(file, " and three")
			s.check(err, file.SyncData())
			lengths(21)
			s.check(file.Close())
		})
	}
}

// Whatever part of a record reaches the disk: the record before it, or all of it, is read.
func TestLedgerRecordCutShort(t *testing.T) {
	m := newMachine()
	var before []byte
	records, parts := 0, 0
	m.meet = func(op errorfs.Op) error {
		if !isLedgerSync(op) {
			return nil
		}
		after := m.content(t, ledgerName)
		if before != nil {
			records++
			parts += checkParts(t, before, after)
		}
		before = after
		return nil
	}
	script{t, bareLedger(t, m)}.theLife(func() {})
	if records < 12 || parts < 20*records {
		t.Errorf("vacuous: %d parts of %d records", parts, records)
	}
}

// checkParts reads what is left of a ledger that was cut short between two states of it, and
// counts the ways to do so.
func checkParts(t *testing.T, before, after []byte) (parts int) {
	t.Helper()
	known, err := readLedgerOf(t, before)
	next, nextErr := readLedgerOf(t, after)
	if err = errors.Join(err, nextErr); err != nil || next.seq != known.seq+1 {
		t.Fatalf("record %d after %d: %v", next.seq, known.seq, err)
	}
	for cut := range after {
		if after[cut] == before[cut] {
			continue
		}
		for _, left := range [][]byte{slices.Concat(after[:cut], before[cut:]), slices.Concat(before[:cut], after[cut:])} {
			parts++
			switch got, err := readLedgerOf(t, left); {
			case err != nil:
				t.Errorf("record %d cut at %d: %v", next.seq, cut, err)
			case !reflect.DeepEqual(got, known) && !reflect.DeepEqual(got, next):
				t.Errorf("record %d cut at %d: it is read as %+v", next.seq, cut, got)
			}
		}
	}
	return parts
}

// readLedgerOf reads a ledger of this content.
func readLedgerOf(t *testing.T, content []byte) (ledgerRecord, error) {
	t.Helper()
	m := newMachine()
	if err := m.disk.MkdirAll(dataDir, 0o700); err != nil {
		t.Fatal(err)
	}
	m.replace(t, ledgerName, content)
	return readLedger(m.folder())
}
