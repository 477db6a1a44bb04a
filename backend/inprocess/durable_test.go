package inprocess

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"raisinproxy/backend"
	"raisinproxy/backend/backendtest"
)

const dataDir = "data"

// machine is a computer for durable stores: a disk that keeps what was synced,
// a clock, and a power switch.
type machine struct {
	disk  *vfs.MemFS
	clock *backendtest.Clock
	boot  string

	limit  Options                // its limits alone count
	strict bool                   // no answer before the ledger
	maxTTL time.Duration          // of leases, as options say
	goOn   bool                   // when it was restored
	meet   func(errorfs.Op) error // what an operation on the disk meets; nil: nothing
}

func newMachine() *machine {
	return &machine{disk: vfs.NewCrashableMem(), clock: new(backendtest.Clock), boot: "first boot"}
}

// fileSystem is that of the disk, which meets what m says.
func (m *machine) fileSystem() vfs.FS {
	if m.meet == nil {
		return m.disk
	}
	return errorfs.Wrap(m.disk, errorfs.InjectorFunc(m.meet))
}

func (m *machine) tryOpen() (*Store, error) {
	return Open(dataDir, Options{Clock: m.clock, ReapInterval: 24 * time.Hour, disk: m.fileSystem(), bootID: m.boot, MaxPools: m.limit.MaxPools, MaxLeases: m.limit.MaxLeases, MaxWaiters: m.limit.MaxWaiters, VerifyAnswers: m.strict, MaxTTL: m.maxTTL, ContinueOnRestore: m.goOn})
}

// open opens the store in the data folder of m until the test ends.
func (m *machine) open(t testing.TB) *Store {
	t.Helper()
	s, err := m.tryOpen()
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// killed is the machine after its process was killed: all it wrote is there.
func (m *machine) killed() *machine {
	return m.crashed(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 2))})
}

// unplugged is the machine after its power was lost: what was not synced is gone.
// Its clocks are those of another boot, which begin anew.
func (m *machine) unplugged() *machine {
	after := m.crashed(vfs.CrashCloneCfg{})
	after.boot = "another boot"
	after.clock = new(backendtest.Clock)
	after.clock.StepWall(m.clock.Wall().Sub(after.clock.Wall()))
	return after
}

func (m *machine) crashed(how vfs.CrashCloneCfg) *machine {
	return &machine{disk: m.disk.CrashClone(how), clock: m.clock, boot: m.boot, limit: m.limit, strict: m.strict}
}

// isSync tells whether an operation makes the log durable.
func isSync(op errorfs.Op) bool {
	return strings.HasSuffix(op.Path, ".log") &&
		(op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData || op.Kind == errorfs.OpFileSyncTo)
}

func TestDurableConformance(t *testing.T) {
	backendtest.Run(t, backendtest.Harness{
		Unit: time.Second,
		New:  func(t *testing.T) backendtest.Env { m := newMachine(); return m.env(m.open(t)) },
		Limited: func(t *testing.T) backendtest.Env {
			m := newMachine()
			m.limit = limited
			return m.env(m.open(t))
		},
	})
}

func (m *machine) env(s *Store) backendtest.Env {
	return backendtest.Env{
		Clients:  []backend.Backend{s},
		Now:      m.clock.Boot,
		Advance:  m.clock.Advance,
		Wall:     m.clock.Wall,
		StepWall: m.clock.StepWall,
	}
}

func TestDurableConformanceInAFolder(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it syncs a real disk")
	}
	env := func(limit Options) func(t *testing.T) backendtest.Env {
		return func(t *testing.T) backendtest.Env {
			clock := new(backendtest.Clock)
			s, err := Open(filepath.Join(t.TempDir(), "deep", "data"), Options{Clock: clock, ReapInterval: 24 * time.Hour, MaxPools: limit.MaxPools, MaxLeases: limit.MaxLeases, MaxWaiters: limit.MaxWaiters})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
			})
			return (&machine{clock: clock}).env(s)
		}
	}
	backendtest.Run(t, backendtest.Harness{Unit: time.Second, New: env(Options{}), Limited: env(limited)})
}

// No answer may depend on whether the server was restarted in between: it is,
// whenever time passes, by a clean end or by a crash.
func TestConformanceOverRestarts(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it restarts a store after every step")
	}
	for _, name := range []string{"closed", "crashed"} {
		t.Run(name, func(t *testing.T) {
			env := func(limit Options) func(t *testing.T) backendtest.Env {
				return func(t *testing.T) backendtest.Env {
					m := newMachine()
					m.limit = limit
					r := &restarting{Store: m.open(t)}
					env := m.env(r.Store)
					env.Clients = []backend.Backend{r}
					env.Advance = func(d time.Duration) {
						m.clock.Advance(d)
						r.mu.Lock()
						defer r.mu.Unlock()
						if name == "crashed" {
							// The kernel stays, since its clock goes on, but what was not synced is gone.
							m = m.crashed(vfs.CrashCloneCfg{})
						}
						if err := r.Close(); err != nil {
							t.Errorf("Close: %v", err)
						}
						r.Store = m.open(t)
					}
					return env
				}
			}
			backendtest.Run(t, backendtest.Harness{Unit: time.Second, New: env(Options{}), Limited: env(limited), Restarts: true})
		})
	}
}

// restarting is a client that stays while its store is restarted.
type restarting struct {
	mu sync.RWMutex
	*Store
}

func (r *restarting) Acquire(ctx context.Context, scope backend.Scope, key string, q backend.Request) (backend.Grant, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.Store.Acquire(ctx, scope, key, q)
}

func (r *restarting) Release(ctx context.Context, scope backend.Scope, key string, p backend.Proof) (bool, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.Store.Release(ctx, scope, key, p)
}

func (r *restarting) Renew(ctx context.Context, scope backend.Scope, key string, p backend.Proof, ttl time.Duration) (bool, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.Store.Renew(ctx, scope, key, p, ttl)
}

func (r *restarting) Claim(ctx context.Context, scope backend.Scope, pool string, n, capacity int64) (backend.Claimed, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.Store.Claim(ctx, scope, pool, n, capacity)
}

func (r *restarting) Restock(ctx context.Context, scope backend.Scope, pool string, n int64) (int64, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.Store.Restock(ctx, scope, pool, n)
}
