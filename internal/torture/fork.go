package torture

import (
	"slices"
	"time"

	"raisinproxy/backend/history"
)

// fork is a time in which the clients of one proxy had a master of their own.
type fork struct {
	begin, end time.Duration
	alone      func(client int) bool
}

// check judges the histories of both masters, each with what was before and what can be told of it, and over
// both the tokens. The calls of those that were alone are in the other one until they were, and again when they are no
// longer. What was under way just then may have gone to either.
func (f *fork) check(h []history.Operation, rules history.Rules) []*history.Violation {
	if f == nil {
		return history.Check(h, rules)
	}
	var kept, isolated []history.Operation
	for _, o := range h {
		doubtful := o
		if doubtful.Outcome == history.Answered && doubtful.Kind != history.Loss {
			doubtful.Outcome, doubtful.OK, doubtful.Cut = history.Unknown, false, false
		}
		alone := f.alone(o.Client)
		switch {
		case !alone || o.Call < f.begin || o.Call >= f.end:
			kept = append(kept, o)
		case o.Return >= f.end:
			kept = append(kept, doubtful)
		}
		if o.Kind == history.Loss {
			continue
		}
		switch {
		case o.Call >= f.end, !alone && o.Call >= f.begin:
		case !alone && o.Return >= f.begin, o.Return >= f.end:
			isolated = append(isolated, doubtful)
		default:
			isolated = append(isolated, o)
		}
	}
	alone := rules
	alone.Pauses = nil
	return slices.Concat(history.Check(kept, rules), history.Check(isolated, alone), history.CheckTokens(h))
}
