package history

import (
	"fmt"
	"time"

	"github.com/anishathalye/porcupine"
)

// lockState is what can be known of a key between two steps. The zero value is a key
// that was never held.
type lockState struct {
	holder   int64 // the token; nobody or someone
	greatest int64 // no token up to it may be granted again

	// The lease ends at earliest or later, and at latest or earlier.
	earliest, latest time.Duration
	// lo is the earliest time of the next step.
	lo time.Duration
	// first is the acquire that was granted this lease at its first try, and tries again.
	first *Operation
}

const (
	nobody   = 0
	someone  = -1 // holds by a grant that nobody was told of
	returned = -2 // holds by an earlier grant, which one its next call shows
)

// lockStep is a call, or the first grant of an acquire that took longer than the lease which
// that granted: it goes on as if it had not been granted, and is tried again.
type lockStep struct {
	*Operation
	first bool
	// lined says that others may have stood in line: then a lock is refused that nobody holds.
	lined bool
}

// lockSteps makes the steps of a window.
func lockSteps(window []Operation) []porcupine.Operation {
	var steps []porcupine.Operation
	for i := range window {
		o := &window[i]
		step := lockStep{Operation: o, lined: lined(window, o)}
		steps = append(steps, porcupineOperation(o, step))
		if o.Kind == Acquire && o.Return-o.Call >= o.TTL {
			step.first = true
			steps = append(steps, porcupineOperation(o, step))
		}
	}
	return steps
}

// lined tells whether another call may have stood in line for the lock while o was under way.
func lined(window []Operation, o *Operation) bool {
	for i := range window {
		other := &window[i]
		left := other.Return
		if other.Outcome != Answered { // nobody waited for its answer: it may have stood there to the end
			left = max(left, other.Call+other.Wait)
		}
		if other != o && other.Kind == Acquire && other.Wait > 0 && other.Call <= o.Return && o.Call <= left {
			return true
		}
	}
	return false
}

// lockModel steps a key through operations of kind Acquire, Renew, Release and Loss.
// An answer has at most one next state, a call of unknown outcome two: applied or not.
type lockModel struct{ epsilon time.Duration }

func (m lockModel) porcupine(first lockState) porcupine.Model {
	model := porcupine.NondeterministicModel{
		Init: func() []any { return []any{first} },
		Step: func(state, input, _ any) []any {
			return boxed(m.step(state.(lockState), input.(lockStep)))
		},
		DescribeOperation: func(input, _ any) string { return input.(lockStep).describe() },
		DescribeState:     func(state any) string { return state.(lockState).String() },
	}
	return model.ToModel()
}

// step gives every state that the key may be in after o; none if o cannot come next.
func (m lockModel) step(s lockState, step lockStep) []lockState {
	o := step.Operation
	if o.Kind == Loss {
		return m.loss(s, o)
	}
	s.lo = max(s.lo, o.Call)
	if o.Return < s.lo {
		return nil
	}
	if !m.mayBeLive(s) {
		s = s.free() // so that states which nothing can tell apart are one
	}
	switch {
	case step.first:
		return m.firstTry(s, o)
	case o.Outcome != Answered:
		return m.unanswered(s, o)
	}
	next, ok := m.answered(s, step)
	if !ok {
		return nil
	}
	return []lockState{next}
}

// answered applies an answer that the caller got.
func (m lockModel) answered(s lockState, step lockStep) (lockState, bool) {
	o := step.Operation
	switch {
	case o.Kind == Acquire && o.OK:
		return m.grant(s, o, o.Token)
	case o.Kind == Acquire:
		return s, step.lined || m.mayBeLive(s) && s.first != o // nobody is refused because of itself
	case !s.mayBeHeldBy(o.Token):
		return s, !o.OK
	case !o.OK && s.holder == returned: // it was another's that came back, or none
		return s, true
	case !o.OK: // the holder is told that the lease is over: it is over for good
		return m.over(s, o)
	case !m.mayBeLive(s):
		return s, false
	case o.Kind == Release:
		return s.free(), true
	}
	s.holder = o.Token
	return s.renewed(o), true
}

// unanswered branches: the call was not applied, or it was.
func (m lockModel) unanswered(s lockState, o *Operation) []lockState {
	states := []lockState{s}
	switch {
	case o.Kind == Acquire:
		if granted, ok := m.untold(s, o); ok {
			if o.Outcome == Undone {
				granted.latest = o.Return
			}
			states = append(states, granted)
		}
	case !s.mayBeHeldBy(o.Token) || !m.mayBeLive(s):
	case o.Kind == Renew:
		renewed := s.renewed(o)
		renewed.holder = o.Token
		states = append(states, renewed)
	case o.Outcome == Unknown: // a release is not undone: somebody else may have come
		states = append(states, s.free())
	}
	return states
}

// firstTry branches: o was granted a lease that it gave up before it was answered, or not.
func (m lockModel) firstTry(s lockState, o *Operation) []lockState {
	states := []lockState{s}
	if granted, ok := m.untold(s, o); ok {
		granted.first, granted.latest = o, o.Return
		states = append(states, granted)
	}
	return states
}

// untold is a grant of which nobody knows the token. The store may take it back whenever
// it likes.
func (m lockModel) untold(s lockState, o *Operation) (lockState, bool) {
	granted, ok := m.grant(s, o, s.greatest+1)
	granted.holder, granted.greatest, granted.earliest = someone, s.greatest, 0
	return granted, ok
}

// grant gives the key to token if it may be free at some time until o returns.
func (m lockModel) grant(s lockState, o *Operation, token int64) (lockState, bool) {
	s, ok := m.over(s, o)
	if !ok || token <= s.greatest {
		return s, false
	}
	s.holder, s.greatest = token, token
	s.earliest, s.latest = s.lo+o.TTL, o.Return+o.TTL
	return s, true
}

// over ends the lease by time, if it can have ended before o returns.
func (m lockModel) over(s lockState, o *Operation) (lockState, bool) {
	if s.holder == nobody {
		return s, true
	}
	if o.Return < s.earliest-m.epsilon {
		return s, false
	}
	s.lo = max(s.lo, s.earliest-m.epsilon)
	return s.free(), true
}

func (m lockModel) mayBeLive(s lockState) bool {
	return s.holder != nobody && s.lo < s.latest+m.epsilon
}

// mayBeHeldBy tells whether a call with that token may be the holder's.
func (s lockState) mayBeHeldBy(token int64) bool {
	return s.holder == token || s.holder == returned && token <= s.greatest
}

// loss may leave things as they are, free the key, or bring back a lease that was over:
// a release that was lost leaves a holder, who may come back as long as nobody was
// granted the key since. The greatest token stays: what is granted later must be greater
// all the same.
func (m lockModel) loss(s lockState, o *Operation) []lockState {
	lost := s.free()
	lost.lo = max(s.lo, o.Call)
	if o.Return < lost.lo {
		return nil
	}
	back := lost
	back.holder, back.latest = returned, o.Return+o.TTL
	return []lockState{s, lost, back}
}

func (s lockState) free() lockState {
	s.holder, s.earliest, s.latest, s.first = nobody, 0, 0, nil
	return s
}

// renewed moves the end, never to an earlier time. Of a renewal that nobody was told of
// the new end may have been taken back.
func (s lockState) renewed(o *Operation) lockState {
	switch o.Outcome {
	case Answered:
		s.earliest = max(s.earliest, s.lo+o.TTL)
		s.latest = max(s.latest, o.Return+o.TTL)
	case Unknown:
		s.latest = max(s.latest, o.Return+o.TTL)
	case Undone:
		s.latest = max(s.latest, o.Return)
	}
	return s
}

func (s lockStep) describe() string {
	if s.first {
		return s.call() + " -> granted too late"
	}
	return s.Operation.describe()
}

func (s lockState) String() string {
	who := fmt.Sprint(s.holder)
	switch s.holder {
	case nobody:
		return fmt.Sprintf("free at %.3f, greatest %d", ms(s.lo), s.greatest)
	case someone:
		who = "unknown"
	case returned:
		who = "an earlier token"
	}
	return fmt.Sprintf("held by %s at %.3f until %.3f to %.3f, greatest %d", who, ms(s.lo), ms(s.earliest), ms(s.latest), s.greatest)
}

func boxed[S any](states []S) []any {
	all := make([]any, len(states))
	for i := range states {
		all[i] = states[i]
	}
	return all
}
