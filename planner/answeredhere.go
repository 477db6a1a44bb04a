package planner

import (
	"raisinproxy/planner/local"
	"raisinproxy/planner/plan"
	"raisinproxy/sqlfuncs/datum"
)

// answeredHere says whether a statement with calls is answered without the upstream, be it
// with an error. An error is only if it is about a value, which is not looked at for a
// caller without a name: what a name or a type means, the upstream knows better.
func answeredHere(s *plan.Statement) bool {
	if s.Err != nil {
		return plan.IsAboutValue(s.Err)
	}
	for _, t := range s.Params {
		if !datum.Supported(t) && t != datum.Void {
			return false
		}
	}
	switch a := s.Action.(type) {
	case *local.Select:
		return a.Local()
	case *plan.Prepare:
		return answeredHere(a.Statement)
	case *local.Execute:
		return true
	}
	return false
}
