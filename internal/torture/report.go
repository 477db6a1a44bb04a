package torture

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"raisinproxy/backend/history"
)

// report gives the verdict on a run.
func (r *run) report(t *testing.T, err error) {
	t.Helper()
	h := r.recorder.history()
	census := history.Count(h)
	r.Rules.Pauses, r.Rules.Lossless = r.recorder.pauses, !r.Wants.Loss
	t.Logf("%T, seed %d, %d rounds, calls of %v, leases of %v: %v", r.Fault, r.Seed, r.done, r.latency, r.ttl, &census)
	violations := r.recorder.fork.check(r.recorder.asSeen(h), r.Rules)
	if err != nil {
		t.Error(err)
	} else if missing := census.Vacuous(r.Wants); missing != "" && len(violations) == 0 {
		t.Errorf("vacuous: the run saw %s", missing)
	}
	for _, v := range violations {
		t.Errorf("seed %d: %v", r.Seed, v)
	}
	if t.Failed() {
		t.Logf("the run is kept in %s", r.keep(t, h, violations))
	}
}

// keep writes the history, the proxies' logs and a picture of each violation to a folder
// that outlives the test.
func (r *run) keep(t *testing.T, h []history.Operation, violations []*history.Violation) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "raisin-torture-") //nolint:usetesting // it outlives the test
	if err != nil {
		t.Error(err)
		return "nowhere"
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Error(err)
		}
	}
	all := ""
	for i := range h {
		all += fmt.Sprintf("%-12s %v\n", h[i].Name, &h[i])
	}
	write("history.txt", fmt.Sprintf("%s, %T, seed %d\n%s", t.Name(), r.Fault, r.Seed, all))
	for i, p := range r.Proxies {
		write(fmt.Sprintf("proxy%d.log", i), p.Log())
	}
	for i, v := range violations {
		write(fmt.Sprintf("violation%d.txt", i), v.String())
		if err := v.Draw(filepath.Join(dir, fmt.Sprintf("violation%d.html", i))); err != nil {
			t.Error(err)
		}
	}
	return dir
}
