package local

import (
	"slices"

	"github.com/jeroenrinzema/psql-wire/codes"
	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/planner/expr"
	"raisinproxy/planner/pgparse"
	"raisinproxy/planner/place"
	"raisinproxy/planner/plan"
	"raisinproxy/planner/tree"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// compiler turns one parsed statement into a plan.Statement.
type compiler struct {
	expr.Compiler
	with     map[string]expr.Item // the WITH queries, by name
	embedded bool                 // there is no upstream: queries over the catalogues are answered here
}

// Compile compiles statement i of a text. What only the catalogues of an embedded
// server can answer is looked up among the queries that clients send by themselves; with an
// upstream, what is refused here is its to answer.
func Compile(parsed *pgparse.Parsed, i int, characters *pgparse.Characters, o plan.Options, embedded bool) *plan.Statement {
	ps := &parsed.Statements[i]
	if ps.Node == nil {
		return &plan.Statement{Action: plan.UseBranch(ps.Branch)}
	}
	c := newCompiler(characters.Char, 1+characters.Before(ps.Start), o, embedded)
	st := c.statement(ps.Node)
	if st.Err != nil && st.Err.Code == codes.FeatureNotSupported {
		if answer, ok := clientAnswer(parsed.Text, ps, o); ok {
			return answer
		}
	}
	return st
}

// newCompiler is for a statement that begins at this character.
func newCompiler(at func(int32) int, start int, o plan.Options, embedded bool) *compiler {
	c := &compiler{Compiler: expr.Compiler{At: at, Start: start, Params: expr.NewParams(o.Types)}, embedded: embedded}
	c.Params.Fixed = !o.Prepared
	return c
}

// statement compiles n. Errors beyond syntax are kept in the result, to be
// reported when the statement's turn comes.
func (c *compiler) statement(n *pg_query.Node) *plan.Statement {
	s := &plan.Statement{}
	declared := slices.Clone(c.Params.Types)
	placed, err := place.Calls(n, c.At)
	s.Mentions = len(placed.Calls) > 0 || err != nil
	if len(placed.Calls) > 0 {
		s.First, _ = tree.Function(placed.Calls[0].Node)
	}
	if err == nil {
		err = c.compile(s, n)
	}
	if err == nil {
		err = c.Opaque
	}
	if err == nil {
		err = c.Params.Check()
	}
	if query := n.GetSelectStmt(); err != nil && plan.NeedsUpstream(err) && c.embedded && query != nil && placed.OnlySets() {
		if answer, ok := c.catalogueQuery(query, declared); ok {
			return answer
		}
	}
	if err == nil {
		err = unknownHere(&placed)
	}
	if err != nil {
		return &plan.Statement{Err: err, Action: s.Action, Mentions: s.Mentions, First: s.First}
	}
	s.Params = c.Params.Types
	for _, call := range c.Calls {
		s.Calls = append(s.Calls, call.Func)
	}
	s.Waits = Waits(c.Calls, nil)
	if c.Foreign != nil {
		s.Database, s.Foreign = c.Database, c.Foreign
	}
	return s
}

// Waits is that of a statement with these calls and literals.
func Waits(calls []*expr.Call, literals []datum.Datum) func(params []datum.Datum) bool {
	mayWait := func(params []datum.Datum) bool {
		return slices.ContainsFunc(calls, func(c *expr.Call) bool { return c.MayWait(params, literals) })
	}
	if !mayWait(nil) {
		return nil
	}
	return mayWait
}

// unknownHere is the error of a statement that rests on what only an upstream knows.
func unknownHere(p *place.Placement) *pgerr.Error {
	fact := p.Unknown(expr.Volatility)
	if fact == nil {
		return nil
	}
	err := *fact.Refused
	err.Cause = plan.ErrNeedsUpstream
	return &err
}

func (c *compiler) compile(s *plan.Statement, n *pg_query.Node) *pgerr.Error {
	switch n := n.GetNode().(type) {
	case *pg_query.Node_SelectStmt:
		return c.selectStmt(s, n.SelectStmt)
	case *pg_query.Node_PrepareStmt:
		return c.prepare(s, n.PrepareStmt)
	case *pg_query.Node_ExecuteStmt:
		return c.execute(s, n.ExecuteStmt)
	}
	return c.utility(s, n)
}
