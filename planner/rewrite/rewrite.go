package rewrite

import (
	"slices"

	"github.com/jeroenrinzema/psql-wire/codes"
	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/planner/expr"
	"raisinproxy/planner/pgparse"
	"raisinproxy/planner/place"
	"raisinproxy/planner/plan"
	"raisinproxy/planner/tree"
	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// Split is a statement with calls in which the upstream has a part. It holds up
// to three texts, all spliced from the user's own: where nothing had to change,
// they are the same byte for byte.
//
//	Probe  is parsed by the upstream and never executed. It says what the user's
//	       statement would say: the types of its parameters, the columns of its
//	       result, and what is wrong with it.
//	Args   computes the arguments of the calls that run before the statement. It has no
//	       row if a guard, a condition that is the same for all rows, keeps the calls
//	       from running. Its parameters are the user's, with the types that the probe found.
//	Main   is executed. The results of those calls are its hidden parameters, which
//	       follow the user's. Its columns are those of Probe, then those of Rows.
//
// No value is ever part of a text, except in COPY, which takes no parameters.
type Split struct {
	// Calls run before the statement, once, in this order.
	Calls []SplitCall
	// Facts are what the plan rests on and only the upstream knows. They are asked before
	// any call runs.
	Facts []place.Fact
	// FactQuery asks whether they hold, in their order.
	FactQuery place.FactQuery
	// Params is the highest number of the user's parameters, declared or used.
	Params int
	// Hidden are the parameters of Main from $Params+1 on.
	Hidden []Hidden

	Probe, Args, Main Text // Args.SQL is "" if there is nothing to compute

	// Refused is an error that the statement is if the upstream accepts Probe. What
	// the upstream finds has precedence, since it knows what the names mean.
	Refused *pgerr.Error
	// Whole: its rows must be read at once. PostgreSQL would make the calls of the rows
	// that are not read later, or never.
	Whole bool
	// Rows is about the calls that run once for each row; nil if there are none.
	Rows *RowPlan
	// Explain says that nothing is evaluated: one line for each call of the
	// statement follows the rows of the result. nil for any other statement.
	Explain *ExplainPlan
	// Copy: Main is for reading only. What is executed comes from CopySQL, and
	// Probe is the query in it.
	Copy bool
	// Views, if set, has the plans that the statement may have: this is none yet.
	Views *Views

	functions []*sqlfuncs.Function // of all calls
	rewriter  *rewriter            // of COPY
	local     *localSource
}

// SplitCall is a call that is made for the statement.
type SplitCall struct {
	Func *sqlfuncs.Function
	// Args are the columns of Args that hold the arguments, of the declared types; LeftOut for
	// one that has its default value.
	Args []int
	// Position of the call in the user's text, in characters from 1.
	Position int
}

// LeftOut stands for an argument that the call does not have.
const LeftOut = -1

// Hidden says what value a hidden parameter of Main has.
type Hidden struct {
	Type datum.Type
	// Call is the index in Calls of the call whose result it is; -1: it stands for a
	// guard, and says whether Args had a row.
	Call int
	// Column of the call's result, or AsScalar. Of a set it is an array of all rows.
	Column int
}

// AsScalar stands for a call's result as a whole: JSON, or its only column.
const AsScalar = -1

// ExplainPlan is what EXPLAIN adds for the calls.
type ExplainPlan struct {
	Lines []string
	// Text: the result is in the format TEXT, to which lines can be added.
	Text bool
}

// PrepareSplit is SQL's PREPARE of a statement that needs the upstream.
type PrepareSplit struct {
	Name string
	// Declared are the types in parentheses; Invalid: only the upstream knows it.
	Declared []datum.Type
	// Types is a query with a parameter of each type that is Invalid, for its description;
	// "" if there is none.
	Types Text
	Split *Split
}

// Functions are those of all calls.
func (m *Split) Functions() []*sqlfuncs.Function { return m.functions }

// Values are the values of the hidden parameters. rows holds the rows of each call: any number
// of a set, else one, and none of a call that did not run; guarded is false if a guard was
// not true.
func (m *Split) Values(rows [][]sqlfuncs.Row, guarded bool) []datum.Datum {
	values := make([]datum.Datum, len(m.Hidden))
	for i, h := range m.Hidden {
		switch {
		case h.Call < 0:
			values[i] = datum.OfBool(guarded)
		case m.Calls[h.Call].Func.Set:
			values[i] = arrayOf(m.Calls[h.Call].Func.Columns[h.Column].Type, rows[h.Call], h.Column)
		case len(rows[h.Call]) == 0:
			values[i] = datum.Null
		case h.Column != AsScalar:
			values[i] = rows[h.Call][0][h.Column]
		case h.Type == datum.JSONB:
			values[i] = datum.OfText(string(m.Calls[h.Call].Func.AppendScalar(nil, &rows[h.Call][0])))
		default:
			values[i] = rows[h.Call][0][0]
		}
	}
	return values
}

// arrayOf is a column of all rows.
func arrayOf(t datum.Type, rows []sqlfuncs.Row, column int) datum.Datum {
	elements := make([]datum.Datum, len(rows))
	for i := range rows {
		elements[i] = rows[i][column]
	}
	return datum.OfColumn(t, elements)
}

// Rewrite plans statement i of a text for an upstream. It returns nil if
// no call in it is the proxy's to make, so that the upstream gets it as it is. What is
// wrong beyond its syntax is in the Err of the result, as far as it can be known
// without the upstream.
func Rewrite(parsed *pgparse.Parsed, i int, o plan.Options) *plan.Statement {
	st := &parsed.Statements[i]
	if st.Node == nil {
		return nil
	}
	var s *plan.Statement
	if len(tree.Calls(st.Node)) > 0 {
		s = newRewriter(parsed, i, o).statement(st.Node)
	}
	if ReadsViews(st.Node) {
		return withViews(parsed, i, o, s)
	}
	return s
}

func newRewriter(parsed *pgparse.Parsed, i int, o plan.Options) *rewriter {
	start, end := surroundings(parsed, i)
	source := parsed.Positions // plans keep it, but not the parse tree
	r := &rewriter{source: &source, user: parsed.Text.SQL, plan: &Split{}, prepared: o.Prepared, declared: o.Types}
	r.tokens = nestedTokens(parsed.Text, start, end)
	r.span = span{start, end}
	return r
}

// surroundings is the part of the user's text that belongs to a statement: the
// statement, and the comments around it, in which other programs read hints.
func surroundings(p *pgparse.Parsed, i int) (start, end int) {
	if i > 0 {
		start = p.Statements[i-1].End
		for _, t := range p.Text.Between(start, p.Statements[i].Start) {
			start = t.End
		}
	}
	return start, p.Text.TokenFrom(p.Statements[i].End).Start
}

// statement plans what the parse tree n says.
func (r *rewriter) statement(n *pg_query.Node) *plan.Statement {
	s := &plan.Statement{Action: r.plan}
	err := r.rewrite(s, n)
	if err == nil && len(r.sites) == 0 && !r.bare {
		return nil
	}
	if err != nil {
		return &plan.Statement{Err: err}
	}
	names := &expr.Compiler{At: r.source.Char}
	for _, site := range r.sites {
		names.NoteDatabase(site.call)
	}
	s.Database, s.Foreign = names.Database, names.Foreign
	return s
}

func (r *rewriter) rewrite(s *plan.Statement, n *pg_query.Node) *pgerr.Error {
	switch v := n.GetNode().(type) {
	case *pg_query.Node_PrepareStmt:
		return r.prepareStmt(s, v.PrepareStmt)
	case *pg_query.Node_ExplainStmt:
		return r.explainStmt(v.ExplainStmt)
	case *pg_query.Node_CopyStmt:
		return r.copyStmt(v.CopyStmt)
	}
	return r.query(n, n)
}

// query plans a statement whose calls are in n, which may be a part of whole.
func (r *rewriter) query(n, whole *pg_query.Node) *pgerr.Error {
	placed, err := place.Calls(whole, r.source.Char)
	if err == nil && r.plan.Explain != nil {
		placed, err = place.Calls(n, r.source.Char)
	}
	if err != nil || len(placed.Calls) == 0 && !r.bare {
		return err
	}
	if r.plan.Explain == nil {
		placed.Facts = append(placed.Facts, r.facts...)
		r.plan.Facts, r.plan.FactQuery = placed.Facts, place.NewFactQuery(placed.Facts)
		r.plan.Whole = n.GetSelectStmt() != nil && slices.ContainsFunc(placed.Calls, func(c place.Call) bool { return c.Many })
	}
	if r.probe == (span{}) {
		r.probe = r.span
	}
	for _, step := range []func() *pgerr.Error{
		func() *pgerr.Error { return r.countParams(n) },
		func() *pgerr.Error { return r.locate(n, placed.Calls) },
		func() *pgerr.Error { return r.dropSchemas(n) },
		r.checkArguments,
		func() *pgerr.Error { return r.checkReferences(n) },
		func() *pgerr.Error { return r.guard(n, placed.Clauses) },
		func() *pgerr.Error { return r.perRow(n) },
		r.number,
		r.write,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// countParams finds the highest parameter of the user's.
func (r *rewriter) countParams(n *pg_query.Node) (err *pgerr.Error) {
	r.plan.Params = len(r.declared)
	tree.Each(n, func(ref *pg_query.ParamRef) {
		r.plan.Params = max(r.plan.Params, int(ref.Number))
		if (!r.prepared || ref.Number < 1) && err == nil {
			err = pgerr.Newf(codes.UndefinedParameter, "there is no parameter $%d", ref.Number).At(r.source.Char(ref.Location))
		}
	})
	return err
}

// checkArguments lets a call that fits no function be refused, should the upstream
// not do so.
func (r *rewriter) checkArguments() *pgerr.Error {
	for _, s := range r.sites {
		if s.given == nil && r.plan.Refused == nil {
			r.plan.Refused = pgerr.Newf(codes.UndefinedFunction, "no function matches this call of %s", tree.Qualified(s.call.Funcname)).
				At(r.character(s.name))
		}
	}
	return nil
}

// splitCall is the call of a site whose arguments begin at this column; next is the one behind them.
func (r *rewriter) splitCall(s *callSite, column int) (call SplitCall, next int) {
	call = SplitCall{Func: s.function, Position: r.character(s.name)}
	for slot := range s.function.Args {
		if s.leavesOut(slot) {
			call.Args = append(call.Args, LeftOut)
			continue
		}
		call.Args = append(call.Args, column)
		column++
	}
	return call, column
}

// number gives the calls that run before the statement their places among the
// hidden parameters and the columns of Args, in the order of their evaluation.
func (r *rewriter) number() *pgerr.Error {
	if r.plan.Explain != nil {
		return nil
	}
	column := 0
	for _, s := range r.once {
		var call SplitCall
		call, column = r.splitCall(s, column)
		s.hidden = len(r.plan.Hidden)
		for _, c := range s.columns() {
			r.plan.Hidden = append(r.plan.Hidden, Hidden{Type: s.hiddenType(c), Call: len(r.plan.Calls), Column: c})
		}
		r.plan.Calls = append(r.plan.Calls, call)
		r.plan.functions = append(r.plan.functions, s.function)
	}
	for _, s := range r.rows {
		r.plan.functions = append(r.plan.functions, s.function)
	}
	for _, g := range r.guards {
		g.hidden = len(r.plan.Hidden)
		r.plan.Hidden = append(r.plan.Hidden, Hidden{Type: datum.Bool, Call: -1})
	}
	if total := r.plan.Params + len(r.plan.Hidden); total > plan.MaxParams {
		return pgerr.Newf(codes.ProgramLimitExceeded, "a statement can have at most %d parameters with those that its calls need", plan.MaxParams).
			WithDetail("It would have %d.", total)
	}
	return nil
}
