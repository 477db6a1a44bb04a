package inprocess

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
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
	"raisinproxy/backend/moving"
)

// spare is another disk of the same machine, for a backup.
func (m *machine) spare() *machine {
	return &machine{disk: vfs.NewCrashableMem(), clock: m.clock, boot: m.boot}
}

// backupTo makes a backup of s on the disk of m, where its data folder would be.
func (m *machine) backupTo(ctx context.Context, s *Store) (BackupReport, error) {
	disk := vfs.FS(m.disk)
	if m.meet != nil {
		disk = errorfs.Wrap(disk, errorfs.InjectorFunc(m.meet))
	}
	return s.backup(ctx, disk, dataDir)
}

func (m *machine) mustBackup(t *testing.T, s *Store) *machine {
	t.Helper()
	to := m.spare()
	if _, err := to.backupTo(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	return to
}

// What was acknowledged before is in a backup, at one moment, and nobody is held up.
func TestBackupUnderLoad(t *testing.T) {
	const rounds, buyers = 5, 4
	m := newMachine()
	s := m.open(t)
	// Units are moved from one pool to the other, so at each moment both together have
	// as many as at first, or one less for each move that is under way.
	claim(t, s, "p", 1, capacity)
	claim(t, s, "sold", 1, 1)
	ctx, stop := context.WithCancel(t.Context())
	var asked, acked, answered atomic.Int64
	var all sync.WaitGroup
	for range buyers {
		all.Go(func() {
			for ctx.Err() == nil {
				asked.Add(1)
				if c, err := s.Claim(context.WithoutCancel(ctx), scope, "p", 1, 0); err != nil || !c.Claimed {
					t.Errorf("Claim = %+v, %v", c, err)
					return
				}
				acked.Add(1)
				if _, err := s.Restock(context.WithoutCancel(ctx), scope, "sold", 1); err != nil {
					t.Error(err)
					return
				}
				answered.Add(1)
			}
		})
	}
	for range rounds {
		for before := answered.Load(); answered.Load() < before+10; {
			runtime.Gosched()
		}
		before, sold := acked.Load(), answered.Load()
		to := m.mustBackup(t, s)
		restored := to.open(t)
		taken := capacity - 1 - remaining(t, restored)
		given := claim(t, restored, "sold", 1<<60, 0).Remaining
		if taken < before || given < sold || given > taken || taken > given+buyers || taken > asked.Load() {
			t.Errorf("%d units taken and %d given are in the backup; %d and %d were acknowledged before", taken, given, before, sold)
		}
	}
	stop()
	all.Wait()
}

func TestRestoredStore(t *testing.T) {
	for name, tt := range map[string]struct {
		then, now, lease, want time.Duration // MaxTTL at the backup and after it, a lease's ttl
	}{
		"the limit of the restored server": {time.Minute, time.Hour, time.Second, time.Hour},
		"the limit of the old server":      {time.Hour, time.Minute, time.Second, time.Hour},
		"a lease from before both limits":  {time.Minute, time.Minute, time.Hour, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine()
			m.maxTTL = tt.then
			s := m.open(t)
			claim(t, s, "p", 3, 10)
			token := acquire(t, s, "known", tt.lease)
			to := m.mustBackup(t, s)
			claim(t, s, "p", 3, 10)
			m.clock.StepWall(30 * time.Minute) // tokens are ahead of the clock that is there later
			last := acquire(t, s, "unknown", tt.lease)
			m.clock.StepWall(-30 * time.Minute)

			m.clock.Advance(time.Minute) // so that the boot clock is not where another one begins
			to.maxTTL = tt.now
			paused := func(s *Store, where string) {
				t.Helper()
				for _, key := range []string{"known", "unknown"} {
					if g, err := s.Acquire(t.Context(), scope, key, backend.Request{TTL: time.Second}); !errors.Is(err, backend.ErrPaused) || g != (backend.Grant{}) {
						t.Errorf("%s: Acquire(%q) = %+v, %v; want ErrPaused", where, key, g, err)
					}
				}
				if yes, err := s.Renew(t.Context(), scope, "known", backend.Proof{Token: token}, time.Second); yes || err != nil {
					t.Errorf("%s: Renew of a lease of the backup = %v, %v", where, yes, err)
				}
			}
			restored := to.open(t)
			paused(restored, "at first")
			if left := remaining(t, restored); left != 7 {
				t.Errorf("%d units are left, want those of the backup, 7", left)
			}
			m.clock.Advance(tt.want / 2)
			restored.Close()
			restored = to.open(t)
			paused(restored, "after a restart")
			m.clock.Advance(tt.want/2 - 1)
			paused(restored, "at the end")
			rebooted := to.unplugged()
			rebooted.maxTTL = tt.now
			m.clock.Advance(1)
			acquire(t, restored, "unknown", time.Second)
			restored.Close()
			restored = rebooted.open(t)
			rebooted.clock.Advance(tt.want - 1)
			paused(restored, "after another boot")
			rebooted.clock.Advance(1)
			if next := acquire(t, restored, "unknown", time.Second); next <= last {
				t.Errorf("token %d after %d", next, last)
			}
			restored.Close()
			if !isHeld(t, rebooted.open(t), "unknown") {
				t.Error("the pause is over and the store is as any other, but a lease is lost")
			}
		})
	}
}

// A store that goes on at once has tokens above all that were told, too.
func TestRestoredStoreThatContinues(t *testing.T) {
	m := newMachine()
	s := m.open(t)
	acquire(t, s, "k", time.Hour)
	to := m.mustBackup(t, s)
	m.clock.Advance(time.Hour)
	last := acquire(t, s, "k", time.Hour)
	m.clock.StepWall(-30 * time.Minute) // it was ahead
	to.maxTTL, to.goOn = time.Hour, true
	to.open(t).Close() // the first start alone knows that it is one
	restored := to.open(t)
	if next := acquire(t, restored, "k", time.Hour); next <= last {
		t.Errorf("token %d after %d", next, last)
	}
	restored.Close()
	to.goOn = false
	if !isHeld(t, to.open(t), "k") {
		t.Error("the lease is lost")
	}
}

// A backup that nobody has opened is as old as it was, also in a backup of it; and one of
// a restored store is new.
func TestBackupOfABackup(t *testing.T) {
	m := newMachine()
	s := m.open(t)
	claim(t, s, "p", 1, 10)
	first := m.mustBackup(t, s)
	said := first.onDiskOf(t)
	why := func(dir string) string {
		t.Helper()
		again := filepath.Join(t.TempDir(), "again")
		if _, err := BackupFolder(t.Context(), dir, again, Options{}); err != nil {
			t.Fatal(err)
		}
		restored, err := Open(again, Options{MaxTTL: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		defer restored.Close()
		if left := remaining(t, restored); left != 9 {
			t.Errorf("%d units are left", left)
		}
		if salts, err := os.ReadFile(filepath.Join(again, "SALTS")); err != nil || string(salts) != "salts" {
			t.Errorf("the salts are %q, %v", salts, err)
		}
		return restored.pause.why
	}
	at := m.clock.Wall().Format(time.RFC3339Nano)
	if got := why(said); !strings.HasSuffix(got, "backup of "+at) {
		t.Errorf("the store %s, want a backup of %s", got, at)
	}
	opened, err := Open(said, Options{MaxTTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	opened.Close()
	if got := why(said); strings.HasSuffix(got, at) {
		t.Errorf("the store %s, but was used since", got)
	}
}

// Whatever goes wrong where the backup is made, for once or from then on: the store goes on,
// and what is left cannot be taken for a whole backup.
func TestAnyFailureOfABackup(t *testing.T) {
	m := newMachine()
	s := m.open(t)
	books{pools: map[string]int64{}, leases: map[string]int64{}}.fill(t, s, "many", 300) // more than a chunk
	claim(t, s, "p", 1, 10)
	var operations atomic.Int64
	to := m.spare()
	to.meet = func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			operations.Add(1)
		}
		return nil
	}
	if _, err := to.backupTo(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	for _, lasting := range []bool{false, true} {
		tried, failed := 0, 0
		for at := int64(0); at < operations.Load(); at += 1 + operations.Load()/40 {
			tried++
			to := m.spare()
			var n atomic.Int64
			to.meet = func(op errorfs.Op) error {
				if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
					return nil
				}
				if i := n.Add(1) - 1; i == at || lasting && i > at {
					return syscall.ENOSPC
				}
				return nil
			}
			_, err := to.backupTo(t.Context(), s)
			if err != nil {
				failed++
				if !errors.Is(err, syscall.ENOSPC) || errors.Is(err, backend.ErrUnwritable) {
					t.Errorf("operation %d: %v, which does not name the cause", at, err)
				}
			}
			to.meet = nil
			checkLeft(t, fmt.Sprint("operation ", at, ", lasting ", lasting), to, err == nil)
		}
		if failed < tried*3/4 {
			t.Errorf("vacuous: %d of %d failures had an effect", failed, tried)
		}
	}
	if left := claim(t, s, "p", 1, 10).Remaining; left != 8 {
		t.Errorf("%d units are left in the store that was copied", left)
	}
}

// checkLeft tells whether what is on a disk is a whole backup, or nothing that is taken
// for one.
func checkLeft(t *testing.T, when string, to *machine, complete bool) {
	t.Helper()
	names, err := to.disk.List(dataDir)
	if !complete && (errors.Is(err, fs.ErrNotExist) || len(names) == 0) {
		return
	}
	restored, err := to.tryOpen()
	if err != nil {
		if complete {
			t.Errorf("%s: the backup is complete, and Open = %v", when, err)
		}
		return
	}
	defer restored.Close()
	if left := remaining(t, restored); left != 9 {
		t.Errorf("%s: a backup with %v was taken, and %d units are left; it was completed: %v", when, names, left, complete)
	}
}

// A backup that is cut short by kill -9 or by power loss is refused, or whole.
func TestKilledDuringABackup(t *testing.T) {
	m := newMachine()
	s := m.open(t)
	claim(t, s, "p", 1, 10)
	for _, how := range []vfs.CrashCloneCfg{{}, {UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 2))}, {UnsyncedDataPercent: 50, RNG: rand.New(rand.NewPCG(3, 4))}} {
		to := m.spare()
		var mu sync.Mutex
		var states []*machine
		to.meet = func(op errorfs.Op) error {
			if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
				mu.Lock()
				defer mu.Unlock()
				states = append(states, to.crashed(how))
			}
			return nil
		}
		if _, err := to.backupTo(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		refused := 0
		for i, state := range states {
			if mark, _ := (&folder{fs: state.disk, path: dataDir}).readMark(); mark == markedPart {
				refused++
				if _, err := state.tryOpen(); !errors.Is(err, errPart) {
					t.Errorf("operation %d: a backup that was not completed: Open = %v", i, err)
				}
			}
			checkLeft(t, fmt.Sprint("operation ", i), state, false)
		}
		if refused < len(states)/2 {
			t.Errorf("vacuous: %d of %d were refused", refused, len(states))
		}
		checkLeft(t, "at the end", to.crashed(how), true)
	}
}

func TestBackupOfAPoisonedStore(t *testing.T) {
	m := newMachine()
	s := m.open(t)
	claim(t, s, "p", 1, 10)
	// Poisoned while the backup is written.
	to := m.spare()
	to.meet = func(errorfs.Op) error { s.journal.poison(syscall.EIO); return nil }
	if _, err := to.backupTo(t.Context(), s); !errors.Is(err, backend.ErrUnwritable) || !errors.Is(err, syscall.EIO) {
		t.Errorf("backup = %v, want ErrUnwritable and the cause", err)
	}
	<-s.journal.ended // the reader does not hold the folder
	// And before.
	if _, err := to.backupTo(t.Context(), s); !errors.Is(err, backend.ErrUnwritable) {
		t.Errorf("backup = %v, want ErrUnwritable", err)
	}
	if _, err := to.disk.Stat(dataDir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder is left: %v", err)
	}
}

// hung is a disk that does not answer until open is called.
func hung(m *machine) (to *machine, open func()) {
	to = m.spare()
	opened := make(chan struct{})
	to.meet = func(op errorfs.Op) error {
		if strings.HasSuffix(op.Path, "LEDGER") && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			<-opened
		}
		return nil
	}
	return to, func() { close(opened) }
}

// A disk that hangs under a backup holds up neither callers nor the end of the store, but
// the next backup.
func TestBackupOnADiskThatHangs(t *testing.T) {
	inBubble(t, "hung", func(t *testing.T) {
		m := newMachine()
		s := m.open(t)
		claim(t, s, "p", 1, 10)
		to, open := hung(m)
		backup := call(func() (BackupReport, error) { return to.backupTo(t.Context(), s) })
		synctest.Wait() // it is read as far as it can be
		if left := claim(t, s, "p", 1, 10).Remaining; left != 8 {
			t.Errorf("%d are left", left)
		}
		if _, err := m.spare().backupTo(t.Context(), s); !errors.Is(err, ErrBackupRuns) {
			t.Errorf("the second backup: %v, want ErrBackupRuns", err)
		}
		closed := call(func() (int, error) { return 0, s.Close() })
		synctest.Wait()
		select {
		case r := <-closed:
			if r.err != nil {
				t.Errorf("Close: %v", r.err)
			}
		default:
			t.Error("the disk of the backup holds up the end of the store")
		}
		open()
		if r := <-backup; !errors.Is(r.err, backend.ErrUnavailable) {
			t.Errorf("the backup: %v, want that the store is closed", r.err)
		}
		if _, err := to.disk.Stat(dataDir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a folder is left: %v", err)
		}
		if _, err := m.spare().backupTo(t.Context(), s); !errors.Is(err, backend.ErrUnavailable) {
			t.Errorf("a backup of a closed store: %v", err)
		}
	})
}

// Nor does it hold up the end of a store that is poisoned.
func TestBackupOfAStoreThatIsPoisonedMeanwhile(t *testing.T) {
	inBubble(t, "hung", func(t *testing.T) {
		m := newMachine()
		s := m.open(t)
		claim(t, s, "p", 1, 10)
		to, open := hung(m)
		backup := call(func() (BackupReport, error) { return to.backupTo(t.Context(), s) })
		synctest.Wait() // it is read as far as it can be
		s.journal.poison(syscall.EIO)
		synctest.Wait()
		select {
		case <-s.journal.ended:
		default:
			t.Error("the disk of the backup holds up the end of the store")
		}
		open()
		if r := <-backup; !errors.Is(r.err, backend.ErrUnwritable) || !errors.Is(r.err, syscall.EIO) {
			t.Errorf("the backup: %v, want ErrUnwritable and the cause", r.err)
		}
	})
}

// A store is not closed under somebody who reads it.
func TestCloseWaitsForAReader(t *testing.T) {
	inBubble(t, "reader", func(t *testing.T) {
		s := newMachine().open(t)
		release := make(chan struct{})
		reading := call(func() (int, error) {
			return 0, s.journal.read(func(error) {}, func(*pebble.DB) error { <-release; return nil })
		})
		synctest.Wait()
		closed := call(func() (int, error) { return 0, s.Close() })
		synctest.Wait()
		select {
		case <-s.journal.ended:
			t.Error("the store was closed meanwhile")
		default:
		}
		close(release)
		if r := <-reading; r.err != nil {
			t.Error(r.err)
		}
		if r := <-closed; r.err != nil {
			t.Error(r.err)
		}
	})
}

func TestBackupThatIsTakenBack(t *testing.T) {
	inBubble(t, "hung", func(t *testing.T) {
		m := newMachine()
		s := m.open(t)
		claim(t, s, "p", 1, 10)
		to, open := hung(m)
		ctx, cancel := context.WithCancel(t.Context())
		backup := call(func() (BackupReport, error) { return to.backupTo(ctx, s) })
		synctest.Wait()
		cancel()
		open()
		if r := <-backup; !errors.Is(r.err, context.Canceled) {
			t.Errorf("the backup: %v", r.err)
		}
		if _, err := to.disk.Stat(dataDir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a folder is left: %v", err)
		}
		to = m.mustBackup(t, s) // and there may be another
		if left := remaining(t, to.open(t)); left != 9 {
			t.Errorf("%d are left", left)
		}
	})
}

func TestWhereABackupGoes(t *testing.T) {
	dir, s := realFolder(t)
	parent := t.TempDir()
	at := func(name string) string { return filepath.Join(parent, name) }
	for _, err := range []error{
		os.Mkdir(at("empty"), 0o750), os.Mkdir(at("full"), 0o750), os.WriteFile(at("full/note"), []byte("x"), 0o600),
		os.WriteFile(at("file"), nil, 0o600), os.Symlink(dir, at("link")), os.Symlink(at("empty"), at("to empty")),
		os.Mkdir(filepath.Join(dir, "sub"), 0o700), os.Symlink(filepath.Join(dir, "sub"), at("deep")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for dest, want := range map[string]string{
		"new":        "",
		"to empty":   "",
		"full":       `the folder is not empty: it holds "note"`,
		"file":       "it is a file",
		"file/below": "not a directory",
		"no/where":   "a backup goes into a folder that exists",
		"link":       "it is in the data folder",
		"link/below": "it is in the data folder",
		"deep/below": "it is in the data folder",
	} {
		before := contents(t, at("full"))
		_, err := s.Backup(t.Context(), at(dest))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("backup to %s: %v, want %q", dest, err, want)
		}
		if !same(before, contents(t, at("full"))) {
			t.Errorf("backup to %s changed what was there", dest)
		}
	}
	if info, err := os.Stat(at("new")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder is %v, %v; others must not read keys", info.Mode(), err)
	}
	inMemory := New(Options{})
	defer inMemory.Close()
	if _, err := inMemory.Backup(t.Context(), at("another")); err == nil {
		t.Error("a store in memory has a backup")
	}
}

func TestBackupOfAFolder(t *testing.T) {
	dir, s := realFolder(t)
	dest := filepath.Join(t.TempDir(), "backup")
	if _, err := BackupFolder(t.Context(), dir, dest, Options{}); !errors.Is(err, ErrInUse) {
		t.Errorf("of a store that is open: %v, want ErrInUse", err)
	}
	s.Close()
	before := contents(t, dir)
	report, err := BackupFolder(t.Context(), dir, dest, Options{MaxTTL: time.Minute})
	if err != nil || report.Pools != 1 {
		t.Fatalf("BackupFolder = %+v, %v", report, err)
	}
	if !same(before, contents(t, dir)) {
		t.Error("the folder was changed")
	}
	restored, err := Open(dest, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if left := remaining(t, restored); left != 9 {
		t.Errorf("%d are left", left)
	}
	restored.Close()

	remove(t, dir, ledgerName) // which pebble would not miss
	another := filepath.Join(t.TempDir(), "backup")
	if _, err := BackupFolder(t.Context(), dir, another, Options{}); !errors.Is(err, ErrDamaged) {
		t.Errorf("of a damaged store: %v, want ErrDamaged", err)
	}
	if _, err := BackupFolder(t.Context(), t.TempDir(), another, Options{}); err == nil || !strings.Contains(err.Error(), "there is no lock store") {
		t.Errorf("of nothing: %v", err)
	}
	if _, err := os.Stat(another); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder is left: %v", err)
	}
}

// Nothing is granted in a repaired store either: it lost leases that may run.
func TestRepairedStorePauses(t *testing.T) {
	dir, s := realFolder(t)
	s.Close()
	remove(t, dir, ledgerName)
	if _, err := Repair(dir, true, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	clock := newMachine().clock
	clock.Advance(time.Hour)
	repaired, err := Open(dir, Options{Clock: clock, MaxTTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer repaired.Close()
	if _, err := repaired.Acquire(t.Context(), scope, "another", backend.Request{TTL: time.Second}); !errors.Is(err, backend.ErrPaused) {
		t.Errorf("Acquire: %v, want ErrPaused", err)
	}
	if repaired.pause.ttl != time.Hour {
		t.Errorf("the pause is of %v, and a lease of an hour was known", repaired.pause.ttl)
	}
}

// What is sealed may be sold by another store: a copy would be a third.
func TestBackupOfASealedStore(t *testing.T) {
	dir, s := realFolder(t)
	s.Close()
	w, err := moving.Create(filepath.Join(t.TempDir(), "out"), Source)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Discard()
	if _, err := Export(dir, w, false, Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := BackupFolder(t.Context(), dir, filepath.Join(t.TempDir(), "backup"), Options{}); !errors.Is(err, ErrSealed) {
		t.Errorf("BackupFolder = %v, want ErrSealed", err)
	}
}

// A file says nothing of a pause, so a restored store moves when that is over.
func TestRestoredStoreMovesAfterThePause(t *testing.T) {
	m := newMachine()
	m.maxTTL = time.Hour
	s := m.open(t)
	claim(t, s, "p", 1, 10)
	to := m.mustBackup(t, s)
	if _, err := to.export(t, false); !errors.Is(err, backend.ErrPaused) {
		t.Errorf("before the first start: %v, want ErrPaused", err)
	}
	to.open(t).Close()
	m.clock.Advance(time.Hour - 1)
	if _, err := to.export(t, false); !errors.Is(err, backend.ErrPaused) {
		t.Errorf("in the pause: %v, want ErrPaused", err)
	}
	m.clock.Advance(1)
	to.mustExport(t)
}
