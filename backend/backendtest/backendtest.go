// Package backendtest is the conformance suite of backend.Backend. Every backend
// runs it against itself:
//
//	backendtest.Run(t, backendtest.Harness{Unit: time.Second, New: …})
//
// The names of the subtests are the specification. Clock is a clock to be moved
// by hand, for the harness of a backend that lets its clock be chosen and for
// the tests of other packages.
package backendtest

import (
	"slices"
	"testing"
	"time"

	"raisinproxy/backend"
)

// Harness says how the suite gets at a backend.
type Harness struct {
	// Unit is the measure of the suite: leases last 1 to some 100 units. On a
	// clock that is moved by hand it may be anything from 4 ms up. On a real
	// clock every unit is waited for, and should be long against the delays of
	// the machine: the suite leaves at least two units between a check and the
	// end of the lease that it concerns. A scenario in which a check came too late
	// for that is tried again with twice the unit, whatever it found.
	Unit time.Duration
	// Slack is how far the clock that leases end by may stray from Env.Now. 0 says
	// that Env.Now is that clock and stands still unless advanced; only then does
	// the suite check what holds at the very end of a lease.
	Slack time.Duration
	// New makes a store that holds nothing. It is called once for each trial of a
	// subtest and registers with t.Cleanup what must be undone after the subtest.
	New func(t *testing.T) Env
	// Limited is New for a store in which a tenant may have MaxPools pools, a user
	// MaxLeases leases, and a lock MaxWaiters that wait for it.
	Limited func(t *testing.T) Env
	// Restarts says that Advance restarts the store, which ends every wait: cases of waits that last over one do
	// not belong to the suite then.
	Restarts bool
}

// The limits of a Harness.Limited.
const (
	MaxPools   = 3
	MaxLeases  = 3
	MaxWaiters = 2
)

// Env is one store under test. Its functions are safe for concurrent use if its
// clients are.
type Env struct {
	// Clients are connections to the same store, at least one. The suite sends
	// every call through the next one of them, except where it closes one.
	Clients []backend.Backend
	// Now is the time that leases end by, give or take Harness.Slack.
	Now func() time.Duration
	// Advance returns when Now has moved by at least d; by d exactly if
	// Harness.Slack is 0.
	Advance func(d time.Duration)
	// Wall is the wall clock that the store tells Grant.ExpiresAt by, give or take
	// Harness.Slack.
	Wall func() time.Time
	// StepWall sets that wall clock forward or, if d is negative, back, and leaves
	// Now alone. nil: it cannot be done, and NoStepWall says why.
	StepWall   func(d time.Duration)
	NoStepWall string
}

// Run checks that a backend keeps the contract of the package backend.
func Run(t *testing.T, h Harness) {
	if h.Unit < 4*time.Millisecond || h.New == nil || h.Limited == nil {
		t.Fatal("backendtest: the harness needs a Unit of at least 4 ms, New and Limited")
	}
	queue, limits := queueCases, slices.Concat(limitCases, operatorLimitCases)
	if !h.Restarts {
		queue, limits = slices.Concat(queue, lastingCases), slices.Concat(limits, lastingLimitCases)
	}
	limited := h
	limited.New = h.Limited
	for _, group := range []struct {
		name  string
		cases []testCase
		of    Harness
	}{
		{"lock", lockCases, h},
		{"holder", holderCases, h},
		{"queue", queue, h},
		{"seeing", seeingCases, h},
		{"operator", operatorCases, h},
		{"first", firstCases, h},
		{"token", tokenCases, h},
		{"inventory", inventoryCases, h},
		{"limit", limits, limited},
		{"names", nameCases, h},
		{"concurrent", concurrentCases, h},
		{"life", lifeCases, h},
		{"model", modelCases, h},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, c := range group.cases {
				t.Run(c.name, func(t *testing.T) { c.run(t, group.of) })
			}
		})
	}
}

type testCase struct {
	name string
	test func(t testing.TB, s *store)
}
