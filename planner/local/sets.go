package local

import (
	"cmp"
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/planner/catalog"
	"raisinproxy/planner/expr"
	"raisinproxy/planner/place"
	"raisinproxy/planner/plan"
	"raisinproxy/planner/tree"
	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// This file is about the functions that return a set, of which an embedded server makes a
// relation for package catalog: their arguments are resolved and computed here, as those of all
// calls, and their rows are read before the query runs.

// setCompiler compiles the arguments of the sets of a query.
type setCompiler struct {
	expr.Compiler
	calls map[*pg_query.FuncCall]*expr.Call
}

func newSetCompiler(c *compiler, declared []datum.Type) *setCompiler {
	s := &setCompiler{calls: map[*pg_query.FuncCall]*expr.Call{}}
	s.Compiler = expr.Compiler{At: c.At, Start: c.Start, Params: expr.NewParams(declared)}
	s.Params.Fixed = c.Params.Fixed
	return s
}

// compile compiles the arguments, which decide about the types of parameters.
func (s *setCompiler) compile(n *pg_query.SelectStmt) *pgerr.Error {
	sets := tree.Sets(n)
	slices.SortFunc(sets, func(a, b *pg_query.FuncCall) int { return cmp.Compare(a.Location, b.Location) })
	for _, call := range sets {
		f, _ := tree.Function(call)
		if tree.Any(call, func(*pg_query.ColumnRef) bool { return true }) {
			return place.UsesAnotherItem(f.Name).At(s.At(call.Location))
		}
		s.NoteDatabase(call)
		compiled, err := s.Call(f, call)
		if err == nil {
			err = s.Opaque
		}
		if err != nil {
			return err
		}
		s.calls[call] = compiled
	}
	return nil
}

// made are the calls of the query that was compiled, in its order. The query lets go of the parse tree: plans are kept.
func (s *setCompiler) made(query *catalog.Query) (calls []*expr.Call) {
	for i := range query.Sets {
		set := &query.Sets[i]
		call := s.calls[set.Call]
		set.Call = nil
		if call == nil { // the relation of that name
			call = &expr.Call{Func: set.Func}
			for i := range set.Func.Args {
				call.Args = append(call.Args, expr.DefaultOf(&set.Func.Args[i]))
			}
		}
		calls = append(calls, call)
	}
	return calls
}

// note notes what a session has to know of the calls before it runs the query.
func (s *setCompiler) note(st *plan.Statement, query *catalog.Query) {
	for _, set := range query.Sets {
		st.Calls = append(st.Calls, set.Func)
		st.Mentions, st.First = true, st.Calls[0]
	}
	if s.Foreign != nil {
		st.Database, st.Foreign = s.Database, s.Foreign
	}
}

// rowsOfSets reads the rows of all of them: before the query, whether or not it comes to them.
func rowsOfSets(f *Frame, sets []*expr.Call) (rows [][]sqlfuncs.Row, err error) {
	rows = make([][]sqlfuncs.Row, len(sets))
	for i, call := range sets {
		args := make([]datum.Datum, len(call.Args))
		for j, arg := range call.Args {
			if args[j], err = arg.Eval(&f.Frame); err != nil {
				return nil, err
			}
		}
		if rows[i], err = f.Env.Rows(call.Func, args); err != nil {
			return nil, err
		}
	}
	return rows, nil
}
