//go:build linux

package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"raisinproxy/backend/history"
	"raisinproxy/internal/torture"
)

var (
	tortureFor  = flag.Duration("torture", 0, "how long each history of TestTorture is recorded; 0: two rounds")
	tortureSeed = flag.Uint64("torture.seed", 0, "what the clients of TestTorture do; 0: by chance")
)

// newProxy starts the program on a configuration, as a process of its own, until the
// test ends.
func newProxy(t *testing.T, locks string) *torture.Proxy {
	t.Helper()
	config := filepath.Join(t.TempDir(), "raisin.toml")
	text := "[pgwire]\nport = 0\n[auth]\nmethod = \"trust\"\n[locks]\nenabled = true\n" + locks
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	proxy, err := torture.NewProxy(program("main", "--config", config))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			t.Errorf("the proxy ends with %v\n%s", err, proxy.Log())
		}
	})
	return proxy
}

// runTorture records one history by the flags.
func runTorture(t *testing.T, plan *torture.Plan) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: it breaks servers for seconds")
	}
	plan.Duration, plan.Seed = *tortureFor, *tortureSeed
	if plan.Seed == 0 {
		plan.Seed = rand.Uint64()
	}
	torture.Run(t, plan)
}

const inMemory = "[locks.inprocess]\ndata_dir = \"\"\n"

// inProcessRules: a grant reads the boot clock and then the wall clock, and the process
// may be held up in between.
var inProcessRules = history.Rules{Epsilon: 2 * time.Millisecond, StampSlack: 20 * time.Millisecond}

// TestTortureMemory: in memory a lock has one holder and a unit is sold once, whatever
// clients and the scheduler do.
func TestTortureMemory(t *testing.T) {
	for _, c := range []struct {
		name string
		plan torture.Plan
	}{
		{"quiet", torture.Plan{Fault: torture.Nothing{}}},
		{"disconnects in mid-call", torture.Plan{Fault: torture.Nothing{}, Manners: torture.Manners{GiveUp: 0.03}, Wants: history.Wants{Unknown: true}}},
		{"cancels", torture.Plan{Fault: torture.Nothing{}, Manners: torture.Manners{Cancel: 0.2, GiveUp: 0.02}, Wants: history.Wants{Unknown: true}}},
		{"stopped proxy", torture.Plan{Fault: torture.StopProxy{}, Manners: torture.Manners{Patience: 200 * time.Millisecond}, Wants: history.Wants{Unknown: true}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			plan := c.plan
			plan.Proxies = []*torture.Proxy{newProxy(t, inMemory)}
			plan.Rules = inProcessRules
			runTorture(t, &plan)
		})
	}
}

// TestTortureDurable: with a data folder that also holds across kill -9: what was
// acknowledged is there after it, and what was not is there whole or not at all.
func TestTortureDurable(t *testing.T) {
	for _, c := range []struct {
		name string
		plan torture.Plan
	}{
		{"quiet", torture.Plan{Fault: torture.Nothing{}}},
		{"killed proxy", torture.Plan{Fault: torture.KillProxy{}, Lease: time.Second, Wants: history.Wants{Unknown: true}}},
		{"cancels and disconnects", torture.Plan{Fault: torture.Nothing{}, Manners: torture.Manners{Cancel: 0.03, GiveUp: 0.01}, Wants: history.Wants{Unknown: true}}},
		{"stopped proxy", torture.Plan{Fault: torture.StopProxy{}, Manners: torture.Manners{Patience: 200 * time.Millisecond}, Wants: history.Wants{Unknown: true}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			plan := c.plan
			plan.Proxies = []*torture.Proxy{newProxy(t, fmt.Sprintf("[locks.inprocess]\ndata_dir = %q\n", filepath.Join(t.TempDir(), "data")))}
			plan.Rules = inProcessRules
			runTorture(t, &plan)
		})
	}
}
