package main

import (
	"context"
	"fmt"
	"time"
)

// contests are all that there are, with their targets.
func contests() []contest {
	all := make([]contest, 0, 32)
	all = append(all, lockContests()...)
	all = append(all, storeContests()...)
	all = append(all, handOverContests()...)
	all = append(all, relayContests()...)
	all = append(all, sizeContests()...)
	return append(all, restartContests()...)
}

// lockContests take and free locks in memory.
func lockContests() []contest {
	var all []contest
	for _, mode := range []struct {
		protocol, script string
		atLeast          float64
	}{{"simple", "lock.sql", 2}, {"prepared", "lock-prepared.sql", 1.5}} {
		for _, clients := range []int{1, 8, 32} {
			atLeast := mode.atLeast
			if clients == 1 {
				atLeast = 1
			}
			all = append(all, contest{
				name: fmt.Sprintf("lock/%s/%d", mode.protocol, clients), unit: "pairs/s",
				contestants: []contestant{
					{name: "proxy", at: proxyMemory, drive: pgbench{mode.script, mode.protocol, clients}.drive},
					{name: "advisory locks", at: postgres, drive: pgbench{"advisory.sql", mode.protocol, clients}.drive, atLeast: atLeast},
				},
			})
		}
	}
	for _, mode := range []struct{ protocol, script string }{{"simple", "lock.sql"}, {"prepared", "lock-prepared.sql"}} {
		all = append(all, contest{
			name: "lock/redis/" + mode.protocol, unit: "pairs/s",
			contestants: []contestant{
				{name: "proxy", at: proxyMemory, drive: pgbench{mode.script, mode.protocol, 32}.drive},
				{name: "SET NX PX and a script (go-redis)", at: redis, drive: redisPairs{32, setAndDelete}.drive, atLeast: 1.3},
				{name: "the same by redis-benchmark", at: redis, drive: redisBenchmark{32}.drive},
			},
		})
	}
	return all
}

// storeContests use the stores that outlive the process, and a store with many locks.
func storeContests() []contest {
	return []contest{
		{
			name: "backend/redis", unit: "pairs/s",
			contestants: []contestant{
				{name: "proxy", at: proxyRedis, drive: pgbench{"lock-prepared.sql", "prepared", 32}.drive},
				{name: "the scripts by themselves (go-redis)", at: redis, drive: redisPairs{32, ownScripts}.drive, atLeast: 0.8},
			},
		},
		{
			name: "claim/durable", unit: "claims/s",
			contestants: []contestant{
				{name: "proxy", at: proxyDurable, drive: pgbench{"claim.sql", "simple", 32}.drive},
				{name: "UPDATE … RETURNING", at: postgres, drive: pgbench{"update.sql", "simple", 32}.drive, atLeast: 20},
			},
		},
		{
			name: "lock/live", unit: "pairs/s",
			contestants: []contestant{
				{name: "among 1,000,000 locks", at: proxyMany, drive: pgbench{"lock-prepared.sql", "prepared", 32}.drive},
				{name: "among 1,000 locks", at: proxyFew, drive: pgbench{"lock-prepared.sql", "prepared", 32}.drive, atLeast: 0.9},
			},
		},
	}
}

// handOverContests are about one lock that eight clients want.
func handOverContests() []contest {
	var all []contest
	for _, percentile := range []int{50, 99} {
		drive := func(join func(context.Context, *server) (contender, error)) driver {
			return handOver{percentile, join}.drive
		}
		all = append(all, contest{
			name: fmt.Sprintf("handover/p%d", percentile), unit: "µs", smaller: true, rounds: 3,
			contestants: []contestant{
				{name: "proxy, in memory", at: proxyMemory, drive: drive(joinLine)},
				{name: "proxy, in Redis", at: proxyRedis, drive: drive(joinLine)},
				{name: "pg_advisory_lock", at: postgres, drive: drive(joinAdvisory)},
				{name: "SET NX PX, told of releases (as Redisson)", at: redis, drive: drive(joinTold)},
				{name: "SET NX PX, asked every 100 ms (as redis-py)", at: redis, drive: drive(joinPolling)},
			},
		})
	}
	return all
}

// relayContests are about what is PostgreSQL's and goes through.
func relayContests() []contest {
	var all []contest
	for _, protocol := range []string{"simple", "extended", "prepared"} {
		for _, clients := range []int{8, 32} {
			reads := pgbench{selectOnly, protocol, clients}.drive
			all = append(all, contest{
				name: fmt.Sprintf("relay/select/%s/%d", protocol, clients), unit: "tx/s", rounds: 9,
				contestants: []contestant{
					{name: "proxy", at: proxyMemory, drive: reads},
					{name: "pgbouncer", at: pgbouncer, drive: reads, atLeast: 1},
				},
			})
		}
	}
	return append(all,
		contest{
			name: "relay/copy", unit: "MB/s", takes: 3 * time.Second, contestants: streams(copyOut)},
		contest{
			name: "relay/rows", unit: "rows/s", takes: 5 * time.Second, rounds: 3, contestants: streams(selectRows)},
		contest{
			name: "relay/p99", unit: "µs", smaller: true, before: findRate,
			contestants: []contestant{
				{name: "proxy", at: proxyMemory, drive: latency},
				{name: "pgbouncer", at: pgbouncer, drive: latency, atLeast: 1},
				{name: "direct", at: postgres, drive: latency},
			},
		})
}

// sizeContests are about memory.
func sizeContests() []contest {
	return []contest{
		{
			name: "memory/lock", unit: "bytes", smaller: true, rounds: 1, takes: 10 * time.Second,
			contestants: []contestant{{name: "1,000,000 locks", at: proxyMany, drive: growth}, limit(256)},
		},
		{
			name: "memory/connection", unit: "bytes", smaller: true, rounds: 1, takes: 10 * time.Second,
			contestants: []contestant{{name: "5,000 connections", at: proxyIdle, drive: idle(5000)}, limit(24 << 10)},
		},
		{
			name: "memory/connection/upstream", unit: "bytes", smaller: true, rounds: 1, takes: 10 * time.Second,
			contestants: []contestant{{name: "500 connections, each with one to PostgreSQL", at: proxyIdleUpstream, drive: idle(500)}, limit(24 << 10)},
		},
	}
}

// restartContests are about one restart of a durable store with 1,000,000 locks, which then
// end, and 100,000 pools, which do not.
func restartContests() []contest {
	seen := func(name, unit string, value func(restart) float64, others ...contestant) contest {
		return contest{
			name: name, unit: unit, smaller: true, rounds: 1, takes: time.Second,
			contestants: append([]contestant{{name: "1,000,000 locks, 100,000 pools", at: proxyRestarted, drive: afterRestart(value)}}, others...),
		}
	}
	// pools is a server that never had the locks.
	pools := func(value func(restart) float64) contestant {
		return contestant{name: "the pools alone", at: proxyPools, drive: afterRestart(value)}
	}
	const mib = 1 << 20
	answered := func(r restart) float64 { return r.answered.Seconds() }
	peak := func(r restart) float64 { return float64(r.peak) / mib }
	resident := func(r restart) float64 { return float64(r.resident) / mib }
	full := func(r restart) float64 { return float64(r.full) / mib }
	left := func(r restart) float64 { return float64(r.left) / mib }
	over := pools(resident)
	over.atLeast = 0.8
	all := []contest{
		seen("restart/answer", "s", answered, limit(2), pools(answered)), // from exec to the first answer
		seen("restart/memory", "MiB", peak, pools(peak)),                 // the most until then
		seen("restart/memory/over", "MiB", resident, over),               // when all locks are over
		seen("restart/disk", "MiB", full, pools(full)),                   // of the data folder at the start
		seen("restart/disk/over", "MiB", left, limit(24), pools(left)),   // and when all locks are over
	}
	all[0].takes = (restartTTL + restartRest) / 3 // all of it is done for the first, for three contestants
	return all
}
