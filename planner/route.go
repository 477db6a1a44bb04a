package planner

import (
	"strings"

	"raisinproxy/sqlfuncs/datum"
)

// This file is for a front end with an upstream: it says what is ours of the texts
// that go through it.

// MayConcern says whether a text may have to do with us, whatever the settings are that
// it is to be read by. It is what every relayed text pays, and where most of them end.
func MayConcern(text string) bool { return concerns(text) }

// Concerns says whether a text may have to do with us: whether one of our functions,
// the branch, or USE stands in it, as far as that can be told without parsing.
func Concerns(text string, standard bool) bool {
	if !concerns(text) {
		return false
	}
	scan := scanText(text, standard, isFunction)
	return scan.Mentions || scan.Use || scan.Branch
}

// UsesPrepared says whether a statement of a text may make, run or drop a prepared
// statement.
func UsesPrepared(text string, standard bool) bool {
	statements := newStatementScanner(text, standard, noNames)
	for st, ok := statements.next(); ok; st, ok = statements.next() {
		switch strings.ToLower(st.Keyword) {
		case "prepare", "execute", "deallocate", "discard", "explain", "create":
			return true
		}
	}
	return false
}

// ControlsTransaction says whether a text is one statement that begins or ends a
// transaction, by its first word.
func ControlsTransaction(text string, standard bool) bool {
	const longest = 256 // of what is sent in earnest
	if len(text) > longest {
		return false
	}
	statements := newStatementScanner(text, standard, noNames)
	st, ok := statements.next()
	if _, more := statements.next(); !ok || more {
		return false
	}
	switch strings.ToLower(st.Keyword) {
	case "begin", "start", "commit", "end", "rollback", "abort":
		return true
	}
	return false
}

// answeredHere says whether a statement with calls is answered without the upstream, be it
// with an error. An error is only if it is about a value, which is not looked at for a
// caller without a name: what a name or a type means, the upstream knows better.
func answeredHere(s *Statement) bool {
	if s.Err != nil {
		return isAboutValue(s.Err)
	}
	for _, t := range s.Params {
		if !datum.Supported(t) && t != datum.Void {
			return false
		}
	}
	switch a := s.Action.(type) {
	case *Select:
		return a.Local()
	case *Prepare:
		return answeredHere(a.Statement)
	case *Execute:
		return true
	}
	return false
}
