package plan

import (
	"raisinproxy/planner/catalog"
	"raisinproxy/planner/sqltext"
	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// Script is the plan of one text. It is immutable.
type Script struct {
	// Err is a syntax error, or a text beyond the limits: nothing of it runs.
	Err *pgerr.Error
	// Statements in order. A text without any is an empty query.
	Statements []*Statement
	// Notices about the text, to be sent whenever it is read.
	Notices []*pgerr.Error
	// Calls says whether any statement calls a raisin_ function.
	Calls bool
}

// Statement is the plan of one statement. It is immutable.
type Statement struct {
	// Err is what is wrong with the statement beyond its syntax. It is reported
	// when the statement's turn comes, as PostgreSQL reports it: a transaction
	// that has failed already says so instead.
	Err *pgerr.Error
	// Text is the statement as it was written, and Start how many characters of the
	// script stand before it.
	Text  string
	Start int
	// Standard is the standard_conforming_strings by which it was read.
	Standard bool
	// Params are the types of $1, $2, …, declared or inferred.
	Params []datum.Type
	// Columns of the result; nil if it returns no rows.
	Columns []Column
	// Described is the body of an upstream's row description, for a statement whose
	// columns it knows. A session sets it in a copy of its own.
	Described []byte
	// Action is what to do.
	Action Action
	// Calls are the functions that a statement calls that is answered here, in the order of
	// their evaluation.
	Calls []*sqlfuncs.Function
	// Waits says whether one of these calls may wait in line, so that no backend answers it at
	// once, as far as the values of the parameters are known, which are nil otherwise. nil: none
	// does.
	Waits func(params []datum.Datum) bool
	// First is the first function that the statement calls, if there is any.
	First *sqlfuncs.Function
	// Mentions: a call of the proxy's stands in it, even if the plan is an error.
	Mentions bool
	// Within names the prepared statement of an EXECUTE inside another command: EXPLAIN
	// or CREATE TABLE AS.
	Within string
	// Prepares names the statement that a PREPARE makes.
	Prepares string
	// Foreign, if set, is the error that the statement is if it runs in another
	// database than Database, by which a name in it is qualified.
	Database string
	Foreign  *pgerr.Error

	// Literals are those of its text that its plan leaves open.
	Literals []datum.Datum
	// ReadsCatalogues: it is a query over the system catalogues, which may take milliseconds.
	ReadsCatalogues bool
}

// Column is one column of a result.
type Column = catalog.Column

// Functions are those that the statement calls, wherever it is answered.
func (s *Statement) Functions() []*sqlfuncs.Function {
	if action, ok := s.Action.(interface{ Functions() []*sqlfuncs.Function }); ok {
		return action.Functions()
	}
	return s.Calls
}

// InputType is the type by which the value of parameter i, from 0, is read. The answers
// about the catalogue take the text of what is not read here as it is.
func (s *Statement) InputType(i int, binary bool) datum.Type {
	t := s.Params[i]
	if s.ReadsCatalogues && !binary && !datum.Supported(t) {
		return datum.Unknown
	}
	return t
}

// EndsTransaction says whether the statement may run in a transaction that has
// failed: the commands that end it, or go back to before the failure.
func (s *Statement) EndsTransaction() bool {
	t, ok := s.Action.(*Transaction)
	return ok && (t.Kind == Commit || t.Kind == Rollback || t.Kind == RollbackTo)
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

// ExecuteAs is the text of an EXECUTE with another name in it. Positions behind the name
// are shift characters further on than in the statement's own text.
func (s *Statement) ExecuteAs(name string) (sql string, shift int) {
	return sqltext.ExecuteAs(s.Text, s.Standard, name)
}
