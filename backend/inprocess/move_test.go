package inprocess

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"raisinproxy/backend"
	"raisinproxy/backend/moving"
)

// options are those of a store on the disk of m.
func (m *machine) options() Options {
	disk := vfs.FS(m.disk)
	if m.meet != nil {
		disk = errorfs.Wrap(disk, errorfs.InjectorFunc(m.meet))
	}
	return Options{Clock: m.clock, disk: disk, bootID: m.boot}
}

// export moves the store of m to a new file.
func (m *machine) export(t *testing.T, again bool) (path string, err error) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "out")
	return path, m.exportTo(t, path, again)
}

func (m *machine) exportTo(t *testing.T, path string, again bool) error {
	t.Helper()
	w, err := moving.Create(path, Source)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Discard()
	_, err = Export(dataDir, w, again, m.options())
	return err
}

func (m *machine) mustExport(t *testing.T) (path string) {
	t.Helper()
	path, err := m.export(t, false)
	if err != nil {
		t.Fatalf("Export: %v", err)
	}
	return path
}

// importFrom fills the store of m from a file.
func (m *machine) importFrom(t *testing.T, path string, replace bool) error {
	t.Helper()
	from, err := moving.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	return Import(dataDir, path, from, replace, m.options())
}

func (m *machine) mustImport(t *testing.T, path string, replace bool) {
	t.Helper()
	if err := m.importFrom(t, path, replace); err != nil {
		t.Fatalf("Import: %v", err)
	}
}

func nothing() error { return nil }

// aStore is a machine with a pool p of which 9 are left and a lease of k of an hour, closed.
func aStore(t *testing.T) (m *machine, token int64) {
	t.Helper()
	m = newMachine()
	s := m.open(t)
	claim(t, s, "p", 1, 10)
	token = acquire(t, s, "k", time.Hour)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return m, token
}

func TestMovingToAnotherFolder(t *testing.T) {
	from, token := aStore(t)
	from.clock.Advance(20 * time.Minute)
	path := from.mustExport(t)
	to := newMachine()
	to.clock.StepWall(-50 * 365 * 24 * time.Hour)
	to.clock.Advance(7 * time.Hour) // another boot clock
	to.mustImport(t, path, false)
	s := to.open(t)
	if left := remaining(t, s); left != 9 {
		t.Errorf("%d units are left, want 9", left)
	}
	if next := acquire(t, s, "free", time.Second); next <= token+tokenLead-1 {
		t.Errorf("the next token is %d; the old store may have told %d", next, token+tokenLead)
	}
	to.clock.Advance(40*time.Minute - 1)
	if !isHeld(t, s, "k") {
		t.Error("the lease is shorter than it was")
	}
	if ok, err := s.Renew(t.Context(), scope, "k", backend.Proof{Token: token}, time.Hour); !ok || err != nil {
		t.Errorf("Renew by the holder = %v, %v", ok, err)
	}
	to.clock.Advance(time.Hour)
	if isHeld(t, s, "k") {
		t.Error("the lease does not end")
	}
}

func TestALeaseOfAnotherBootMovesWithItsFullTime(t *testing.T) {
	from, _ := aStore(t)
	from.clock.Advance(20 * time.Minute)
	from = from.unplugged()
	from.clock.Advance(2 * time.Hour) // its boot clock is beyond the deadline by the old one
	to := newMachine()
	to.mustImport(t, from.mustExport(t), false)
	to.clock.Advance(time.Hour - 1)
	if !isHeld(t, to.open(t), "k") {
		t.Error("the lease is shorter than its full time, and nobody knows how long the restart took")
	}
}

func TestALeaseThatIsOverStaysBehind(t *testing.T) {
	from, token := aStore(t)
	from.clock.Advance(time.Hour)
	path := from.mustExport(t)
	f, err := moving.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if f.Totals.Leases != 0 || f.Totals.Pools != 1 || f.Totals.GreatestToken < token {
		t.Errorf("the file has %+v, want no lease, one pool and the token %d", f.Totals, token)
	}
}

func TestAnExportedStoreCannotBeOpenedUntilReopened(t *testing.T) {
	m, token := aStore(t)
	path := m.mustExport(t)
	if _, err := m.tryOpen(); !errors.Is(err, ErrSealed) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "raisinproxy reopen") {
		t.Errorf("Open = %v, want ErrSealed, the file and what to do", err)
	}
	m = m.unplugged() // the seal is durable
	if _, err := m.tryOpen(); !errors.Is(err, ErrSealed) {
		t.Errorf("Open after a power failure = %v, want ErrSealed", err)
	}
	if _, err := m.export(t, false); !errors.Is(err, ErrSealed) {
		t.Errorf("a second Export = %v, want ErrSealed", err)
	}
	if _, err := m.export(t, true); err != nil {
		t.Errorf("Export again = %v", err)
	}
	if err := reopen(m.disk, dataDir, "of another file", nothing); !errors.Is(err, ErrSealed) {
		t.Errorf("Reopen with another file = %v, want ErrSealed", err)
	}
	if err := reopen(m.disk, dataDir, "", func() error { return errClosed }); !errors.Is(err, errClosed) {
		t.Errorf("Reopen while the file can be imported = %v", err)
	}
	if err := reopen(m.disk, dataDir, "", nothing); err != nil {
		t.Fatalf("Reopen: %v", err)
	}
	s := m.unplugged().open(t)
	if left := remaining(t, s); left != 9 {
		t.Errorf("%d units are left, want 9", left)
	}
	if next := acquire(t, s, "other", time.Second); next <= token {
		t.Errorf("token %d after %d", next, token)
	}
	if err := reopen(m.disk, dataDir, "", nothing); err == nil {
		t.Error("a store that is not sealed is reopened")
	}
}

func TestARunningStoreIsNotExported(t *testing.T) {
	dir, s := realFolder(t)
	out := filepath.Join(t.TempDir(), "out")
	w, err := moving.Create(out, Source)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Discard()
	if _, err := Export(dir, w, false, Options{}); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), fmt.Sprintf("process %d", os.Getpid())) {
		t.Errorf("Export = %v, want ErrInUse with the process", err)
	}
	if err := Import(dir, out, &moving.File{}, true, Options{}); !errors.Is(err, ErrInUse) {
		t.Errorf("Import = %v, want ErrInUse", err)
	}
	if err := Reopen(dir, "", nothing); !errors.Is(err, ErrInUse) {
		t.Errorf("Reopen = %v, want ErrInUse", err)
	}
	if left := remaining(t, s); left != 9 {
		t.Errorf("%d units are left, want 9", left)
	}
	if _, err := Export(filepath.Join(t.TempDir(), "missing"), w, false, Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Export of no folder = %v", err)
	}
}

func TestADamagedStoreIsNotExported(t *testing.T) {
	running := newMachine()
	s := running.open(t)
	for range 100 {
		claim(t, s, "p", 1, 1000)
	}
	if err := s.journal.ledger.writeLatest(); err != nil {
		t.Fatal(err)
	}
	m := running.killed()
	for _, name := range m.files(t, `\.log$`) { // pebble takes a log that is cut off for one that ended so
		path := m.disk.PathJoin(dataDir, name)
		text := m.snapshot(t)[name]
		file, err := m.disk.Create(path, vfs.WriteCategoryUnspecified)
		if err == nil {
			_, err = file.Write(text[:len(text)/2])
			err = errors.Join(err, file.Sync(), file.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if path, err := m.export(t, false); !errors.Is(err, ErrDamaged) {
		t.Errorf("Export = %v, want ErrDamaged", err)
	} else if _, err := os.Stat(path); err == nil {
		t.Error("there is a file")
	}
}

func TestAnImportGoesIntoAnEmptyStoreOnly(t *testing.T) {
	from, token := aStore(t)
	path := from.mustExport(t)
	if err := from.importFrom(t, path, false); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("Import into an exported store = %v, want ErrNotEmpty", err)
	}
	full := newMachine()
	s := full.open(t)
	claim(t, s, "p", 3, 10)
	s.Close()
	for _, replace := range []bool{false, true} {
		if err := full.importFrom(t, path, replace); !errors.Is(err, ErrNotEmpty) || !strings.Contains(err.Error(), "0 leases and 1 pools") {
			t.Errorf("Import into a store with a pool = %v, want ErrNotEmpty and what there is", err)
		}
	}
	if left := remaining(t, full.open(t)); left != 7 {
		t.Errorf("the store that refused has %d units, want 7", left)
	}

	used := newMachine() // empty, but its tokens were told
	used.clock.StepWall(100 * 24 * time.Hour)
	s = used.open(t)
	last := acquire(t, s, "k2", time.Hour)
	if ok, err := s.Release(t.Context(), scope, "k2", backend.Proof{Token: last}); !ok || err != nil {
		t.Fatal(ok, err)
	}
	s.Close()
	used.clock.StepWall(-200 * 24 * time.Hour)
	used.mustImport(t, path, false)
	s = used.open(t)
	if next := acquire(t, s, "k2", time.Hour); next <= last || next <= token {
		t.Errorf("token %d after %d of this store and %d of the other", next, last, token)
	}
}

func TestWhatWasExportedIsReplaced(t *testing.T) {
	here, _ := aStore(t)
	path := here.mustExport(t)
	there := newMachine()
	there.mustImport(t, path, false)
	s := there.open(t)
	claim(t, s, "p", 2, 10)
	if ok, err := s.Release(t.Context(), scope, "k", backend.Proof{Token: heldBy(t, path)}); !ok || err != nil {
		t.Fatal(ok, err)
	}
	s.Close()
	here.mustImport(t, there.mustExport(t), true)
	s = here.open(t)
	if left := remaining(t, s); left != 7 {
		t.Errorf("%d units came back, want 7", left)
	}
	if isHeld(t, s, "k") {
		t.Error("a lease that was released elsewhere is held")
	}
}

// heldBy is the token of the lease in a file.
func heldBy(t *testing.T, path string) (token int64) {
	t.Helper()
	f, err := moving.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Each(func(r moving.Record) error {
		if r.Lease != nil {
			token = r.Lease.Token
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return token
}

// A crash at any moment of an import leaves a store without anything or one that cannot be opened, and the
// same import, and no other, goes on.
func TestACrashedImportIsNeverServed(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it crashes an import at every step")
	}
	from := newMachine()
	s := from.open(t)
	const pools = 2*importBatch + 10
	id := func(i int) []byte { return appendKey(nil, scope, fmt.Sprint("p", i)) }
	for i := range pools {
		if _, err := s.journal.putPool(id(i), pool{remaining: int64(i), capacity: int64(i)}); err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
	path := from.mustExport(t)
	other, _ := aStore(t)
	otherPath := other.mustExport(t)

	to := newMachine()
	random := rand.New(rand.NewPCG(1, 2))
	var meeting sync.Mutex // pebble writes in goroutines of its own
	crashes, sealed, half := 0, 0, false
	to.meet = func(op errorfs.Op) error {
		meeting.Lock()
		defer meeting.Unlock()
		if op.Kind.ReadOrWrite() != errorfs.OpIsWrite || half {
			return nil
		}
		crashes++
		after := to.crashed(vfs.CrashCloneCfg{UnsyncedDataPercent: 50 * (crashes % 3), RNG: random})
		s, err := after.tryOpen()
		switch {
		case errors.Is(err, ErrSealed):
			if sealed++; sealed%15 != 1 {
				return nil
			}
			if err := after.importFrom(t, otherPath, false); !errors.Is(err, ErrSealed) {
				t.Errorf("crash %d: an import of another file: %v, want ErrSealed", crashes, err)
			}
			if err := reopen(after.disk, dataDir, "", nothing); !errors.Is(err, ErrSealed) {
				t.Errorf("crash %d: Reopen of half an import: %v, want ErrSealed", crashes, err)
			}
			if err := after.importFrom(t, path, false); err != nil {
				t.Errorf("crash %d: the same import: %v", crashes, err)
			}
			s, err = after.tryOpen()
		case err == nil && s.poolCount() == 0:
			return errors.Join(nil, s.Close())
		}
		if err != nil {
			t.Errorf("crash %d: %v", crashes, err)
			return nil
		}
		if n := s.poolCount(); n != pools {
			t.Errorf("crash %d: %d pools are served, want %d", crashes, n, pools)
		}
		s.Close()
		return nil
	}
	to.mustImport(t, path, false)
	if sealed == 0 {
		t.Error("no crash left a seal")
	}
	t.Logf("%d crashes, %d left a seal", crashes, sealed)
}

// poolCount is how many pools a store has.
func (s *Store) poolCount() (n int) {
	for i := range s.shards {
		n += len(s.shards[i].pools)
	}
	return n
}

// Whenever a file has its name, the store that it is of cannot be opened.
func TestACrashedExportLeavesNoTwoStores(t *testing.T) {
	from, _ := aStore(t)
	path := filepath.Join(t.TempDir(), "out")
	crashes, sealed := 0, 0
	look := func() {
		crashes++
		after := from.crashed(vfs.CrashCloneCfg{})
		s, err := after.tryOpen()
		if err != nil {
			sealed++
			if _, err := after.export(t, true); err != nil {
				t.Errorf("crash %d: the export again: %v", crashes, err)
			}
			return
		}
		s.Close()
		if _, err := os.Stat(path); err == nil {
			t.Errorf("crash %d: the file is there, and the store can be opened", crashes)
		}
	}
	from.meet = func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			look()
		}
		return nil
	}
	if err := from.exportTo(t, path, false); err != nil {
		t.Fatal(err)
	}
	look()
	if sealed < 2 || crashes == sealed {
		t.Errorf("%d crashes, %d left a seal", crashes, sealed)
	}
}

func TestKeysAreTakenApart(t *testing.T) {
	for _, parts := range [][4]string{{"a", "b", "c", "d"}, {"", "", "", "x"}, {"a:b", "\x00", "\xff", strings.Repeat("n", 1024)}} {
		want := backend.Scope{Tenant: parts[0], Repository: parts[1], Branch: parts[2]}
		key := appendKey(nil, want, parts[3])
		if got, name, err := splitKey(key); got != want || name != parts[3] || err != nil {
			t.Errorf("%q: %+v, %q, %v", parts, got, name, err)
		}
		if _, _, err := splitKey(key[:len(key)-1]); err == nil {
			t.Errorf("%q: a key that is cut off is taken", parts)
		}
		if _, _, err := splitKey(append(key, 'x')); err == nil {
			t.Errorf("%q: a key that is too long is taken", parts)
		}
	}
}
