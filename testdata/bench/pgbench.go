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

// warmUp is how many seconds of a run are left out: a contestant opens its sessions in them, or
// finds some that a pool has kept, and PostgreSQL's processes fill their caches.
const warmUp = 2

// drive implements driver: the value is transactions a second.
func (p pgbench) drive(ctx context.Context, l *lab, s *server) (sample, error) {
	return p.run(ctx, l, s)
}

func (p pgbench) run(ctx context.Context, l *lab, s *server, more ...string) (sample, error) {
	args := []string{"-n", "-T", strconv.Itoa(warmUp + l.options.seconds), "-P", "1", "-M", p.protocol,
		"-c", strconv.Itoa(p.clients), "-j", strconv.Itoa(min(p.clients, 2))}
	if p.script == selectOnly {
		args = append(args, selectOnly, "-s", strconv.Itoa(scale))
	} else {
		args = append(args, "-f", filepath.Join(l.dir, "sql", p.script))
	}
	said := progress{pid: s.Pid()}
	if err := runPgbench(ctx, s, &said, append(args, more...)...); err != nil {
		return sample{}, err
	}
	if failed, err := find(said.said.String(), `number of failed transactions: (\d+)`); err != nil || failed > 0 {
		return sample{}, fmt.Errorf("pgbench: failed transactions: %s", &said.said)
	}
	return said.sample()
}

// runPgbench hands on what it prints.
func runPgbench(ctx context.Context, s *server, said *progress, args ...string) error {
	args = append(args, "-h", "127.0.0.1", "-p", strconv.Itoa(s.port), "-U", benchUser, "postgres")
	command := exec.CommandContext(ctx, "pgbench", args...)
	command.Env = append(os.Environ(), "PGSSLMODE=disable", "PGGSSENCMODE=disable", "LC_ALL=C")
	command.Stdout, command.Stderr = said, said
	if err := command.Run(); err != nil {
		return fmt.Errorf("pgbench: %w: %s", err, &said.said)
	}
	return nil
}

// find is the number that a pattern finds in a text.
func find(text, pattern string) (float64, error) {
	match := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if match == nil {
		return 0, fmt.Errorf("no %q in: %s", pattern, text)
	}
	return strconv.ParseFloat(match[1], 64)
}
