package inprocess

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"time"

	"raisinproxy/backend"
)

// A queue is the line for one lock: calls that wait, in the order in which they came. It
// is there while somebody waits. Its shard's mutex guards it and all of its waiters.
type queue struct {
	key         string // as made by appendKey
	first, last *waiter
	ends        waitEnds    // the same waiters, by the end of their wait
	stopAlarm   func() bool // nil: none is set
	alarmAt     time.Duration
}

// A waiter is a call in a line. When it has left the line, done is closed, and the fields
// under it are what became of it.
type waiter struct {
	queue      *queue // nil: it has left
	prev, next *waiter
	at         int           // where it is in ends
	end        time.Duration // of its wait, on the boot clock
	ttl        time.Duration
	user       *user
	done       chan struct{}

	granted bool
	lease   granted
	rests   basis
	err     error
}

// granted is what a holder is told of a lease.
type granted struct {
	token    int64
	deadline time.Duration // on the boot clock
	wall     int64         // when it was granted, by the wall clock, in microseconds since 1970
}

// tell is what the caller of Acquire is told.
func (g granted) tell(ttl time.Duration) backend.Grant {
	return backend.Grant{Acquired: true, Token: g.token, ExpiresAt: time.UnixMicro(g.wall).UTC().Add(ttl)}
}

// join puts a call at the end of the line for a lock.
func (s *Store) join(sh *shard, id []byte, end, ttl time.Duration, u *user) (*waiter, error) {
	q := sh.queues[string(id)]
	if q == nil {
		q = &queue{key: string(id)}
		if sh.queues == nil {
			sh.queues = make(map[string]*queue)
		}
		sh.queues[q.key] = q
	}
	if s.maxWaiters > 0 && len(q.ends) >= s.maxWaiters {
		return nil, backend.ErrTooManyWaiters
	}
	w := &waiter{queue: q, prev: q.last, end: end, ttl: ttl, user: u, done: make(chan struct{})}
	if q.last == nil {
		q.first = w
	} else {
		q.last.next = w
	}
	q.last = w
	heap.Push(&q.ends, w)
	s.setAlarm(sh, q, s.clock.Boot())
	return w, nil
}

// leave takes a call out of its line. What became of it is known to it by then.
func (sh *shard) leave(w *waiter) {
	q := w.queue
	if w.prev == nil {
		q.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		q.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	heap.Remove(&q.ends, w.at)
	w.queue, w.prev, w.next = nil, nil, nil
	close(w.done)
	if q.first == nil {
		q.disarm()
		delete(sh.queues, q.key)
	}
}

// serve lets those leave the line for a lock whose wait is over, and gives the lock to the
// first of the others if it is free.
func (s *Store) serve(sh *shard, key string) {
	q := sh.queues[key]
	if q == nil {
		return
	}
	now := s.clock.Boot()
	for len(q.ends) > 0 && q.ends[0].end <= now {
		s.waitedInVain(sh, q.ends[0], now)
	}
	for q.first != nil && !sh.held(key, now) && !s.pause.runs(now) {
		if !s.handOver(sh, q.first, now) {
			break
		}
	}
	if q.first != nil {
		s.setAlarm(sh, q, now)
	}
}

// waitedInVain answers a call whose wait is over.
func (s *Store) waitedInVain(sh *shard, w *waiter, now time.Duration) {
	w.rests = sh.seen()
	if !sh.held(w.queue.key, now) && s.pause.runs(now) {
		w.err = s.pause.refusal(now)
	}
	w.user.drop()
	sh.leave(w)
}

// handOver gives a free lock to the first in its line. It reports false if that stays
// where it is, because the lease cannot be written now.
func (s *Store) handOver(sh *shard, w *waiter, now time.Duration) bool {
	lease, err := s.grant(sh, []byte(w.queue.key), sh.leases[w.queue.key], w.ttl, w.user, now)
	if errors.Is(err, backend.ErrOutOfResources) {
		return false
	}
	if err == nil {
		w.granted, w.lease, w.rests = true, lease, sh.changed()
	} else {
		w.err, w.rests = err, sh.seen()
		w.user.drop()
	}
	sh.leave(w)
	return true
}

// retryAfter is when a lease is written again that the journal had no room for.
const retryAfter = 100 * time.Millisecond

// setAlarm sets the alarm of a line to when there is something to do next.
func (s *Store) setAlarm(sh *shard, q *queue, now time.Duration) {
	at := now + retryAfter // the lock is free, and its first waiter could not have it
	switch l := sh.leases[q.key]; {
	case l != nil && l.live(now):
		at = l.deadline
	case s.pause.runs(now):
		at = s.pause.deadline
	}
	at = min(at, q.ends[0].end)
	if q.stopAlarm != nil && q.alarmAt == at && at > now {
		return
	}
	q.disarm()
	key := q.key
	q.alarmAt = at
	q.stopAlarm = s.clock.AfterFunc(at, func() {
		sh.mu.Lock()
		defer sh.mu.Unlock()
		if current := sh.queues[key]; current == q {
			q.stopAlarm = nil
			s.serve(sh, key)
		}
	})
}

func (q *queue) disarm() {
	if q.stopAlarm != nil {
		q.stopAlarm()
		q.stopAlarm = nil
	}
}

// await returns when a call has left its line, and takes it out when ctx ends or the
// store does.
func (s *Store) await(ctx context.Context, sh *shard, w *waiter) error {
	var poisoned <-chan struct{} // nil: never
	if s.journal != nil {
		poisoned = s.journal.poisoned
	}
	select {
	case <-w.done:
		return nil
	case <-ctx.Done():
		s.giveUp(sh, w)
		return fmt.Errorf("%w: %w", backend.ErrUnavailable, ctx.Err())
	case <-s.stop:
		s.giveUp(sh, w)
		return errClosed
	case <-poisoned:
		s.giveUp(sh, w)
		return s.journal.unwritable()
	}
}

// giveUp takes a call out of its line whose caller does not wait any more. If it has got
// the lock just now, the next one gets it.
func (s *Store) giveUp(sh *shard, w *waiter) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if q := w.queue; q != nil {
		w.user.drop()
		sh.leave(w)
		s.serve(sh, q.key)
	}
}

// waitEnds is a heap of waiters, the one whose wait ends first on top.
type waitEnds []*waiter

func (e waitEnds) Len() int           { return len(e) }
func (e waitEnds) Less(i, j int) bool { return e[i].end < e[j].end }
func (e waitEnds) Swap(i, j int) {
	e[i], e[j] = e[j], e[i]
	e[i].at, e[j].at = i, j
}

// Push is heap.Interface's.
func (e *waitEnds) Push(x any) {
	w := x.(*waiter)
	w.at = len(*e)
	*e = append(*e, w)
}

// Pop is heap.Interface's.
func (e *waitEnds) Pop() any {
	last := len(*e) - 1
	w := (*e)[last]
	(*e)[last] = nil
	*e = (*e)[:last]
	return w
}
