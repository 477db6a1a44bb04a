package planner

import (
	"raisinproxy/planner/local"
	"raisinproxy/planner/plan"
	"raisinproxy/planner/sqltext"
	"raisinproxy/sqlfuncs/datum"
)

// MayConcern says whether a text may have to do with us, whatever the settings are that
// it is to be read by. It is what every relayed text pays, and where most of them end.
func MayConcern(text string) bool { return sqltext.MentionsProxyText(text) }

// Portable is that of sqltext.
func Portable(text string, standard bool) string { return sqltext.Portable(text, standard) }

// MayCommit is that of sqltext.
func MayCommit(text string, standard bool) bool { return sqltext.MayCommit(text, standard) }

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
