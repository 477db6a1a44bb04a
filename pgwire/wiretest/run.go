package wiretest

import (
	"flag"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// Target is the server that a script talks to.
type Target struct {
	Addr string // host:port

	// Advance moves the server's clock. nil: the command `advance` fails the test.
	Advance func(d time.Duration)

	// Fault makes the server, or what is behind it, fail in a way of its own; the
	// command `fault` prints what it returns. nil: the command fails the test.
	Fault func(args []string) (string, error)

	// Patience bounds every wait for the server; 0 is 20 seconds. Reaching it is a
	// failure, so its length decides nothing else.
	Patience time.Duration

	// Settled says whether nothing is left in the server of connections that have ended;
	// RunTable asks it after each row. nil: that cannot be told.
	Settled func() error

	// Passwords are used where `connect` gives none; such an exchange is not shown.
	Passwords map[string]string
}

func (t *Target) patience() time.Duration {
	if t.Patience > 0 {
		return t.Patience
	}
	return 20 * time.Second
}

// NewTarget makes the server for one script. It is called once for each file,
// before the first connection, with the arguments of the file's `server` command
// (nil if it has none). What it starts ends with t.Cleanup.
type NewTarget func(t *testing.T, options map[string]string) Target

// RunDir runs every script (*.txt) in and below dir, each as a subtest. With the
// flag -rewrite the scripts get the server's answers as their expectations.
func RunDir(t *testing.T, dir string, newTarget NewTarget) {
	t.Helper()
	paths := scripts(t, dir)
	for _, path := range paths {
		name, err := filepath.Rel(dir, path)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(filepath.ToSlash(name), ".txt"), func(t *testing.T) {
			runScript(t, path, newTarget)
		})
	}
}

// CompareDir is RunDir for scripts whose expectations come from another server:
// -rewrite leaves them alone. It must not run beside a parallel RunDir.
func CompareDir(t *testing.T, dir string, newTarget NewTarget) {
	t.Helper()
	rewrite := flag.Lookup("rewrite")
	was := rewrite.Value.String()
	if err := rewrite.Value.Set("false"); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rewrite.Value.Set(was) }()
	RunDir(t, dir, newTarget)
}

func scripts(t *testing.T, dir string) []string {
	t.Helper()
	var paths []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && filepath.Ext(path) == ".txt" {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		t.Fatalf("no scripts (*.txt) in %s", dir)
	}
	return paths
}

func runScript(t *testing.T, path string, newTarget NewTarget) {
	s := &script{
		newTarget: func(options map[string]string) Target { return newTarget(t, options) },
		conns:     map[string]*conn{},
		variables: map[string]string{},
	}
	defer s.abandon()
	datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
		args, err := parseArgs(d.CmdArgs)
		if err != nil {
			t.Fatalf("%s: %v", d.Pos, err)
		}
		output, err := s.run(d.Cmd, args, d.Input)
		if err != nil {
			t.Fatalf("%s: %s: %v", d.Pos, d.Cmd, err)
		}
		if unused := args.unused(); len(unused) > 0 {
			t.Fatalf("%s: %s takes no argument %s", d.Pos, d.Cmd, strings.Join(unused, ", "))
		}
		return output
	})
	if err := s.end(); err != nil {
		t.Errorf("%s: at the end of the script: %v", path, err)
	}
}
