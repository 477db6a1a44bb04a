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
	t.Cleanup(func() {
		if err := l.close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// folder is the data folder, without the lock on it.
func (m *machine) folder() *folder { return &folder{fs: m.disk, path: dataDir} }

// A script uses a ledger as pebble does, or might.
type script struct {
	t    *testing.T
	l    *ledger
	open map[string]vfs.File
}

func newScript(t *testing.T, m *machine) script {
	t.Helper()
	return script{t, bareLedger(t, m), map[string]vfs.File{}}
}

func (s script) check(errs ...error) {
	s.t.Helper()
	if err := errors.Join(errs...); err != nil {
		s.t.Fatal(err)
	}
}

func (s script) path(name string) string { return s.l.PathJoin(s.l.dir, name) }

func (s script) create(name string) {
	s.t.Helper()
	file, err := s.l.Create(s.path(name), vfs.WriteCategoryUnspecified)
	s.check(err)
	s.open[name] = file
}

// write adds to a file, and does not sync it.
func (s script) write(name, text string) {
	s.t.Helper()
	_, err := io.WriteString(s.open[name], text)
	s.check(err)
}

// add adds to a file, durably.
func (s script) add(name, text string) {
	s.t.Helper()
	s.write(name, text)
	s.check(s.open[name].Sync())
}

func (s script) reuse(name, as string) {
	s.t.Helper()
	file, err := s.l.ReuseForWrite(s.path(name), s.path(as), vfs.WriteCategoryUnspecified)
	s.check(err)
	s.open[as] = file
}

func (s script) openReadWrite(name string) {
	s.t.Helper()
	file, err := s.l.OpenReadWrite(s.path(name), vfs.WriteCategoryUnspecified)
	s.check(err)
	s.open[name] = file
}

func (s script) syncFolder() {
	s.t.Helper()
	s.check(syncFolder(s.l, s.l.dir))
}

const (
	oldMarker = "marker.manifest.000001.MANIFEST-000001"
	newMarker = "marker.manifest.000002.MANIFEST-000005"
)

// theLife of a data folder. After each step the record is written, as the goroutine may
// that writes behind.
func (s script) theLife(then func()) {
	for _, step := range []func(){
		func() { s.create("MANIFEST-000001") },
		func() { s.add("MANIFEST-000001", "one") },
		func() { s.create(oldMarker) },
		s.syncFolder,
		func() { s.create("000002.log") },
		s.syncFolder,
		func() { s.add("000002.log", "one") },
		func() { s.add("000002.log", " and two") },
		func() { s.add("MANIFEST-000001", " and two") },
		func() { s.create("000003.log") },
		func() { s.add("000003.log", "of the next log") },
		s.syncFolder,
		func() { s.reuse("000002.log", "000004.log") },
		func() { s.add("000004.log", "two") },
		s.syncFolder,
		func() { s.create("MANIFEST-000005") },
		func() { s.add("MANIFEST-000005", "all of it") },
		func() { s.create(newMarker) },
		s.syncFolder,
		func() { s.check(s.l.Remove(s.path(oldMarker))) },
		func() { s.check(s.l.Remove(s.path("MANIFEST-000001"))) },
		func() { s.check(s.l.Rename(s.path("000003.log"), s.path("kept"))) },
		func() { s.openReadWrite("000004.log") },
		func() { s.add("000004.log", "TWO") },
		func() { s.create("000006.log") },
		s.syncFolder,
		func() { s.add("000006.log", "the last one") },
		func() { s.create("000006.log") },
		func() { s.add("000006.log", "and again") },
		s.syncFolder,
		func() { s.check(s.l.RemoveAll(s.path("000006.log"))) },
	} {
		step()
		s.check(s.l.writeLatest())
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
			s := newScript(t, m)
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
	s := newScript(t, m)
	s.create("MANIFEST-000001")
	s.add("MANIFEST-000001", "one")
	s.create(oldMarker)
	s.syncFolder()
	s.create("MANIFEST-000005")
	s.add("MANIFEST-000005", "all of it")
	s.check(s.l.syncFolder(func() error {
		err := syncFolder(m.disk, dataDir)
		s.create(newMarker)
		s.create("000002.log")
		s.add("000002.log", "one")
		return err
	}))
	s.check(s.l.writeLatest())
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
			s := newScript(t, m)
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
			s.create(tt.file)
			s.add(tt.file, "one")
			lengths() // it has no name that is durable
			s.syncFolder()
			lengths(3)
			s.add(tt.file, " and two")
			lengths(11)
			s.write(tt.file, " and three")
			s.check(s.open[tt.file].SyncData())
			lengths(21)
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
	newScript(t, m).theLife(func() {})
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
