package history

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// checkTokens wants every token of a key once, and each greater than those that were
// known when its grant was asked for: over all windows, restarts and losses.
func checkTokens(group []Operation, _ Rules) *Violation {
	grants := byToken(group)
	latest := 0 // of the smaller tokens, the one that was asked for last
	for i := 1; i < len(grants); i++ {
		switch g := grants[i]; {
		case grants[i-1].Token == g.Token:
			return violation("one token for two grants", grants[i-1], g)
		case g.Return < grants[latest].Call:
			return violation("a smaller token came after a greater one", g, grants[latest])
		case g.Call > grants[latest].Call:
			latest = i
		}
	}
	return nil
}

// checkStamps compares the leases by the store's own clock alone, so without any
// tolerance for the way of the messages: a lease that nobody may have released begins
// when the one before has ended, or later.
func checkStamps(group []Operation, r Rules) *Violation {
	grants := byToken(group)
	for i := 1; i < len(grants); i++ {
		before, g := grants[i-1], grants[i]
		began := time.Duration(g.ExpiresMS)*time.Millisecond - g.TTL
		ended := time.Duration(before.ExpiresMS) * time.Millisecond
		if early := ended - began; early > r.StampSlack && !mayHaveEnded(group, before, g) {
			return violation(fmt.Sprintf("by the store's clock a lease begins %v before the end of another", early), before, g)
		}
	}
	return nil
}

// mayHaveEnded tells whether something else than time may have ended a lease before
// another one was granted.
func mayHaveEnded(group []Operation, lease, next *Operation) bool {
	for i := range group {
		o := &group[i]
		released := o.Kind == Release && o.Token == lease.Token && (o.Outcome == Unknown || o.OK)
		lost := o.Kind == Loss && o.Return >= lease.Call
		if (released || lost) && o.Call <= next.Return {
			return true
		}
	}
	return false
}

// checkWaits wants no call refused that had not waited for as long as it was to.
func checkWaits(group []Operation, r Rules) *Violation {
	for i := range group {
		o := &group[i]
		refused := o.Kind == Acquire && o.Outcome == Answered && !o.OK
		if waited := o.Return - o.Call; refused && waited < o.Wait-r.Epsilon {
			return violation(fmt.Sprintf("a call that may wait for %v was refused after %v", o.Wait, waited), o)
		}
	}
	return nil
}

func grantsOf(group []Operation) []*Operation {
	var grants []*Operation
	for i := range group {
		if o := &group[i]; o.Kind == Acquire && o.Outcome == Answered && o.OK {
			grants = append(grants, o)
		}
	}
	return grants
}

func byToken(group []Operation) []*Operation {
	grants := grantsOf(group)
	slices.SortFunc(grants, func(a, b *Operation) int { return cmp.Compare(a.Token, b.Token) })
	return grants
}

func violation(rule string, operations ...*Operation) *Violation {
	v := &Violation{Rule: rule}
	for _, o := range operations {
		v.Operations = append(v.Operations, *o)
	}
	return v
}
