package history

import "fmt"

// checkConservation wants units to be neither made nor lost: what the last read tells
// is what the first read told, less what was claimed, plus what was given back. Calls
// of unknown outcome may count or not.
func checkConservation(group []Operation, _ Rules) *Violation {
	var first, last *Operation
	var least, most int64
	for i := range group {
		o := &group[i]
		switch {
		case o.Cut && first == nil:
			first = o
		case o.Cut:
			last = o
		case first == nil || o.Outcome == Undone:
		case o.Outcome == Unknown && o.Kind == Claim:
			least -= o.Units
		case o.Outcome == Unknown:
			most += o.Units
		case o.Kind == Claim && o.OK:
			least, most = least-o.Units, most-o.Units
		case o.Kind == Restock && o.OK:
			least, most = least+o.Units, most+o.Units
		}
		if o.Cut && last == o && (o.Remaining < first.Remaining+least || o.Remaining > first.Remaining+most) {
			return violation(fmt.Sprintf("units made or lost: %d to %d must remain", first.Remaining+least, first.Remaining+most), first, last)
		}
	}
	return nil
}

// checkDistinct wants every unit to be sold once. In a pool to which nothing was given
// back, by a client or by the store, no two claims can leave the same count.
func checkDistinct(group []Operation, _ Rules) *Violation {
	seen := map[int64]*Operation{}
	var twice *Violation
	for i := range group {
		o := &group[i]
		switch {
		case o.Kind == Restock, o.Outcome != Answered && !o.Lost:
			return nil // it may have been applied before calls that came earlier
		case !o.OK:
			continue
		case seen[o.Remaining] != nil && twice == nil:
			twice = violation(fmt.Sprintf("two claims were told that %d remain", o.Remaining), seen[o.Remaining], o)
		}
		seen[o.Remaining] = o
	}
	return twice
}
