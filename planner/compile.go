package planner

import (
	"slices"

	"github.com/jeroenrinzema/psql-wire/codes"
	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/planner/pgparse"
	"raisinproxy/planner/plan"
	"raisinproxy/sqlfuncs/pgerr"
)

// compiler turns one parsed statement into a Statement.
type compiler struct {
	exprCompiler
	with     map[string]fromItem // the WITH queries, by name
	embedded bool                // there is no upstream: queries over the catalogues are answered here
}

// compileStatement compiles statement i of a text. What only the catalogues of an embedded
// server can answer is looked up among the queries that clients send by themselves; with an
// upstream, what is refused here is its to answer.
func compileStatement(parsed *pgparse.Parsed, i int, characters *pgparse.Characters, o Options, embedded bool) *Statement {
	ps := &parsed.Statements[i]
	if ps.Node == nil {
		return &Statement{Action: UseBranch(ps.Branch)}
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
func newCompiler(at func(int32) int, start int, o Options, embedded bool) *compiler {
	c := &compiler{exprCompiler: exprCompiler{at: at, start: start, params: newParamTypes(o.Types)}, embedded: embedded}
	c.params.fixed = !o.Prepared
	return c
}

// statement compiles n. Errors beyond syntax are kept in the result, to be
// reported when the statement's turn comes.
func (c *compiler) statement(n *pg_query.Node) *Statement {
	s := &Statement{}
	declared := slices.Clone(c.params.types)
	placed, err := placeCalls(n, c.at)
	s.Mentions = len(placed.calls) > 0 || err != nil
	if len(placed.calls) > 0 {
		s.First, _ = ours(placed.calls[0].call)
	}
	if err == nil {
		err = c.compile(s, n)
	}
	if err == nil {
		err = c.opaque
	}
	if err == nil {
		err = c.params.check()
	}
	if query := n.GetSelectStmt(); err != nil && plan.NeedsUpstream(err) && c.embedded && query != nil && !s.Mentions {
		if answer, ok := c.catalogueQuery(query, declared); ok {
			return answer
		}
	}
	if err == nil {
		err = unknownHere(&placed)
	}
	if err != nil {
		return &Statement{Err: err, Action: s.Action, Mentions: s.Mentions, First: s.First}
	}
	s.Params = c.params.types
	for _, call := range c.calls {
		s.Calls = append(s.Calls, call.Func)
	}
	if c.foreign != nil {
		s.Database, s.Foreign = c.database, c.foreign
	}
	return s
}

// unknownHere is the error of a statement that rests on what only an upstream knows.
func unknownHere(p *placement) *pgerr.Error {
	fact := p.Unknown(builtinVolatility)
	if fact == nil {
		return nil
	}
	err := *fact.Refused
	err.Cause = plan.ErrNeedsUpstream
	return &err
}

func (c *compiler) compile(s *Statement, n *pg_query.Node) *pgerr.Error {
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
