package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A runner runs suites.
type runner struct {
	root    string // of the module
	tmp     string
	workers int
	out     *table
}

// runSuites sees first that everything passes without a fault. Its error is that it
// does not.
func (r *runner) runSuites(ctx context.Context, suites []*suite) (*tally, error) {
	sound := make([]*sound, len(suites))
	for i, s := range suites {
		var err error
		if sound[i], err = r.withoutFault(ctx, s); err != nil {
			return nil, err
		}
	}
	total := new(tally)
	for _, s := range sound {
		if err := r.runSuite(ctx, s, total); err != nil {
			return nil, err
		}
	}
	return total, nil
}

// runSuite adds the verdicts on the suite's mutants.
func (r *runner) runSuite(ctx context.Context, s *sound, total *tally) error {
	mutants := s.mutants()
	var mu sync.Mutex
	return r.each(ctx, s.suite, len(mutants), func(ctx context.Context, i int) error {
		start := time.Now()
		v, why, err := r.try(ctx, s, &mutants[i])
		if err != nil {
			return err
		}
		r.out.row(s.name, mutants[i].name, v.String(), why, start)
		mu.Lock()
		defer mu.Unlock()
		total[v]++
		return nil
	})
}

// sound is a suite with its binary without a fault.
type sound struct {
	*suite
	binary string

	mu    sync.Mutex
	tried map[string]error // what second attempts said, by their tests
}

// withoutFault runs all that the suite's mutants name.
func (r *runner) withoutFault(ctx context.Context, s *suite) (*sound, error) {
	dir, err := os.MkdirTemp(r.tmp, "")
	if err != nil {
		return nil, err
	}
	binary, err := s.build(ctx, r.root, dir, nil)
	if err != nil {
		return nil, fmt.Errorf("%s does not build: %w", s.pkg, err)
	}
	without := &sound{suite: s, binary: binary, tried: make(map[string]error)}
	filters := s.filters()
	return without, r.each(ctx, s, len(filters), func(ctx context.Context, i int) error {
		return r.passes(ctx, without, s.first(&special{mutant: mutant{tests: filters[i]}}))
	})
}

// passes is an error if the attempt fails without a fault.
func (r *runner) passes(ctx context.Context, s *sound, a attempt) error {
	start := time.Now()
	out, err := r.run(ctx, s.suite, s.binary, a)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if v, why := s.judge(out, err); v != survived {
		return fmt.Errorf("without a fault %s -run %q is %v %s\n%s\nSo no verdict would mean anything", s.pkg, a.tests, v, why, excerpt(out))
	}
	r.out.row(s.name, "(no fault)", "passes", cmp.Or(a.tests, "all tests"), start)
	return nil
}

// passesToo is for the attempts that few mutants need: it runs each once.
func (r *runner) passesToo(ctx context.Context, s *sound, a attempt) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err, known := s.tried[a.tests]
	if !known {
		err = r.passes(ctx, s, a)
		s.tried[a.tests] = err
	}
	return err
}

// try builds the suite's binary with the mutant in it and runs the tests that are to
// notice, and those that may.
func (r *runner) try(ctx context.Context, s *sound, m *special) (v verdict, why string, err error) {
	dir, err := os.MkdirTemp(r.tmp, "")
	if err != nil {
		return 0, "", err
	}
	defer os.RemoveAll(dir)
	files, err := s.changed(r.root, m.edits())
	if errors.Is(err, errStale) {
		return stale, err.Error(), nil
	}
	binary, err := s.build(ctx, r.root, dir, files)
	if ctx.Err() != nil {
		return 0, "", ctx.Err()
	}
	if err != nil {
		return unbuilt, err.Error(), nil
	}
	out, err := r.run(ctx, s.suite, binary, s.first(m))
	v, why = s.judge(out, err)
	if v == survived && m.tests != "" {
		second := s.second(m.tests)
		if err := r.passesToo(ctx, s, second); err != nil {
			return 0, "", err
		}
		out, err = r.run(ctx, s.suite, binary, second)
		if v, why = s.judge(out, err); v == caught && s.longer == nil {
			why += ", and not by " + m.tests
		}
	}
	if v == m.ends && v != survived {
		v, why = caught, "as its row says: "+why
	}
	return v, why, ctx.Err()
}

// run runs a suite's binary where the go tool would, and gives what it prints.
func (r *runner) run(ctx context.Context, s *suite, binary string, a attempt) (out string, err error) {
	dir, err := os.MkdirTemp(r.tmp, "")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	// A file, since whoever is left of the tests' children would keep a pipe open.
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return "", err
	}
	defer log.Close()
	ctx, cancel := context.WithTimeout(ctx, a.patience+30*time.Second)
	defer cancel()
	args := append([]string{"-test.run=" + a.tests, "-test.skip=" + a.skip, "-test.v", "-test.failfast", "-test.timeout=" + a.patience.String()}, a.args...)
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir = filepath.Join(r.root, s.pkg)
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	killGroup := func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Cancel = killGroup
	err = cmd.Wait()
	_ = killGroup() // of the children that a crash leaves
	text, readErr := os.ReadFile(log.Name())
	return string(text), cmp.Or(err, readErr)
}

// each does something for the numbers below n, as many at once as the suite may, until
// one fails.
func (r *runner) each(ctx context.Context, s *suite, n int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(r.workers, cmp.Or(s.workers, r.workers)) {
		workers.Go(func() {
			for i := range next {
				if err := do(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := range n {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	workers.Wait()
	return context.Cause(ctx)
}

// A table prints a line for each run.
type table struct {
	mu sync.Mutex
	w  io.Writer
}

// row prints one line, and under it what else there is to say.
func (t *table) row(suite, name, verdict, why string, start time.Time) {
	why, more, _ := strings.Cut(why, "\n")
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(t.w, "%-10s %-60s %s %s (%.1fs)\n", suite, name, verdict, why, time.Since(start).Seconds())
	for line := range strings.Lines(more) {
		fmt.Fprint(t.w, "\t", line)
	}
	if more != "" {
		fmt.Fprintln(t.w)
	}
}
