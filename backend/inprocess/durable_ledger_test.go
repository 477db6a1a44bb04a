package inprocess

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"raisinproxy/backend"
)

// isLedgerSync tells whether an operation makes the ledger durable.
func isLedgerSync(op errorfs.Op) bool {
	return strings.HasSuffix(op.Path, ledgerName) && op.Kind == errorfs.OpFileSyncData
}

// A crasher crashes a machine again and again while it works, and opens what is left.
type crasher struct {
	acked  atomic.Int64 // claims of one unit of the pool p
	random *rand.Rand

	mu              sync.Mutex
	operations      int
	crashes, deeper int
}

// meet crashes before an operation on the disk: before each that is not on a log, and
// before some of those.
func (c *crasher) meet(t *testing.T, m *machine) func(op errorfs.Op) error {
	return func(op errorfs.Op) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.operations++
		frequent := strings.HasSuffix(op.Path, ".log") || strings.HasSuffix(op.Path, ledgerName)
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && (!frequent || c.operations%41 == 0) {
			for _, percent := range []int{0, 50, 100} {
				c.crash(t, m, percent, 0)
			}
		}
		return nil
	}
}

// crash opens the disk as a crash would leave it now. That may crash in its turn.
func (c *crasher) crash(t *testing.T, m *machine, unsynced, depth int) {
	least := c.acked.Load()
	after := m.crashed(vfs.CrashCloneCfg{UnsyncedDataPercent: unsynced, RNG: c.random})
	c.crashes++
	if depth == 0 && c.crashes%4 == 0 {
		var left atomic.Int64 // several goroutines of the store write
		left.Store(1 + c.random.Int64N(60))
		after.meet = func(op errorfs.Op) error {
			if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
				return nil
			}
			if left.Add(-1) == 0 {
				c.deeper++
				c.crash(t, after, unsynced, depth+1)
			}
			return nil
		}
	}
	s, err := after.tryOpen()
	if err != nil {
		t.Errorf("crash %d, with %d%% of what was not synced: %v", c.crashes, unsynced, err)
		return
	}
	defer s.Close()
	id := appendKey(nil, scope, "p")
	if p := s.shardOf(id).pools[string(id)]; least > 0 && (p == nil || capacity-p.remaining < least) {
		t.Errorf("crash %d: the pool is %+v after %d claims", c.crashes, p, least)
	}
}

// The ledger never knows more than the disk: no crash is taken for damage.
func TestNoCrashIsTakenForDamage(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it crashes a store hundreds of times")
	}
	m := newMachine()
	c := &crasher{random: rand.New(rand.NewPCG(*damageSeed, 1))}
	m.meet = c.meet(t, m)
	for _, claims := range []int{5, 350, 5, 0, 5} {
		s := m.open(t)
		filler := strings.Repeat("x", backend.MaxNameBytes-10)
		for i := range claims {
			claim(t, s, "p", 1, capacity)
			c.acked.Add(1)
			claim(t, s, fmt.Sprint(filler, i), 1, 1)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t.Logf("%d crashes, %d of them followed by another", c.crashes, c.deeper)
	if c.crashes < 300 || c.deeper < 10 {
		t.Errorf("vacuous: %d crashes, %d of them followed by another", c.crashes, c.deeper)
	}
}

// The ledger of a log is written beside the answers, or before them if that is asked
// for.
func TestWhenTheLedgerIsWritten(t *testing.T) {
	for name, strict := range map[string]bool{"beside the answer": false, "before the answer": true} {
		inBubble(t, name, func(t *testing.T) {
			m, g := newMachine(), newGate()
			m.strict = strict
			m.meet = func(op errorfs.Op) error {
				if isLedgerSync(op) {
					return g.pass()
				}
				return nil
			}
			s := m.open(t)
			// What opening left for the ledger is written before the gate shuts: who waits for
			// a mutex is running to synctest.
			time.Sleep(2 * ledgerPause)
			synctest.Wait()
			g.shut.Store(true)
			told := call(func() (backend.Claimed, error) { return s.Claim(t.Context(), scope, "p", 1, 10) })
			<-g.waiting
			synctest.Wait()
			if len(told) > 0 == strict {
				t.Errorf("the claim was answered: %v, while the ledger waits for the disk", !strict)
			}
			// With or without it, what a crash leaves is a good store.
			if r := m.crashed(vfs.CrashCloneCfg{}).open(t); !strict && remaining(t, r) != 9 {
				t.Error("the claim is lost")
			}
			g.open(nil)
			if r := <-told; r.err != nil || r.answer.Remaining != 9 {
				t.Errorf("Claim = %+v", r)
			}
			time.Sleep(2 * ledgerPause)
			synctest.Wait()
			after := m.crashed(vfs.CrashCloneCfg{})
			logs := after.files(t, `\.log$`)
			after.replace(t, logs[len(logs)-1], nil)
			if _, err := after.tryOpen(); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), logs[len(logs)-1]) {
				t.Errorf("Open without what the log held: %v, want ErrDamaged and its name", err)
			}
		})
	}
}

// A ledger that cannot be written would miss damage, so it stops the store.
func TestLedgerThatCannotBeWritten(t *testing.T) {
	inBubble(t, "the disk is full", func(t *testing.T) {
		m := newMachine()
		var full atomic.Bool
		m.meet = func(op errorfs.Op) error {
			if full.Load() && isLedgerSync(op) {
				return syscall.ENOSPC
			}
			return nil
		}
		s := m.open(t)
		full.Store(true)
		if _, err := s.Claim(t.Context(), scope, "p", 1, 10); err != nil && !errors.Is(err, backend.ErrInDoubt) {
			t.Errorf("Claim: %v", err)
		}
		time.Sleep(2 * ledgerPause)
		synctest.Wait()
		if _, err := s.Claim(t.Context(), scope, "p", 1, 10); !errors.Is(err, backend.ErrUnwritable) || !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("Claim: %v, want ErrUnwritable and the cause", err)
		}
	})
}

// A start that is cut short leaves the logs that it was to read. What the ledger knew of
// them it still knows.
func TestLedgerOutlivesAStartThatIsCutShort(t *testing.T) {
	m := newMachine()
	m.open(t).Close() // so its first records are in tables, and not missed
	m.strict = true
	claim(t, m.open(t), "p", 1, 10)
	m = m.unplugged()
	logs := m.files(t, `\.log$`)
	latest := logs[len(logs)-1]
	var mu sync.Mutex
	var cutShort *machine
	m.meet = func(op errorfs.Op) error {
		mu.Lock()
		defer mu.Unlock()
		if cutShort == nil && strings.HasSuffix(op.Path, ".sst") && op.Kind == errorfs.OpCreate {
			cutShort = m.crashed(vfs.CrashCloneCfg{})
		}
		return nil
	}
	m.open(t)
	if cutShort == nil {
		t.Fatal("vacuous: the start wrote no table of what was in a log")
	}
	if left := remaining(t, cutShort.crashed(vfs.CrashCloneCfg{}).open(t)); left != 9 {
		t.Errorf("%d units are left, want 9", left)
	}
	cutShort.remove(t, latest)
	if _, err := cutShort.tryOpen(); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), latest+" is missing") {
		t.Errorf("Open without a log that no table has yet: %v, want ErrDamaged and %s", err, latest)
	}
}

// An older state of the manifest and its marker is consistent in itself.
func TestOldMarkerIsRefused(t *testing.T) {
	m := newMachine()
	s := m.open(t)
	old := m.killed()
	claim(t, s, "p", 1, 10)
	s.Close()
	m.open(t).Close()
	for _, name := range m.files(t, `^marker\.manifest`) {
		m.remove(t, name)
	}
	for _, name := range old.files(t, `^(marker\.manifest|MANIFEST)`) {
		m.replace(t, name, old.content(t, name))
	}
	if _, err := m.tryOpen(); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "marker of the manifest") {
		t.Errorf("Open = %v, want ErrDamaged and the marker", err)
	}
}

// unledgered makes the store in a folder one of a version that kept no ledger.
func (m *machine) unledgered(t *testing.T) {
	t.Helper()
	s := m.open(t)
	if err := errors.Join(s.journal.db.Set(formatKey, []byte(unledgeredFormat), pebble.Sync), s.Close()); err != nil {
		t.Fatal(err)
	}
	m.replace(t, markFile, []byte(oldMarkText))
	m.remove(t, ledgerName)
}

// A store of an older version is taken over, and a crash at any moment of it changes
// nothing.
func TestStoreWithoutALedgerIsTakenOver(t *testing.T) {
	m := newMachine()
	claim(t, m.open(t), "p", 1, 10)
	m = m.unplugged()
	m.unledgered(t)
	var mu sync.Mutex
	var moments []*machine
	m.meet = func(errorfs.Op) error {
		mu.Lock()
		defer mu.Unlock()
		moments = append(moments, m.crashed(vfs.CrashCloneCfg{}), m.killed())
		return nil
	}
	m.open(t).Close()
	m.meet = nil
	if string(m.content(t, markFile)) != markText {
		t.Error("the folder is not marked as one with a ledger")
	}
	if len(moments) < 50 {
		t.Errorf("vacuous: %d moments", len(moments))
	}
	for i, m := range append(moments, m) {
		s := m.open(t)
		if left := remaining(t, s); left != 9 {
			t.Errorf("moment %d: %d units are left, want 9", i, left)
		}
		format, err := readMeta(s.journal.db, formatKey)
		if err != nil || format == unledgeredFormat {
			t.Errorf("moment %d: the format is %q, %v: older versions would make the ledger a wrong one", i, format, err)
		}
		s.Close()
	}
	stale := m.content(t, ledgerName)
	m.unledgered(t)
	withoutLogs := m.killed()
	for _, name := range withoutLogs.files(t, `\.log$`) {
		withoutLogs.remove(t, name)
	}
	if _, err := withoutLogs.tryOpen(); !errors.Is(err, ErrDamaged) {
		t.Errorf("Open of an old store without a log: %v, want ErrDamaged", err)
	}
	// The older version may have written in between; what is in the ledger says nothing then.
	m.replace(t, ledgerName, stale)
	if left := remaining(t, m.open(t)); left != 9 {
		t.Errorf("%d units are left, want 9", left)
	}
}

// Who takes the folder away while it is in use is noticed by the next change, which
// would be lost.
func TestFolderThatIsTakenAway(t *testing.T) {
	for name, take := range map[string]func(dir string) error{
		"moved":   func(dir string) error { return os.Rename(dir, dir+" elsewhere") },
		"removed": os.RemoveAll,
		"emptied": func(dir string) error {
			files, err := filepath.Glob(filepath.Join(dir, "*"))
			for _, file := range files {
				err = errors.Join(err, os.Remove(file))
			}
			return err
		},
		"replaced": func(dir string) error {
			return errors.Join(os.Rename(dir, dir+" elsewhere"), os.Mkdir(dir, 0o700))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, s := realFolder(t)
			if err := take(dir); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Claim(t.Context(), scope, "p", 1, 10); !errors.Is(err, backend.ErrInDoubt) || !errors.Is(err, errMoved) {
				t.Errorf("Claim: %v, want ErrInDoubt and the cause", err)
			}
			if _, err := s.Claim(context.Background(), scope, "p", 1, 10); !errors.Is(err, backend.ErrUnwritable) {
				t.Errorf("Claim: %v, want ErrUnwritable", err)
			}
			s.Close()
			if name == "moved" {
				again, err := Open(dir+" elsewhere", Options{})
				if err != nil {
					t.Fatal(err)
				}
				defer again.Close()
				if left := remaining(t, again); left > 9 {
					t.Errorf("%d units are left, want 9 or 8", left)
				}
			}
		})
	}
}

// What is refused is named, and the record is as large as it may become.
func TestLedgerRecord(t *testing.T) {
	r := ledgerRecord{seq: 7, marker: 3}
	for n := range maxEntries {
		r.entries = append(r.entries, ledgerEntry{id: fileID{logFile, uint64(n)}, length: int64(n), crc: uint32(n), named: true})
	}
	slot, err := r.encode()
	if err != nil || len(slot) > slotBytes {
		t.Fatalf("%d bytes, %v; want at most %d", len(slot), err, slotBytes)
	}
	read, whole := decodeSlot(slot)
	if !whole || fmt.Sprint(read) != fmt.Sprint(r) {
		t.Error("what is read is not what was written")
	}
	for cut := range 100 {
		if _, whole := decodeSlot(slot[:len(slot)-1-cut]); whole {
			t.Errorf("a slot without its last %d bytes is whole", cut+1)
		}
	}
	r.entries = append(r.entries, ledgerEntry{})
	if _, err := r.encode(); err == nil {
		t.Error("a record is written that does not fit its slot")
	}
}

// Where the ledger is behind, the log itself shows that it is damaged, in a store that
// was just made too.
func TestDamageAheadOfTheLedgerIsRefused(t *testing.T) {
	m, g := newMachine(), newGate()
	m.meet = func(op errorfs.Op) error {
		if isLedgerSync(op) {
			return g.pass()
		}
		return nil
	}
	s := m.open(t)
	t.Cleanup(func() { g.open(nil) }) // before s is closed
	g.shut.Store(true)
	for i := range 150 {
		claim(t, s, strings.Repeat("x", backend.MaxNameBytes-3)+fmt.Sprint(i), 1, 10)
	}
	after := m.crashed(vfs.CrashCloneCfg{})
	logs := after.files(t, `\.log$`)
	latest := logs[len(logs)-1]
	content := after.content(t, latest)
	content[len(content)/2] ^= 0x40
	after.replace(t, latest, content)
	if _, err := after.tryOpen(); !errors.Is(err, ErrDamaged) {
		t.Errorf("Open = %v after a change in the middle of the log, want ErrDamaged", err)
	}
}
