package torture

import (
	"context"
	"slices"
	"sync"
	"time"

	"raisinproxy/backend/history"
)

// recorder keeps the history of a run. It is safe for concurrent use.
type recorder struct {
	start time.Time

	mu         sync.Mutex
	operations []history.Operation
	unsettled  []int          // operations of unknown outcome that may still take effect
	waiting    int            // clients that wait for an answer
	told       int            // answers that told of a change
	toldTo     map[int]int    // the same by client
	codes      map[string]int // errors, by SQLSTATE
	pauses     []history.Pause
	fork       *fork
	losses     []span
	changed    chan struct{}
}

func newRecorder() *recorder {
	return &recorder{start: time.Now(), toldTo: map[int]int{}, codes: map[string]int{}, changed: make(chan struct{})}
}

// now is the time of the history.
func (r *recorder) now() time.Duration { return time.Since(r.start) }

// at is a time of the history.
func (r *recorder) at(t time.Time) time.Duration { return t.Sub(r.start) }

// begin notes that a client waits, and says since when.
func (r *recorder) begin() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting++
	r.notify()
	return r.now()
}

// end adds the operation for which a client waited.
func (r *recorder) end(o *history.Operation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting--
	if o.OK {
		r.told++
		r.toldTo[o.Client]++
	}
	if o.Code != "" {
		r.codes[o.Code]++
	}
	r.notify()
	if o.Outcome == history.Unknown {
		r.unsettled = append(r.unsettled, len(r.operations))
	}
	r.operations = append(r.operations, *o)
}

func (r *recorder) notify() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// awaitWaiting returns when n clients wait for an answer, or ctx has ended.
func (r *recorder) awaitWaiting(ctx context.Context, n int) {
	r.await(ctx, func() bool { return r.waiting >= n })
}

// awaitTold returns when a client has just been told of a change, or ctx has ended.
func (r *recorder) awaitTold(ctx context.Context) {
	before := r.acknowledged()
	r.await(ctx, func() bool { return r.told > before })
}

// awaitCode returns when somebody has been told of this error once more, or ctx has ended.
func (r *recorder) awaitCode(ctx context.Context, code string) {
	r.mu.Lock()
	before := r.codes[code]
	r.mu.Unlock()
	r.await(ctx, func() bool { return r.codes[code] > before })
}

// awaitToldTo returns when so many more changes have been told to clients of one kind, or ctx has ended.
func (r *recorder) awaitToldTo(ctx context.Context, is func(client int) bool, n int) {
	sum := func() (told int) {
		for client, n := range r.toldTo {
			if is(client) {
				told += n
			}
		}
		return told
	}
	r.mu.Lock()
	before := sum()
	r.mu.Unlock()
	r.await(ctx, func() bool { return sum() >= before+n })
}

// await returns when condition, which is asked with r.mu held, is true, or ctx has ended.
func (r *recorder) await(ctx context.Context, condition func() bool) {
	for {
		r.mu.Lock()
		enough, changed := condition(), r.changed
		r.mu.Unlock()
		if enough {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// acknowledged is how many changes clients have been told of.
func (r *recorder) acknowledged() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.told
}

// lost notes that since begin the store may have lost leases of these keys.
func (r *recorder) lost(begin time.Duration, keys []string, ttl time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, key := range keys {
		r.operations = append(r.operations, history.Operation{
			Client: -1, Kind: history.Loss, Scope: scope, Name: key, TTL: ttl, Call: begin, Return: r.now(),
		})
	}
}

// paused notes that from since on none of these keys may be granted for so long.
func (r *recorder) paused(since time.Duration, keys []string, d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, key := range keys {
		r.pauses = append(r.pauses, history.Pause{Key: key, From: since, Until: since + d})
	}
}

// span is a time.
type span struct{ from, to time.Duration }

// losing notes when state was being lost, by f.
func (r *recorder) losing(f func()) {
	from := r.now()
	f()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.losses = append(r.losses, span{from, r.now()})
}

// asSeen is the history as it is judged: what was under way when state was lost, and is said to have changed nothing, is
// gone with that state; but until then somebody may have seen it.
func (r *recorder) asSeen(h []history.Operation) []history.Operation {
	h = slices.Clone(h)
	for i := range h {
		for _, loss := range r.losses {
			if o := &h[i]; o.Outcome == history.Undone && o.Call <= loss.to && o.Return >= loss.from {
				o.Outcome, o.Lost = history.Unknown, false
			}
		}
	}
	return h
}

// forked notes that there were two masters.
func (r *recorder) forked(f *fork) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fork = f
}

// settled says that from now on nothing that is unknown can take effect.
func (r *recorder) settled() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, i := range r.unsettled {
		r.operations[i].Return = r.now()
	}
	r.unsettled = nil
}

// cut marks the operation of a client that was recorded last.
func (r *recorder) cut(client int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, o := range slices.Backward(r.operations) {
		if o.Client == client {
			r.operations[i].Cut = true
			return
		}
	}
}

// history is a copy of what was recorded.
func (r *recorder) history() []history.Operation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.operations)
}
