package redis

import (
	"context"
	"fmt"
	"time"

	"raisinproxy/backend"
)

// evidence is what one copy of a call rests on: what is known of one master when the copy is
// about to be sent to it. A copy that is sent later has evidence of its own.
type evidence struct {
	epoch    uint64 // of the watch's judgement
	judged   string // what a script compares with the server that it runs on, see prelude.lua
	create   bool   // a pool that is missing may be created
	floor    int64  // of tokens
	earliest int64  // server time before which nothing is granted
}

// stoppedError is why no copy of a call may be sent now, nor soon.
type stoppedError struct{ err error }

func (e *stoppedError) Error() string { return e.err.Error() }
func (e *stoppedError) Unwrap() error { return e.err }

// errUnjudged is for a master that the heartbeat has to look at first.
var errUnjudged = &unsentError{fmt.Errorf("%w: no answer from Redis yet", backend.ErrUnavailable)}

// grants is the evidence for an acquire on the master at addr, or why nothing may be granted.
func (w *watch) grants(addr string) (evidence, error) {
	return w.evidence(addr, func() error {
		if !w.opts.ContinueOnLoss && time.Now().Before(w.paused) {
			return fmt.Errorf("%w: acknowledged state was lost", backend.ErrPaused)
		}
		return nil
	})
}

// counts is the evidence for a call on a pool at the master at addr, or why inventory has stopped.
func (w *watch) counts(addr string) (evidence, error) {
	return w.evidence(addr, func() error {
		if w.state.Lost != "" {
			return fmt.Errorf("%w: %s", backend.ErrStateLost, w.state.Lost)
		}
		return w.keepsPools()
	})
}

// sets is the evidence for an operator who says what is in a pool: a loss of state does not keep him from that.
func (w *watch) sets(addr string) (evidence, error) { return w.evidence(addr, w.keepsPools) }

// sees is the evidence for who looks for locks at the master at addr.
func (w *watch) sees(addr string) (evidence, error) {
	return w.evidence(addr, func() error { return nil })
}

// keepsPools says why pools may get lost at any time. mu is held.
func (w *watch) keepsPools() error {
	if len(w.policies) > 0 {
		return fmt.Errorf("%w: maxmemory-policy is %s, which may evict pools; inventory needs noeviction", backend.ErrUnavailable, w.policies[0])
	}
	return nil
}

// evidence is what is known of the master at addr, unless refused, under mu, says why nothing may be
// done. What is refused because of a loss is so after the loss is in the state file: a proxy that is
// started again must not grant what it has refused before.
func (w *watch) evidence(addr string, refused func() error) (evidence, error) {
	w.mu.Lock()
	err := refused()
	if w.sealed != "" {
		err = fmt.Errorf("%w: %s", backend.ErrMoved, w.sealed)
	}
	if err == nil {
		defer w.mu.Unlock()
		return w.about(addr)
	}
	w.mu.Unlock()
	w.saveLoss()
	return evidence{}, &stoppedError{err}
}

// about is what is known of the master at addr. mu is held.
func (w *watch) about(addr string) (evidence, error) {
	judged, ok := w.judged[addr]
	if !ok {
		w.lookNow()
		return evidence{}, errUnjudged
	}
	e := evidence{epoch: w.epoch.Load(), judged: judged, create: w.create, floor: max(w.clock.floor(), w.state.Earliest)}
	if time.Now().Before(w.state.Early) {
		e.earliest = w.state.Earliest
	}
	return e, nil
}

// offersFrom is the server time before which no free lock is offered to those in line: they would be refused it.
func (w *watch) offersFrom() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch now := time.Now(); {
	case !w.opts.ContinueOnLoss && now.Before(w.paused):
		return backend.MaxToken - 1
	case now.Before(w.state.Early):
		return w.state.Earliest
	}
	return 0
}

// longest is the longest lease that any proxy may ever have granted. One that is longer was written by somebody else.
func (w *watch) longest() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.maxTTL
}

// judgedAnew tells that what a copy rests on is out of date.
func (w *watch) judgedAnew(epoch uint64) bool { return epoch != 0 && epoch != w.epoch.Load() }

// errJudgedAnew is for a copy that has not been sent.
var errJudgedAnew = &unsentError{fmt.Errorf("%w: Redis has been judged anew", backend.ErrUnavailable)}

type epochKey struct{}

// withEpoch notes in the context of an exchange on which judgement its requests rest. A
// connection that is made for it is refused if there is another one by then.
func withEpoch(ctx context.Context, epoch uint64) context.Context {
	return context.WithValue(ctx, epochKey{}, epoch)
}

func epochOf(ctx context.Context) uint64 {
	epoch, _ := ctx.Value(epochKey{}).(uint64)
	return epoch
}
