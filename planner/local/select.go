package local

import (
	"math"
	"slices"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/planner/expr"
	"raisinproxy/planner/plan"
	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// Select is a query that is answered here: the calls in FROM run once, then the
// calls in the SELECT list, then the columns are computed row by row.
type Select struct {
	outputs []expr.Expr
	// guards decide, before any call, whether the query yields anything at all.
	guards []expr.Expr
	// filters look at columns of FROM items.
	filters []expr.Expr
	// early are the expressions that PostgreSQL computes while it plans.
	early []expr.Expr
	// values is the VALUES list, one tuple a row; nil: a single row.
	values [][]expr.Expr
	// Calls are all calls. The first of them, those of FROM, WITH and subqueries, run before
	// the first row. A call of the SELECT list runs when its column is computed, so that an
	// error in a column before it keeps it from running.
	Calls  []*expr.Call
	before int       // how many run before the first row
	limit  expr.Expr // nil: none

	// catalog, if set, makes the rows instead of all of the above.
	catalog func(f *Frame) ([][]datum.Datum, error)
}

// Frame is what one execution of a statement sees and keeps. It may be reused;
// it is not safe for concurrent use.
type Frame struct {
	expr.Frame

	table [][]datum.Datum // the rows of an answer about the catalogue
	next  int             // rows read so far
	count int             // rows before filters
	left  int64           // rows that LIMIT still lets through
}

// Bind makes f ready for an execution of st. The values of params are not copied.
func (f *Frame) Bind(env plan.Env, st *plan.Statement, params []datum.Datum) {
	f.Env, f.Params, f.Literals = env, params, st.Literals
}

// Check computes what depends on literals and parameters alone, for the errors
// that PostgreSQL raises while it plans.
func (s *Select) Check(f *Frame) error {
	f.Begin(0)
	for _, e := range s.early {
		if _, err := e.Eval(&f.Frame); err != nil {
			return err
		}
	}
	return nil
}

// Open evaluates the guards and then each call, once. It must be called once per
// execution, before Next.
func (s *Select) Open(f *Frame) error {
	f.Begin(len(s.Calls))
	f.next = 0
	if s.catalog != nil {
		var err error
		f.table, err = s.catalog(f)
		return err
	}
	f.count, f.left = max(1, len(s.values)), math.MaxInt64
	if s.limit != nil {
		if err := s.applyLimit(f); err != nil || f.left == 0 {
			f.count = 0
			return err
		}
	}
	if ok, err := expr.AllTrue(s.guards, &f.Frame); !ok {
		f.count = 0
		return err
	}
	for _, call := range s.Calls[:s.before] {
		if _, err := call.Result(&f.Frame); err != nil {
			return err
		}
	}
	return nil
}

// applyLimit computes LIMIT, before any call: a query that may yield nothing makes none.
func (s *Select) applyLimit(f *Frame) error {
	v, err := s.limit.Eval(&f.Frame)
	switch {
	case err != nil || v.Null:
		return err
	case v.Int < 0:
		return pgerr.Newf(invalidLimit, "LIMIT must not be negative")
	}
	f.left = v.Int
	return nil
}

// invalidLimit is a code that the vocabulary lacks.
const invalidLimit codes.Code = "2201W"

// Next moves to the next row; ok is false after the last.
func (s *Select) Next(f *Frame) (ok bool, err error) {
	if s.catalog != nil {
		f.next++
		return f.next <= len(f.table), nil
	}
	for f.next < f.count && f.left > 0 {
		if s.values != nil {
			f.Tuple = s.values[f.next]
		}
		f.next++
		keep, err := expr.AllTrue(s.filters, &f.Frame)
		if keep || err != nil {
			f.left--
			return keep, err
		}
	}
	return false, nil
}

// Column computes column i of the current row.
func (s *Select) Column(f *Frame, i int) (datum.Datum, error) {
	if s.catalog != nil {
		return f.table[f.next-1][i], nil
	}
	return s.outputs[i].Eval(&f.Frame)
}

// ScalarCall is the call whose JSON is column i as it stands, so that it can be
// written without being built first; nil for any other column.
func (s *Select) ScalarCall(f *Frame, i int) (*sqlfuncs.Function, *sqlfuncs.Row, error) {
	if s.catalog != nil {
		return nil, nil, nil
	}
	call := expr.JSONOf(s.outputs[i])
	if call == nil {
		return nil, nil, nil
	}
	row, err := call.Result(&f.Frame)
	return call.Func, row, err
}

// Local says whether a query is answered here exactly as PostgreSQL would, whatever
// the state of a session is there: from literals, parameters and calls alone.
func (s *Select) Local() bool {
	lists := slices.Concat([][]expr.Expr{s.outputs, s.guards, s.filters}, s.values)
	for _, call := range s.Calls {
		lists = append(lists, call.Args)
	}
	usesSession := func(list []expr.Expr) bool { return slices.ContainsFunc(list, expr.UsesSession) }
	isTime := func(e expr.Expr) bool { return e.Type() == datum.Timestamptz } // whose text depends on settings
	return s.catalog == nil && !slices.ContainsFunc(lists, usesSession) && !slices.ContainsFunc(s.outputs, isTime)
}
