package main

import (
	"context"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
)

//go:embed sql/*.sql
var scripts embed.FS

func script(name string) string {
	text, err := scripts.ReadFile("sql/" + name)
	if err != nil {
		panic(err) // a name in contests.go that is no file
	}
	return string(text)
}

// writeScripts puts the scripts where pgbench finds them.
func writeScripts(dir string) error { return os.CopyFS(dir, scripts) }

// selectOnly is pgbench's own script: one account by its key.
const selectOnly = "-S"

// pgbench is one way to run it.
type pgbench struct {
	script   string
	protocol string // simple, extended or prepared
	clients  int
}

// drive implements driver: the value is transactions a second.
func (p pgbench) drive(ctx context.Context, l *lab, s *server) (sample, error) {
	return p.run(ctx, l, s)
}

func (p pgbench) run(ctx context.Context, l *lab, s *server, more ...string) (sample, error) {
	args := []string{"-n", "-T", strconv.Itoa(l.options.seconds), "-M", p.protocol,
		"-c", strconv.Itoa(p.clients), "-j", strconv.Itoa(min(p.clients, 2))}
	if p.script == selectOnly {
		args = append(args, selectOnly, "-s", strconv.Itoa(scale))
	} else {
		args = append(args, "-f", filepath.Join(l.dir, "sql", p.script))
	}
	said, err := runPgbench(ctx, s, append(args, more...)...)
	if err != nil {
		return sample{}, err
	}
	if failed, err := find(said, `number of failed transactions: (\d+)`); err != nil || failed > 0 {
		return sample{}, fmt.Errorf("pgbench: failed transactions: %s", said)
	}
	var result sample
	if result.done, err = find(said, `number of transactions actually processed: (\d+)`); err != nil {
		return sample{}, err
	}
	result.value, err = find(said, `tps = ([0-9.]+)`)
	return result, err
}

// runPgbench gives what it printed.
func runPgbench(ctx context.Context, s *server, args ...string) (string, error) {
	args = append(args, "-h", "127.0.0.1", "-p", strconv.Itoa(s.port), "-U", benchUser, "postgres")
	command := exec.CommandContext(ctx, "pgbench", args...)
	command.Env = append(os.Environ(), "PGSSLMODE=disable", "PGGSSENCMODE=disable", "LC_ALL=C")
	said, err := command.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("pgbench: %w: %s", err, said)
	}
	return string(said), nil
}

// find is the number that a pattern finds in a text.
func find(text, pattern string) (float64, error) {
	match := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if match == nil {
		return 0, fmt.Errorf("no %q in: %s", pattern, text)
	}
	return strconv.ParseFloat(match[1], 64)
}
