package main

import (
	"regexp"
	"time"
)

// A mutant is one fault: in file, every from becomes to.
type mutant struct {
	name     string
	file     string // from the suite's folder
	from, to string
	tests    string // that are to notice it, as -test.run takes them; "": any of the package
}

// special is a mutant that one row does not say.
type special struct {
	mutant
	also []edit
	ends verdict // hung or crashed: this is what the fault does to its tests, and so it is caught
}

// edit: in file, every from becomes to.
type edit struct{ file, from, to string }

// A suite is the mutants that one package's tests are to notice.
type suite struct {
	name    string
	dir     string // of the files, from the root of the module
	pkg     string // of the tests, from there too
	rows    []mutant
	special []special

	args     []string       // of the tests' binary
	slow     string         // tests that a run of the whole package leaves out
	longer   []string       // args of a second run of the same tests; nil: it is of the whole package
	shows    *regexp.Regexp // what a failed test has to print, since it may have failed for another reason; nil: anything
	patience time.Duration  // how long a run may take; a second one three times that
	workers  int            // how many run at once; 0: as many as the program is told
}

// mutants are all of the suite.
func (s *suite) mutants() []special {
	all := make([]special, 0, len(s.rows)+len(s.special))
	for _, m := range s.rows {
		all = append(all, special{mutant: m})
	}
	return append(all, s.special...)
}

// edits are all of the mutant.
func (m *special) edits() []edit {
	return append([]edit{{m.file, m.from, m.to}}, m.also...)
}

// filters are the tests that the suite's mutants name, each once.
func (s *suite) filters() []string {
	var filters []string
	seen := map[string]bool{}
	for _, m := range s.mutants() {
		if !seen[m.tests] {
			seen[m.tests] = true
			filters = append(filters, m.tests)
		}
	}
	return filters
}

// hangs is how long a mutant's tests may take that is to hang: they take no time otherwise.
const hangs = 20 * time.Second

// An attempt is one run of a suite's binary.
type attempt struct {
	tests    string
	skip     string
	args     []string
	patience time.Duration
}

// first runs the tests that a mutant names.
func (s *suite) first(m *special) attempt {
	if m.tests == "" {
		return s.second(m.tests)
	}
	a := attempt{tests: m.tests, args: s.args, patience: s.patience}
	if m.ends == hung {
		a.patience = min(a.patience, hangs)
	}
	return a
}

// second is for what the first did not notice.
func (s *suite) second(tests string) attempt {
	if s.longer != nil {
		return attempt{tests: tests, args: s.longer, patience: 3 * s.patience}
	}
	return attempt{skip: s.slow, args: s.args, patience: 3 * s.patience}
}
