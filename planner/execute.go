package planner

import (
	"slices"

	"github.com/jeroenrinzema/psql-wire/codes"
	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/planner/plan"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// Execute is SQL's EXECUTE.
type Execute struct {
	Name    string
	Count   int // of the arguments
	args    []expr
	err     *pgerr.Error // what is wrong with one of them
	unknown *pgerr.Error // why one of them cannot be computed here
	places  []int        // of the arguments, in characters
	at      func(int32) int
}

func (c *compiler) execute(s *Statement, n *pg_query.ExecuteStmt) *pgerr.Error {
	e := &Execute{Name: n.Name, Count: len(n.Params), at: c.at}
	s.Action = e
	// The arguments are looked at when the command runs, in which it has no
	// parameters of its own.
	inner := &exprCompiler{at: c.at, start: c.start, params: &paramTypes{fixed: true}}
	for _, arg := range n.Params {
		value, err := inner.expr(arg)
		if err != nil {
			e.err = err
			return nil
		}
		e.args = append(e.args, value)
		e.places = append(e.places, c.at(locationOf(arg)))
	}
	e.unknown = inner.opaque
	return nil
}

// Arguments computes the arguments of EXECUTE as the parameters of the statement
// it names, by the rules of assignment.
func (e *Execute) Arguments(f *Frame, types []datum.Type) ([]datum.Datum, error) {
	if len(types) == 0 {
		return nil, nil // PostgreSQL does not even look at them
	}
	converted, err := e.assigned(types)
	if err != nil {
		return nil, err
	}
	values := make([]datum.Datum, len(types))
	for i, arg := range converted {
		if values[i], err = arg.eval(&f.exprFrame); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// assigned are the arguments converted to the types of the parameters.
func (e *Execute) assigned(types []datum.Type) ([]expr, error) {
	if e.err != nil {
		return nil, e.err
	}
	if err := e.CheckCount(types); err != nil {
		return nil, err
	}
	c := &exprCompiler{at: e.at, params: &paramTypes{fixed: true}, opaque: e.unknown}
	converted := make([]expr, len(types))
	for i, arg := range e.args {
		value, err := c.assign(arg, types[i], i+1)
		if err != nil && err.Position == 0 {
			err = err.At(e.places[i])
		}
		if err != nil {
			return nil, err
		}
		converted[i] = value
	}
	if c.opaque != nil {
		return nil, c.opaque
	}
	return converted, nil
}

// NeedsUpstream says whether only an upstream can compute the arguments, or knows better
// what is wrong with them.
func (e *Execute) NeedsUpstream(types []datum.Type) bool {
	if len(types) == 0 || e.Count != len(types) {
		return false
	}
	converted, err := e.assigned(types)
	return err != nil && !plan.IsAboutValue(pgerr.From(err)) || slices.ContainsFunc(converted, usesSession)
}

// CheckCount says whether there is an argument for each parameter.
func (e *Execute) CheckCount(types []datum.Type) error {
	if e.Count == len(types) {
		return nil
	}
	return pgerr.Newf(codes.Syntax, "wrong number of parameters for prepared statement \"%s\"", e.Name).
		WithDetail("Expected %d parameters but got %d.", len(types), e.Count)
}

func (*Execute) action() {}
