package inprocess

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"raisinproxy/backend"
)

// While the disk does not answer, what waits for it is bounded.
func TestChangesThatWaitAreBounded(t *testing.T) {
	inBubble(t, "changes", func(t *testing.T) {
		_, s, g := gated(t)
		g.shut.Store(true)
		first := call(func() (backend.Claimed, error) { return s.Claim(t.Context(), scope, "p", 1, 10) })
		synctest.Wait()
		id := []byte(strings.Repeat("x", backend.MaxNameBytes))
		accepted, err := 0, error(nil)
		for ; err == nil && accepted < 2*maxGroupBytes/len(id); accepted++ {
			_, _, err = s.claim(id, 1, 1<<40)
		}
		if !errors.Is(err, backend.ErrOutOfResources) {
			t.Errorf("after %d changes: %v, want ErrOutOfResources", accepted, err)
		}
		before := s.shardOf(id).pools[string(id)].remaining
		if _, _, err := s.claim(id, 1, 1<<40); err == nil || s.shardOf(id).pools[string(id)].remaining != before {
			t.Errorf("a claim that was refused took units: %v", err)
		}
		// At once, and without a trace.
		if _, err := s.Claim(t.Context(), scope, "p", 1, 10); !errors.Is(err, backend.ErrOutOfResources) {
			t.Errorf("Claim: %v, want ErrOutOfResources", err)
		}
		if _, err := s.Acquire(t.Context(), scope, "k", backend.Request{TTL: time.Hour}); !errors.Is(err, backend.ErrOutOfResources) {
			t.Errorf("Acquire: %v, want ErrOutOfResources", err)
		}
		g.open(nil)
		if r := <-first; r.err != nil {
			t.Errorf("Claim = %+v", r)
		}
		synctest.Wait() // what waited is written
		if c := claim(t, s, "p", 1, 10); c.Remaining != 8 {
			t.Errorf("Claim = %+v", c)
		}
	})
}

// Whatever operation on the disk fails, for once or from then on: the process
// goes on, what was acknowledged is on the disk, and nothing else was told.
func TestAnyFailureOfTheDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it fails the disk at every step")
	}
	operations := countWrites(t)
	for _, lasting := range []bool{false, true} {
		poisoned := 0
		for at := 0; at < operations; at += 1 + operations/40 {
			if failAt(t, at, lasting) {
				poisoned++
			}
		}
		if poisoned < 30 {
			t.Errorf("vacuous: only %d failures had an effect", poisoned)
		}
	}
}

// countWrites counts the operations that change the disk in a run of claimAll.
func countWrites(t *testing.T) int {
	m := newMachine()
	var n atomic.Int64
	m.meet = func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			n.Add(1)
		}
		return nil
	}
	s := m.open(t)
	if _, err := claimAll(t, s); err != nil {
		t.Fatal(err)
	}
	s.Close()
	return int(n.Load())
}

// claimAll claims until a call fails, and gives the number of claims that were
// acknowledged. Names are so long that logs are changed and tables written.
func claimAll(t *testing.T, s *Store) (acked int64, err error) {
	filler := strings.Repeat("x", backend.MaxNameBytes-10)
	for i := range 350 {
		c, err := s.Claim(t.Context(), scope, "p", 1, capacity)
		if err != nil {
			return acked, err
		}
		acked++
		if c.Remaining != capacity-acked {
			t.Errorf("claim %d leaves %d", acked, c.Remaining)
		}
		if _, err := s.Claim(t.Context(), scope, fmt.Sprint(filler, i), 1, 1); err != nil {
			return acked, err
		}
	}
	return acked, nil
}

func failAt(t *testing.T, at int, lasting bool) (poisoned bool) {
	m := newMachine()
	var mu sync.Mutex
	n := 0
	m.meet = func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		if n++; n-1 == at || lasting && n > at {
			return syscall.ENOSPC
		}
		return nil
	}
	s, err := m.tryOpen()
	var acked int64
	if err == nil {
		if acked, err = claimAll(t, s); err != nil && !errors.Is(err, backend.ErrInDoubt) && !errors.Is(err, backend.ErrUnwritable) {
			t.Errorf("operation %d: %v", at, err)
		}
		if e := s.Close(); e != nil && !errors.Is(e, syscall.ENOSPC) {
			t.Errorf("operation %d: Close: %v", at, e)
		}
	}
	if err != nil && !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("operation %d: the error is %v, which does not name the cause", at, err)
	}
	for _, m := range []*machine{m.crashed(vfs.CrashCloneCfg{}), m.killed()} {
		again, err := m.tryOpen()
		if err != nil {
			t.Errorf("operation %d: after a restart: %v", at, err)
			continue
		}
		if left := claim(t, again, "p", 1, capacity).Remaining; capacity-left-1 < acked || capacity-left-1 > acked+1 {
			t.Errorf("operation %d: %d claims are on disk and %d were acknowledged", at, capacity-left-1, acked)
		}
		again.Close()
	}
	return err != nil
}

// What is fatal to pebble ends its store and not the process.
func TestFatalErrorPoisons(t *testing.T) {
	m := newMachine()
	s := m.open(t)
	acquire(t, s, "k", time.Hour)
	disk := &failStop{FS: m.disk, onFailure: s.journal.poison}
	pebbleOptions(disk, s.journal.log).Logger.Fatalf("MANIFEST sync failed: %v", syscall.EIO)
	if _, err := s.Acquire(t.Context(), scope, "k", backend.Request{TTL: time.Hour}); !errors.Is(err, backend.ErrUnwritable) || !strings.Contains(err.Error(), "MANIFEST") {
		t.Fatalf("Acquire: %v, want ErrUnwritable and the cause", err)
	}
	if !disk.stopped.Load() {
		t.Error("the disk is still written")
	}
	<-s.journal.ended // and the folder is free, though nothing was being written
	if !isHeld(t, m.open(t), "k") {
		t.Error("the lease is lost")
	}
}

// A call that had begun when the store was poisoned may find nothing in memory;
// that says nothing.
func TestNothingIsReadFromAPoisonedStore(t *testing.T) {
	s := newMachine().open(t)
	token := acquire(t, s, "k", time.Hour)
	s.journal.poison(syscall.EIO)
	s.drop()
	released, rests, err := s.release(appendKey(nil, scope, "k"), backend.Proof{Token: token})
	if released || err != nil {
		t.Fatalf("release = %v, %v; the state was dropped", released, err)
	}
	if err := s.settle(t.Context(), rests); !errors.Is(err, backend.ErrUnwritable) {
		t.Errorf("the answer may be told: %v, want ErrUnwritable", err)
	}
}
