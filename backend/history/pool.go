package history

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// poolState is what a pool holds between two steps. The zero value is a pool that no
// claim has created.
type poolState struct {
	exists    bool
	remaining int64

	// Of the window's undone calls, one bit each: which are applied and not taken
	// back, and which were taken back.
	open, back uint64
}

// poolStep is a call, or for an Undone one either half of it: its effect, which
// may show until it returns, and the taking back.
type poolStep struct {
	*Operation
	undone uint64 // the bit of an Undone call; 0 for all others
	back   bool
}

// maxUndone is how many calls of a window may be Undone.
const maxUndone = 64

// poolSteps makes the steps of a window.
func poolSteps(window []Operation) ([]porcupine.Operation, error) {
	var steps []porcupine.Operation
	undone := uint64(1)
	for i := range window {
		o := &window[i]
		step := poolStep{Operation: o}
		if o.Outcome == Undone {
			if undone == 0 {
				return nil, fmt.Errorf("more than %d undone calls in one window", maxUndone)
			}
			step.undone = undone
			undone <<= 1
			steps = append(steps, porcupineOperation(o, poolStep{o, step.undone, true}))
		}
		steps = append(steps, porcupineOperation(o, step))
	}
	return steps, nil
}

func poolModel(first poolState) porcupine.Model {
	model := porcupine.NondeterministicModel{
		Init: func() []any { return []any{first} },
		Step: func(state, input, _ any) []any {
			return boxed(state.(poolState).step(input.(poolStep)))
		},
		DescribeOperation: func(input, _ any) string { return input.(poolStep).describe() },
		DescribeState:     func(state any) string { return state.(poolState).String() },
	}
	return model.ToModel()
}

// step gives every state that the pool may be in after o; none if o cannot come next.
func (s poolState) step(o poolStep) []poolState {
	switch {
	case o.Outcome == Answered:
		if next, ok := s.apply(o.Operation); ok && next.answers(o.Operation, s) {
			return []poolState{next}
		}
		return nil
	case o.back:
		return []poolState{s.takeBack(o)}
	case o.Outcome == Undone && s.back&o.undone != 0: // taken back before: it had not been applied
		return []poolState{s}
	}
	states := []poolState{s}
	if next, ok := s.apply(o.Operation); ok {
		if next.remaining != s.created(o.Operation).remaining {
			next.open |= o.undone
		}
		states = append(states, next)
	}
	return states
}

// apply makes the call, whatever its answer was. A refused claim changes nothing but
// creates the pool.
func (s poolState) apply(o *Operation) (poolState, bool) {
	if o.Kind == Claim {
		s = s.created(o)
		if o.Units <= s.remaining {
			s.remaining -= o.Units
		}
		return s, true
	}
	s.remaining += o.Units
	return s, s.exists
}

// answers tells whether o's answer is the one of a call that went from before to s.
func (s poolState) answers(o *Operation, before poolState) bool {
	claimed := s.remaining != before.created(o).remaining
	return o.OK == claimed && o.Remaining == s.remaining
}

func (s poolState) created(o *Operation) poolState {
	if !s.exists && o.Kind == Claim {
		s.exists, s.remaining = true, o.Capacity
	}
	return s
}

func (s poolState) takeBack(o poolStep) poolState {
	if s.open&o.undone != 0 {
		s.open &^= o.undone
		if o.Kind == Claim {
			s.remaining += o.Units
		} else {
			s.remaining -= o.Units
		}
	}
	s.back |= o.undone
	return s
}

func (s poolState) String() string {
	if !s.exists {
		return "no pool"
	}
	return fmt.Sprintf("%d remain", s.remaining)
}

func (s poolStep) describe() string {
	if s.back {
		return s.call() + " -> taken back"
	}
	return s.Operation.describe()
}
