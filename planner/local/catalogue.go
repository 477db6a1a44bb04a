package local

import (
	"strings"
	"sync"

	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/planner/catalog"
	"raisinproxy/planner/clientsql"
	"raisinproxy/planner/expr"
	"raisinproxy/planner/pgparse"
	"raisinproxy/planner/plan"
	"raisinproxy/planner/sqltext"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// This file is about queries that read the system catalogues, of which an embedded
// server has its own: those of a shape that package catalog evaluates, and the texts that
// package clientsql knows.

// catalogueQuery is the plan of a query over the catalogues, and over the rows of the product's
// own functions; ok is false if it is none of them.
func (c *compiler) catalogueQuery(n *pg_query.SelectStmt, declared []datum.Type) (st *plan.Statement, ok bool) {
	sets := newSetCompiler(c, declared)
	if err := sets.compile(n); err != nil {
		return &plan.Statement{Err: err, Mentions: true}, true
	}
	query, err := catalog.Compile(n, sets.Params.Types, !c.Params.Fixed, c.At)
	if err != nil {
		report := pgerr.From(err)
		if !catalog.IsRefusal(err) {
			return &plan.Statement{Err: report}, true
		}
		// Of a relation that is not there, and without one, the error before says more.
		known := len(n.FromClause) > 0 && !strings.HasPrefix(report.Message, "relation ")
		return &plan.Statement{Err: plan.UpstreamHint(report).At(c.Start)}, known
	}
	st = answer(query, query.Params, sets.made(query), func(f *Frame) []datum.Datum { return f.Params })
	sets.note(st, query)
	return st, true
}

// answer is the plan of a query over the catalogues.
func answer(query *catalog.Query, params []datum.Type, sets []*expr.Call, args func(*Frame) []datum.Datum) *plan.Statement {
	return &plan.Statement{Columns: query.Columns, Params: params, ReadsCatalogues: true, Action: &Select{catalog: func(f *Frame) ([][]datum.Datum, error) {
		made, err := rowsOfSets(f, sets)
		if err != nil {
			return nil, err
		}
		rows, err := query.Rows(catalogueSession{f.Env}, args(f), made)
		if catalog.IsRefusal(err) {
			err = plan.UpstreamHint(pgerr.From(err))
		}
		return rows, err
	}}}
}

// catalogueSession is what the catalogues show of a session.
type catalogueSession struct{ env plan.Env }

func (s catalogueSession) Database() string                   { return s.env.Info(plan.InfoDatabase).Str }
func (s catalogueSession) User() string                       { return s.env.Info(plan.InfoCurrentUser).Str }
func (s catalogueSession) Version() string                    { return s.env.Info(plan.InfoVersion).Str }
func (s catalogueSession) Setting(name string) (string, bool) { return s.env.Setting(name) }
func (s catalogueSession) Settings() []catalog.Setting        { return s.env.Settings() }

// answers is the index of clientsql, made when it is first needed.
var answers = sync.OnceValue(clientsql.NewIndex)

// clientAnswer is the plan of a catalogue query that a client sends by itself.
func clientAnswer(text *sqltext.Text, ps *pgparse.Statement, o plan.Options) (*plan.Statement, bool) {
	query, args, ok := answers().Find(text.Normalise(ps.Start, ps.End))
	if !ok || len(o.Types) > 0 { // none of them has a parameter
		return nil, false
	}
	return answer(query, nil, nil, func(*Frame) []datum.Datum { return args }), true
}
