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

	// Of the claims that may be taken back, one bit each: which were made, with or without
	// an effect, and which of them had one. Both are cleared by the taking back.
	made, open uint64
}

// poolStep is a call, or the taking back of a claim: the store may do so with a claim
// that nobody was told of, and must where it said that nothing changed.
type poolStep struct {
	*Operation
	bit  uint64 // of a claim that may be taken back; 0 for all others
	back bool
}

// maxTakenBack is how many claims of a window may be taken back.
const maxTakenBack = 64

// poolSteps makes the steps of a window.
func poolSteps(window []Operation) ([]porcupine.Operation, error) {
	var steps []porcupine.Operation
	bit := uint64(1)
	for i := range window {
		o := &window[i]
		step := poolStep{Operation: o}
		if o.Outcome != Answered && o.Kind == Claim {
			if bit == 0 {
				return nil, fmt.Errorf("more than %d claims without an answer in one window", maxTakenBack)
			}
			step.bit = bit
			bit <<= 1
			steps = append(steps, porcupineOperation(o, poolStep{o, step.bit, true}))
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
	case o.back:
		return s.takeBack(o)
	case o.Outcome == Answered:
		if next, ok := s.apply(o.Operation); ok && next.answers(o.Operation, s) {
			return []poolState{next}
		}
		return nil
	}
	without := s
	without.made |= o.bit
	states := []poolState{without}
	if o.Kind == Restock && o.Outcome == Undone { // somebody may have bought what came back
		return states
	}
	if next, ok := without.apply(o.Operation); ok {
		if next.remaining != s.created(o.Operation).remaining {
			next.open |= o.bit
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

// takeBack undoes a claim that was made and had an effect; it must if the caller was told
// that nothing changed.
func (s poolState) takeBack(o poolStep) []poolState {
	if s.made&o.bit == 0 {
		return nil
	}
	kept := s
	kept.made &^= o.bit
	kept.open &^= o.bit
	if s.open&o.bit == 0 {
		return []poolState{kept}
	}
	undone := kept
	undone.remaining += o.Units
	if o.Outcome == Undone {
		return []poolState{undone}
	}
	return []poolState{kept, undone}
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
