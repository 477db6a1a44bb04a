package inprocess

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// BenchmarkReopen opens a store of a million leases and a hundred thousand pools.
func BenchmarkReopen(b *testing.B) {
	b.Run("same boot", func(b *testing.B) { benchReopen(b, Options{}) })
	b.Run("another boot", func(b *testing.B) { benchReopen(b, Options{bootID: "another boot"}) })
}

func benchReopen(b *testing.B, opts Options) {
	const leases, pools = 1_000_000, 100_000
	dir := filepath.Join(b.TempDir(), "data")
	s, err := Open(dir, Options{})
	if err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	fillAtOnce(b, s, leases, pools)
	b.Log("filled in", time.Since(start))
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	var cpu time.Duration
	for i := 0; b.Loop(); i++ {
		if opts.bootID != "" {
			opts.bootID = fmt.Sprint("boot ", i)
		}
		before := cpuTime()
		s, err := Open(dir, opts)
		if err != nil {
			b.Fatal(err)
		}
		cpu += cpuTime() - before
		b.StopTimer()
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(cpu.Milliseconds())/float64(b.N), "cpu-ms/op")
}

// cpuTime is the processor time of this process, which a busy machine does not change much.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // fails on a wrong argument only
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
