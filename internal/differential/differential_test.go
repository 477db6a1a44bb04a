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
	through := []*proxied{newProxied(t), newEmbedded(t)}
	sessions := directs(t)
	total := []*tally{newTally("proxied"), newTally("embedded")}
	for _, section := range corpus() {
		t.Run(section.name, func(t *testing.T) {
			sums := []*tally{newTally("proxied"), newTally("embedded")}
			for _, s := range section.statements {
				if !wanted.MatchString(s.String()) {
					continue
				}
				for _, p := range protocols(s) {
					if p.takes(s) {
						compare(t, sums, through, sessions, s, p)
					}
				}
			}
			for i, sum := range sums {
				t.Log(sum)
				total[i].add(sum)
			}
		})
	}
	for _, sum := range total {
		t.Logf("in all: %v", sum)
	}
}

// TestCorpusIsLarge: a corpus that shrinks tells less.
func TestCorpusIsLarge(t *testing.T) {
	n := 0
	for _, section := range corpus() {
		n += len(section.statements)
	}
	if n < 2000 {
		t.Errorf("%d statements", n)
	}
}

// compare runs one statement everywhere and reports what is wrong.
func compare(t *testing.T, sums []*tally, through []*proxied, sessions []*direct, s *statement, p protocol) {
	t.Helper()
	want := make([]outcome, len(sessions))
	judgements := make([]judgement, len(through))
	var group sync.WaitGroup
	var errs [2]error
	for database, analysed := range []bool{false, true} {
		group.Go(func() {
			for i, session := range sessions {
				if session.plan.analysed == analysed && s.under(session.plan) && errs[database] == nil {
					want[i], errs[database] = session.run(t.Context(), s, p)
				}
			}
		})
	}
	for i, proxy := range through {
		j := &judgements[i]
		j.proxied = proxy
		group.Go(func() { j.got, j.kept, j.err = proxy.run(t.Context(), s, p) })
	}
	group.Wait()
	if err := errors.Join(errs[0], errs[1], judgements[0].err, judgements[1].err); err != nil {
		t.Fatalf("%s, %s: %v", p, s, err)
	}
	want = slices.DeleteFunc(want, func(o outcome) bool { return o.answers == nil })
	for i := range judgements {
		v := judgements[i].judge(s, p, want)
		sums[i].note(s, v)
		v.report(t, fmt.Sprintf("%s, %s: %s", through[i].name, p, s))
	}
}

func (v *verdict) report(t *testing.T, what string) {
	t.Helper()
	for _, f := range v.faults {
		t.Errorf("%s, %s\n\t%s", f.kind, what, f.detail)
	}
	if v.refused && testing.Verbose() {
		t.Logf("refused, %s", what)
	}
	if v.byPlan && testing.Verbose() {
		t.Logf("PostgreSQL makes fewer calls under some plan, %s", what)
	}
}

// tally counts what became of statements.
type tally struct {
	name                             string
	statements                       map[string]bool
	runs, answered, refused, byPlans int
	faults                           map[string]int
}

func newTally(name string) *tally {
	return &tally{name: name, statements: map[string]bool{}, faults: map[string]int{}}
}

func (sum *tally) note(s *statement, v verdict) {
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
	return fmt.Sprintf("%s: %d statements, %d runs: %d answered, %d refused; %d answered with a call that PostgreSQL leaves out under some plan; faults: %s",
		sum.name, len(sum.statements), sum.runs, sum.answered, sum.refused, sum.byPlans, strings.Join(append(faults, "that is all"), ", "))
}
