package redis

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

const (
	// maxLanes is how many pipelines go to one server at the same time: one is on its way while the next one
	// fills. With 32 callers 1, 2, 4 and 8 measured the same, as far as a busy machine tells (bench_test.go).
	maxLanes = 2
	// maxBatch bounds a pipeline, so that its first answer does not wait for too many others.
	maxBatch = 128
	// sampleEvery is how often a busy server's replication offset is asked for.
	sampleEvery = 100 * time.Millisecond
)

// request is one copy of a call on its way to one server.
type request struct {
	script *script
	key    string
	args   []any
	eval   bool   // send the text of the script, not its hash
	asking bool   // the server is importing the key's slot
	epoch  uint64 // of the judgement that args rest on; 0: on none

	state atomic.Int32 // waiting, taken or withdrawn
	until time.Time    // when nobody waits for it any more
	done  chan struct{}
	reply []any
	short bool // fewer replicas than wanted have acknowledged it
	err   error
}

const (
	waiting int32 = iota
	taken
	withdrawn
)

// withdraw takes back a request that was not sent yet, and tells whether it was that.
func (r *request) withdraw() bool { return r.state.CompareAndSwap(waiting, withdrawn) }

// lane sends requests to one server in pipelines: whatever came while others were on
// their way goes together. It is safe for concurrent use.
type lane struct {
	node  *goredis.Client
	store *Store

	mu      sync.Mutex
	queue   []*request
	running int
	sampled time.Time
	trailed bool // a sample is going to be taken after what was sent last
}

// send queues r and returns; r.done is closed when it has its reply or its error. All
// goroutines of a lane end when its queue is empty.
func (l *lane) send(r *request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = append(l.queue, r)
	if l.running < maxLanes {
		l.running++
		l.store.work.Go(l.run)
	}
}

func (l *lane) run() {
	for {
		batch, epoch, sample := l.take()
		if len(batch) == 0 {
			return
		}
		l.exchange(batch, epoch, sample)
	}
}

// take gives the next requests; when there are none, the goroutine that asked is off the
// count and has to end. None of the requests rests on another judgement than that of epoch.
func (l *lane) take() (batch []*request, epoch uint64, sample bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	epoch = l.store.watch.epoch.Load()
	for len(l.queue) > 0 && len(batch) < maxBatch {
		r := l.queue[0]
		l.queue = l.queue[1:]
		if !r.state.CompareAndSwap(waiting, taken) {
			continue
		}
		if r.epoch != 0 && r.epoch != epoch {
			r.err = errJudgedAnew
			close(r.done)
			continue
		}
		batch = append(batch, r)
	}
	if len(batch) == 0 {
		l.queue = nil
		l.running--
		return nil, 0, false
	}
	if now := time.Now(); now.Sub(l.sampled) >= sampleEvery {
		l.sampled, sample = now, true
	} else if !l.trailed {
		l.trailed = true
		l.store.work.Go(l.trail)
	}
	return batch, epoch, sample
}

// trail takes a sample when there may be no batch any more that would.
func (l *lane) trail() {
	select {
	case <-time.After(sampleEvery):
	case <-l.store.stop:
		return
	}
	l.mu.Lock()
	l.trailed, l.sampled = false, time.Now()
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), l.store.opts.attemptTime())
	defer cancel()
	if text, err := l.node.Info(ctx, "replication").Result(); err == nil {
		l.store.watch.advanced(parseInfo(text))
	}
}

// exchange sends a batch as one pipeline on one connection, so that a WAIT after it is for its
// changes and a sample after it covers them.
func (l *lane) exchange(batch []*request, epoch uint64, sample bool) {
	until := batch[0].until
	for _, r := range batch {
		if r.until.After(until) {
			until = r.until
		}
	}
	if latest := time.Now().Add(l.store.opts.attemptTime()); latest.Before(until) {
		until = latest
	}
	ctx, cancel := context.WithDeadline(withEpoch(context.Background(), epoch), until)
	defer cancel()
	pipe := l.node.Pipeline()
	replies := make([]*goredis.Cmd, len(batch))
	for i, r := range batch {
		if r.asking {
			pipe.Do(ctx, "ASKING")
		}
		if r.eval {
			replies[i] = pipe.Eval(ctx, r.script.text, []string{r.key}, r.args...)
		} else {
			replies[i] = pipe.EvalSha(ctx, r.script.sha, []string{r.key}, r.args...)
		}
	}
	var wait *goredis.Cmd
	want := l.store.opts.WaitReplicas
	if want > 0 {
		wait = pipe.Do(ctx, "WAIT", want, l.store.opts.WaitTimeout.Milliseconds())
	}
	var info *goredis.StringCmd
	if sample {
		info = pipe.Info(ctx, "replication")
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	if info != nil && info.Err() == nil {
		l.store.watch.advanced(parseInfo(info.Val()))
	}
	acknowledged := 0
	if wait != nil {
		acknowledged, _ = wait.Int()
	}
	for i, r := range batch {
		r.reply, r.err = replies[i].Slice()
		//nolint:errorlint // as it is, it comes from waiting for a connection; from a read or a write it comes wrapped
		if r.err == context.DeadlineExceeded {
			r.err = &unsentError{r.err}
		}
		r.short = acknowledged < want
		close(r.done)
	}
}

// parseInfo reads what INFO answers.
func parseInfo(text string) map[string]string {
	fields := make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	return fields
}

// lanes are the lanes of all servers.
type lanes struct {
	mu sync.Mutex
	of map[*goredis.Client]*lane
}

// to is the lane to a server.
func (s *Store) laneTo(node *goredis.Client) *lane {
	s.lanes.mu.Lock()
	defer s.lanes.mu.Unlock()
	l := s.lanes.of[node]
	if l == nil {
		l = &lane{node: node, store: s}
		s.lanes.of[node] = l
	}
	return l
}
