// Package planner turns SQL text into immutable plans that sessions share. It is
// pure: it has no connection, no clock and no session state; what an evaluation
// needs of its session it asks through Env.
//
// A text goes through these files:
//
//	lexer.go, scan.go   our own lexer: what the text mentions, its bounds
//	parse.go            pg_query behind those bounds, positions of errors
//	cache.go            texts that were planned already
//	shape.go            texts that differ in the literals of their calls alone
//	compile.go          a parsed statement to a Statement
//	place.go, with.go   where a call may stand: the ways that lead to one
//	level.go, once.go   FROM, and lists that are evaluated once
//	conditions.go, …    what could keep PostgreSQL from a call: also folding.go,
//	                    siblings.go, equalities.go, and facts.go for what it is asked
//	resolve.go          types: calls, operators, parameters
//	coerce.go           the casts that nobody writes
//	hint.go             what to do instead of a call that is refused
//	select.go           SELECT and VALUES that are answered here
//	expr.go, cast.go    expressions and their evaluation
//	utility.go          everything that is not a query
package planner

import (
	"iter"

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

	template *template // how it is used for other texts of its shape; nil: it is not
}

// Statement is the plan of one statement. It is immutable.
type Statement struct {
	// Err is what is wrong with the statement beyond its syntax. It is reported
	// when the statement's turn comes, as PostgreSQL reports it: a transaction
	// that has failed already says so instead.
	Err *pgerr.Error
	// Text is the statement as it was written, and Start how many characters of the
	// script stand before it.
	Text   string
	Start  int
	offset int // what Start is, in bytes
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
	// Calls that the statement makes, in the order of their evaluation.
	Calls []*Call
	// First is the first function that the statement calls, if there is any.
	First *sqlfuncs.Function
	// Mentions: a call of ours stands in it, even if the plan is an error.
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

	literals []datum.Datum // those of its text that its plan leaves open
}

// Column is one column of a result.
type Column struct {
	Name   string
	Type   datum.Type
	Typmod int32 // -1: none
}

// Call is one call of a raisin_ function in a statement.
type Call struct {
	Func  *sqlfuncs.Function
	Args  []expr
	index int
}

// Action is one of the types below.
type Action interface{ action() }

type (
	// Transaction is BEGIN, COMMIT, ROLLBACK and the savepoint commands.
	Transaction struct {
		Kind      TransactionKind
		Tag       string
		Savepoint string
		Chain     bool
		Modes     []Mode
	}
	// Set changes run-time parameters, all or none of them.
	Set struct {
		Modes []Mode
		Local bool
		// TransactionOnly: outside a transaction block it only warns.
		TransactionOnly bool
		// Warn is the command's name in that warning.
		Warn string
		// Tag is SET, or RESET.
		Tag string
		use bool // it is USE BRANCH
	}
	// ResetAll is RESET ALL.
	ResetAll struct{}
	// Show is SHOW name.
	Show struct{ Name string }
	// ShowAll is SHOW ALL.
	ShowAll struct{}
	// Prepare is SQL's PREPARE.
	Prepare struct {
		Name      string
		Statement *Statement
	}
	// Execute is SQL's EXECUTE.
	Execute struct {
		Name    string
		Count   int // of the arguments
		args    []expr
		err     *pgerr.Error // what is wrong with one of them
		unknown *pgerr.Error // why one of them cannot be computed here
		places  []int        // of the arguments, in characters
		at      func(int32) int
	}
	// Deallocate drops a prepared statement, or all with an empty name.
	Deallocate struct{ Name string }
	// Discard is DISCARD ALL and its parts.
	Discard struct{ Tag string }
	// CloseCursor closes a portal, or all with an empty name.
	CloseCursor struct{ Name string }
	// NoOp is a command that has nothing to do here, such as UNLISTEN *.
	NoOp struct{ Tag string }
)

// Mode is one run-time parameter and its new value.
type Mode struct {
	Name    string
	Values  []SettingValue // as SET lists them
	Default bool           // to its default instead
}

// SettingValue is one value in a SET.
type SettingValue struct {
	Text   string
	Number bool // written as a number
}

// TransactionKind is the command.
type TransactionKind int

// The transaction commands.
const (
	Begin TransactionKind = iota
	Commit
	Rollback
	Savepoint
	ReleaseSavepoint
	RollbackTo
)

func (*Select) action()      {}
func (*Transaction) action() {}
func (*Set) action()         {}
func (*ResetAll) action()    {}
func (*Show) action()        {}
func (*ShowAll) action()     {}
func (*Prepare) action()     {}
func (*Execute) action()     {}
func (*Deallocate) action()  {}
func (*Discard) action()     {}
func (*CloseCursor) action() {}
func (*NoOp) action()        {}

// Functions are those that the statement calls, in no particular order.
func (s *Statement) Functions() iter.Seq[*sqlfuncs.Function] {
	return func(yield func(*sqlfuncs.Function) bool) {
		for _, call := range s.Calls {
			if !yield(call.Func) {
				return
			}
		}
		m, ok := s.Action.(*Mixed)
		if !ok {
			return
		}
		for _, call := range m.Calls {
			if !yield(call.Func) {
				return
			}
		}
		if m.Rows == nil {
			return
		}
		for _, call := range m.Rows.Calls {
			if !yield(call.Func) {
				return
			}
		}
	}
}

// InputType is the type by which the value of parameter i, from 0, is read. The answers
// about the catalogue take the text of what is not read here as it is.
func (s *Statement) InputType(i int, binary bool) datum.Type {
	t := s.Params[i]
	if query, ok := s.Action.(*Select); ok && query.catalog != nil && !binary && !datum.Supported(t) {
		return datum.Unknown
	}
	return t
}

// ReadsCatalogues says whether the statement is a query over the system catalogues, which
// may take milliseconds.
func (s *Statement) ReadsCatalogues() bool {
	query, ok := s.Action.(*Select)
	return ok && query.catalog != nil
}

// EndsTransaction says whether the statement may run in a transaction that has
// failed: the commands that end it, or go back to before the failure.
func (s *Statement) EndsTransaction() bool {
	t, ok := s.Action.(*Transaction)
	return ok && (t.Kind == Commit || t.Kind == Rollback || t.Kind == RollbackTo)
}
