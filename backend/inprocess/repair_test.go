package inprocess

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// onDiskOf is the store of a machine in a folder of this one.
func (m *machine) onDiskOf(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range m.snapshot(t) {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "SALTS"), []byte("salts"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// contents are the files of a folder, except those that lock it.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, path := range glob(t, dir, "*") {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if name := filepath.Base(path); name != pidFile && name != "LOCK" {
			all[name] = string(content)
		}
	}
	return all
}

func same(a, b map[string]string) bool {
	for name := range a {
		if a[name] != b[name] {
			return false
		}
	}
	return len(a) == len(b)
}

// right counts the records of a store that are as they were acknowledged.
func (b books) right(s *Store) (n int) {
	for name, remaining := range b.pools {
		if (books{pools: map[string]int64{name: remaining}}).missing(s) == "" {
			n++
		}
	}
	for name, token := range b.leases {
		if (books{leases: map[string]int64{name: token}}).missing(s) == "" {
			n++
		}
	}
	return n
}

func TestRepair(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it repairs many damaged stores")
	}
	whole, want := threeLogs(t)
	all := len(want.pools) + len(want.leases)
	logs, tables := whole.files(t, `\.log$`), whole.files(t, `\.sst$`)
	logs = logs[len(logs)-3:] // older ones are in tables
	for name, tt := range map[string]struct {
		damage func(t *testing.T, dir string)
		least  int    // records that must be readable; of 100 in tables, and 460 and more in each older log
		says   string // of what is missing; "": nothing is
	}{
		"nothing":                   {func(*testing.T, string) {}, all, ""},
		"the newest log":            {func(t *testing.T, dir string) { remove(t, dir, logs[2]) }, 500, logs[2] + " is missing"},
		"the log in the middle":     {func(t *testing.T, dir string) { remove(t, dir, logs[1]) }, 500, logs[1] + " is missing"},
		"the end of the newest log": {func(t *testing.T, dir string) { cut(t, filepath.Join(dir, logs[2]), 10) }, all - 1, logs[2] + " is cut off"},
		"a bit of the oldest log":   {func(t *testing.T, dir string) { flip(t, filepath.Join(dir, logs[0]), 2) }, 500, logs[0] + " is changed"},
		"a block of a table":        {func(t *testing.T, dir string) { flip(t, filepath.Join(dir, tables[0]), 2) }, all - 100, "checksum"},
		"the mark":                  {func(t *testing.T, dir string) { flip(t, filepath.Join(dir, markFile), 2) }, all, markFile + " is changed"},
		"the ledger":                {func(t *testing.T, dir string) { remove(t, dir, ledgerName) }, all, ledgerName},
	} {
		t.Run(name, func(t *testing.T) {
			dir := whole.onDiskOf(t)
			tt.damage(t, dir)
			before := contents(t, dir)
			report, err := Repair(dir, false, slog.New(slog.DiscardHandler))
			if err != nil || report.Kept != "" || report.Leases+report.Pools < tt.least {
				t.Fatalf("Repair = %+v, %v; want %d records at least", report, err, tt.least)
			}
			if text := errors.Join(report.Missing...); tt.says == "" && text != nil || tt.says != "" && !strings.Contains(text.Error(), tt.says) {
				t.Errorf("missing is %v, want %q", text, tt.says)
			}
			if !same(before, contents(t, dir)) {
				t.Error("the folder was changed, and nobody said yes")
			}
			report, err = Repair(dir, true, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			if tt.says == "" {
				if report.Kept != "" || !same(before, contents(t, dir)) {
					t.Errorf("%+v: a store that is whole was replaced", report)
				}
				return
			}
			if !same(before, contents(t, report.Kept)) {
				t.Error("what is kept is not the damaged folder")
			}
			s, err := Open(dir, Options{Clock: whole.clock, bootID: whole.boot, ReapInterval: 24 * time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if n := want.right(s); n < tt.least {
				t.Errorf("%d records are right in the store, want %d at least of %d", n, tt.least, all)
			}
			if salts, err := os.ReadFile(filepath.Join(dir, "SALTS")); err != nil || string(salts) != "salts" {
				t.Errorf("the salts are %q, %v", salts, err)
			}
			if now := time.Now().UnixMicro(); s.tokens.last.Load() < now {
				t.Errorf("the next token may be one that a lost record told: it is %d µs behind the clock", now-s.tokens.last.Load())
			}
		})
	}
}

func remove(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

// cut takes the last bytes of a file off, beyond zeros.
func cut(t *testing.T, path string, n int) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	content = []byte(strings.TrimRight(string(content), "\x00"))
	if err := os.WriteFile(path, content[:len(content)-n], 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestRepairOfWhatIsNotThere(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "nothing")
	if _, err := Repair(missing, true, slog.New(slog.DiscardHandler)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Repair = %v, want that there is no folder", err)
	}
	if _, err := os.Stat(missing); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder was made: %v", err)
	}
	dir, _ := realFolder(t)
	if _, err := Repair(dir, true, slog.New(slog.DiscardHandler)); !errors.Is(err, ErrInUse) {
		t.Errorf("Repair = %v of a store that is open, want ErrInUse", err)
	}
}
