// Command mutants checks the tests of the Redis backend: it puts one fault after the other into
// its sources and its scripts and lists those that the tests do not notice. The sources stay as
// they are; the go tool is given each change as an overlay. Run it from anywhere in the module:
//
//	go run ./backend/redis/testdata/mutants [part of a name]
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

const pkg = "raisinproxy/backend/redis"

func main() {
	if survivors := run(strings.Join(os.Args[1:], " ")); survivors > 0 {
		fmt.Printf("%d mutants were not caught\n", survivors)
		os.Exit(1)
	}
}

// run counts the mutants that live on, of those with only in their name.
func run(only string) (survivors int) {
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", pkg).Output()
	check(err)
	tmp, err := os.MkdirTemp("", "mutants")
	check(err)
	defer os.RemoveAll(tmp)

	for _, m := range mutants {
		if !strings.Contains(m.name, only) {
			continue
		}
		verdict, caught := m.run(strings.TrimSpace(string(dir)), tmp)
		if !caught {
			survivors++
		}
		fmt.Printf("%-52s %s\n", m.name, verdict)
	}
	return survivors
}

// run tests the package with the fault in it and says which tests failed.
func (m mutant) run(dir, tmp string) (verdict string, caught bool) {
	changed := make(map[string]string) // by file
	for _, e := range m.edits {
		if _, ok := changed[e.file]; !ok {
			text, err := os.ReadFile(filepath.Join(dir, e.file))
			check(err)
			changed[e.file] = string(text)
		}
		if !strings.Contains(changed[e.file], e.from) {
			return "STALE: the text to replace is gone from " + e.file, false
		}
		changed[e.file] = strings.ReplaceAll(changed[e.file], e.from, e.to)
	}
	replace := make(map[string]string)
	for name, text := range changed {
		file := filepath.Join(tmp, filepath.Base(name))
		check(os.WriteFile(file, []byte(text), 0o600))
		replace[filepath.Join(dir, name)] = file
	}
	spec, err := json.Marshal(map[string]any{"Replace": replace})
	check(err)
	overlay := filepath.Join(tmp, "overlay.json")
	check(os.WriteFile(overlay, spec, 0o600))

	out, err := exec.Command("go", "test", "-count=1", "-vet=off", "-timeout=300s", "-failfast",
		"-overlay", overlay, "-run", m.tests, pkg, "-rapid.nofailfile").CombinedOutput()
	switch {
	case err == nil && strings.Contains(string(out), "no tests to run"):
		return "NO TEST RUNS: " + m.tests, false
	case err == nil:
		return "SURVIVED", false
	case strings.Contains(string(out), "[build failed]"):
		return "DOES NOT BUILD\n" + string(out), false
	}
	return caughtBy(string(out)), true
}

var (
	failed  = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	crashed = regexp.MustCompile(`(?m)^(panic|fatal error): .*|^goleak: .*`)
)

// caughtBy names the first failing tests that have no failing subtest.
func caughtBy(out string) string {
	var leaves []string
	for _, match := range failed.FindAllStringSubmatch(out, -1) {
		name := match[1]
		if n := len(leaves); n > 0 && strings.HasPrefix(name, leaves[n-1]+"/") {
			leaves[n-1] = name // its parent was printed just before
		} else {
			leaves = append(leaves, name)
		}
	}
	const shown = 3
	switch {
	case len(leaves) == 0:
		return "caught by a crash: " + crashed.FindString(out)
	case len(leaves) > shown:
		return fmt.Sprintf("caught by %s and %d more", strings.Join(leaves[:shown], ", "), len(leaves)-shown)
	}
	return "caught by " + strings.Join(leaves, ", ")
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
