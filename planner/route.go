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

// local says whether a statement with calls is answered here, be it with an error. An
// error is only if it is about a value, which is not looked at for a caller without a
// name: what a name or a type means, the upstream knows better.
func (s *Statement) local() bool {
	if s.Err != nil {
		return s.Err.Code[:2] == classData
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
		return a.Statement.local()
	case *Execute:
		return true
	}
	return false
}

// classData is the class of the errors about values.
const classData = "22"

// Local says whether a query is answered here exactly as PostgreSQL would, whatever
// the state of a session is there: from literals, parameters and calls alone.
func (s *Select) Local() bool {
	if s.catalog != nil {
		return false
	}
	local := true
	check := func(list []expr) {
		for _, e := range list {
			local = local && !usesSession(e)
		}
	}
	check(s.outputs)
	check(s.guards)
	check(s.filters)
	for _, tuple := range s.values {
		check(tuple)
	}
	for _, call := range s.calls {
		check(call.Args)
	}
	return local
}

// EmptiesBranch says whether a SET gives app.branch no value.
func (s *Set) EmptiesBranch() bool {
	for _, m := range s.Modes {
		if m.Name == branchSetting && !m.Default && len(m.Values) == 1 && m.Values[0].Text == "" {
			return true
		}
	}
	return false
}

// UseBranch is the branch that a text of nothing but USE BRANCH chooses.
func (s *Script) UseBranch() (branch string, ok bool) {
	if len(s.Statements) != 1 {
		return "", false
	}
	return s.Statements[0].UseBranch()
}

// UseBranch is the branch that USE BRANCH chooses; ok is false for another statement.
func (s *Statement) UseBranch() (branch string, ok bool) {
	set, ok := s.Action.(*Set)
	if !ok || !set.use {
		return "", false
	}
	return set.Modes[0].Values[0].Text, true
}
