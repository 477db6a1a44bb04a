package backendtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"raisinproxy/backend"
	"raisinproxy/backend/inprocess"
)

const testUnit = 120 * time.Millisecond

// machine is one whose processes are not always scheduled. stall says for how much longer than it
// was to a wait has taken.
type machine struct {
	stall  func() time.Duration
	broken func(backend.Backend) backend.Backend // nil: the store is good
	clock  *Clock                                // of the newest store
	stores int
	asked  []time.Duration // the times that scenarios let pass
}

func (m *machine) harness() Harness {
	env := func(limits inprocess.Options) func(t *testing.T) Env {
		return func(t *testing.T) Env {
			m.stores++
			clock := new(Clock)
			m.clock = clock
			limits.Clock = clock
			s := inprocess.New(limits)
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
			})
			var client backend.Backend = s
			if m.broken != nil {
				client = m.broken(s)
			}
			return Env{
				Clients: []backend.Backend{client},
				Now:     clock.Boot,
				Advance: func(d time.Duration) {
					m.asked = append(m.asked, d)
					clock.Advance(d + m.stall())
				},
				Wall:     clock.Wall,
				StepWall: clock.StepWall,
			}
		}
	}
	return Harness{Unit: testUnit, Slack: testUnit / 3, New: env(inprocess.Options{}),
		Limited: env(inprocess.Options{MaxPools: MaxPools, MaxLeases: MaxLeases, MaxWaiters: MaxWaiters})}
}

// always is a machine that stalls for d each time.
func always(d time.Duration) func() time.Duration { return func() time.Duration { return d } }

// once is a machine that stalls for d the first time.
func once(d time.Duration) func() time.Duration {
	return func() time.Duration {
		now := d
		d = 0
		return now
	}
}

var endsByItself = testCase{"a lease ends by itself after its ttl", leaseEndsByItself}

func TestAStalledScenarioIsTriedAgainWithTwiceTheUnit(t *testing.T) {
	for _, c := range []struct {
		stall func() time.Duration
		units []time.Duration // of the trials
	}{
		{always(0), []time.Duration{1}},
		{always(2 * testUnit), []time.Duration{1}}, // 5 of 6 units are over: held for certain
		{once(3 * testUnit), []time.Duration{1, 2}},
		{always(3 * testUnit), []time.Duration{1, 2}},
		{always(10 * testUnit), []time.Duration{1, 2, 4}},
	} {
		m := &machine{stall: c.stall}
		tr := endsByItself.try(t, m.harness())
		if tr.failed {
			t.Errorf("units %v: %q", c.units, tr.failures)
		}
		var units []time.Duration
		for _, d := range m.asked {
			if unit := d / (3 * testUnit); d%(3*testUnit) == 0 { // the first advance of a trial
				units = append(units, unit)
			}
		}
		if !slices.Equal(units, c.units) || m.stores != len(c.units) {
			t.Errorf("units of %v on %d stores, want %v", units, m.stores, c.units)
		}
	}
}

// short is a backend whose leases are over at half their time.
type short struct{ backend.Backend }

func (b short) Acquire(ctx context.Context, scope backend.Scope, key string, r backend.Request) (backend.Grant, error) {
	return b.Backend.Acquire(ctx, scope, key, backend.Request{TTL: r.TTL / 2})
}

// long is a backend whose leases last too long.
type long struct{ backend.Backend }

func (b long) Acquire(ctx context.Context, scope backend.Scope, key string, r backend.Request) (backend.Grant, error) {
	return b.Backend.Acquire(ctx, scope, key, backend.Request{TTL: 4 * r.TTL})
}

func TestAFaultIsToldAtOnceAlthoughTheMachineStalls(t *testing.T) {
	for name, c := range map[string]struct {
		broken func(backend.Backend) backend.Backend
		stall  time.Duration
		trials int
	}{
		"too short, in time":        {func(b backend.Backend) backend.Backend { return short{b} }, 0, 1},
		"too short, a little late":  {func(b backend.Backend) backend.Backend { return short{b} }, testUnit, 1},
		"too short, then in time":   {func(b backend.Backend) backend.Backend { return short{b} }, 3 * testUnit, 2},
		"too long, in time":         {func(b backend.Backend) backend.Backend { return long{b} }, 0, 1},
		"too long, a little late":   {func(b backend.Backend) backend.Backend { return long{b} }, testUnit, 1},
		"too long, late, then good": {func(b backend.Backend) backend.Backend { return long{b} }, 4 * testUnit, 2},
	} {
		m := &machine{stall: always(c.stall), broken: c.broken}
		tr := endsByItself.try(t, m.harness())
		if !tr.failed || len(tr.failures) != 1 || m.stores != c.trials {
			t.Errorf("%s: failures %q after %d trials, want one after %d", name, tr.failures, m.stores, c.trials)
			continue
		}
		if !strings.HasPrefix(tr.failures[0], "lock.go:") || !strings.Contains(tr.failures[0], `Acquire("k")`) {
			t.Errorf("%s: %q does not tell the line and the call", name, tr.failures[0])
		}
	}
}

func TestAMachineThatAlwaysStallsIsNamed(t *testing.T) {
	m := &machine{stall: always(time.Hour)}
	tr := endsByItself.try(t, m.harness())
	if !tr.failed || m.stores != maxTrials || len(tr.failures) != 1 || !strings.Contains(tr.failures[0], "the machine stands still") {
		t.Fatalf("failures %q after %d trials", tr.failures, m.stores)
	}
	for _, unit := range []string{"120ms", "240ms", "480ms", "960ms", "1.92s"} {
		if !strings.Contains(tr.failures[0], "with a unit of "+unit+" ") {
			t.Errorf("nothing is said of a unit of %s: %s", unit, tr.failures[0])
		}
	}
}

// slow is a backend whose first grant is told when its lease is over, so that it has to be refused.
type slow struct {
	backend.Backend
	clock *Clock
}

func TestAGrantThatCameTooLateSaysNothing(t *testing.T) {
	m := &machine{stall: always(0)}
	h := m.harness()
	inTime := h.New
	h.New = func(t *testing.T) Env {
		env := inTime(t)
		if m.stores == 1 {
			env.Clients[0] = slow{env.Clients[0], m.clock}
		}
		return env
	}
	if tr := endsByItself.try(t, h); tr.failed || m.stores != 2 {
		t.Errorf("failures %q after %d trials, want none after 2", tr.failures, m.stores)
	}
}

func (b slow) Acquire(_ context.Context, _ backend.Scope, _ string, r backend.Request) (backend.Grant, error) {
	b.clock.Advance(r.TTL)
	return backend.Grant{}, fmt.Errorf("%w: the answer came after the end of the lease", backend.ErrUnavailable)
}

func TestAnOutageIsAFailureAtOnce(t *testing.T) {
	m := &machine{stall: always(0), broken: func(b backend.Backend) backend.Backend {
		_ = b.Close() // the harness looks at what its own Close returns
		return b
	}}
	if tr := endsByItself.try(t, m.harness()); !tr.failed || m.stores != 1 {
		t.Errorf("failures %q after %d trials, want some after 1", tr.failures, m.stores)
	}
}

func TestATrialSkipsAndFailsForItsOwnGoroutineOnly(t *testing.T) {
	m := &machine{stall: always(0)}
	skipping := testCase{"", func(t testing.TB, _ *store) { t.Skip("for", "a reason"); t.Error("after it") }}
	if tr := skipping.try(t, m.harness()); tr.failed || !tr.Skipped() || tr.reason != "for a reason" {
		t.Errorf("failed %v %q, skipped %v %q", tr.failed, tr.failures, tr.skipped, tr.reason)
	}
	failing := testCase{"", func(t testing.TB, _ *store) {
		together(3, func(i int) { t.Errorf("caller %d", i) })
		end := t.Fatal
		end("the end")
		t.Error("after it")
	}}
	tr := failing.try(t, m.harness())
	if !tr.Failed() || len(tr.failures) != 4 || !strings.HasSuffix(tr.failures[3], ": the end") {
		t.Errorf("failed %v %q", tr.failed, tr.failures)
	}
}

// On a machine that stalls now and then, between calls and while it waits, the whole suite passes.
func TestTheSuiteOnAMachineThatStallsNowAndThen(t *testing.T) {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(3, 4))
	onceIn := func(n int) time.Duration {
		mu.Lock()
		defer mu.Unlock()
		if random.IntN(n) > 0 {
			return 0
		}
		return time.Duration(random.Int64N(int64(8 * testUnit)))
	}
	m := &machine{stall: func() time.Duration { return onceIn(4) }}
	h := m.harness()
	scenarios := make(map[string]bool)
	stalling := func(quiet func(t *testing.T) Env) func(t *testing.T) Env {
		return func(t *testing.T) Env {
			scenarios[t.Name()] = true
			env := quiet(t)
			clock := m.clock
			env.Now = func() time.Duration {
				clock.Advance(onceIn(100))
				return clock.Boot()
			}
			return env
		}
	}
	h.New, h.Limited = stalling(h.New), stalling(h.Limited)
	Run(t, h)
	if again := m.stores - len(scenarios); again < 1 {
		t.Errorf("vacuous: %d trials of %d scenarios", m.stores, len(scenarios))
	}
}
