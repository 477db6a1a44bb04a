package redis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// watch knows which servers hold the state, whether acknowledged state was lost, and so what may
// be done. The heartbeat tells it what it sees; every copy of a call asks it. Safe for concurrent use.
type watch struct {
	opts  *Options
	log   *slog.Logger
	clock *serverClock
	look  chan struct{} // asks for a heartbeat now

	saving    sync.Mutex    // held while the state file is written
	epoch     atomic.Uint64 // of the judgement: what rests on an older one is not sent
	mu        sync.Mutex
	state     state
	losses    int                // noticed by this proxy
	saved     int                // how many of them are in the state file
	judged    map[string]string  // by address: masters that calls may rest on, as scripts take it
	continues map[string]bool    // by address: masters that had everything acknowledged when they took over
	succeeded map[node]successor // masters, without their offset, that another one has taken over from in good order
	create    bool               // missing pools may be created
	sealed    string             // what moves the name space; "": nothing
	maxTTL    time.Duration      // the greatest that any proxy ever had
	policies  []string           // of maxmemory, that may evict pools
	paused    time.Time          // until when nothing is granted since state was lost
	adopted   func()             // told when the operator has accepted the state
}

func newWatch(o *Options, s state, clock *serverClock) *watch {
	w := &watch{opts: o, log: o.Log, clock: clock, state: s, look: make(chan struct{}, 1), adopted: func() {}}
	w.judged, w.continues, w.succeeded, w.maxTTL = make(map[string]string), make(map[string]bool), make(map[node]successor), o.MaxTTL
	w.epoch.Store(1)
	if s.Beats == nil {
		w.state.Beats = make(map[string]beatState)
	}
	// Whatever this machine's clock says, no lease that was lost runs for longer than from now.
	w.paused = sooner(s.Paused, time.Now().Add(w.maxTTL))
	w.state.Early = sooner(s.Early, time.Now().Add(w.maxTTL+w.opts.MaxClockSkew))
	return w
}

func sooner(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// lookNow has the heartbeat look without waiting for its time.
func (w *watch) lookNow() {
	select {
	case w.look <- struct{}{}:
	default:
	}
}

// lose stops inventory until the operator has looked, and grants until no lease can
// be left that was lost.
func (w *watch) lose(reason string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.loseLocked(reason)
}

func (w *watch) loseLocked(reason string) {
	if w.state.Lost != "" && time.Until(w.paused) > w.maxTTL-min(time.Second, w.maxTTL/2) {
		return // many calls notice the same loss
	}
	w.epoch.Add(1)
	w.paused = time.Now().Add(w.maxTTL)
	w.state.Paused = w.paused
	w.losses++
	w.lookNow() // so that the other proxies learn of it
	w.log.Error("redis lost acknowledged state: inventory has stopped until `raisinproxy adopt`", "reason", reason, "locks_paused", !w.opts.ContinueOnLoss)
	if w.state.Lost == "" {
		w.state.Lost = reason
	}
}

func (w *watch) lost() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state.Lost != ""
}

// connected is asked about every new connection of calls. A server that the heartbeat has not
// looked at, another process or another history, gets none: it may have lost state.
func (w *watch) connected(ctx context.Context, cn *goredis.Conn) error {
	s, err := takeSample(ctx, cn)
	switch {
	case err != nil:
	case s.sentinel:
		return nil
	case !s.master && len(w.opts.URLs) > 0 && w.opts.SentinelMaster == "":
		return nil // the Cluster's topology may be asked of a replica
	case !s.master:
		err = errors.New("this Redis is a replica")
	case s.loading:
		err = errors.New("this Redis is loading its data")
	case !w.knows(s):
		w.lookNow()
		err = errors.New("this Redis is another one than before and is being looked at")
	case w.judgedAnew(epochOf(ctx)):
		// What was to be sent rests on what was known of the server before this one.
		return handshakeError(errJudgedAnew)
	default:
		return nil
	}
	return handshakeError(err)
}

func (w *watch) knows(s sample) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, n := range w.state.Nodes {
		if n.RunID == s.RunID && n.ReplID == s.ReplID {
			return true
		}
	}
	return false
}

// advanced notes how far a known history has come; what INFO replication told after a batch.
func (w *watch) advanced(info map[string]string) {
	now := nodeOf(info)
	w.mu.Lock()
	defer w.mu.Unlock()
	for addr, n := range w.state.Nodes {
		if n.ReplID == now.ReplID {
			n.Offset = max(n.Offset, acknowledged(info, w.opts.WaitReplicas))
			w.state.Nodes[addr] = n
			return
		}
	}
	w.lookNow()
}

// saw compares the masters, by address, with those that were seen before. Of those that failed to
// answer nothing new is known. It gives the samples that count: the others are of masters that are none any more.
func (w *watch) saw(samples map[string]sample, failed map[string]bool) (current map[string]sample) {
	w.mu.Lock()
	defer w.mu.Unlock()
	samples, failed = w.withoutPredecessors(samples, failed)
	before := w.state.Nodes
	changed := false
	for addr, s := range samples {
		if known, ok := find(before, func(_ string, n node) bool { return n.RunID == s.RunID }); ok && known.ReplID == s.ReplID {
			continue
		}
		if len(before) > 0 {
			changed = true
			reason := w.judgeNewcomer(addr, s, samples, failed)
			if reason != "" {
				w.loseLocked(reason)
			}
			w.continues[addr] = reason == "" && s.replID2 != ""
			w.noteSuccessor(addr, s, reason)
		}
		delete(w.judged, addr) // until its beat is looked at
	}
	nodes := make(map[string]node, len(samples))
	for addr, n := range before {
		if failed[addr] {
			nodes[addr] = n
		}
	}
	w.policies = nil
	for addr, s := range samples {
		if known, ok := find(before, func(_ string, n node) bool { return n.ReplID == s.ReplID }); ok {
			s.Offset = max(s.Offset, known.Offset)
		}
		nodes[addr] = s.node
		if s.policy != "noeviction" {
			w.policies = append(w.policies, s.policy)
		}
	}
	w.state.Nodes, w.state.Seen = nodes, time.Now()
	maps.DeleteFunc(w.judged, func(addr, _ string) bool { _, ok := nodes[addr]; return !ok })
	if changed {
		w.epoch.Add(1)
		w.state.Earliest, w.state.Early = w.clock.floor()+w.opts.MaxClockSkew.Microseconds(), time.Now().Add(w.maxTTL+w.opts.MaxClockSkew)
		w.log.Warn("redis is another process or has another history than before", "masters", slices.Sorted(maps.Keys(samples)))
	}
	return samples
}

// judgeNewcomer says what was lost for certain, or cannot be excluded, now that addr is served by a
// process or a history that was not seen before; "" if nothing was.
func (w *watch) judgeNewcomer(addr string, s sample, all map[string]sample, failed map[string]bool) string {
	before := w.state.Nodes
	_, same := find(before, func(_ string, n node) bool { return n.RunID == s.RunID })
	// The process began after the last look.
	restarted := !same && s.uptime <= time.Since(w.state.Seen)+time.Second
	if same && s.replID2 == "" {
		return "" // a master whose backlog was made anew, for its first replica say
	}
	if restarted && !s.aof && w.replaced(addr, all, failed) {
		return "redis was restarted without an AOF"
	}
	if from, ok := find(before, func(_ string, n node) bool { return n.ReplID == s.replID2 }); ok {
		if from.Offset < s.second {
			return ""
		}
		return fmt.Sprintf("the new master has the changes up to offset %d, acknowledged are those up to %d at least", s.second-1, from.Offset)
	}
	switch {
	case same:
		return "a master has been a replica of an unknown one"
	case !w.replaced(addr, all, failed):
		return "" // one more master in a Cluster: it gets its pools with their slots
	case restarted && s.replID2 == "":
		return "" // restarted with an AOF: the beat and the pools tell what it has
	}
	return "a new master does not continue the history of the old one"
}

// successor is who took over from a master, and when that was seen.
type successor struct {
	addr string
	seen time.Time
}

// succession is how long the nodes of a Cluster, or Sentinels, may name a master that another one has
// taken over from, and that may not know of it itself.
const succession = 10 * time.Second

// noteSuccessor notes of which master a newcomer goes on with everything acknowledged.
func (w *watch) noteSuccessor(addr string, s sample, lost string) {
	from, ok := find(w.state.Nodes, func(_ string, n node) bool { return n.ReplID == s.replID2 })
	if ok && lost == "" {
		w.succeeded[node{RunID: from.RunID, ReplID: from.ReplID}] = successor{addr, time.Now()}
	}
}

// withoutPredecessors leaves out masters that are seen once more, with the history that they had, although another
// one has taken over from them. They tell nothing, and nor does it that their successors are not seen.
func (w *watch) withoutPredecessors(samples map[string]sample, failed map[string]bool) (map[string]sample, map[string]bool) {
	maps.DeleteFunc(w.succeeded, func(_ node, by successor) bool { return time.Since(by.seen) > succession })
	samples, failed = maps.Clone(samples), maps.Clone(failed)
	for addr, s := range samples {
		by, ok := w.succeeded[node{RunID: s.RunID, ReplID: s.ReplID}]
		if !ok || by.addr == addr {
			continue
		}
		delete(samples, addr)
		if failed == nil {
			failed = make(map[string]bool)
		}
		failed[by.addr] = true
		w.lookNow()
	}
	return samples, failed
}

// replaced tells whether a master that was known is not there any more, or another one has its
// address.
func (w *watch) replaced(addr string, all map[string]sample, failed map[string]bool) bool {
	if _, ok := w.state.Nodes[addr]; ok {
		return true
	}
	for known := range w.state.Nodes {
		if _, ok := all[known]; !ok && !failed[known] {
			return true
		}
	}
	return false
}

func find(nodes map[string]node, is func(addr string, n node) bool) (node, bool) {
	for addr, n := range nodes {
		if is(addr, n) {
			return n, true
		}
	}
	return node{}, false
}

// identified notes what the id record said.
func (w *watch) identified(r *idRecord) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.state.ID != r.id {
		switch {
		case w.state.ID == "":
		case slices.Contains(strings.Fields(r.before), w.state.ID):
			if r.seal == "" {
				w.log.Info("redis: the operator has adopted the state as it is", "id", r.id, "missing_pools_may_be_created", r.create)
			}
			w.adopted()
		default:
			w.loseOnce("the name space has another id than before")
			return
		}
		w.state.ID = r.id
		if r.seal == "" { // an export must not overlook a loss
			w.state.Lost = ""
		}
		clear(w.state.Beats)
		clear(w.judged)
		w.epoch.Add(1)
	}
	if r.lost {
		w.loseOnce("another proxy noticed it")
	}
	if w.sealed != r.seal {
		if w.sealed == "" {
			w.log.Error("redis: pools and leases of the name space were moved to another store, or are being moved: no call is served", "namespace", w.opts.Namespace, "seal", r.seal)
		}
		w.sealed = r.seal
		clear(w.judged)
		w.epoch.Add(1)
	}
	if w.create != r.create {
		w.create = r.create
		w.epoch.Add(1)
	}
	w.maxTTL = max(w.maxTTL, r.maxTTL)
}

// sawLongest notes a max_ttl that another proxy has.
func (w *watch) sawLongest(ttl time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.maxTTL = max(w.maxTTL, ttl)
}

// loseOnce is for what is seen again at each heartbeat. mu is held.
func (w *watch) loseOnce(reason string) {
	if w.state.Lost == "" {
		w.loseLocked(reason)
	}
}

// gone is for a name space without an id record.
func (w *watch) gone(reason string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.loseOnce(reason)
}

func (w *watch) lossOf() (id, lost string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state.ID, w.state.Lost
}

// save writes the state file. Nothing older is written over it.
func (w *watch) save(floor int64) error {
	w.saving.Lock()
	defer w.saving.Unlock()
	w.mu.Lock()
	w.state.Floor = floor
	copied, losses := w.state, w.losses
	copied.Nodes, copied.Beats = maps.Clone(w.state.Nodes), maps.Clone(w.state.Beats)
	w.mu.Unlock()
	if err := copied.write(w.opts.StateFile); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.saved = losses
	return nil
}

// saveLoss writes the state file if a loss is not in it yet.
func (w *watch) saveLoss() {
	w.mu.Lock()
	unsaved := w.saved < w.losses
	w.mu.Unlock()
	if !unsaved {
		return
	}
	if err := w.save(w.clock.floor()); err != nil {
		w.log.Error("redis: a loss cannot be saved: this proxy does not know of it when it is started again", "error", err)
	}
}
