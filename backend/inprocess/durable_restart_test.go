package inprocess

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"raisinproxy/backend"
	"raisinproxy/backend/backendtest"
)

// fillAtOnce takes leases for an hour and makes pools of which one unit of a hundred is sold, by many
// callers who share a sync.
func fillAtOnce(t testing.TB, s *Store, leases, pools int) {
	t.Helper()
	var next atomic.Int64
	var all sync.WaitGroup
	for range 4096 {
		all.Go(func() {
			for i := int(next.Add(1)); i <= leases+pools; i = int(next.Add(1)) {
				var err error
				if i <= leases {
					_, err = s.Acquire(context.Background(), scope, fmt.Sprintf("event:%08d", i), backend.Request{TTL: time.Hour})
				} else {
					_, err = s.Claim(context.Background(), scope, fmt.Sprintf("seats:%08d", i-leases), 1, 100)
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

// bytesOnDisk is what the files of the data folder take.
func (m *machine) bytesOnDisk(t *testing.T) (total int64) {
	t.Helper()
	names, err := m.disk.List(dataDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		info, err := m.disk.Stat(m.disk.PathJoin(dataDir, name))
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
	}
	return total
}

// idleBytes is what an idle folder may take: the log in use, and three that are kept to be
// written over, all a little longer than memTableBytes at most.
const idleBytes = 5 * memTableBytes

// tableBytes is what the tables of the data folder take, when those that are not needed any
// more are gone.
func tableBytes(s *Store) uint64 {
	s.journal.db.TestOnlyWaitForCleaning()
	return s.journal.db.Metrics().DiskSpaceUsage() - logBytes(s)
}

func logBytes(s *Store) uint64 {
	m := s.journal.db.Metrics()
	return m.WAL.PhysicalSize + m.WAL.ObsoletePhysicalSize
}

// A folder becomes small by itself when a crowd of leases has ended, and a store that was
// restarted among them too.
func TestTheFolderReturnsToNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it fills and empties a folder")
	}
	const leases, pools = 4 * crowd, 1000
	m := newMachine()
	s := m.open(t)
	fillAtOnce(t, s, leases, pools)
	if n := tableBytes(s); n < 1<<20 {
		t.Fatalf("vacuous: tables of %d bytes", n)
	}
	s.Close()
	s = m.open(t)
	if n := s.records(t); n != leases {
		t.Fatalf("%d leases after the restart, want %d", n, leases)
	}
	held := acquire(t, s, "stays", 2*time.Hour)
	m.clock.Advance(time.Hour)
	s.reap()
	tables := tableBytes(s)
	if n := m.bytesOnDisk(t); n > idleBytes || tables > 256<<10 {
		t.Errorf("a folder of %d bytes, its tables %d: want no more than %d and 256 KiB", n, tables, idleBytes)
	}
	s.Close()
	s = m.open(t)
	if c := claim(t, s, fmt.Sprintf("seats:%08d", pools), 1, 1); s.records(t) != 1 || c.Remaining != 98 {
		t.Errorf("%d leases and %+v after another restart, want 1 and 98", s.records(t), c)
	}
	release(t, s, "stays", held)
}

// So it does when they ended while no process had it open.
func TestTheFolderReturnsToNothingAfterALongPause(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it fills and empties a folder")
	}
	m := newMachine()
	s := m.open(t)
	fillAtOnce(t, s, 4*crowd, 10)
	s.Close()
	m.clock.Advance(time.Hour)
	s = m.open(t)
	s.reap()
	if n := tableBytes(s); s.records(t) != 0 || n > 64<<10 {
		t.Errorf("%d leases and tables of %d bytes, want none and 64 KiB", s.records(t), n)
	}
}

// Callers are served, and the store may be closed, while the folder is made small.
func TestCallersGoOnWhileTheFolderShrinks(t *testing.T) {
	m := newMachine()
	s := m.open(t)
	fillAtOnce(t, s, 2*crowd, 10)
	m.clock.Advance(time.Hour)
	calls := 0
	done := make(chan struct{})
	var callers sync.WaitGroup
	callers.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			key := fmt.Sprint("k", i)
			release(t, s, key, acquire(t, s, key, time.Hour))
			calls++
		}
	})
	s.reap()
	close(done)
	callers.Wait()
	if calls == 0 {
		t.Error("vacuous: nobody called")
	}
	s.Close()
	if n := m.open(t).records(t); n != 0 {
		t.Errorf("%d leases are left", n)
	}
}

// Whatever write fails while the folder is made small: the store stops as after any other,
// and what was acknowledged is there.
func TestAFailureWhileTheFolderShrinks(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it fails a compaction at every step")
	}
	full := newMachine()
	s := full.open(t)
	fillAtOnce(t, s, 2*crowd, 10)
	held := acquire(t, s, "stays", 2*time.Hour)
	s.Close()
	full.clock.Advance(time.Hour)
	poisoned := 0
	for at := 1; at < 1<<12; at *= 2 {
		m := full.killed()
		var left atomic.Int64
		left.Store(1 << 40)
		m.meet = func(op errorfs.Op) error {
			if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && left.Add(-1) == 0 {
				return errors.New("the disk is broken")
			}
			return nil
		}
		s := m.open(t)
		left.Store(int64(at))
		s.reap()
		if s.journal.unwritable() != nil {
			poisoned++
		}
		s.Close()
		after := m.crashed(vfs.CrashCloneCfg{}).open(t)
		if c := claim(t, after, "seats:00000010", 1, 1); c.Remaining != 98 {
			t.Errorf("after a failure of write %d: %+v, want 98", at, c)
		}
		release(t, after, "stays", held)
		after.Close()
	}
	if poisoned < 4 {
		t.Errorf("vacuous: only %d failures had an effect", poisoned)
	}
}

// A machine that is restarted writes every deadline anew. Whatever start is cut short
// meanwhile, the next one gives every lease its full time.
func TestAStartThatIsCutShortShortensNoLease(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it cuts a start short at every step")
	}
	const leases = 80_000 // more than is written at once
	before := newMachine()
	s := before.open(t)
	fillAtOnce(t, s, leases, 0)
	s.Close()

	m := before.unplugged()
	m.clock.Advance(10 * time.Hour) // by which the old deadlines would be over
	moments := m.crashedAtEachSync(t)
	for i, crashed := range moments {
		crashed.clock = new(backendtest.Clock) // of its own, and the same boot
		crashed.clock.Advance(10 * time.Hour)
		s := crashed.open(t)
		crashed.clock.Advance(time.Hour - 1)
		now := crashed.clock.Boot()
		s.each(func(l *lease) {
			if !l.live(now) {
				t.Fatalf("moment %d: a lease is over before its time", i)
			}
		})
		if n := s.records(t); n != leases {
			t.Errorf("moment %d: %d leases, want %d", i, n, leases)
		}
		s.Close()
	}
}

// crashedAtEachSync starts and closes the store, and is the machine as a crash at each sync
// would leave it.
func (m *machine) crashedAtEachSync(t *testing.T) (moments []*machine) {
	t.Helper()
	m.meet = func(op errorfs.Op) error {
		if isSync(op) {
			moments = append(moments, m.crashed(vfs.CrashCloneCfg{}))
		}
		return nil
	}
	m.open(t).Close()
	if len(moments) < 3 {
		t.Fatalf("vacuous: %d moments", len(moments))
	}
	return moments
}

// A start of the same boot has deadlines that count. If it is cut short while it erases what
// is over, they count for the next one as well.
func TestAStartThatIsCutShortLengthensNoLease(t *testing.T) {
	m := newMachine()
	s := m.open(t)
	filler := strings.Repeat("x", backend.MaxNameBytes-20)
	for i := range 3 * portionBytes / backend.MaxNameBytes {
		id := appendKey(nil, scope, fmt.Sprint(filler, i))
		if _, _, _, err := s.acquireOrJoin(s.shardOf(id), id, backend.Request{TTL: time.Second}, 0); err != nil {
			t.Fatal(err)
		}
	}
	acquire(t, s, "stays", time.Hour)
	m = m.crashed(vfs.CrashCloneCfg{})
	m.clock.Advance(time.Minute)
	now := m.clock.Boot()
	moments := m.crashedAtEachSync(t)
	for i, crashed := range moments {
		crashed.clock = new(backendtest.Clock) // of its own, and the same boot
		crashed.clock.Advance(now)
		s := crashed.open(t)
		crashed.clock.Advance(59*time.Minute - 1)
		if !isHeld(t, s, "stays") {
			t.Errorf("moment %d: a lease is over before its time", i)
		}
		crashed.clock.Advance(1)
		if isHeld(t, s, "stays") {
			t.Errorf("moment %d: a lease is longer than it was", i)
		}
		s.Close()
	}
}

func (s *Store) each(do func(*lease)) {
	for i := range s.shards {
		for _, d := range s.shards[i].expiry {
			do(d.lease)
		}
	}
}

// heldFromSystem is what Go has of the system and did not give back.
func heldFromSystem() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapSys - m.HeapReleased)
}

// The memory of a crowd is the system's again when the reaper has come, without waiting for
// a collection, which may not come for minutes.
func TestMemoryGoesBackToTheSystem(t *testing.T) {
	s, clock := newStore(t)
	heapInUse()
	s.left.Store(crowd)
	s.giveBack()
	before := heldFromSystem()
	for i := range 4 * crowd {
		acquire(t, s, fmt.Sprint("k", i), time.Minute)
	}
	if full := heldFromSystem(); full-before < 10<<20 {
		t.Fatalf("vacuous: %d KiB before, %d KiB full", before>>10, full>>10)
	}
	clock.Advance(time.Minute)
	s.reap()
	if after := heldFromSystem(); after-before > 4<<20 {
		t.Errorf("%d KiB before, %d KiB after", before>>10, after>>10)
	}
	if s.left.Load() != 0 {
		t.Errorf("%d leases are counted again", s.left.Load())
	}
}
