package history

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// Rules are what a history is judged with.
type Rules struct {
	// Epsilon is how far the store's clock may stray from the recorder's during one
	// lease, rounding included.
	Epsilon time.Duration
	// StampSlack is how far two readings of the store's own clock within one grant may
	// be apart: 0 where a grant reads it once.
	StampSlack time.Duration
	// Lossless says that the store has lost nothing, so nobody may be told that it has.
	Lossless bool
	// Pauses are those after a loss.
	Pauses []Pause
	// Patience is how long the search may take for one window; 0 stands for 30 s. A
	// window that is not decided by then is a violation: nothing was shown.
	Patience time.Duration
}

// Pause is a time in which a key may not be granted, since a lease that was lost may run.
type Pause struct {
	Key         string
	From, Until time.Duration
}

// Violation is a part of a history that no correct store can have given.
type Violation struct {
	Partition string
	Rule      string
	// Operations are what the rule looked at, in the order of the calls.
	Operations []Operation

	visual func(path string) error
}

// String is the rule and the operations, one a line.
func (v *Violation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", v.Partition, v.Rule)
	for i := range v.Operations {
		fmt.Fprintln(&b, v.Operations[i].String())
	}
	return b.String()
}

// Draw writes an HTML page that shows how far an order was found; it does nothing for
// a rule that looks for none.
func (v *Violation) Draw(path string) error {
	if v.visual == nil {
		return nil
	}
	return v.visual(path)
}

// Check judges a whole history and gives what is wrong with it, at most one violation
// for each rule and partition.
func Check(h []Operation, r Rules) []*Violation {
	var found []*Violation
	for p, group := range partitions(h) {
		rules := []func([]Operation, Rules) *Violation{checkOrder, checkConservation, checkDistinct, checkLossless}
		if p.lock {
			rules = []func([]Operation, Rules) *Violation{checkOrder, checkTokens, checkStamps, checkWaits, checkLossless, checkPauses}
		}
		for _, rule := range rules {
			if v := rule(group, r); v != nil {
				v.Partition = p.String()
				found = append(found, v)
			}
		}
	}
	slices.SortFunc(found, func(a, b *Violation) int { return strings.Compare(a.Partition+a.Rule, b.Partition+b.Rule) })
	return found
}

// CheckTokens judges the tokens of a history alone: they rise even where two masters grant.
func CheckTokens(h []Operation) []*Violation {
	var found []*Violation
	for p, group := range partitions(h) {
		if !p.lock {
			continue
		}
		if v := checkTokens(group, Rules{}); v != nil {
			v.Partition = p.String()
			found = append(found, v)
		}
	}
	return found
}

// checkOrder looks for an order of each window that the model allows.
func checkOrder(group []Operation, r Rules) *Violation {
	// What was refused since state was lost was refused before anything else.
	group = slices.DeleteFunc(slices.Clone(group), func(o Operation) bool { return o.Lost })
	all, err := windows(group)
	if err != nil {
		return &Violation{Rule: err.Error(), Operations: group}
	}
	if r.Patience == 0 {
		r.Patience = 30 * time.Second
	}
	var cut *Operation
	for _, window := range all {
		model, steps, err := modelOf(window, cut, r)
		if err != nil {
			return &Violation{Rule: err.Error(), Operations: window}
		}
		if v := search(&model, steps, r.Patience); v != nil {
			if cut != nil {
				window = append([]Operation{*cut}, window...)
			}
			v.Operations = window
			return v
		}
		cut = &window[len(window)-1]
	}
	return nil
}

func search(model *porcupine.Model, steps []porcupine.Operation, patience time.Duration) *Violation {
	switch porcupine.CheckOperationsTimeout(*model, steps, patience) {
	case porcupine.Ok:
		return nil
	case porcupine.Unknown:
		return &Violation{Rule: fmt.Sprintf("no order found and none excluded within %v", patience)}
	}
	return &Violation{
		Rule: "no order of these calls gives these answers",
		visual: func(path string) error {
			_, info := porcupine.CheckOperationsVerbose(*model, steps, patience)
			return porcupine.VisualizePath(*model, info, path)
		},
	}
}
