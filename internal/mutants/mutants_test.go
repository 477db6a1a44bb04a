package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// fixture is a suite of the module in testdata.
func fixture(rows ...mutant) *suite {
	return &suite{name: "fixture", pkg: ".", patience: time.Minute, rows: rows}
}

// on runs a suite and gives the verdicts and what is printed.
func on(t *testing.T, s *suite) (*tally, string, error) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: it compiles and runs tests of its own")
	}
	root, err := filepath.Abs("testdata/fixture")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	r := &runner{root: root, tmp: t.TempDir(), workers: 2, out: &table{w: &out}}
	total, err := r.runSuites(t.Context(), []*suite{s})
	return total, out.String(), err
}

const add = "c.n++"

func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		name  string
		row   mutant
		want  verdict
		shows string
	}{
		{"its test fails", mutant{"m", "counter.go", add, "c.n += 2", "TestAdd"}, caught, "by TestAdd"},
		{"another test fails", mutant{"m", "counter.go", add, "c.n += 2", "TestNothing"}, caught, "by TestAdd, and not by TestNothing"},
		{"any test fails", mutant{"m", "counter.go", add, "c.n += 2", ""}, caught, "by TestAdd"},
		{"a test panics", mutant{"m", "counter.go", add, `panic("no")`, "TestNothing"}, caught, "by TestNothing"},
		{"no test fails", mutant{"m", "counter.go", add, "c.n += 1", "TestAdd"}, survived, ""},
		{"an import is needed", mutant{"m", "counter_test.go", `c.Last() != 1`, `strings.Repeat("x", c.Last()) != ""`, "TestAdd"}, caught, "by TestAdd"},
		{"the text is gone", mutant{"m", "counter.go", "c.n--", add, "TestAdd"}, stale, "counter.go"},
		{"the file is gone", mutant{"m", "gone.go", add, "", "TestAdd"}, stale, "gone.go"},
		{"it does not compile", mutant{"m", "counter.go", add, "c.m++", "TestAdd"}, unbuilt, "c.m undefined"},
		{"a test panics in a bubble", mutant{"m", "counter.go", add, `panic("no")`, "TestInABubble"}, caught, "by TestInABubble: panic: no"},
		{"the process ends", mutant{"m", "counter.go", add, "go func() { panic(1) }(); select {}", "TestNothing"}, crashed, "panic: 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			total, out, err := on(t, fixture(c.row))
			if err != nil || total.all() != 1 || total[c.want] != 1 {
				t.Fatalf("%v, %v, want one %v\n%s", total, err, c.want, out)
			}
			if !strings.Contains(out, c.shows) {
				t.Errorf("%q is not in\n%s", c.shows, out)
			}
		})
	}
}

// A hang is what some faults do, and their rows say so.
func TestHang(t *testing.T) {
	m := mutant{"m", "counter.go", add, "for { c.n = 0 }", "TestNothing"}
	s := fixture(m)
	s.patience = time.Second
	if total, out, err := on(t, s); err != nil || total[hung] != 1 {
		t.Errorf("%v, %v, want that it hung\n%s", total, err, out)
	}
	s.rows, s.special = nil, []special{{mutant: m, ends: hung}}
	if total, out, err := on(t, s); err != nil || total[caught] != 1 {
		t.Errorf("%v, %v, want that it is caught\n%s", total, err, out)
	}
}

// A suite may want more than a failure.
func TestFailureForAnotherReason(t *testing.T) {
	s := fixture(mutant{"m", "counter.go", add, "c.n += 2", "TestAdd"})
	s.shows = regexp.MustCompile(`(after) one Add: (\d+)`)
	if total, out, err := on(t, s); err != nil || total[caught] != 1 || !strings.Contains(out, "after: 2") {
		t.Errorf("%v, %v, want that it is caught\n%s", total, err, out)
	}
	s.shows = regexp.MustCompile(`after two`)
	if total, out, err := on(t, s); err != nil || total[vague] != 1 {
		t.Errorf("%v, %v, want that it failed for another reason\n%s", total, err, out)
	}
}

func TestSeveralEdits(t *testing.T) {
	s := fixture()
	s.special = []special{{
		mutant: mutant{"m", "counter.go", add, "c.m++", "TestAdd"},
		also:   []edit{{"counter.go", "n int", "n, m int"}},
	}}
	if total, out, err := on(t, s); err != nil || total[caught] != 1 {
		t.Errorf("%v, %v, want that it is caught\n%s", total, err, out)
	}
}

// Where tests fail without a fault there are no verdicts.
func TestBrokenEnvironment(t *testing.T) {
	t.Run("a test that is named", func(t *testing.T) {
		t.Setenv("FIXTURE_BROKEN", "yes")
		_, out, err := on(t, fixture(mutant{"m", "counter.go", add, "", "TestEnvironment"}))
		if err == nil || !strings.Contains(err.Error(), "there is no server") || out != "" {
			t.Errorf("%v, want that there is no server\n%s", err, out)
		}
	})
	t.Run("the rest of the package", func(t *testing.T) {
		t.Setenv("FIXTURE_BROKEN", "yes")
		_, _, err := on(t, fixture(mutant{"m", "counter.go", add, "c.n += 1", "TestAdd"}))
		if err == nil || !strings.Contains(err.Error(), "there is no server") {
			t.Errorf("%v, want that there is no server", err)
		}
	})
	t.Run("no such test", func(t *testing.T) {
		_, _, err := on(t, fixture(mutant{"m", "counter.go", add, "", "TestGone"}))
		if err == nil || !strings.Contains(err.Error(), noTests.String()) {
			t.Errorf("%v, want %v", err, noTests)
		}
	})
}

func TestChoose(t *testing.T) {
	for _, c := range []struct{ suites, pattern, want string }{
		{"", "^nonce dropped$", "redis: nonce dropped"},
		{"inprocess", "^claim below zero$", "inprocess: claim below zero"},
		{"inprocess,histories", "^claim below zero$", "inprocess: claim below zero, histories: claim below zero"},
		{"pgwire", "", `no suite "pgwire": there are inprocess, redis, histories`},
		{"", "no such name", "no mutant has such a name"},
		{"", "(", "error parsing regexp: missing closing ): `(`"},
	} {
		var got []string
		suites, err := choose(all, c.suites, c.pattern)
		if err != nil {
			got = []string{err.Error()}
		}
		for _, s := range suites {
			for _, m := range s.mutants() {
				got = append(got, fmt.Sprintf("%s: %s", s.name, m.name))
			}
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("choose(%q, %q) = %q, want %q", c.suites, c.pattern, got, c.want)
		}
	}
}

// A row whose text is gone proves nothing. It is seen here before anybody runs it.
func TestRows(t *testing.T) {
	const root = "../.."
	for _, s := range all {
		seen := map[string]bool{}
		for _, m := range s.mutants() {
			if seen[m.name] {
				t.Errorf("%s has two mutants of the name %q", s.name, m.name)
			}
			seen[m.name] = true
			if _, err := s.changed(root, m.edits()); err != nil {
				t.Errorf("%s: %s: %v", s.name, m.name, err)
			}
			if m.tests == "" {
				t.Errorf("%s: %s names no test that is to notice it", s.name, m.name)
			}
		}
		if _, err := os.Stat(filepath.Join(root, s.pkg)); err != nil {
			t.Error(err)
		}
	}
}
