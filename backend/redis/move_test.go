package redis

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"raisinproxy/backend"
	"raisinproxy/backend/inprocess"
	"raisinproxy/backend/moving"
	"raisinproxy/backend/redis/redistest"
)

// exportOf exports a name space to a new file.
func exportOf(t testing.TB, o Options, again bool) (path string, err error) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "out")
	w, err := moving.Create(path, Source)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Discard()
	_, err = Export(context.Background(), o, w, again)
	return path, err
}

func mustExport(t testing.TB, o Options) (path string) {
	t.Helper()
	path, err := exportOf(t, o, false)
	if err != nil {
		t.Fatalf("Export: %v", err)
	}
	return path
}

func importTo(t testing.TB, o Options, path string, replace bool) error {
	t.Helper()
	from, err := moving.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	return Import(context.Background(), o, from, replace)
}

func mustImport(t testing.TB, o Options, path string, replace bool) {
	t.Helper()
	if err := importTo(t, o, path, replace); err != nil {
		t.Fatalf("Import: %v", err)
	}
}

// contents are what a file says, by scope and name: units of pools, tokens of leases.
type contents struct {
	pools, leases map[name]int64
	left          map[name]time.Duration
	holders       map[name]string
	details       map[name]string // what else is told of a pool or a lease
	totals        moving.Totals
}

type name struct {
	scope backend.Scope
	name  string
}

func contentsOf(t testing.TB, path string) contents {
	t.Helper()
	f, err := moving.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c := contents{
		pools: make(map[name]int64), leases: make(map[name]int64), left: make(map[name]time.Duration), holders: make(map[name]string),
		details: make(map[name]string), totals: f.Totals,
	}
	err = f.Each(func(r moving.Record) error {
		if r.Pool != nil {
			at := name{r.Pool.Scope, r.Pool.Name}
			c.pools[at] = r.Pool.Remaining
			c.details[name{at.scope, "pool " + at.name}] = fmt.Sprint("capacity ", r.Pool.Capacity)
		} else {
			at := name{r.Lease.Scope, r.Lease.Key}
			c.leases[at], c.left[at], c.holders[at] = r.Lease.Token, r.Lease.Remaining, r.Lease.User
			c.details[name{at.scope, "lock " + at.name}] = fmt.Sprintf("%q since %d ms", r.Lease.User, r.Lease.Acquired/1000)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(c.pools)) != f.Totals.Pools || int64(len(c.leases)) != f.Totals.Leases {
		t.Errorf("%s has %+v, but %d pools and %d leases are different", path, f.Totals, len(c.pools), len(c.leases))
	}
	return c
}

func nothing() error { return nil }

func idOf(t testing.TB, path string) string {
	t.Helper()
	f, err := moving.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return f.Header.ID
}

// same tells whether b is a with nothing but time gone by.
func (c contents) same(t *testing.T, b contents) {
	t.Helper()
	if !reflect.DeepEqual(c.pools, b.pools) || !reflect.DeepEqual(c.leases, b.leases) {
		t.Errorf("%d pools and %d leases became %d and %d, or others\n%v\n%v", len(c.pools), len(c.leases), len(b.pools), len(b.leases), c, b)
	}
	for k, want := range c.details {
		if got := b.details[k]; got != want {
			t.Errorf("%q: %s became %s", k, want, got)
		}
	}
	if b.totals.GreatestToken < c.totals.GreatestToken {
		t.Errorf("the greatest token fell from %d to %d", c.totals.GreatestToken, b.totals.GreatestToken)
	}
	for k, left := range b.left {
		if left > c.left[k] {
			t.Errorf("%q: %v became %v", k, c.left[k], left)
		}
	}
}

// aheadClock is one that was set to the next year.
type aheadClock struct{ start time.Time }

func (c aheadClock) Boot() time.Duration { return time.Since(c.start) }
func (c aheadClock) Wall() time.Time     { return time.Now().AddDate(1, 0, 0) }

func (c aheadClock) AfterFunc(at time.Duration, f func()) (stop func() bool) {
	return time.AfterFunc(at-c.Boot(), f).Stop
}

// oddNames are those that JSON, UTF-8, Redis's patterns, hash tags or our own keys could take for something else.
var oddNames = rapid.OneOf(
	rapid.StringN(1, 12, 100),
	rapid.Map(rapid.SliceOfN(rapid.Byte(), 1, 30), func(b []byte) string { return string(b) }),
	rapid.SampledFrom([]string{"{", "}", "{}", "a:b", "a%3Ab", "%", "%zz", "*", "[a]", "?", `\`, " ", "\x00", "\xff", "<>&", "\u2028", "main", "+", "a+b", "x", "id", strings.Repeat("n", 1024)}),
)

// aFullStore is a durable store on disk with random content, closed, the greatest of its tokens, and one of its
// tokens whose lock is free.
func aFullStore(t *testing.T, seed int) (dir string, greatest int64) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "data")
	s, err := inprocess.Open(dir, inprocess.Options{Clock: aheadClock{time.Now().Add(-time.Hour)}})
	if err != nil {
		t.Fatal(err)
	}
	scopes := rapid.Custom(func(t *rapid.T) backend.Scope {
		return backend.Scope{Tenant: oddNames.Draw(t, "tenant"), Repository: oddNames.Draw(t, "repository"), Branch: oddNames.Draw(t, "branch")}
	})
	const long = 10 * 365 * 24 * time.Hour // however long the machine has run: that clock begins anew
	for i := range 30 {
		in, called := scopes.Example(1000*seed+i), oddNames.Example(2000*seed+i)
		if _, err := s.Claim(t.Context(), in, called, 3, rapid.Int64Min(0).Example(i)); err != nil {
			t.Fatal(err)
		}
		user := rapid.SampledFrom([]string{"", "alice", " a  b\t", "%20", "{x}:y", "中"}).Example(3000*seed + i)
		g, err := s.Acquire(t.Context(), in, called, backend.Request{TTL: long, User: user})
		if err != nil {
			t.Fatal(err)
		}
		greatest = max(greatest, g.Token)
		if i%5 == 0 {
			if ok, err := s.Release(t.Context(), in, called, backend.Proof{Token: g.Token, User: user}); g.Acquired && (!ok || err != nil) {
				t.Fatal(ok, err)
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, greatest
}

func exportFolder(t *testing.T, dir string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "out")
	w, err := moving.Create(path, inprocess.Source)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Discard()
	if _, err := inprocess.Export(dir, w, false, inprocess.Options{}); err != nil {
		t.Fatal(err)
	}
	return path
}

func importFolder(t *testing.T, dir, path string) {
	t.Helper()
	from, err := moving.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	if err := inprocess.Import(dir, path, from, true, inprocess.Options{}); err != nil {
		t.Fatal(err)
	}
}

// From a durable store whose clock ran a year ahead to Redis, from there to another name space of it, and back: nothing
// but time goes by, and tokens rise though Redis's clock is a year behind.
func TestMovingThereAndBack(t *testing.T) {
	for what, o := range map[string]func(*testing.T) Options{
		"one":     func(t *testing.T) Options { return options(t, redistest.Start(t).URL()) },
		"cluster": func(t *testing.T) Options { return clusterOptions(t, redistest.StartCluster(t, 3)) },
	} {
		t.Run(what, func(t *testing.T) {
			at := o(t)
			for seed := range 3 {
				dir, greatest := aFullStore(t, seed)
				out := exportFolder(t, dir)
				first := contentsOf(t, out)
				if len(first.leases) == 0 || len(first.pools) == 0 {
					t.Fatalf("vacuous: %d leases, %d pools", len(first.leases), len(first.pools))
				}

				o := at
				o.Namespace = fmt.Sprintf("%s:*[%d]", at.Namespace, seed)
				o = second(t, o)
				mustImport(t, o, out, false)
				s := open(t, o)
				mustAcquireAbove(t, s, "a lock of its own", greatest)
				for k, token := range first.leases {
					if g, err := s.Acquire(t.Context(), k.scope, k.name, backend.Request{TTL: time.Second}); g.Acquired || err != nil {
						t.Errorf("Acquire of %q, which is held: %+v, %v", k, g, err)
					}
					if ok, err := s.Renew(t.Context(), k.scope, k.name, backend.Proof{Token: token, User: first.holders[k]}, time.Second); !ok || err != nil {
						t.Errorf("Renew of %q by its holder: %v, %v", k, ok, err)
					}
				}
				for k, n := range first.pools {
					if c, err := s.Claim(t.Context(), k.scope, k.name, 1, 5); err != nil || c.Remaining != max(0, n-1) {
						t.Fatalf("Claim of %q, of which %d are left: %+v, %v", k, n, c, err)
					}
					if n > 0 {
						if _, err := s.Restock(t.Context(), k.scope, k.name, 1); err != nil {
							t.Fatal(err)
						}
					}
				}
				out = mustExport(t, o)
				there := contentsOf(t, out)
				first.leases[name{scope, "a lock of its own"}] = there.leases[name{scope, "a lock of its own"}]
				first.left[name{scope, "a lock of its own"}] = time.Hour
				first.same(t, there)

				o = second(t, o)
				o.Namespace += " again"
				mustImport(t, o, out, false)
				out = mustExport(t, o)
				again := contentsOf(t, out)
				there.same(t, again)

				importFolder(t, dir, out)
				back, err := inprocess.Open(dir, inprocess.Options{})
				if err != nil {
					t.Fatal(err)
				}
				g, err := back.Acquire(t.Context(), scope, "another lock", backend.Request{TTL: time.Minute})
				if err != nil || g.Token <= again.totals.GreatestToken {
					t.Errorf("token %d, %v; the other store may have told %d", g.Token, err, again.totals.GreatestToken)
				}
				back.Close()
				again.leases[name{scope, "another lock"}], again.left[name{scope, "another lock"}] = g.Token, time.Hour
				again.same(t, contentsOf(t, exportFolder(t, dir)))
			}
		})
	}
}

// mustAcquireAbove is an acquire as soon as the proxy serves the name space.
func mustAcquireAbove(t *testing.T, s *Store, key string, greatest int64) {
	t.Helper()
	if token := mustAcquire(t, s, key, time.Minute); token <= greatest {
		t.Errorf("token %d after %d", token, greatest)
	}
}

func clusterOptions(t testing.TB, c *redistest.Cluster) Options {
	t.Helper()
	o := options(t, "")
	o.URLs = c.URLs()
	return o
}

// A proxy that does not know of an export, since its heartbeat has stopped, is refused by every script.
func TestASealedNamespaceRefusesEveryCall(t *testing.T) {
	for what, o := range map[string]func(*testing.T) Options{
		"one":     func(t *testing.T) Options { return options(t, redistest.Start(t).URL()) },
		"cluster": func(t *testing.T) Options { return clusterOptions(t, redistest.StartCluster(t, 3)) },
	} {
		t.Run(what, func(t *testing.T) {
			o := o(t)
			o.MaxTTL = time.Hour
			deaf := open(t, o)
			const keys = 12 // on every master
			held := make([]int64, keys)
			for i := range keys {
				mustClaim(t, deaf, fmt.Sprint("p", i), 1, 10, 9)
				held[i] = mustAcquire(t, deaf, fmt.Sprint("held", i), time.Hour)
				free := fmt.Sprint("free", i)
				if ok, err := deaf.Release(t.Context(), scope, free, backend.Proof{Token: mustAcquire(t, deaf, free, time.Hour)}); !ok || err != nil {
					t.Fatal(ok, err)
				}
			}
			deaf.endBeats()
			deaf.beats.Wait()
			out := mustExport(t, second(t, o))
			for i := range keys {
				_, err1 := deaf.Claim(t.Context(), scope, fmt.Sprint("p", i), 1, 10)
				_, err2 := deaf.Claim(t.Context(), scope, fmt.Sprint("new", i), 1, 10)
				_, err3 := deaf.Restock(t.Context(), scope, fmt.Sprint("p", i), 1)
				_, err4 := deaf.Restock(t.Context(), scope, fmt.Sprint("none", i), 1)
				_, err5 := deaf.Acquire(t.Context(), scope, fmt.Sprint("held", i), backend.Request{TTL: time.Hour})
				_, err6 := deaf.Acquire(t.Context(), scope, fmt.Sprint("free", i), backend.Request{TTL: time.Hour})
				_, err7 := deaf.Acquire(t.Context(), scope, fmt.Sprint("new", i), backend.Request{TTL: time.Hour})
				_, err8 := deaf.Renew(t.Context(), scope, fmt.Sprint("held", i), backend.Proof{Token: held[i]}, 2*time.Hour)
				_, _, errA := deaf.Evict(t.Context(), scope, fmt.Sprint("held", i))
				_, _, errB := deaf.SetPool(t.Context(), scope, backend.Pool{Name: fmt.Sprint("p", i)})
				_, _, errC := deaf.SetPool(t.Context(), scope, backend.Pool{Name: fmt.Sprint("new", i)})
				_, errD := deaf.DropPool(t.Context(), scope, fmt.Sprint("p", i))
				_, _, errE := deaf.Count(t.Context(), scope, fmt.Sprint("p", i))
				_, _, errF := deaf.Look(t.Context(), scope, fmt.Sprint("held", i))
				_, _, errG := deaf.AcquireFirst(t.Context(), scope, []string{fmt.Sprint("held", i), fmt.Sprint("new", i)}, backend.Request{TTL: time.Hour})
				_, errH := deaf.Leases(t.Context(), scope, fmt.Sprint("held", i), keys)
				_, errI := deaf.Pools(t.Context(), scope, fmt.Sprint("p", i), keys)
				_, err9 := deaf.Release(t.Context(), scope, fmt.Sprint("held", i), backend.Proof{Token: held[i]})
				for call, err := range []error{
					err1, err2, err3, err4, err5, err6, err7, err8, err9, errA, errB, errC, errD, errE, errF, errG, errH, errI,
				} {
					if !errors.Is(err, backend.ErrMoved) || errors.Is(err, backend.ErrInDoubt) {
						t.Errorf("call %d on key %d: %v, want ErrMoved", call, i, err)
					}
				}
			}
			if _, err := exportOf(t, second(t, o), false); !errors.Is(err, ErrExported) {
				t.Errorf("a second Export: %v, want ErrExported", err)
			}
			again, err := exportOf(t, second(t, o), true)
			if err != nil {
				t.Fatalf("Export again: %v", err)
			}
			before := contentsOf(t, out)
			if before.totals.Pools != keys || before.totals.Leases != keys {
				t.Errorf("exported %+v, want %d pools and as many leases", before.totals, keys)
			}
			before.same(t, contentsOf(t, again))

			// One that is started on it says so.
			fresh := open(t, second(t, o))
			if _, err := fresh.Claim(t.Context(), scope, "p0", 1, 10); !errors.Is(err, backend.ErrMoved) {
				t.Errorf("Claim by a proxy that was started: %v, want ErrMoved", err)
			}

			// What the deaf one knows is out of date even when the name space is served again.
			if err := Reopen(t.Context(), second(t, o), "", nothing); err != nil {
				t.Fatal(err)
			}
			if g, err := deaf.Acquire(t.Context(), scope, "new0", backend.Request{TTL: time.Hour}); !errors.Is(err, backend.ErrUnavailable) {
				t.Errorf("Acquire of an unknown lock by a proxy that overslept it all: %+v, %v; want ErrUnavailable", g, err)
			}
			if c, err := deaf.Claim(t.Context(), scope, "new0", 1, 10); !errors.Is(err, backend.ErrUnavailable) {
				t.Errorf("Claim of an unknown pool by a proxy that overslept it all: %+v, %v; want ErrUnavailable", c, err)
			}
		})
	}
}

// Two proxies sell while their name space is exported: what they sold and what the file has is what there was, for
// every pool; the pools that it does not have were never sold from. Then the operator changes his mind.
func TestAnExportWhileProxiesSell(t *testing.T) {
	o := clusterOptions(t, redistest.StartCluster(t, 3))
	const pools, capacity = 40, 1 << 30
	stores := []*Store{open(t, o), open(t, second(t, o))}
	var sold [pools]atomic.Int64
	var greatest atomic.Int64
	var wait sync.WaitGroup
	var calls, refused atomic.Int64
	stop := make(chan struct{})
	for worker := range 8 {
		s := stores[worker%2]
		wait.Go(func() {
			for i := worker; ; i += 7 {
				select {
				case <-stop:
					return
				default:
				}
				// Later pools are made in the middle of it.
				p := i % min(pools, 4+i/20)
				c, err := s.Claim(context.Background(), scope, fmt.Sprint("p", p), 1, capacity)
				switch {
				case err == nil && c.Claimed:
					sold[p].Add(1)
					calls.Add(1)
				case errors.Is(err, backend.ErrMoved):
					refused.Add(1)
				case err != nil && !errors.Is(err, backend.ErrUnavailable):
					t.Errorf("Claim: %v", err)
				}
				if g, err := s.Acquire(context.Background(), scope, fmt.Sprint("k", i), backend.Request{TTL: time.Millisecond * 500}); err == nil && g.Acquired {
					raise(&greatest, g.Token)
				}
			}
		})
	}
	eventually(t, "some are sold", func() bool { return calls.Load() > 300 })
	out := mustExport(t, second(t, o))
	before := refused.Load()
	eventually(t, "calls are refused", func() bool { return refused.Load() > before+100 })
	close(stop)
	wait.Wait()
	file := contentsOf(t, out)
	for p := range pools {
		left, ok := file.pools[name{scope, fmt.Sprint("p", p)}]
		if n := sold[p].Load(); ok && left+n != capacity || !ok && n > 0 {
			t.Errorf("p%d: %d were sold, and %d are in the file (%v), of %d", p, n, left, ok, capacity)
		}
	}
	if file.totals.GreatestToken < greatest.Load() {
		t.Errorf("the file's greatest token is %d, and %d was told", file.totals.GreatestToken, greatest.Load())
	}
	t.Logf("%d calls, %d refused, %+v", calls.Load(), refused.Load(), file.totals)

	if err := Reopen(t.Context(), second(t, o), "of another file", nothing); err == nil {
		t.Error("reopened with another file")
	}
	if err := Reopen(t.Context(), second(t, o), idOf(t, out), func() error { return context.Canceled }); !errors.Is(err, context.Canceled) {
		t.Errorf("reopened, and the file can be imported: %v", err)
	}
	if _, err := stores[0].Claim(t.Context(), scope, "p0", 1, 10); !errors.Is(err, backend.ErrMoved) {
		t.Errorf("Claim = %v, want ErrMoved", err)
	}
	if err := Reopen(t.Context(), second(t, o), idOf(t, out), nothing); err != nil {
		t.Fatalf("Reopen: %v", err)
	}
	for i, s := range stores {
		eventually(t, "the proxies go on", func() bool {
			c, err := s.Claim(t.Context(), scope, fmt.Sprint("new", i), 1, 10)
			return err == nil && c.Claimed
		})
		mustClaim(t, s, "p0", 1, capacity, capacity-sold[0].Load()-1-int64(i))
		mustAcquireAbove(t, s, fmt.Sprint("lock ", i), greatest.Load())
	}
	if err := Reopen(t.Context(), second(t, o), "", nothing); err == nil {
		t.Error("a name space that is not sealed is reopened")
	}
}

// raise makes a number at least as great as another.
func raise(n *atomic.Int64, least int64) {
	for {
		now := n.Load()
		if now >= least || n.CompareAndSwap(now, least) {
			return
		}
	}
}

// aFile is an export with many pools, one lease of an hour and a token of the next year.
func aFile(t *testing.T, pools int) (path string, token int64) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "in")
	w, err := moving.Create(path, "test")
	if err != nil {
		t.Fatal(err)
	}
	for i := range pools {
		if err := w.Write(moving.Record{Pool: &moving.Pool{Scope: scope, Name: fmt.Sprint("p", i), Remaining: 5}}); err != nil {
			t.Fatal(err)
		}
	}
	token = time.Now().AddDate(1, 0, 0).UnixMicro()
	if err := w.Write(moving.Record{Lease: &moving.Lease{Scope: scope, Key: "held", Token: token, Remaining: time.Hour}}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Finish(token + 7); err != nil {
		t.Fatal(err)
	}
	if err := w.Publish(); err != nil {
		t.Fatal(err)
	}
	return path, token + 7
}

// An import that was interrupted serves nothing, and goes on when it is run again; what is served by then is not
// written again.
func TestAnInterruptedImport(t *testing.T) {
	server := redistest.Start(t)
	o := options(t, server.URL())
	running := open(t, o) // it has made the id record
	path, greatest := aFile(t, 3*pageSize)
	other, _ := aFile(t, 1)
	from, err := moving.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()

	stopHere := errors.New("interrupted")
	interrupt := func(work func(ctx context.Context, m *mover) error) {
		t.Helper()
		err := withMover(t.Context(), o, func(ctx context.Context, m *mover) error {
			m.mark = from.Header.ID
			if err := work(ctx, m); err != nil {
				return err
			}
			return stopHere
		})
		if !errors.Is(err, stopHere) {
			t.Fatal(err)
		}
	}
	nothingIsServed := func() {
		t.Helper()
		for _, pool := range []string{"p0", "p1400", "new"} {
			if c, err := running.Claim(t.Context(), scope, pool, 1, 10); !errors.Is(err, backend.ErrMoved) {
				t.Errorf("Claim of %s amid an import = %+v, %v; want ErrMoved", pool, c, err)
			}
		}
		if g, err := running.Acquire(t.Context(), scope, "k", backend.Request{TTL: time.Minute}); !errors.Is(err, backend.ErrMoved) {
			t.Errorf("Acquire amid an import = %+v, %v; want ErrMoved", g, err)
		}
		if err := importTo(t, o, other, true); err == nil {
			t.Error("another file is imported beside it")
		}
		if err := Reopen(t.Context(), o, "", nothing); err == nil {
			t.Error("half an import is opened")
		}
		if _, err := exportOf(t, o, true); err == nil {
			t.Error("half an import is exported")
		}
	}
	interrupt(func(ctx context.Context, m *mover) error { return m.setSeal(ctx, sealChecking, m.mark, sealParts{}) })
	interrupt(func(ctx context.Context, m *mover) error {
		if err := m.makeRoom(ctx, false); err != nil {
			return err
		}
		p := putter{mover: m, waiting: make(map[*goredis.Client]*page)}
		n := 0
		err := from.Each(func(r moving.Record) error {
			if n++; n > 2*pageSize {
				return stopHere
			}
			return p.put(ctx, r)
		})
		if !errors.Is(err, stopHere) {
			return err
		}
		return nil
	})
	nothingIsServed()
	interrupt(func(ctx context.Context, m *mover) error {
		if err := m.makeRoom(ctx, false); err != nil {
			return err
		}
		parts, err := m.put(ctx, from)
		if err != nil {
			return err
		}
		return m.setSeal(ctx, sealOpening, m.mark, parts)
	})
	// A pool lost its mark before the interruption, and a unit was sold from it.
	p0 := keyOf(o.Namespace, poolKind, scope, "p0")
	server.Do("HDEL", p0, "x")
	server.Do("HINCRBY", p0, "n", "-1")
	mustImport(t, o, path, false)
	eventually(t, "the import is served", func() bool {
		_, err := running.Restock(t.Context(), scope, "p1400", 1)
		return err == nil
	})
	mustClaim(t, running, "p0", 1, 10, 3)
	mustClaim(t, running, "p1400", 1, 10, 5)
	mustClaim(t, running, "new", 1, 10, 9)
	mustAcquireAbove(t, running, "k", greatest)
	if g, err := running.Acquire(t.Context(), scope, "held", backend.Request{TTL: time.Minute}); g.Acquired || err != nil {
		t.Errorf("Acquire of the lock that came with the file = %+v, %v", g, err)
	}
}

func TestAnImportGoesIntoAnEmptyNamespaceOnly(t *testing.T) {
	server := redistest.Start(t)
	path, greatest := aFile(t, 3)
	for what, fill := range map[string]func(s *Store){
		"1 pools and 0 locks": func(s *Store) { mustClaim(t, s, "p1", 1, 10, 9) },
		"0 pools and 1 locks": func(s *Store) { mustAcquire(t, s, "k", time.Minute) },
	} {
		o := options(t, server.URL())
		s := open(t, o)
		fill(s)
		for _, replace := range []bool{false, true} {
			if err := importTo(t, second(t, o), path, replace); !errors.Is(err, ErrNotEmpty) || !strings.Contains(err.Error(), what) {
				t.Errorf("Import (replace %v): %v, want ErrNotEmpty and %q", replace, err, what)
			}
		}
		eventually(t, "the name space that refused goes on", func() bool {
			_, err := s.Claim(t.Context(), scope, "p2", 1, 10)
			return err == nil
		})
	}
	o := options(t, server.URL())
	server.Do("HSET", keyOf(o.Namespace, poolKind, scope, "p"), "n", 3)
	if err := importTo(t, o, path, false); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("Import into a name space with keys and no id record: %v, want ErrNotEmpty", err)
	}
	if server.Do("EXISTS", idKey(o.Namespace)) != int64(0) { // proxies would take it for one that lost nothing
		t.Error("it has an id record now")
	}

	// What an export has left may be replaced, by what became of it elsewhere.
	o = options(t, server.URL())
	o.MaxPools = 2
	s := open(t, o)
	mustClaim(t, s, "old", 1, 10, 9)
	mustAcquire(t, s, "k", time.Hour)
	mustExport(t, o)
	if err := importTo(t, o, path, false); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("Import into an exported name space: %v, want ErrNotEmpty", err)
	}
	mustImport(t, o, path, true)
	eventually(t, "the import is served", func() bool {
		g, err := s.Acquire(t.Context(), scope, "k", backend.Request{TTL: time.Minute}) // its old lease is gone
		return err == nil && g.Acquired && g.Token > greatest
	})
	mustClaim(t, s, "p2", 1, 10, 4)
	if _, err := s.Claim(t.Context(), scope, "old", 1, 10); !errors.Is(err, backend.ErrTooManyPools) {
		t.Errorf("Claim of a fourth pool, of at most 2: %v, want ErrTooManyPools", err)
	}
}

func TestWhatIsNotCertainIsNotExported(t *testing.T) {
	server := redistest.Start(t)
	used := func() Options {
		o := options(t, server.URL())
		s, err := Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		mustClaim(t, s, "p", 1, 10, 9)
		mustAcquire(t, s, "k", time.Minute)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return o
	}
	state := func(o Options) state {
		st, err := readState(o.StateFile, o.Namespace)
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	for what, tt := range map[string]struct {
		harm func(o Options)
		want error
		says string
	}{
		"a name space that nobody used": {func(o Options) { server.Do("DEL", idKey(o.Namespace)) }, backend.ErrStateLost, "id record"},
		"a loss that a proxy noticed":   {func(o Options) { server.Do("HSET", idKey(o.Namespace), "lost", 1) }, backend.ErrStateLost, "adopt"},
		"another id":                    {func(o Options) { server.Do("HSET", idKey(o.Namespace), "id", "other") }, backend.ErrStateLost, "another id"},
		"a beat that is gone":           {func(o Options) { server.Do("DEL", beatKey(o.Namespace, 0)) }, backend.ErrStateLost, "beat"},
		"data that are older than the last beat": {func(o Options) {
			server.Do("HSET", beatKey(o.Namespace, 0), "b:"+state(o).Proxy, 0)
		}, backend.ErrStateLost, "beats"},
		"a pool that somebody set to -3": {func(o Options) {
			server.Do("HSET", keyOf(o.Namespace, poolKind, scope, "p"), "n", -3)
		}, nil, "-3"},
		"a token that is none": {func(o Options) {
			server.Do("HSET", keyOf(o.Namespace, lockKind, scope, "k"), "t", "07")
		}, nil, "07"},
		"a key that no proxy makes": {func(o Options) {
			server.Do("HSET", o.Namespace+":pool:{a:b}", "n", 3)
		}, nil, "{a:b}"},
		"a key of another kind": {func(o Options) {
			server.Do("SET", keyOf(o.Namespace, poolKind, scope, "s"), 3)
		}, nil, "WRONGTYPE"},
	} {
		o := used()
		tt.harm(o)
		path, err := exportOf(t, o, false)
		if err == nil || tt.want != nil && !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want an error that says %q", what, err, tt.says)
		}
		if _, err := moving.Open(path); err == nil {
			t.Errorf("%s: there is a file", what)
		}
	}
	if _, err := exportOf(t, options(t, server.URL()), false); !errors.Is(err, ErrNoID) {
		t.Errorf("Export of a new name space: %v, want ErrNoID", err)
	}
}

// A call that was applied, and whose answer did not come, stays applied: it is so in the file.
func TestACallThatTheExportHasCountedIsNotUndone(t *testing.T) {
	server := redistest.Start(t)
	o := options(t, server.URL())
	s := open(t, o)
	mustClaim(t, s, "p", 1, 10, 9)
	c := &call{script: claimScript, key: keyOf(o.Namespace, poolKind, scope, "p"), nonce: s.nonce(), taken: 4, copied: true}
	c.notAfter = s.clock.now() + time.Minute.Microseconds()
	answer, err := server.Admin().Eval(t.Context(), claimScript.text, []string{c.key}, c.head(4, 10, "gen", "0", "", "", "")...).StringSlice()
	if err != nil || answer[0] != "CLAIMED" {
		t.Fatal(answer, err)
	}
	out := mustExport(t, second(t, o))
	gaveUp, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.settle(gaveUp, c, time.Now(), context.Canceled); !errors.Is(err, backend.ErrInDoubt) {
		t.Errorf("settling a claim that was given up: %v, want ErrInDoubt", err)
	}
	if left := contentsOf(t, out).pools[name{scope, "p"}]; left != 5 {
		t.Errorf("the file has %d units, want 5", left)
	}
	if left := server.Admin().HGet(t.Context(), c.key, "n").Val(); left != "5" {
		t.Errorf("the pool has %s units after the export, want 5", left)
	}
}

// The newest floor of any proxy is in the id record, so that it outlives all of them.
func TestTheFloorIsShared(t *testing.T) {
	server := redistest.Start(t)
	o := options(t, server.URL())
	s := open(t, o)
	ahead := time.Now().AddDate(1, 0, 0).UnixMicro()
	s.clock.see(0, ahead)
	eventually(t, "the floor is noted", func() bool {
		return server.Admin().HGet(t.Context(), idKey(o.Namespace), "floor").Val() >= fmt.Sprint(ahead)
	})
	mustAcquireAbove(t, open(t, second(t, o)), "k", ahead)
	server.Do("DEL", keyOf(o.Namespace, lockKind, scope, "k")) // as if its retention were over
	if file := contentsOf(t, mustExport(t, second(t, o))); file.totals.GreatestToken < ahead {
		t.Errorf("the file's greatest token is %d, want at least %d", file.totals.GreatestToken, ahead)
	}
}

func TestKeysAreTakenApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := backend.Scope{Tenant: oddNames.Draw(t, "tenant"), Repository: oddNames.Draw(t, "repository"), Branch: oddNames.Draw(t, "branch")}
		called, space := oddNames.Draw(t, "name"), rapid.SampledFrom([]string{"a", "raisin:locks", "x:pool"}).Draw(t, "namespace")
		kind, got, name, err := splitKey(space, keyOf(space, poolKind, in, called))
		if err != nil || kind != poolKind || got != in || name != called {
			t.Fatalf("%q %q: %s %+v %q %v", in, called, kind, got, name, err)
		}
	})
	for _, key := range []string{"a:pool:{b:c:d}", "a:pool:{b:c:d:e", "b:pool:{b:c:d:e}", "a:pool:{b:c:d:%}", "a:pool:{b:c:d:%41}", "a:pool:{b:c:d:e f}"} {
		if _, _, _, err := splitKey("a", key); err == nil {
			t.Errorf("%q is taken", key)
		}
	}
}

// SCAN may give a key twice. Then it is told once.
func TestAKeyThatComesTwiceIsToldOnce(t *testing.T) {
	server := redistest.Start(t)
	o := options(t, server.URL())
	s := open(t, o)
	mustClaim(t, s, "p", 1, 10, 9)
	path := filepath.Join(t.TempDir(), "out")
	to, err := moving.Create(path, Source)
	if err != nil {
		t.Fatal(err)
	}
	defer to.Discard()
	key := keyOf(o.Namespace, poolKind, scope, "p")
	err = withMover(t.Context(), second(t, o), func(ctx context.Context, m *mover) error {
		_, err := m.take(ctx, m.servers.single, []string{key, key}, to)
		if err == nil {
			_, err = m.take(ctx, m.servers.single, []string{key}, to)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if totals, err := to.Finish(0); err != nil || totals.Pools != 1 {
		t.Errorf("%+v, %v; want one pool", totals, err)
	}
}
