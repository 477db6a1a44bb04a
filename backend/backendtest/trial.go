package backendtest

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// maxTrials is how often a scenario is tried, each time with twice the unit: the last unit is 16
// times the first.
const maxTrials = 5

// run runs a scenario. On a real clock its first trial that went by its plan counts.
func (c testCase) run(t *testing.T, h Harness) {
	t.Helper()
	if h.Slack == 0 {
		c.test(t, newStore(t, h))
		return
	}
	c.try(t, h).tell()
}

// try tries a scenario until a trial counts. A trial that missed its plan is dropped with all that
// it found, good or bad: waiting longer between the same calls is the remedy, not another chance
// for the backend.
func (c testCase) try(t *testing.T, h Harness) *trial {
	t.Helper()
	var missed []string
	for range maxTrials {
		s := newStore(t, h)
		tr := &trial{TB: t, helpers: make(map[string]bool)}
		tr.run(func() { c.test(tr, s.reporting(tr)) })
		why := s.plan.whyMissed()
		if why == "" {
			return tr
		}
		missed = append(missed, fmt.Sprintf("with a unit of %v %s", h.Unit, why))
		t.Logf("tried again with twice the unit: %s", missed[len(missed)-1])
		h.Unit *= 2
	}
	return &trial{TB: t, failed: true, failures: []string{
		"the machine stands still, so nothing is known of the backend:\n" + strings.Join(missed, "\n"),
	}}
}

// trial is the testing.TB of one run of a scenario. It keeps what it is told, since a failure that
// *testing.T was told of cannot be taken back. It is safe for concurrent use, except that only
// the scenario's own goroutine may end it.
type trial struct {
	testing.TB

	mu       sync.Mutex
	helpers  map[string]bool // functions in which no failure is
	failed   bool
	failures []string
	skipped  bool
	reason   string
}

// run runs the scenario in a goroutine that FailNow and SkipNow end.
func (tr *trial) run(scenario func()) {
	var own sync.WaitGroup
	own.Go(scenario)
	own.Wait()
}

// tell tells the test what the trial found.
func (tr *trial) tell() {
	tr.TB.Helper()
	for _, failure := range tr.failures {
		tr.TB.Error(failure)
	}
	switch {
	case tr.failed:
		tr.TB.FailNow()
	case tr.skipped:
		tr.TB.Skip(tr.reason)
	}
}

func (tr *trial) Helper() {
	if frame, ok := callers(2, func(runtime.Frame) bool { return true }); ok {
		tr.mu.Lock()
		defer tr.mu.Unlock()
		tr.helpers[frame.Function] = true
	}
}

// callers finds a frame, the first after skip of them.
func callers(skip int, is func(runtime.Frame) bool) (runtime.Frame, bool) {
	pc := make([]uintptr, 50)
	frames := runtime.CallersFrames(pc[:runtime.Callers(skip+1, pc)])
	for {
		frame, more := frames.Next()
		if is(frame) {
			return frame, true
		}
		if !more {
			return runtime.Frame{}, false
		}
	}
}

// fail notes a failure with the line that it is of. Its callers are what the scenario calls.
func (tr *trial) fail(what string) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.failed = true
	if frame, ok := callers(3, func(f runtime.Frame) bool { return !tr.helpers[f.Function] }); ok {
		what = fmt.Sprintf("%s:%d: %s", filepath.Base(frame.File), frame.Line, what)
	}
	tr.failures = append(tr.failures, what)
}

func (tr *trial) Error(args ...any) { tr.fail(strings.TrimSuffix(fmt.Sprintln(args...), "\n")) }

func (tr *trial) Errorf(format string, args ...any) { tr.fail(fmt.Sprintf(format, args...)) }

func (tr *trial) Fatal(args ...any) {
	tr.fail(strings.TrimSuffix(fmt.Sprintln(args...), "\n"))
	runtime.Goexit()
}

func (tr *trial) Fatalf(format string, args ...any) {
	tr.fail(fmt.Sprintf(format, args...))
	runtime.Goexit()
}

func (tr *trial) Fail() {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.failed = true
}

func (tr *trial) FailNow() {
	tr.Fail()
	runtime.Goexit()
}

func (tr *trial) Failed() bool {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.failed
}

func (tr *trial) Skip(args ...any) {
	tr.skip(strings.TrimSuffix(fmt.Sprintln(args...), "\n"))
}

func (tr *trial) Skipf(format string, args ...any) { tr.skip(fmt.Sprintf(format, args...)) }

func (tr *trial) SkipNow() { tr.skip("") }

func (tr *trial) skip(reason string) {
	tr.mu.Lock()
	tr.skipped, tr.reason = true, reason
	tr.mu.Unlock()
	runtime.Goexit()
}

func (tr *trial) Skipped() bool {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.skipped
}
