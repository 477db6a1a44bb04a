package redis

import (
	"math"
	"testing"
	"time"

	"raisinproxy/backend"
	"raisinproxy/backend/backendtest"
	"raisinproxy/backend/redis/redistest"
)

// harness runs the suite with two proxies on one Redis, by the machine's clock.
func harness(configure func(t *testing.T) Options) backendtest.Harness {
	env := func(maxPools int) func(t *testing.T) backendtest.Env {
		return func(t *testing.T) backendtest.Env {
			o := configure(t)
			o.MaxPools, o.MaxTTL = maxPools, math.MaxInt64 // leases of any length are tried
			if maxPools > 0 {
				o.MaxLeases, o.MaxWaiters = backendtest.MaxLeases, backendtest.MaxWaiters
			}
			start := time.Now()
			return backendtest.Env{
				Clients:    []backend.Backend{open(t, o), open(t, second(t, o))},
				Now:        func() time.Duration { return time.Since(start) },
				Advance:    func(d time.Duration) { <-time.After(d) },
				Wall:       time.Now,
				NoStepWall: "the clock is that of the machine; clock_test.go steps one",
			}
		}
	}
	return backendtest.Harness{
		Unit:    120 * time.Millisecond,
		Slack:   40 * time.Millisecond,
		New:     env(0),
		Limited: env(backendtest.MaxPools),
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	url := redistest.URL(t)
	backendtest.Run(t, harness(func(t *testing.T) Options { return options(t, url) }))
}

func TestConformanceOfACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3)
	backendtest.Run(t, harness(func(t *testing.T) Options {
		o := options(t, "")
		o.URLs = cluster.URLs()
		return o
	}))
}
