package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A verdict is what became of a mutant. Only a test that fails catches one.
type verdict int

const (
	survived verdict = iota
	caught
	stale   // the text to replace is gone
	unbuilt // the changed program does not compile
	hung    // the tests did not end
	crashed // the process ended, and no test had failed
	vague   // a test failed, and what it printed does not show the fault
	noTests // there is no such test
	verdicts
)

func (v verdict) String() string {
	return [verdicts]string{"SURVIVED", "caught", "STALE", "DOES NOT BUILD", "HUNG", "CRASHED", "FAILED FOR ANOTHER REASON", "NO TEST"}[v]
}

var (
	failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	leaked = regexp.MustCompile(`(?m)^goleak: .*`) // TestMain's check, after all tests
	// The stack that a panic prints first, of a goroutine that the testing package made
	// for a test. (Of a bubble of synctest it prints no FAIL.)
	inTest    = regexp.MustCompile(`(?m)^panic: (.*)\n(?:.+\n)*\ngoroutine \d+ .*\n(?:.+\n)*testing\.tRunner\(`)
	started   = regexp.MustCompile(`(?m)^=== (?:RUN|CONT|NAME) +(\S+)$`)
	panicked  = regexp.MustCompile(`(?m)^(panic|fatal error): .*`)
	timedOut  = regexp.MustCompile(`(?m)^panic: test timed out after .*`)
	noneToRun = regexp.MustCompile(`(?m)^testing: warning: no tests to run$`)
)

// judge reads the output of a run that ended with err, and says why in a few words.
func (s *suite) judge(out string, err error) (v verdict, why string) {
	switch failures := leaves(out); {
	case err == nil && noneToRun.MatchString(out):
		return noTests, ""
	case err == nil:
		return survived, ""
	case len(failures) > 0 && s.shows == nil:
		return caught, "by " + some(failures)
	case len(failures) > 0 && s.shows.MatchString(out):
		shown := s.shows.FindAllStringSubmatch(out, -1)
		return caught, fmt.Sprintf("by %s: %d violations, the first: %s", some(failures), len(shown), strings.Join(shown[0][1:], ": "))
	case timedOut.MatchString(out):
		return hung, timedOut.FindString(out)
	case len(failures) > 0:
		return vague, "in " + some(failures) + "\n" + excerpt(out)
	case leaked.MatchString(out):
		return caught, "by " + leaked.FindString(out)
	case s.shows == nil && inTest.MatchString(out) && started.MatchString(out):
		names := started.FindAllStringSubmatch(out, -1)
		return caught, fmt.Sprintf("by %s: panic: %s", names[len(names)-1][1], inTest.FindStringSubmatch(out)[1])
	case panicked.MatchString(out):
		return crashed, panicked.FindString(out)
	}
	return crashed, err.Error() + "\n" + excerpt(out)
}

// leaves are the failed tests that have no failed subtest.
func leaves(out string) []string {
	var names []string
	for _, match := range failed.FindAllStringSubmatch(out, -1) {
		parent := false // a parent is printed before its subtests, or after them under -test.v
		for _, other := range failed.FindAllStringSubmatch(out, -1) {
			parent = parent || strings.HasPrefix(other[1], match[1]+"/")
		}
		if !parent {
			names = append(names, match[1])
		}
	}
	return names
}

// some of the names, and how many more there are.
func some(names []string) string {
	const shown = 3
	if len(names) > shown {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
	}
	return strings.Join(names, ", ")
}

// excerpt is the beginning of an output and its end, where panics and failures are.
func excerpt(out string) string {
	const shown = 30
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if cut := len(lines) - 2*shown; cut > 0 {
		lines = slices.Concat(lines[:shown], []string{fmt.Sprintf("... %d lines ...", cut)}, lines[shown+cut:])
	}
	return strings.Join(lines, "\n")
}

// A tally counts verdicts.
type tally [verdicts]int

func (t *tally) all() (n int) {
	for _, count := range t {
		n += count
	}
	return n
}

func (t *tally) notCaught() int { return t.all() - t[caught] }

func (t *tally) String() string {
	text := fmt.Sprintf("%d mutants: %d caught, %d survived", t.all(), t[caught], t[survived])
	for v := stale; v < verdicts; v++ {
		if t[v] > 0 {
			text += fmt.Sprintf(", %d: %v", t[v], v)
		}
	}
	return text
}
