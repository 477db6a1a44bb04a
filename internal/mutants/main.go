// Command mutants tests the tests: it breaks the program in ways that somebody might,
// one at a time, and fails if no test notices. The sources stay as they are; the go tool
// is given each change as an overlay. Run it from anywhere in the module:
//
//	go run ./internal/mutants -list
//	go run ./internal/mutants -suite redis -run nonce
//
// First every test that is named runs without a fault. If one fails then, no verdict
// would mean anything, and the program ends with status 2. It ends with status 1 if a
// mutant is not caught, for whatever reason.
//
// The rows are in inprocess.go, redis.go and histories.go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// The program's statuses.
const (
	statusNotCaught = 1
	statusNoVerdict = 2
)

// all suites, in the order in which they run.
var all = []*suite{inprocess, redis, histories}

func main() {
	only := flag.String("suite", "", "the suites to run, with commas between: "+strings.Join(namesOf(all), ", ")+"; all if empty")
	run := flag.String("run", "", "run the mutants whose name matches this regular expression")
	list := flag.Bool("list", false, "print the mutants, each with the tests that are to notice it, and run nothing")
	parallel := flag.Int("parallel", runtime.NumCPU(), "how many mutants are built and run at once")
	flag.Parse()

	chosen, err := choose(all, *only, *run)
	if err == nil && flag.NArg() > 0 {
		err = fmt.Errorf("%q is not an option: -run chooses by name", flag.Arg(0))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(statusNoVerdict)
	}
	if *list {
		printRows(os.Stdout, chosen)
		return
	}
	os.Exit(runAll(chosen, max(*parallel, 1)))
}

// runAll tells the status to end with.
func runAll(suites []*suite, workers int) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		fmt.Fprintln(os.Stderr, "no module here:", err)
		return statusNoVerdict
	}
	tmp, err := os.MkdirTemp("", "mutants")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return statusNoVerdict
	}
	defer os.RemoveAll(tmp)

	r := &runner{root: strings.TrimSpace(string(root)), tmp: tmp, workers: workers, out: &table{w: os.Stdout}}
	total, err := r.runSuites(ctx, suites)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return statusNoVerdict
	}
	fmt.Println(total)
	if total.notCaught() > 0 {
		return statusNotCaught
	}
	return 0
}

// choose keeps the suites that are named, and of them the mutants whose name matches.
func choose(suites []*suite, named, pattern string) ([]*suite, error) {
	matches, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	wanted := strings.Split(named, ",")
	for _, name := range wanted {
		if named != "" && !slices.Contains(namesOf(suites), name) {
			return nil, fmt.Errorf("no suite %q: there are %s", name, strings.Join(namesOf(suites), ", "))
		}
	}
	var chosen []*suite
	for _, s := range suites {
		if named != "" && !slices.Contains(wanted, s.name) {
			continue
		}
		some := *s
		some.rows = slices.DeleteFunc(slices.Clone(s.rows), func(m mutant) bool { return !matches.MatchString(m.name) })
		some.special = slices.DeleteFunc(slices.Clone(s.special), func(m special) bool { return !matches.MatchString(m.name) })
		if len(some.rows)+len(some.special) > 0 {
			chosen = append(chosen, &some)
		}
	}
	if len(chosen) == 0 {
		return nil, errors.New("no mutant has such a name")
	}
	return chosen, nil
}

func namesOf(suites []*suite) (names []string) {
	for _, s := range suites {
		names = append(names, s.name)
	}
	return names
}

func printRows(w io.Writer, suites []*suite) {
	for _, s := range suites {
		for _, m := range s.mutants() {
			fmt.Fprintf(w, "%-10s %-60s %s\n", s.name, m.name, m.tests)
		}
	}
}
