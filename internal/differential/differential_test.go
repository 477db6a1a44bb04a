package differential

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"raisinproxy/pgwire/wiretest"
)

func TestMain(m *testing.M) { wiretest.Main(m) }

var match = flag.String("match", "", "only statements that this regular expression matches")

// TestCallsAsPostgres runs the corpus. A statement is either refused, with 0A000 and
// without a call, or does what PostgreSQL does.
func TestCallsAsPostgres(t *testing.T) {
	wanted := regexp.MustCompile(*match)
	through := newProxied(t)
	sessions := directs(t)
	total := newTally()
	for _, section := range corpus() {
		t.Run(section.name, func(t *testing.T) {
			sum := newTally()
			for _, s := range section.statements {
				if !wanted.MatchString(s.String()) {
					continue
				}
				for _, p := range protocols(s) {
					if p.takes(s) {
						sum.compare(t, through, sessions, s, p)
					}
				}
			}
			t.Log(sum)
			total.add(sum)
		})
	}
	t.Logf("in all: %v", total)
}

// compare runs one statement everywhere and reports what is wrong.
func (sum *tally) compare(t *testing.T, through *proxied, sessions []*direct, s *statement, p protocol) {
	t.Helper()
	want := make([]outcome, len(sessions))
	var got outcome
	var kept [][]string
	var group sync.WaitGroup
	var errs [3]error
	for database, analysed := range []bool{false, true} {
		group.Go(func() {
			for i, session := range sessions {
				if session.plan.analysed == analysed && s.under(session.plan) && errs[database] == nil {
					want[i], errs[database] = session.run(t.Context(), s, p)
				}
			}
		})
	}
	group.Go(func() { got, kept, errs[2] = through.run(t.Context(), s, p) })
	group.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatalf("%s, %s: %v", s, p, err)
	}
	want = slices.DeleteFunc(want, func(o outcome) bool { return o.answers == nil })
	v := judge(s, want, got, kept)
	sum.note(s, p, v)
	for _, f := range v.faults {
		t.Errorf("%s, %s: %s\n\t%s", f.kind, p, s, f.detail)
	}
	if v.refused && testing.Verbose() {
		t.Logf("refused, %s: %s", p, s)
	}
	if v.byPlan && testing.Verbose() {
		t.Logf("PostgreSQL makes fewer calls under some plan, %s: %s", p, s)
	}
}

// tally counts what became of statements.
type tally struct {
	statements                       map[string]bool
	runs, answered, refused, byPlans int
	faults                           map[string]int
}

func newTally() *tally { return &tally{statements: map[string]bool{}, faults: map[string]int{}} }

func (sum *tally) note(s *statement, p protocol, v verdict) {
	sum.statements[s.String()] = true
	sum.runs++
	switch {
	case v.refused:
		sum.refused++
	default:
		sum.answered++
	}
	if v.byPlan {
		sum.byPlans++
	}
	for _, f := range v.faults {
		sum.faults[f.kind]++
	}
}

func (sum *tally) add(other *tally) {
	maps.Copy(sum.statements, other.statements)
	sum.runs += other.runs
	sum.answered += other.answered
	sum.refused += other.refused
	sum.byPlans += other.byPlans
	for kind, n := range other.faults {
		sum.faults[kind] += n
	}
}

func (sum *tally) String() string {
	var faults []string
	for _, kind := range slices.Sorted(maps.Keys(sum.faults)) {
		faults = append(faults, fmt.Sprintf("%d %s", sum.faults[kind], kind))
	}
	return fmt.Sprintf("%d statements, %d runs: %d answered, %d refused; %d answered with a call that PostgreSQL leaves out under some plan; faults: %s",
		len(sum.statements), sum.runs, sum.answered, sum.refused, sum.byPlans, strings.Join(append(faults, "that is all"), ", "))
}
