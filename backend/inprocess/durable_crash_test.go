package inprocess

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"raisinproxy/backend"
	"raisinproxy/backend/backendtest"
)

// remaining reads the pool p by asking for too much.
func remaining(t testing.TB, s *Store) int64 {
	t.Helper()
	c, err := s.Claim(t.Context(), scope, "p", math.MaxInt64, 0)
	if err != nil || c.Claimed {
		t.Fatalf("Claim(MaxInt64) = %+v, %v", c, err)
	}
	return c.Remaining
}

func claim(t testing.TB, s *Store, pool string, n, capacity int64) backend.Claimed {
	t.Helper()
	c, err := s.Claim(t.Context(), scope, pool, n, capacity)
	if err != nil {
		t.Fatalf("Claim(%q) = %+v, %v", pool, c, err)
	}
	return c
}

// isHeld asks for a key and gives it back if it was free.
func isHeld(t testing.TB, s *Store, key string) bool {
	t.Helper()
	g, err := s.Acquire(t.Context(), scope, key, backend.Request{TTL: time.Hour})
	if err != nil {
		t.Fatalf("Acquire(%q): %v", key, err)
	}
	if g.Acquired {
		release(t, s, key, g.Token)
	}
	return !g.Acquired
}

// A worker takes units and a lease, again and again, and knows what it was told.
type worker struct {
	key string

	mu sync.Mutex
	knows
}

type knows struct {
	asked, acked int64 // units of the pool
	token        int64 // of its lease; 0: it holds none
	last         int64 // the greatest token
	unsure       bool  // a call is under way, so the lease may be either way
}

func (w *worker) now() knows {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.knows
}

func (w *worker) learn(change func(k *knows)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(&w.knows)
}

// lease makes a call that leaves the worker with the lease of token, or without.
func (w *worker) lease(call func() (token int64)) {
	w.learn(func(k *knows) { k.unsure = true })
	token := call()
	w.learn(func(k *knows) { k.token, k.unsure, k.last = token, false, max(k.last, token) })
}

func (w *worker) work(t *testing.T, s *Store, rounds int) {
	for n := range rounds {
		w.learn(func(k *knows) { k.asked++ })
		claim(t, s, "p", 1, capacity)
		w.learn(func(k *knows) { k.acked++ })
		w.lease(func() int64 { return acquire(t, s, w.key, time.Hour) })
		if n%2 == 0 {
			w.lease(func() int64 {
				if ok, err := s.Renew(t.Context(), scope, w.key, backend.Proof{Token: w.token}, 2*time.Hour); !ok || err != nil {
					t.Errorf("Renew = %v, %v", ok, err)
				}
				return w.token
			})
		}
		w.lease(func() int64 { release(t, s, w.key, w.token); return 0 })
	}
}

const capacity = 1 << 40

// A crash is the disk as it was at one moment, and what the workers knew a little
// before and after.
type crash struct {
	disk          *vfs.MemFS
	before, after []knows
}

// Whenever the power fails, what was acknowledged is there afterwards, and
// nothing that nobody asked for.
func TestCrashAtAnyPoint(t *testing.T) {
	const every = 29 // operations on the disk
	workers := make([]*worker, 8)
	for i := range workers {
		workers[i] = &worker{key: fmt.Sprint("k", i)}
	}
	ask := func() (all []knows) {
		for _, w := range workers {
			all = append(all, w.now())
		}
		return all
	}
	m := newMachine()
	var mu sync.Mutex
	var crashes []crash
	operations := 0
	random := rand.New(rand.NewPCG(1, 2))
	m.meet = func(op errorfs.Op) error {
		mu.Lock()
		defer mu.Unlock()
		if operations++; operations%every == 0 && strings.HasSuffix(op.Path, ".log") {
			c := crash{before: ask()}
			c.disk = m.disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: len(crashes) % 3 * 50, RNG: random})
			c.after = ask()
			crashes = append(crashes, c)
		}
		return nil
	}
	s := m.open(t)
	var all sync.WaitGroup
	for _, w := range workers {
		all.Go(func() { w.work(t, s, 100) })
	}
	all.Wait()
	s.Close()

	sure := 0
	for i, c := range crashes {
		m := &machine{disk: c.disk, clock: m.clock, boot: "another boot"}
		sure += c.check(t, fmt.Sprint("crash ", i), m.open(t), workers)
	}
	if len(crashes) < 20 || sure < 20 {
		t.Errorf("vacuous: %d crashes, and %d keys on which nothing was under way then", len(crashes), sure)
	}
}

// check compares a recovered store with what was known, and counts the keys that
// must be as their workers knew them.
func (c *crash) check(t *testing.T, name string, s *Store, workers []*worker) (sure int) {
	t.Helper()
	var least, most int64
	for i := range workers {
		least += c.before[i].acked
		most += c.after[i].asked
	}
	// A pool that was not made yet is made by this look, without a unit.
	if sold := capacity - remaining(t, s); least > 0 && (sold < least || sold > most) {
		t.Errorf("%s: %d units are sold; %d were acknowledged and %d asked for", name, sold, least, most)
	}
	for i, w := range workers {
		known := c.before[i]
		if known.token != c.after[i].token || known.last != c.after[i].last || known.unsure || c.after[i].unsure {
			continue
		}
		sure++
		if known.token != 0 {
			release(t, s, w.key, known.token)
		}
		if next := acquire(t, s, w.key, time.Hour); next <= known.last {
			t.Errorf("%s: token %d after %d", name, next, known.last)
		}
	}
	if err := s.Close(); err != nil {
		t.Errorf("%s: Close: %v", name, err)
	}
	return sure
}

// Leases go on after a restart: to their very end if the machine went on, and
// for all their time if it did not.
func TestLeasesGoOnAfterARestart(t *testing.T) {
	m := newMachine()
	s := m.open(t)
	short := acquire(t, s, "short", 10*time.Second)
	acquire(t, s, "over", time.Second)
	renewed := acquire(t, s, "renewed", 10*time.Second)
	acquire(t, s, "endless", math.MaxInt64)
	m.clock.Advance(4 * time.Second)
	if ok, err := s.Renew(t.Context(), scope, "renewed", backend.Proof{Token: renewed}, 20*time.Second); !ok || err != nil {
		t.Fatalf("Renew = %v, %v", ok, err)
	}

	t.Run("same boot", func(t *testing.T) {
		m := m.crashed(vfs.CrashCloneCfg{})
		m.clock = new(backendtest.Clock)
		m.clock.Advance(4 * time.Second)
		s := m.open(t)
		if isHeld(t, s, "over") {
			t.Error("a lease that was over is held")
		}
		m.clock.Advance(6*time.Second - 1)
		for key, token := range map[string]int64{"short": short, "renewed": renewed} {
			if ok, err := s.Renew(t.Context(), scope, key, backend.Proof{Token: token}, 1); !ok || err != nil {
				t.Errorf("a nanosecond before its end, Renew(%q) = %v, %v", key, ok, err)
			}
		}
		m.clock.Advance(1)
		if isHeld(t, s, "short") {
			t.Error("the lease is longer than it was")
		}
		m.clock.Advance(14*time.Second - 1)
		if !isHeld(t, s, "renewed") {
			t.Error("the renewal was lost")
		}
		m.clock.Advance(1)
		if isHeld(t, s, "renewed") || !isHeld(t, s, "endless") {
			t.Error("a lease is longer, or shorter, than it was")
		}
	})

	for name, boots := range map[string]int{"another boot": 1, "two more boots": 2, "another boot and a restart": 3, "a restart and another boot": 4} {
		t.Run(name, func(t *testing.T) {
			m := m
			if boots == 4 {
				m = m.crashed(vfs.CrashCloneCfg{}) // what is left of a lease now is not its full time
				m.open(t)
			}
			m = m.unplugged()
			switch boots {
			case 2:
				m.open(t).Close()
				m.boot = "a third boot"
			case 3:
				m.clock.Advance(time.Hour)
				m.open(t).Close() // from here on its deadlines count
				m.clock.Advance(5 * time.Second)
			}
			s := m.open(t)
			if boots == 3 {
				m.clock.Advance(5*time.Second - 1)
			} else {
				m.clock.Advance(10*time.Second - 1)
			}
			if !isHeld(t, s, "short") || !isHeld(t, s, "renewed") {
				t.Error("a lease is shorter than it was")
			}
			m.clock.Advance(1)
			if isHeld(t, s, "short") {
				t.Error("a lease is longer than its full time from the restart")
			}
			m.clock.Advance(10*time.Second - 1)
			if !isHeld(t, s, "renewed") {
				t.Error("a renewed lease did not get the time of its renewal")
			}
			m.clock.Advance(1)
			if isHeld(t, s, "renewed") || !isHeld(t, s, "endless") {
				t.Error("a lease is longer, or shorter, than its full time from the restart")
			}
		})
	}
}

// Who was told that a lease is over is told so for ever, although after another
// boot nobody could know.
func TestOverStaysOverAfterAnotherBoot(t *testing.T) {
	for name, ask := range map[string]func(s *Store, token int64) (bool, error){
		"renew": func(s *Store, token int64) (bool, error) {
			return s.Renew(t.Context(), scope, "k", backend.Proof{Token: token}, time.Hour)
		},
		"release": func(s *Store, token int64) (bool, error) {
			return s.Release(t.Context(), scope, "k", backend.Proof{Token: token})
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine()
			s := m.open(t)
			token := acquire(t, s, "k", time.Second)
			m.clock.Advance(time.Second)
			for boot := range 3 {
				if ok, err := ask(s, token); ok || err != nil {
					t.Errorf("after %d more boots, %s = %v, %v", boot, name, ok, err)
				}
				m = m.unplugged()
				s = m.open(t)
			}
		})
	}
}

// Nothing on disk remembers a key that is free, and still its tokens rise: over
// crashes, and when the wall clock goes back meanwhile.
func TestTokensRiseOverRestarts(t *testing.T) {
	m := newMachine()
	last := int64(0)
	for round, back := range []time.Duration{0, time.Hour, time.Minute, 0, 24 * time.Hour} {
		m.clock.StepWall(-back)
		s := m.open(t)
		for _, pause := range []time.Duration{0, time.Second, 9 * time.Second, 11 * time.Second, time.Minute} {
			m.clock.Advance(pause)
			token := acquire(t, s, "k", time.Hour)
			if token <= last {
				t.Fatalf("round %d: token %d after %d", round, token, last)
			}
			if wall := m.clock.Wall().UnixMicro(); token < wall {
				t.Errorf("round %d: token %d is below the wall clock, %d", round, token, wall)
			}
			last = token
			release(t, s, "k", token)
		}
		m = m.unplugged()
	}
}

// A restart puts tokens ahead of the wall clock by no more than the lead of their
// ceiling, so that many restarts do not use them up.
func TestRestartsDoNotUseUpTokens(t *testing.T) {
	m := newMachine()
	for range 20 {
		s := m.open(t)
		token := acquire(t, s, "k", time.Hour)
		release(t, s, "k", token)
		if ahead := token - m.clock.Wall().UnixMicro(); ahead > tokenLead+1 {
			t.Fatalf("a token is %d µs ahead of the wall clock", ahead)
		}
		m = m.killed()
		m.clock.Advance(11 * time.Second)
	}
}

// Tokens end below MaxToken on disk too.
func TestCeilingStaysBelowMaxToken(t *testing.T) {
	m := newMachine()
	s := m.open(t)
	s.tokens.last.Store(backend.MaxToken - 3)
	acquire(t, s, "a", time.Hour)
	s = m.killed().open(t)
	if _, err := s.Acquire(t.Context(), scope, "b", backend.Request{TTL: time.Hour}); !errors.Is(err, backend.ErrTokensExhausted) {
		t.Errorf("Acquire = %v, want ErrTokensExhausted", err)
	}
	if !isHeld(t, s, "a") {
		t.Error("the last lease was lost")
	}
}
