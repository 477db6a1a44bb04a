package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
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
	left     int64         // and then
}

const (
	restartLocks = 1_000_000
	restartPools = 100_000
	// restartTTL is how long the locks are held: until the server is up, with something to spare.
	restartTTL = 45 * time.Second
	// restartRest is how long the server has to become small after the last lock ended: its
	// reaper comes every 30 s.
	restartRest = 45 * time.Second
)

// full is a proxy that is started on a data folder which another process has filled with
// locks, for restartTTL, and with restartPools pools.
type full struct{ locks int }

// start starts it, and watches it until the locks have ended.
func (c full) start(ctx context.Context, l *lab, name string) (*server, error) {
	dir := filepath.Join(l.dir, name+".data")
	filling := time.Now()
	if err := c.fill(ctx, l, dir); err != nil {
		return nil, err
	}
	over := time.Now().Add(restartTTL)
	size, err := onDisk(dir)
	if err != nil {
		return nil, err
	}
	r := restart{full: size}
	began := time.Now()
	s, err := proxy{durable: true}.launch(ctx, l, name)
	if err != nil {
		return nil, err
	}
	if err := s.keepsLock(ctx, c.locks-1); err != nil {
		return nil, err
	}
	r.answered = time.Since(began)
	if c.locks > 0 && time.Since(filling) > restartTTL {
		return nil, errors.New("the machine was so busy that the first locks ended before the server was up")
	}
	if r.peak, err = proc.Peak(s.Pid()); err != nil {
		return nil, err
	}
	if c.locks > 0 {
		err = sleep(ctx, time.Until(over)+restartRest)
	} else {
		err = sleep(ctx, 2*time.Second)
	}
	if err != nil {
		return nil, err
	}
	if r.resident, err = proc.Resident(s.Pid()); err != nil {
		return nil, err
	}
	r.left, err = onDisk(dir)
	s.restart = r
	return s, err
}

// fill fills the data folder.
func (c full) fill(ctx context.Context, l *lab, dir string) error {
	program, err := l.build(ctx, "fill")
	if err != nil {
		return err
	}
	said, err := exec.CommandContext(ctx, program, "-dir", dir, "-locks", strconv.Itoa(c.locks),
		"-pools", strconv.Itoa(restartPools), "-ttl", restartTTL.String()).CombinedOutput()
	if err != nil {
		return fmt.Errorf("fill: %w: %s", err, said)
	}
	return nil
}

// keepsLock fails if the server does not hold a lock that the folder was filled with; -1:
// there is none.
func (s *server) keepsLock(ctx context.Context, number int) error {
	conn, err := s.connect(ctx)
	if err != nil {
		return err
	}
	sql := fmt.Sprintf("SELECT acquired FROM raisin_lock_acquire('event:%08d', 1000)", number)
	results, err := conn.Exec(ctx, sql).ReadAll()
	if err := errors.Join(err, conn.Close(ctx)); err != nil {
		return err
	}
	if free := string(results[0].Rows[0][0]) == "t"; free && number >= 0 {
		return errors.New("the server has lost a lock")
	}
	return nil
}

// onDisk is what the files in a folder take, what is reserved for them included.
func onDisk(dir string) (total int64, err error) {
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		var file syscall.Stat_t
		err := syscall.Stat(filepath.Join(dir, entry.Name()), &file)
		if err != nil && !errors.Is(err, syscall.ENOENT) { // the server may have removed it since
			return 0, err
		}
		total += file.Blocks * 512
	}
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

// afterRestart implements driver for what full.start noted.
func afterRestart(value func(restart) float64) driver {
	return func(_ context.Context, _ *lab, s *server) (sample, error) {
		return sample{value: value(s.restart)}, nil
	}
}
