package local

import (
	"slices"

	"github.com/jeroenrinzema/psql-wire/codes"
	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/planner/expr"
	"raisinproxy/planner/plan"
	"raisinproxy/planner/tree"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// Execute is SQL's EXECUTE.
type Execute struct {
	Name    string
	Count   int // of the arguments
	args    []expr.Expr
	err     *pgerr.Error // what is wrong with one of them
	unknown *pgerr.Error // why one of them cannot be computed here
	places  []int        // of the arguments, in characters
	at      func(int32) int
}

func (c *compiler) execute(s *plan.Statement, n *pg_query.ExecuteStmt) *pgerr.Error {
	e := &Execute{Name: n.Name, Count: len(n.Params), at: c.At}
	s.Action = e
	// The arguments are looked at when the command runs, in which it has no
	// parameters of its own.
	inner := &expr.Compiler{At: c.At, Start: c.Start, Params: &expr.Params{Fixed: true}}
	for _, arg := range n.Params {
		value, err := inner.Expr(arg)
		if err != nil {
			e.err = err
			return nil
		}
		e.args = append(e.args, value)
		e.places = append(e.places, c.At(tree.Location(arg)))
	}
	e.unknown = inner.Opaque
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
		if values[i], err = arg.Eval(&f.Frame); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// assigned are the arguments converted to the types of the parameters.
func (e *Execute) assigned(types []datum.Type) ([]expr.Expr, error) {
	if e.err != nil {
		return nil, e.err
	}
	if err := e.CheckCount(types); err != nil {
		return nil, err
	}
	c := &expr.Compiler{At: e.at, Params: &expr.Params{Fixed: true}, Opaque: e.unknown}
	converted := make([]expr.Expr, len(types))
	for i, arg := range e.args {
		value, err := c.Assign(arg, types[i], i+1)
		if err != nil && err.Position == 0 {
			err = err.At(e.places[i])
		}
		if err != nil {
			return nil, err
		}
		converted[i] = value
	}
	if c.Opaque != nil {
		return nil, c.Opaque
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
	return err != nil && !plan.IsAboutValue(pgerr.From(err)) || slices.ContainsFunc(converted, expr.UsesSession)
}

// CheckCount says whether there is an argument for each parameter.
func (e *Execute) CheckCount(types []datum.Type) error {
	if e.Count == len(types) {
		return nil
	}
	return pgerr.Newf(codes.Syntax, "wrong number of parameters for prepared statement \"%s\"", e.Name).
		WithDetail("Expected %d parameters but got %d.", len(types), e.Count)
}
