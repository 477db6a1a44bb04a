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
	"time"

	goredis "github.com/redis/go-redis/v9"

	"raisinproxy/backend"
)

// watch knows which servers hold the state, whether acknowledged state was lost, and so what may
// be done. The heartbeat tells it what it sees; every call asks it. Safe for concurrent use.
type watch struct {
	opts  *Options
	log   *slog.Logger
	clock *serverClock
	look  chan struct{} // asks for a heartbeat now

	mu       sync.Mutex
	state    state
	dirty    bool      // state has to be saved soon
	ready    bool      // a heartbeat has been answered
	create   bool      // missing pools may be created
	policies []string  // of maxmemory, that may evict pools
	earliest int64     // server time before which nothing is granted
	paused   time.Time // until when nothing is granted since state was lost
	adopted  func()    // told when the operator has accepted the state
	saved    time.Time
}

func newWatch(o *Options, s state, clock *serverClock) *watch {
	return &watch{opts: o, log: o.Log, clock: clock, state: s, look: make(chan struct{}, 1), adopted: func() {}}
}

// lookNow has the heartbeat look without waiting for its time.
func (w *watch) lookNow() {
	select {
	case w.look <- struct{}{}:
	default:
	}
}

// mayGrant gives the server time before which nothing may be granted, or why nothing may at all.
func (w *watch) mayGrant() (earliest int64, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case !w.ready:
		return 0, errNotReady
	case !w.opts.ContinueOnLoss && time.Now().Before(w.paused):
		return 0, fmt.Errorf("%w: acknowledged state was lost, so leases that nobody knows of may run: nothing is granted until they are over", backend.ErrUnavailable)
	}
	return w.earliest, nil
}

// mayCount says whether missing pools may be created, or why inventory has stopped.
func (w *watch) mayCount() (create bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case !w.ready:
		return false, errNotReady
	case w.state.Lost != "":
		return false, fmt.Errorf("%w: %s", backend.ErrStateLost, w.state.Lost)
	case len(w.policies) > 0:
		return false, fmt.Errorf("%w: maxmemory-policy is %s, which may evict pools; inventory needs noeviction", backend.ErrUnavailable, w.policies[0])
	}
	return w.create, nil
}

var errNotReady = fmt.Errorf("%w: no answer from Redis yet", backend.ErrUnavailable)

// lose stops inventory until the operator has looked, and grants until no lease can
// be left that was lost.
func (w *watch) lose(reason string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.loseLocked(reason)
}

func (w *watch) loseLocked(reason string) {
	if w.state.Lost != "" {
		return
	}
	w.state.Lost, w.dirty = reason, true
	w.paused = time.Now().Add(w.opts.MaxTTL)
	w.log.Error("redis lost acknowledged state: inventory has stopped until `raisinproxy adopt`", "reason", reason, "locks_paused", !w.opts.ContinueOnLoss)
	w.lookNow() // so that the other proxies learn of it
}

func (w *watch) lost() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state.Lost != ""
}

// lossError is the error of calls since state was lost.
func (w *watch) lossError() error {
	_, err := w.mayCount()
	return err
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
			n.Offset = max(n.Offset, now.Offset)
			w.state.Nodes[addr] = n
			return
		}
	}
	w.lookNow()
}

// saw compares the masters, by address, with those that were seen before.
func (w *watch) saw(samples map[string]sample) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.state.Nodes
	changed := false
	for addr, s := range samples {
		if known, ok := find(before, func(_ string, n node) bool { return n.RunID == s.RunID }); ok && known.ReplID == s.ReplID {
			continue
		}
		if len(before) > 0 {
			changed = true
			if reason := w.judgeNewcomer(addr, s, samples); reason != "" {
				w.loseLocked(reason)
			}
		}
		w.dirty = true
	}
	nodes := make(map[string]node, len(samples))
	w.policies = nil
	for addr, s := range samples {
		nodes[addr] = s.node
		if s.policy != "noeviction" {
			w.policies = append(w.policies, s.policy)
		}
	}
	w.state.Nodes, w.state.Seen = nodes, time.Now()
	if changed {
		w.earliest = w.clock.floor() + w.opts.MaxClockSkew.Microseconds()
		w.log.Warn("redis is another process or has another history than before", "masters", slices.Sorted(maps.Keys(samples)))
	}
}

// judgeNewcomer says what was lost for certain, or cannot be excluded, now that addr is served by a
// process or a history that was not seen before; "" if nothing was.
func (w *watch) judgeNewcomer(addr string, s sample, all map[string]sample) string {
	before := w.state.Nodes
	_, same := find(before, func(_ string, n node) bool { return n.RunID == s.RunID })
	// The process began after the last look.
	restarted := !same && s.uptime <= time.Since(w.state.Seen)+time.Second
	if same && s.replID2 == "" {
		return "" // a master whose backlog was made anew, for its first replica say
	}
	if restarted && !s.aof && w.replaced(addr, all) {
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
	case !w.replaced(addr, all):
		return "" // one more master in a Cluster: it gets its pools with their slots
	case restarted && s.replID2 == "":
		return "" // restarted with an AOF: the beat and the pools tell what it has
	}
	return "a new master does not continue the history of the old one"
}

// replaced tells whether a master that was known is not there any more, or another one has its
// address.
func (w *watch) replaced(addr string, all map[string]sample) bool {
	if _, ok := w.state.Nodes[addr]; ok {
		return true
	}
	for known := range w.state.Nodes {
		if _, ok := all[known]; !ok {
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

// beaten notes what the id record said and how far the beats of this proxy have come in it.
func (w *watch) beaten(beat int64, r idRecord) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ready = true
	if w.state.ID != r.id {
		switch {
		case w.state.ID == "":
		case slices.Contains(strings.Fields(r.before), w.state.ID):
			w.log.Info("redis: the operator has adopted the state as it is", "id", r.id, "missing_pools_may_be_created", r.create)
			w.adopted()
		default:
			w.loseLocked("the name space has another id than before")
			return
		}
		w.state.ID, w.state.Lost, w.state.Beat, w.dirty = r.id, "", 0, true
	}
	switch {
	case r.lost:
		w.loseLocked("another proxy noticed it")
	case r.beat < w.state.Beat:
		w.loseLocked("the last beats of this proxy are gone")
	}
	w.state.Beat, w.create = beat, r.create
}

// gone is for a name space without an id record.
func (w *watch) gone(reason string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ready = true
	w.loseLocked(reason)
}

func (w *watch) proxy() (name, id string, beat int64, lost bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state.Proxy, w.state.ID, w.state.Beat, w.state.Lost != ""
}

// saveEvery is how old the state file may be if nothing else than counts has changed.
const saveEvery = 10 * time.Second

// saveIfDue writes the state file if that is worth it.
func (w *watch) saveIfDue(floor int64) error {
	w.mu.Lock()
	due := w.dirty || time.Since(w.saved) >= saveEvery
	w.mu.Unlock()
	if !due {
		return nil
	}
	return w.save(floor)
}

// save writes the state file.
func (w *watch) save(floor int64) error {
	w.mu.Lock()
	w.state.Floor = floor
	copied := w.state
	copied.Nodes = maps.Clone(w.state.Nodes)
	w.dirty, w.saved = false, time.Now()
	w.mu.Unlock()
	return copied.write(w.opts.StateFile)
}
