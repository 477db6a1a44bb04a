package clientsql

import (
	"slices"

	"raisinproxy/planner/catalog"
	"raisinproxy/sqlfuncs/datum"
)

// Answer is one catalogue query and its result. Answers are shared: nobody may
// change one.
type Answer struct {
	// Source says how the query is known, for people: the client and the version
	// that was seen sending it, and what makes it do so.
	Source string
	// SQL is the query as the client sends it, with sample values for the literals
	// that vary. It runs on PostgreSQL as it stands.
	SQL string
	// Digest stands for a text that is not in SQL; see the package comment.
	Digest string
	// Free are the literals (counted from 0, see the package comment) that may have
	// any value, and Lists those that may be any number of values.
	Free, Lists []int
	// Columns of the result.
	Columns []catalog.Column
	// Rows computes the result. It may be called by several goroutines at once. Its
	// errors are of type *pgerr.Error.
	Rows func(Call) ([][]datum.Datum, error)
}

// Call is one execution of a query.
type Call struct {
	Session catalog.Session
	// Literals are the values of the literals that are Free or Lists, in the order
	// of the text; see [Match].
	Literals [][]string
}

// Answers are all answers, in no particular order.
var Answers = slices.Concat(jdbcAnswers, npgsqlAnswers)

// none is the Rows of a query about what an empty database does not have.
func none(Call) ([][]datum.Datum, error) { return nil, nil }

// array is a list of literals as the text of an array.
func array(literals []string) datum.Datum {
	text := "{"
	for i, s := range literals {
		if i > 0 {
			text += ","
		}
		text += catalog.QuoteItem(s)
	}
	return datum.OfText(text + "}")
}
