package history

import "fmt"

// checkLossless wants nobody to be told of a loss where there is none.
func checkLossless(group []Operation, r Rules) *Violation {
	for i := range group {
		if r.Lossless && group[i].Lost {
			return violation("a loss was told where there is none", &group[i])
		}
	}
	return nil
}

// checkPauses wants nothing to be granted while a lease that was lost may run.
func checkPauses(group []Operation, r Rules) *Violation {
	for _, g := range grantsOf(group) {
		for _, p := range r.Pauses {
			if p.Key == g.Name && g.Call >= p.From && g.Return < p.Until {
				return violation(fmt.Sprintf("granted after a loss at %.3f, in the pause until %.3f", ms(p.From), ms(p.Until)), g)
			}
		}
	}
	return nil
}
