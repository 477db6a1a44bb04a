package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"raisinproxy/testdata/bench/proc"
)

// restart is what a server did that was started on a store full of locks.
type restart struct {
	answered time.Duration // from exec to the answer of its first call
	peak     int64         // the most memory until then
	resident int64         // its memory when every lock was over, and it at rest
	full     int64         // bytes of the data folder at the start
	left     int64         // and when every lock was over
}

const (
	restartLocks = 1_000_000
	restartPools = 100_000
	// restartTTL is how long the locks are held: until the server is up, with something to spare.
	restartTTL = 30 * time.Second
	// restartRest is how long the server has to become small after the last lock ended: its
	// reaper comes every 30 s, and what it frees is given back at its next visit.
	restartRest = 75 * time.Second
)

// startFull starts a proxy on a data folder that another process has filled, and watches it
// until what is in there has ended.
func startFull(ctx context.Context, l *lab, name string) (*server, error) {
	c := proxy{durable: true}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	text, err := c.config(ctx, l, name, port)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(l.dir, name+".toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return nil, err
	}
	dir := filepath.Join(l.dir, name+".data")
	ends, err := fillStore(ctx, l, dir)
	if err != nil {
		return nil, err
	}
	var r restart
	if r.full, err = folderBytes(dir); err != nil {
		return nil, err
	}
	began := time.Now()
	p, err := launch(l.dir, name, nil, syscall.SIGTERM, l.options.proxy, "--config", path, "--log-level", "warn")
	s, err := l.keep(p, err, port)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(p.await(ctx, s.accepts), s.keepsLocks(ctx)); err != nil {
		return nil, err
	}
	r.answered = time.Since(began)
	if r.peak, err = proc.Peak(s.pid()); err != nil {
		return nil, err
	}
	if err := sleep(ctx, time.Until(ends)+restartRest); err != nil {
		return nil, err
	}
	r.resident, err = proc.Resident(s.pid())
	if err == nil {
		r.left, err = folderBytes(dir)
	}
	s.restart = r
	return s, err
}

// fillStore fills a data folder, and tells when the last lock ends.
func fillStore(ctx context.Context, l *lab, dir string) (ends time.Time, err error) {
	program := filepath.Join(l.dir, "fill")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./testdata/bench/fill")
	build.Dir = l.root
	if said, err := build.CombinedOutput(); err != nil {
		return ends, fmt.Errorf("go build: %w: %s", err, said)
	}
	said, err := exec.CommandContext(ctx, program, "-dir", dir, "-locks", fmt.Sprint(restartLocks),
		"-pools", fmt.Sprint(restartPools), "-ttl", restartTTL.String()).CombinedOutput()
	if err != nil {
		return ends, fmt.Errorf("fill: %w: %s", err, said)
	}
	return time.Now().Add(restartTTL), nil
}

// keepsLocks fails if the server does not hold the lock that was taken last.
func (s *server) keepsLocks(ctx context.Context) error {
	conn, err := s.connect(ctx)
	if err != nil {
		return err
	}
	sql := fmt.Sprintf("SELECT acquired FROM raisin_lock_acquire('event:%08d', 1000)", restartLocks-1)
	results, err := conn.Exec(ctx, sql).ReadAll()
	if err = errors.Join(err, conn.Close(ctx)); err != nil {
		return err
	}
	if held := string(results[0].Rows[0][0]) == "f"; !held {
		return errors.New("the server has lost a lock")
	}
	return nil
}

// folderBytes is the size of the files in a folder.
func folderBytes(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the server has removed it since
		}
		if err == nil {
			total += info.Size()
		}
		return err
	})
	return total, err
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// afterRestart implements driver for what startFull noted.
func afterRestart(value func(restart) float64) driver {
	return func(_ context.Context, _ *lab, s *server) (sample, error) {
		return sample{value: value(s.restart)}, nil
	}
}
