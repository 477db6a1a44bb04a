package redis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"raisinproxy/backend"
)

// A turn is a call that waits in line for a lock. Its ticket there is the nonce of the call, under which it takes
// the lock, too, when it is its turn: however often it asks, it stands in line once and is granted the lock once.
// The line is in Redis, see lua/queue.lua; what this proxy knows of it is in lines.go.
type turn struct {
	store *Store
	line  *line
	call  call
	end   time.Time     // of its wait
	since time.Time     // no copy of the call that may have been granted the lock was sent before
	told  chan notice   // that it has to ask again
	left  chan struct{} // closed when it does not wait any more

	stood  bool  // Redis has said that it is in line
	behind bool  // somebody had the lock, or was offered it, when it was told so
	failed error // why it could not be told so when it asked last

	// lines.mu guards what follows.
	place  uint64 // those who came before have a lower one
	asking bool
	known  uint64 // the last poll of the line when it was known to be in it; 0: it is not known; math.MaxUint64: it has the lock
	epoch  uint64 // of what was known of Redis then
}

// notice has a turn ask again. done is closed when it has; nil: nobody waits for that.
type notice struct{ done chan struct{} }

func (n notice) taken() {
	if n.done != nil {
		close(n.done)
	}
}

// newTurn is a call that waits for the lock of this key in Redis until end.
func (s *Store) newTurn(id string, ask backend.Request, end time.Time) *turn {
	t := &turn{store: s, end: end, told: make(chan notice, 1), left: make(chan struct{})}
	t.call = call{script: acquireScript, key: id, nonce: s.nonce(), judge: s.watch.grants, args: func(e evidence) []any {
		return s.acquireArgs(e, ask, max(time.Until(end), time.Millisecond))
	}}
	return t
}

// wait returns when the call has the lock, or does not wait any more; nothing of it is in line then. A wait that was
// too short is answered HELD.
func (t *turn) wait(ctx context.Context) (reply, error) {
	s := t.store
	if err := s.begin(ctx); err != nil {
		return reply{}, err
	}
	defer s.work.Done()
	if s.clock.now() == 0 {
		return reply{}, errNoAnswer
	}
	s.lines.join(t)
	defer s.lines.leave(t)
	var over <-chan time.Time // nil: the lock may have been free
	var told notice
	for {
		r, err := t.ask(ctx)
		told.taken()
		switch {
		case err == nil && r.word == "QUEUED":
		case err == nil:
			return t.answered(ctx, r)
		case !t.goesOn(ctx, err):
			return t.stop(ctx, err)
		}
		if over == nil {
			over = time.After(time.Until(t.end))
			s.listening.Do(func() { s.work.Go(s.listen) })
			s.attend(t.line) //nolint:contextcheck // polls outlive the call that is the first to wait
		}
		select {
		case told = <-t.told:
		case <-over:
			return t.timeIsOver(ctx)
		case <-ctx.Done():
			return t.stop(ctx, ctx.Err())
		case <-s.stop:
			return t.stop(ctx, errClosed)
		}
	}
}

// ask asks for the lock once: it is granted, or the ticket stands in line if it does not yet. If there is no
// answer the next one tells what became of it, since it asks under the same nonce.
func (t *turn) ask(ctx context.Context) (reply, error) {
	s := t.store
	s.lines.asks(t)
	if !t.call.copied {
		t.since = time.Now()
	}
	t.call.forget = s.known.forget(t.call.key)
	sending, cancel := context.WithTimeout(ctx, s.opts.sendingTime())
	defer cancel()
	r, err := s.repeat(sending, &t.call, t.call.request)
	if err != nil || r.word != "GRANTED" {
		s.known.answer(t.call.key, t.call.forget...)
	}
	switch {
	case err == nil && r.word == "GRANTED":
		s.lines.granted(t, r)
	case err == nil && r.word == "QUEUED":
		t.stood, t.behind, t.failed = true, t.behind || r.at(1) == "HELD", nil
		s.lines.stands(t, time.Duration(r.int(0))*time.Millisecond)
	case err != nil:
		t.failed = s.unavailable(ctx, err)
		s.lines.failed(t)
	}
	return r, err
}

// goesOn tells whether a call waits on that could not be told that it is in line: it is asked for again with the next
// poll that is answered. One that was never in line fails as if it did not wait, except in a pause, which ends.
func (t *turn) goesOn(ctx context.Context, err error) bool {
	if _, final := errors.AsType[*finalError](err); final || ctx.Err() != nil {
		return false
	}
	if errors.Is(err, backend.ErrPaused) {
		return true
	}
	return t.stood && !errors.Is(err, backend.ErrOutOfResources) && !errors.Is(err, backend.ErrMoved)
}

// answered is for what ends the wait.
func (t *turn) answered(ctx context.Context, r reply) (reply, error) {
	s := t.store
	switch {
	case r.word == "GRANTED":
		if !t.call.copied {
			s.known.answer(t.call.key, t.call.nonce)
		}
		return r, nil
	case t.stood:
		_, _ = t.leave(ctx, false) // whoever is offered what nobody asks for refuses it
	}
	return r, nil
}

// stop is for a call that does not wait any more, for a cause. If it has got the lock meanwhile that is undone, unless
// it is Redis that is too slow.
func (t *turn) stop(ctx context.Context, cause error) (reply, error) {
	if final, ok := errors.AsType[*finalError](cause); ok {
		return reply{}, final.err
	}
	undo := ctx.Err() != nil || errors.Is(cause, errClosed)
	r, err := t.leave(ctx, undo)
	switch {
	case err != nil && t.call.copied:
		return reply{}, fmt.Errorf("%w: %w: %w", backend.ErrInDoubt, cause, err)
	case err == nil && r.changed() && r.word == "WAS" && undo:
		return reply{}, fmt.Errorf("%w: it was applied when its caller gave up: %w", backend.ErrInDoubt, cause)
	case err == nil && r.word == "WAS":
		return reply{word: r.at(0), rest: r.rest[1:]}, nil
	}
	return reply{}, t.store.unavailable(ctx, cause)
}

// timeIsOver answers a call whose wait was too short. False is that somebody has the lock, or had it or was offered it
// while the call stood in line, and never that nothing was granted.
func (t *turn) timeIsOver(ctx context.Context) (reply, error) {
	r, err := t.leave(ctx, false)
	switch {
	case err != nil && t.call.copied:
		return reply{}, fmt.Errorf("%w: %w", backend.ErrInDoubt, err)
	case err != nil:
		return reply{}, t.store.unavailable(ctx, err)
	case r.word == "WAS":
		return reply{word: r.at(0), rest: r.rest[1:]}, nil
	case r.word == "NOTHING" && r.at(0) == "1":
		return reply{word: "HELD"}, nil
	}
	if err := t.store.grantsNothing(ctx, t.call.key); err != nil {
		return reply{}, t.store.unavailable(ctx, err)
	}
	switch {
	case t.failed != nil:
		return reply{}, t.failed
	case !t.behind:
		return reply{}, errEarly // it was until just now
	}
	return reply{word: "HELD"}, nil
}

// grantsNothing is why nobody is granted a lock now that is free.
func (s *Store) grantsNothing(ctx context.Context, key string) error {
	node, err := s.servers.forKey(ctx, key)
	if err != nil {
		return err
	}
	e, err := s.watch.grants(node.Options().Addr)
	if err == nil && e.earliest > s.clock.now() {
		return errEarly
	}
	return err
}

// leave takes the ticket out of the line, so that no copy of the call does anything any more. It is settled as any call.
func (t *turn) leave(ctx context.Context, undo bool) (reply, error) {
	if !t.stood && !t.call.copied {
		return reply{word: "NOTHING"}, nil
	}
	s := t.store
	settling, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opts.settlingTime())
	defer cancel()
	r, err := s.askToSettle(settling, &t.call, undo)
	if err == nil && r.word == "NOTHING" && !t.call.copied {
		s.known.answer(t.call.key, t.call.nonce) // nothing is on its way that its tombstone has to stop
	}
	return r, err
}
