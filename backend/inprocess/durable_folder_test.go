package inprocess

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"raisinproxy/backend"
)

// realFolder is a store in a folder of the machine, with a pool of ten units and
// a lease of an hour.
func realFolder(t *testing.T) (dir string, s *Store) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "data")
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	claim(t, s, "p", 1, 10)
	acquire(t, s, "k", time.Hour)
	return dir, s
}

func TestSecondStoreIsRefused(t *testing.T) {
	dir, s := realFolder(t)
	for range 2 { // the refused one must not have freed it
		_, err := Open(dir, Options{})
		if !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), fmt.Sprintf("%s is open in process %d", dir, os.Getpid())) {
			t.Fatalf("Open = %v, want ErrInUse with the folder and our process", err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, pidFile)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file with our process is left behind: %v", err)
	}
	again, err := Open(dir, Options{})
	if err != nil {
		t.Fatalf("Open after Close: %v", err)
	}
	defer again.Close()
	if left := remaining(t, again); left != 9 {
		t.Errorf("%d units are left, want 9", left)
	}
	if !isHeld(t, again, "k") {
		t.Error("the lease is lost")
	}
}

func TestFolderIsPrivate(t *testing.T) {
	dir, _ := realFolder(t)
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder is %v, %v; others must not read keys", info.Mode(), err)
	}
}

// glob gives the files of a store that a pattern fits, at least one.
func glob(t *testing.T, dir, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no %s in %s: %v", pattern, dir, err)
	}
	return files
}

// A folder that misses something is refused, with what to do, and left alone.
func TestDamagedStoreIsRefused(t *testing.T) {
	remove := func(pattern string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			for _, file := range glob(t, dir, pattern) {
				if err := os.Remove(file); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	set := func(key, value []byte) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			s, err := Open(dir, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(s.journal.db.Set(key, value, pebble.Sync), s.Close()); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, damage := range map[string]func(t *testing.T, dir string){
		"no manifest":           remove("MANIFEST-*"),
		"no marker":             remove("marker.manifest*"),
		"no log":                remove("*.log"),
		"no ledger":             remove(ledgerName),
		"no tables":             remove("*.sst"),
		"a changed table":       func(t *testing.T, dir string) { flip(t, glob(t, dir, "*.sst")[0], 5) },
		"a format that is none": set(formatKey, []byte("2.0")),
		"no format":             set(formatKey, nil),
		"a short lease":         set([]byte("lx"), []byte("short")),
		"a lease beyond token":  set([]byte("lx"), appendLease(nil, &leaseRecord{token: backend.MaxToken, deadline: 1, ttl: 1})),
		"a negative lease":      set([]byte("lx"), appendLease(nil, &leaseRecord{token: 1, deadline: 1, ttl: -1})),
		"a nameless user":       set([]byte("lx"), append(appendLease(nil, &leaseRecord{token: 1}), 0)),
		"a short pool":          set([]byte("px"), []byte("short")),
		"a negative pool":       set([]byte("px"), appendInt(nil, -1)),
		"a negative ceiling":    set(ceilingKey, appendInt(nil, -1)),
		"an unknown record":     set([]byte("x"), nil),
	} {
		t.Run(name, func(t *testing.T) {
			dir, s := realFolder(t)
			for i := range 50 {
				claim(t, s, fmt.Sprint("pool ", i), 1, 10)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			damage(t, dir)
			for range 2 {
				_, err := Open(dir, Options{})
				if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "restore the folder from a backup, or see what `raisinproxy repair --data-dir "+dir+"` can read") {
					t.Fatalf("Open = %v, want ErrDamaged and what to do", err)
				}
			}
		})
	}
}

// A folder of a newer version is not damaged, and nothing in it is missing for repair.
func TestANewerStoreIsRefusedAndLeftAlone(t *testing.T) {
	dir, s := realFolder(t)
	claim(t, s, "pool", 1, 10)
	if err := errors.Join(s.journal.db.Set(formatKey, []byte("17"), pebble.Sync), s.Close()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := Open(dir, Options{}); !errors.Is(err, ErrNewer) || errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "its format is 17, and this version reads those up to "+formatVersion) {
			t.Errorf("Open = %v, want ErrNewer with both formats", err)
		}
		if report, err := Repair(dir, true, slog.New(slog.DiscardHandler)); !errors.Is(err, ErrNewer) || report.Kept != "" {
			t.Errorf("Repair = %+v, %v; want ErrNewer", report, err)
		}
	}
}

// After a crash there is a log, and a change of it is noticed.
func TestDamagedLogIsRefused(t *testing.T) {
	dir, s := realFolder(t)
	for i := range 150 {
		claim(t, s, strings.Repeat("x", backend.MaxNameBytes-3)+fmt.Sprint(i), 1, 10)
	}
	for _, part := range []int{2, 3, 5, 50} {
		after := filepath.Join(t.TempDir(), "after a crash")
		if err := os.CopyFS(after, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		logs := glob(t, after, "*.log")
		flip(t, logs[len(logs)-1], part)
		if _, err := Open(after, Options{}); !errors.Is(err, ErrDamaged) {
			t.Errorf("Open = %v after a change at 1/%d of the log, want ErrDamaged", err, part)
		}
	}
}

// flip changes a byte after so many parts of a file: 2 is its middle.
func flip(t *testing.T, path string, part int) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)/part] ^= 0x40
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A folder that holds other things is not littered.
func TestForeignFolderIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "users.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, Options{}); err == nil || !strings.Contains(err.Error(), `holds "users.txt"`) {
		t.Errorf("Open = %v, want what the folder holds", err)
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 1 {
		t.Errorf("the folder now holds %v, %v", names, err)
	}
}

// A crash while a store is made leaves a folder in which one can be made.
func TestCrashWhileAStoreIsMade(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it crashes at every step")
	}
	m := newMachine()
	var mu sync.Mutex // pebble removes files in a goroutine of its own
	var moments []*machine
	m.meet = func(errorfs.Op) error {
		mu.Lock()
		defer mu.Unlock()
		moments = append(moments, m.crashed(vfs.CrashCloneCfg{}), m.killed())
		return nil
	}
	m.open(t).Close()
	if len(moments) < 100 {
		t.Errorf("vacuous: %d moments", len(moments))
	}
	for _, m := range moments {
		s := m.open(t)
		claim(t, s, "p", 1, 10)
		s.Close()
	}
}

// Case 18: what is on disk goes when the leases have gone.
func TestKeyspaceReturnsToItsSize(t *testing.T) {
	m := newMachine()
	s := m.open(t)
	before := onDisk(t, s)
	var last basis
	for i := range 5000 {
		id := appendKey(nil, scope, fmt.Sprint("k", i))
		grant, _, rests, err := s.acquireOrJoin(s.shardOf(id), id, backend.Request{TTL: time.Second}, 0)
		if err == nil && i%2 == 0 {
			_, rests, err = s.release(id, backend.Proof{Token: grant.token})
		}
		if err != nil {
			t.Fatal(err)
		}
		last = rests
	}
	if err := s.settle(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	if n := onDisk(t, s); n != before+2500 {
		t.Errorf("%d records are on disk while 2500 leases are held, want %d more than %d", n, 2500, before)
	}
	m.clock.Advance(time.Second)
	s.reap()
	acquire(t, s, "one more", time.Second) // is on disk after what the reaper wrote
	if n := onDisk(t, s); n != before+1 {
		t.Errorf("%d records are on disk, want one more than the %d at first", n, before)
	}
	// And who restarts instead of waiting for the reaper finds nothing either.
	m.clock.Advance(time.Second)
	if n := onDisk(t, m.crashed(vfs.CrashCloneCfg{}).open(t)); n != before {
		t.Errorf("%d records are on disk after a restart, want %d", n, before)
	}
}

// onDisk counts the records, but for the ceiling that the first token brings.
func onDisk(t *testing.T, s *Store) (n int) {
	t.Helper()
	records, err := s.journal.db.NewIter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer records.Close()
	for ok := records.First(); ok; ok = records.Next() {
		if !bytes.Equal(records.Key(), ceilingKey) {
			n++
		}
	}
	return n
}

func TestBootID(t *testing.T) {
	if id := bootID(); id == "" || id != bootID() && !strings.HasPrefix(id, "unknown ") {
		t.Errorf("the boot is %q, and then %q", id, bootID())
	}
	if one, other := unknownBoot(), unknownBoot(); one == other {
		t.Error("two processes that know nothing take each other's deadlines for their own")
	}
}

// Whether calls may wait is what a front end asks.
func TestImmediate(t *testing.T) {
	if s, _ := newStore(t); !s.Immediate() {
		t.Error("a store in memory is not immediate")
	}
	if newMachine().open(t).Immediate() {
		t.Error("a durable store says that it does not wait")
	}
}
