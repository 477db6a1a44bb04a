package inprocess

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"raisinproxy/backend"
)

// gate lets syncs of the log through, or holds them up.
type gate struct {
	shut    atomic.Bool
	waiting chan struct{} // a sync has come to the shut gate
	through chan error    // what it meets then
}

func newGate() *gate { return &gate{waiting: make(chan struct{}, 16), through: make(chan error, 16)} }

func (g *gate) meet(op errorfs.Op) error {
	if !isSync(op) {
		return nil
	}
	return g.pass()
}

// pass waits at the gate if that is shut.
func (g *gate) pass() error {
	if !g.shut.Load() {
		return nil
	}
	g.waiting <- struct{}{}
	return <-g.through
}

// gated is a store whose gate is open at first.
func gated(t *testing.T) (*machine, *Store, *gate) {
	m, g := newMachine(), newGate()
	m.meet = g.meet
	return m, m.open(t), g
}

// call makes a call in the background.
func call[T any](do func() (T, error)) chan result[T] {
	done := make(chan result[T], 1)
	go func() {
		answer, err := do()
		done <- result[T]{answer, err}
	}()
	return done
}

type result[T any] struct {
	answer T
	err    error
}

// open lets everything through from now on.
func (g *gate) open(err error) {
	g.shut.Store(false)
	g.through <- err
}

// answers is every answer that rests on the changes which change makes, and that
// writes nothing itself.
var answers = []struct {
	name   string
	before func(t *testing.T, s *Store) int64 // durable before
	change func(t *testing.T, s *Store, token int64) error
	answer func(ctx context.Context, s *Store, token int64) (string, error)
	want   string
}{
	{
		"a refused acquire waits for the grant",
		nil,
		func(t *testing.T, s *Store, _ int64) error {
			_, err := s.Acquire(t.Context(), scope, "k", backend.Request{TTL: time.Hour})
			return err
		},
		func(ctx context.Context, s *Store, _ int64) (string, error) {
			g, err := s.Acquire(ctx, scope, "k", backend.Request{TTL: time.Hour})
			return fmt.Sprint(g.Acquired), err
		},
		"false",
	},
	{
		"a false release waits for the release",
		func(t *testing.T, s *Store) int64 { return acquire(t, s, "k", time.Hour) },
		func(t *testing.T, s *Store, token int64) error {
			_, err := s.Release(t.Context(), scope, "k", backend.Proof{Token: token})
			return err
		},
		func(ctx context.Context, s *Store, token int64) (string, error) {
			ok, err := s.Release(ctx, scope, "k", backend.Proof{Token: token})
			return fmt.Sprint(ok), err
		},
		"false",
	},
	{
		"a false renew waits for the release",
		func(t *testing.T, s *Store) int64 { return acquire(t, s, "k", time.Hour) },
		func(t *testing.T, s *Store, token int64) error {
			_, err := s.Release(t.Context(), scope, "k", backend.Proof{Token: token})
			return err
		},
		func(ctx context.Context, s *Store, token int64) (string, error) {
			ok, err := s.Renew(ctx, scope, "k", backend.Proof{Token: token}, time.Hour)
			return fmt.Sprint(ok), err
		},
		"false",
	},
	{
		"a renew that moves nothing waits for the one that did",
		func(t *testing.T, s *Store) int64 { return acquire(t, s, "k", time.Hour) },
		func(t *testing.T, s *Store, token int64) error {
			_, err := s.Renew(t.Context(), scope, "k", backend.Proof{Token: token}, 2*time.Hour)
			return err
		},
		func(ctx context.Context, s *Store, token int64) (string, error) {
			ok, err := s.Renew(ctx, scope, "k", backend.Proof{Token: token}, time.Second)
			return fmt.Sprint(ok), err
		},
		"true",
	},
	{
		"a refused claim waits for the claim",
		nil,
		func(t *testing.T, s *Store, _ int64) error {
			_, err := s.Claim(t.Context(), scope, "p", 3, 3)
			return err
		},
		func(ctx context.Context, s *Store, _ int64) (string, error) {
			c, err := s.Claim(ctx, scope, "p", 1, 3)
			return fmt.Sprint(c), err
		},
		"{false 0}",
	},
	{
		"a refused claim waits for the pool",
		nil,
		func(t *testing.T, s *Store, _ int64) error {
			_, err := s.Claim(t.Context(), scope, "p", 9, 3)
			return err
		},
		func(ctx context.Context, s *Store, _ int64) (string, error) {
			c, err := s.Claim(ctx, scope, "p", 9, 5)
			return fmt.Sprint(c), err
		},
		"{false 3}",
	},
	{
		"a refused restock waits for the restock",
		func(t *testing.T, s *Store) int64 { claim(t, s, "p", 1<<62, 1<<62); return 0 },
		func(t *testing.T, s *Store, _ int64) error {
			_, err := s.Restock(t.Context(), scope, "p", 1<<62)
			return err
		},
		func(ctx context.Context, s *Store, _ int64) (string, error) {
			_, err := s.Restock(ctx, scope, "p", 1<<62)
			if errors.Is(err, backend.ErrCountOverflow) {
				return "overflow", nil
			}
			return "", err
		},
		"overflow",
	},
}

// What rests on a change is told when the change is durable, and not before.
func TestAnswersWaitForWhatTheyRestOn(t *testing.T) {
	for _, a := range answers {
		inBubble(t, a.name, func(t *testing.T) {
			m, s, g := gated(t)
			var token int64
			if a.before != nil {
				token = a.before(t, s)
			}
			g.shut.Store(true)
			changed := call(func() (bool, error) { return true, a.change(t, s, token) })
			ended, cancel := context.WithCancel(t.Context())
			synctest.Wait() // the change is made, and its sync under way
			gaveUp := call(func() (string, error) { return a.answer(ended, s, token) })
			told := call(func() (string, error) { return a.answer(t.Context(), s, token) })
			synctest.Wait()
			if len(changed)+len(gaveUp)+len(told) > 0 {
				t.Error("an answer was told before the sync that it rests on")
			}
			cancel()
			// Nothing was applied for the one who gives up.
			if r := <-gaveUp; !errors.Is(r.err, backend.ErrUnavailable) || !errors.Is(r.err, context.Canceled) {
				t.Errorf("who gave up is told %+v, want ErrUnavailable and the cause", r)
			}
			g.open(nil)
			if r := <-changed; r.err != nil {
				t.Errorf("the change: %v", r.err)
			}
			if r := <-told; r.err != nil || r.answer != a.want {
				t.Errorf("told %+v, want %s", r, a.want)
			}
			again, err := a.answer(t.Context(), m.unplugged().open(t), token)
			if err != nil || again != a.want {
				t.Errorf("after a crash, told %s, %v; want %s", again, err, a.want)
			}
		})
	}
}

// What rests on a change that failed is in doubt with it, and everything after
// it is refused; only the disk knows, and a new store tells.
func TestFailedSyncPoisons(t *testing.T) {
	for _, a := range answers {
		inBubble(t, a.name, func(t *testing.T) {
			m, s, g := gated(t)
			var token int64
			if a.before != nil {
				token = a.before(t, s)
			}
			g.shut.Store(true)
			changed := call(func() (bool, error) { return true, a.change(t, s, token) })
			synctest.Wait()
			told := call(func() (string, error) { return a.answer(t.Context(), s, token) })
			next := call(func() (backend.Claimed, error) { return s.Claim(t.Context(), scope, "other", 1, 1) })
			synctest.Wait()
			g.open(syscall.EIO)
			for name, err := range map[string]error{
				"the change": (<-changed).err, "what rests on it": (<-told).err, "a change in the next group": (<-next).err,
			} {
				if !errors.Is(err, backend.ErrInDoubt) || !errors.Is(err, syscall.EIO) {
					t.Errorf("%s: %v, want ErrInDoubt and the cause", name, err)
				}
			}
			if _, err := a.answer(t.Context(), s, token); !errors.Is(err, backend.ErrUnwritable) || !errors.Is(err, syscall.EIO) {
				t.Errorf("afterwards: %v, want ErrUnwritable and the cause", err)
			}
			if err := a.change(t, s, token); !errors.Is(err, backend.ErrUnwritable) {
				t.Errorf("a change afterwards: %v, want ErrUnwritable", err)
			}
			synctest.Wait()
			if n := s.records(t); n > 0 {
				t.Errorf("%d leases are still in memory", n)
			}
			// After a crash the disk has what it had before, since the sync never took
			// place; and the folder can be opened again while the old store lives.
			m.meet = nil
			if err := a.change(t, m.crashed(vfs.CrashCloneCfg{}).open(t), token); err != nil {
				t.Errorf("after a crash: %v", err)
			}
			claim(t, m.open(t), "other", 1, 1)
			if err := s.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
	}
}

// inBubble runs a test where synctest.Wait tells that everybody waits.
func inBubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// A caller who gives up while its change is written is told that it may be done.
func TestWhoGivesUpIsInDoubt(t *testing.T) {
	inBubble(t, "every call", func(t *testing.T) {
		_, s, g := gated(t)
		renewed, released := acquire(t, s, "renewed", time.Hour), acquire(t, s, "released", time.Hour)
		claim(t, s, "p", 1, 10)
		g.shut.Store(true)
		ctx, cancel := context.WithCancel(t.Context())
		calls := map[string]chan result[any]{}
		for name, do := range map[string]func() (any, error){
			"Acquire":             func() (any, error) { return s.Acquire(ctx, scope, "new", backend.Request{TTL: time.Hour}) },
			"Renew":               func() (any, error) { return s.Renew(ctx, scope, "renewed", backend.Proof{Token: renewed}, 2*time.Hour) },
			"Release":             func() (any, error) { return s.Release(ctx, scope, "released", backend.Proof{Token: released}) },
			"Claim":               func() (any, error) { return s.Claim(ctx, scope, "p", 1, 10) },
			"Claim of a new pool": func() (any, error) { return s.Claim(ctx, scope, "q", 2, 1) },
			"Restock":             func() (any, error) { return s.Restock(ctx, scope, "p", 1) },
		} {
			calls[name] = call(do)
		}
		synctest.Wait()
		cancel()
		for name, done := range calls {
			if r := <-done; !errors.Is(r.err, backend.ErrInDoubt) || !errors.Is(r.err, context.Canceled) {
				t.Errorf("%s: %+v, want ErrInDoubt and the cause", name, r)
			}
		}
		g.open(nil)
		if isHeld(t, s, "released") || !isHeld(t, s, "new") {
			t.Error("what was in doubt was not carried out")
		}
	})
}

// A lease that ends before it is on disk is not told: its holder would be one of
// two. It is tried once more.
func TestGrantThatComesTooLate(t *testing.T) {
	for name, late := range map[string]int{"once": 1, "twice": 2} {
		inBubble(t, name, func(t *testing.T) {
			m, s, g := gated(t)
			g.shut.Store(true)
			done := call(func() (backend.Grant, error) {
				return s.Acquire(t.Context(), scope, "k", backend.Request{TTL: time.Second})
			})
			for range late {
				<-g.waiting
				m.clock.Advance(time.Second)
				g.through <- nil
			}
			if late == 1 {
				g.open(nil)
			}
			r := <-done
			switch {
			case late == 2 && !errors.Is(r.err, backend.ErrUnavailable):
				t.Errorf("Acquire = %+v, want ErrUnavailable", r)
			case late == 1 && (r.err != nil || !r.answer.Acquired):
				t.Errorf("Acquire = %+v, want a grant by the second try", r)
			case late == 1:
				g.shut.Store(false)
				if ok, err := s.Release(t.Context(), scope, "k", backend.Proof{Token: r.answer.Token}); !ok || err != nil {
					t.Errorf("Release = %v, %v", ok, err)
				}
			}
			g.shut.Store(false)
		})
	}
}
