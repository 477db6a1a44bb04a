package main

import (
	"regexp"
	"time"
)

const (
	lease = "backend/inprocess/lease.go"
	pool  = "backend/inprocess/pool.go"
	lua   = "backend/redis/lua/"

	quiet = "TestTortureMemory/quiet"
	// In memory one event loop makes all calls, one after the other.
	atOnce  = "TestTortureDurable/quiet"
	killed  = "TestTortureDurable/killed_proxy"
	stopped = "TestTortureRedis/stopped_Redis"
)

// histories are faults of either store that the histories which TestTorture… records
// have to show. A history that hung or saw nothing shows none.
var histories = &suite{
	name: "histories", pkg: "./cmd/raisinproxy",
	args:     []string{"-torture=5s"},
	longer:   []string{"-torture=40s"}, // some show when the fault comes at the right moment
	shows:    regexp.MustCompile(`(?m)seed \d+: (\w+ "[^"]*") in \S+: (.*)$`),
	patience: 2 * time.Minute,
	workers:  2, // leases end in real time
	rows: []mutant{
		{"expiry only by the reaper", lease, "held := l != nil && l.live(now)", "held := l != nil", quiet},
		{"acquire takes a live lease over", lease, "held := l != nil && l.live(now)", "held := l != nil && !l.live(now)", quiet},
		{"acquire in two steps", lease, "wall := s.clock.Wall()", "sh.mu.Unlock(); time.Sleep(time.Millisecond); sh.mu.Lock(); wall := s.clock.Wall()", atOnce},
		{"re-acquire keeps the old token", lease, "l.token, l.acquired, l.user = token, g.wall, u", "if l.token == 0 {\n\t\tl.token = token\n\t}\n\tg.token, l.acquired, l.user = l.token, g.wall, u", quiet},
		{"lease ends early", lease, "now < l.deadline }", "now < l.deadline-20*time.Millisecond }", quiet},
		{"lease ends late", lease, "now < l.deadline }", "now < l.deadline+20*time.Millisecond }", quiet},
		{"renew revives", lease, "if !l.live(now) {", "if false {", quiet},
		{"renew without comparing", lease, "if l == nil || !l.proves(p) {", "if l == nil {", quiet},
		{"renew does nothing", lease, "end > l.deadline {", "end > l.deadline && false {", quiet},
		{"last come, first served, twice", "backend/inprocess/queue.go", "\tsh.leave(w)\n\treturn true", "\treturn true", quiet},
		{"a call in line is refused at once", lease, "if held || lined || s.pause.runs(now) {\n\t\tw, err = s.join(sh, id, end, r.TTL, u)", "if held || lined || s.pause.runs(now) {\n\t\tu.drop()\n\t\treturn granted{}, nil, sh.seen(), nil", quiet},
		{"a lock in line is granted while it is held", "backend/inprocess/queue.go", "!sh.held(key, now) && ", "", quiet},
		{"release without comparing", lease, "l == nil || !l.proves(p) {\n\t\treturn false, sh.seen(), nil\n\t}\n\tif !l.live(s.clock.Boot())", "l == nil {\n\t\treturn false, sh.seen(), nil\n\t}\n\tif !l.live(s.clock.Boot())", quiet},
		{"release after expiry", lease, "if !l.live(s.clock.Boot()) {", "if false {", quiet},
		{"release forgets to free", lease, "sh.remove(l)", "", quiet},
		{"claim in two calls", pool, "p.remaining = left\n", "sh.mu.Unlock(); time.Sleep(time.Millisecond); sh.mu.Lock(); p.remaining = left\n", atOnce},
		{"claim below zero", pool, "n <= p.remaining\n", "n <= p.remaining+1\n", quiet},
		{"claim takes what is there", pool, "\tleft, claimed :=", "\tif p.remaining > 0 { n = min(n, p.remaining) }\n\tleft, claimed :=", quiet},
		{"claim leaves one", pool, "n <= p.remaining\n", "n < p.remaining\n", quiet},
		{"restock counts twice", pool, "p.remaining += n", "p.remaining += 2 * n", quiet},
		{"restock answers before it counts", pool, "p.remaining += n\n", "defer func() { p.remaining += n }()\n", quiet},
		{"sold-out pool disappears", pool, "return backend.Claimed{Claimed: claimed", "if left == 0 { delete(sh.pools, string(id)) }\n\treturn backend.Claimed{Claimed: claimed", quiet},

		{"recovery forgets leases", "backend/inprocess/recovery.go", "r.store.shardOf(id).found(l)", "", killed},
		{"recovery shortens leases", "backend/inprocess/recovery.go", "deadline: end, acquired", "deadline: end - 500*time.Millisecond, acquired", killed},
		{"recovery forgets pools", "backend/inprocess/recovery.go", "r.store.shardOf(id).pools[string(id)] = &p\n", "_ = p\n", killed},
		{"releases are not written", "backend/inprocess/journal.go", "_ = g.batch.Delete(j.key, nil)", "", killed},

		{"Redis: renew revives", lua + "renew.lua", " and held) then", " and retention) then", "TestTortureRedis/quiet"},
		{"Redis: release without comparing", lua + "release.lua", "proves(token, user, last, fields[5]) and ", "", "TestTortureRedis/quiet"},
		{"Redis: expiry only with the key", lua + "acquire.lua", "if held then\n", "if fields[2] then\n", "TestTortureRedis/quiet"},
		{"Redis: token as a Lua number", lua + "acquire.lua", "token = digits(token)", "token = tostring(token)", "TestTortureRedis/quiet"},
		{"Redis: nonce not looked at", lua + "claim.lua", "if answer then", "if false then", "TestTortureRedis/lost_answers"},
		{"Redis: nonce new for each copy", "backend/redis/call.go", "\tc.notAfter = s.clock.now()", "\tc.nonce = s.nonce()\n\tc.notAfter = s.clock.now()", "TestTortureRedis/lost_answers"},
		{"Redis: outage told as false", "backend/redis/lock.go", "if err != nil || !grant.Acquired", "if err != nil { return backend.Grant{}, nil }\n\t\tif !grant.Acquired", stopped},
		{"Redis: lost answers told as done", "backend/redis/lock.go", "return r.word == \"YES\", err", "return r.word == \"YES\" || err != nil, nil", stopped},
		{"Redis: outage told as false: claim", "backend/redis/inventory.go", "	if err != nil {\n		return backend.Claimed{}, err\n	}\n	switch r.word {", "	if err != nil {\n		return backend.Claimed{}, nil\n	}\n	switch r.word {", stopped},
		{"Redis: outage told as false: renew, release", "backend/redis/lock.go", "return r.word == \"YES\", err", "return r.word == \"YES\", nil", stopped},
		{"Redis: out of memory told as false", "backend/redis/lock.go", "if err != nil || !grant.Acquired", "if errors.Is(err, backend.ErrOutOfResources) { return backend.Grant{}, nil }\n\t\tif err != nil || !grant.Acquired", "TestTortureRedis/out_of_memory"},
		{"Redis: a pause is forgotten over a restart", "backend/redis/statefile.go", "json:\"paused,omitzero\"", "json:\"-\"", "TestTortureLossyRedis/a_second_loss,_and_proxies_that_are_started_again"},
		{"Redis: a second loss pauses nothing", "backend/redis/watch.go", "if w.state.Lost != \"\" && ", "if w.state.Lost != \"\" || ", "TestTortureLossyRedis/a_second_loss,_and_proxies_that_are_started_again"},
		{"Cluster: a loss of a shard pauses nothing", "backend/redis/evidence.go", "if !w.opts.ContinueOnLoss && time.Now()", "if false && time.Now()", "TestTortureLossyCluster/promoted_replica_that_missed_changes"},
		{"Cluster: every new master has lost something", "backend/redis/watch.go", "if from.Offset < s.second {", "if from.Offset < 0 {", "TestTortureCluster/planned_failover"},
		{"Redis: a loss is not minded by calls that wait", "backend/redis/watch.go", "func (w *watch) loseLocked(reason string) {\n", "func (w *watch) loseLocked(reason string) {\n\tif true {\n\t\treturn\n\t}\n", "TestTortureLossyRedis/calls_that_wait_over_the_loss"},
		{"Cluster: a loss is not minded by calls that wait", "backend/redis/watch.go", "func (w *watch) loseLocked(reason string) {\n", "func (w *watch) loseLocked(reason string) {\n\tif true {\n\t\treturn\n\t}\n", "TestTortureLossyCluster/calls_that_wait_over_the_loss_of_shard_1"},
		{"Redis: a loss is not minded", "backend/redis/watch.go", "func (w *watch) loseLocked(reason string) {\n", "func (w *watch) loseLocked(reason string) {\n\tif true {\n\t\treturn\n\t}\n", "TestTortureLossyRedis/killed_Redis_with_RDB_only"},
		{"Redis: token = last + 1 only", lua + "acquire.lua", "math.max(tonumber(last) + 1, tonumber(now), tonumber(floor) + 1)", "tonumber(last) + 1", "TestTortureLossyRedis/killed_Redis_with_RDB_only"},
	},
}
