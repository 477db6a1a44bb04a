// Command mutants tests the tests: it breaks the server in ways that somebody might,
// one at a time, and fails if the histories that TestTorture… records do not show it.
// The sources stay as they are; the go tool is given each change as an overlay. Run it
// from anywhere in the module:
//
//	go run ./torture/testdata/mutants [part of a name]
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// A mutant is one fault: in file, from becomes to. It is to be caught by a test of
// cmd/raisinproxy.
type mutant struct {
	name     string
	file     string // from the root of the module
	from, to string
	test     string
}

const (
	lease = "backend/inprocess/lease.go"
	pool  = "backend/inprocess/pool.go"
	lua   = "backend/redis/lua/"

	quiet   = "TestTortureMemory/quiet"
	killed  = "TestTortureDurable/killed_proxy"
	stopped = "TestTortureRedis/stopped_Redis"
)

var mutants = []mutant{
	{"expiry only by the reaper", lease, "if l != nil && l.live(now) {", "if l != nil {", quiet},
	{"acquire takes a live lease over", lease, "if l != nil && l.live(now) {", "if l != nil && !l.live(now) {", quiet},
	{"acquire in two steps", lease, "wall := s.clock.Wall()", "sh.mu.Unlock(); time.Sleep(time.Millisecond); sh.mu.Lock(); wall := s.clock.Wall()", quiet},
	{"re-acquire keeps the old token", lease, "l.token = token", "token = l.token", quiet},
	{"lease ends early", lease, "now < l.deadline }", "now < l.deadline-20*time.Millisecond }", quiet},
	{"lease ends late", lease, "now < l.deadline }", "now < l.deadline+20*time.Millisecond }", quiet},
	{"renew revives", lease, "if !l.live(now) {", "if false {", quiet},
	{"renew without comparing", lease, "if l == nil || l.token != token {", "if l == nil {", quiet},
	{"renew does nothing", lease, "end > l.deadline {", "end > l.deadline && false {", quiet},
	{"release without comparing", lease, "l == nil || l.token != token {\n\t\treturn false, sh.seen(), nil\n\t}\n\tif !l.live(s.clock.Boot())", "l == nil {\n\t\treturn false, sh.seen(), nil\n\t}\n\tif !l.live(s.clock.Boot())", quiet},
	{"release after expiry", lease, "if !l.live(s.clock.Boot()) {", "if false {", quiet},
	{"release forgets to free", lease, "sh.remove(l)", "", quiet},
	{"claim in two calls", pool, "p.remaining = left\n", "sh.mu.Unlock(); time.Sleep(time.Millisecond); sh.mu.Lock(); p.remaining = left\n", quiet},
	{"claim below zero", pool, "n <= p.remaining\n", "n <= p.remaining+1\n", quiet},
	{"claim takes what is there", pool, "\tleft, claimed :=", "\tif p.remaining > 0 { n = min(n, p.remaining) }\n\tleft, claimed :=", quiet},
	{"claim leaves one", pool, "n <= p.remaining\n", "n < p.remaining\n", quiet},
	{"restock counts twice", pool, "p.remaining += n", "p.remaining += 2 * n", quiet},
	{"restock answers before it counts", pool, "p.remaining += n\n", "defer func() { p.remaining += n }()\n", quiet},
	{"sold-out pool disappears", pool, "return backend.Claimed{Claimed: claimed", "if left == 0 { delete(sh.pools, string(id)) }\n\treturn backend.Claimed{Claimed: claimed", quiet},

	{"recovery forgets leases", "backend/inprocess/recovery.go", "r.store.shardOf(id).insert(string(id), record.token, record.deadline)", "", killed},
	{"recovery shortens leases", "backend/inprocess/recovery.go", "r.store.shardOf(id).insert(string(id), record.token, record.deadline)", "r.store.shardOf(id).insert(string(id), record.token, record.deadline-500*time.Millisecond)", killed},
	{"recovery forgets pools", "backend/inprocess/recovery.go", "r.store.shardOf(id).pools[string(id)] = &pool{remaining: remaining}", "_ = remaining", killed},
	{"releases are not written", "backend/inprocess/journal.go", "_ = g.batch.Delete(j.key, nil)", "", killed},

	{"Redis: renew revives", lua + "renew.lua", "live(retention)", "retention", "TestTortureRedis/quiet"},
	{"Redis: release without comparing", lua + "release.lua", "token == last and ", "", "TestTortureRedis/quiet"},
	{"Redis: expiry only with the key", lua + "acquire.lua", "live(fields[2])", "fields[2]", "TestTortureRedis/quiet"},
	{"Redis: token as a Lua number", lua + "acquire.lua", "token = digits(token)", "token = tostring(token)", "TestTortureRedis/quiet"},
	{"Redis: nonce not looked at", lua + "claim.lua", "if answer then", "if false then", "TestTortureRedis/lost_answers"},
	{"Redis: nonce new for each copy", "backend/redis/call.go", "\tc.notAfter = s.clock.now()", "\tc.nonce = s.nonce()\n\tc.notAfter = s.clock.now()", "TestTortureRedis/lost_answers"},
	{"Redis: outage told as false", "backend/redis/lock.go", "if err != nil || !grant.Acquired", "if err != nil { return backend.Grant{}, nil }\n\t\tif !grant.Acquired", stopped},
	{"Redis: lost answers told as done", "backend/redis/lock.go", "return r.word == \"YES\", err", "return r.word == \"YES\" || err != nil, nil", stopped},
	{"Redis: outage told as false: claim", "backend/redis/inventory.go", "	if err != nil {\n		return backend.Claimed{}, err\n	}\n	id :=", "	if err != nil {\n		return backend.Claimed{}, nil\n	}\n	id :=", stopped},
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
}

func main() {
	if survivors := run(strings.Join(os.Args[1:], " ")); survivors > 0 {
		fmt.Printf("%d mutants were not caught\n", survivors)
		os.Exit(1)
	}
}

// run counts the mutants that live on, of those with only in their name.
func run(only string) (survivors int) {
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	check(err)
	tmp, err := os.MkdirTemp("", "mutants")
	check(err)
	defer os.RemoveAll(tmp)
	for _, m := range mutants {
		if !strings.Contains(m.name, only) {
			continue
		}
		verdict, caught := m.run(strings.TrimSpace(string(root)), tmp)
		if !caught {
			survivors++
		}
		fmt.Printf("%-42s %s\n", m.name, verdict)
	}
	return survivors
}

// run records histories with the fault in it and says which rule they break.
func (m mutant) run(root, tmp string) (verdict string, caught bool) {
	original := filepath.Join(root, m.file)
	text, err := os.ReadFile(original)
	check(err)
	if !strings.Contains(string(text), m.from) {
		return "STALE: the text to replace is gone", false
	}
	file, overlay := filepath.Join(tmp, filepath.Base(m.file)), filepath.Join(tmp, "overlay.json")
	check(os.WriteFile(file, []byte(withImports(strings.ReplaceAll(string(text), m.from, m.to))), 0o600))
	spec, err := json.Marshal(map[string]map[string]string{"Replace": {original: file}})
	check(err)
	check(os.WriteFile(overlay, spec, 0o600))

	duration := "5s"
	switch m.test { // it shows when the fault comes at the right moment
	case killed:
		duration = "40s"
	}
	cmd := exec.Command("go", "test", "-count=1", "-vet=off", "-timeout=5m", "-overlay", overlay, "-run", "^"+m.test+"$",
		"./cmd/raisinproxy", "-torture", duration)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp) // where failed runs are kept
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil:
		return "SURVIVED", false
	case strings.Contains(string(out), "[build failed]"):
		return "DOES NOT BUILD\n" + string(out), false
	}
	// A run that only hung or saw nothing has not shown the fault.
	rules := broken.FindAllStringSubmatch(string(out), -1)
	if len(rules) == 0 {
		return "FAILED FOR ANOTHER REASON\n" + string(out), false
	}
	return fmt.Sprintf("caught by %d violations, the first: %s: %s", len(rules), rules[0][1], rules[0][2]), true
}

// withImports adds the import that a fault may need.
func withImports(text string) string {
	if strings.Contains(text, "time.") && !strings.Contains(text, `"time"`) {
		text = strings.Replace(text, "import (", "import (\n\t\"time\"", 1)
	}
	return text
}

// broken is the first line of a violation in the output of a test.
var broken = regexp.MustCompile(`(?m)seed \d+: (\w+ "[^"]*") in \S+: (.*)$`)

func check(err error) {
	if err != nil {
		panic(err)
	}
}
