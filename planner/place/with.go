package place

import (
	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/planner/tree"
)

// scope is a WITH query that can be read, and those before it.
type scope struct {
	outer     *scope
	query     *pg_query.CommonTableExpr
	recursive bool
	calls     bool       // it makes some, by itself or by what it reads
	columns   *columnSet // of one that makes none, once it was checked
}

// find is the WITH query that a relation is; nil if it is none.
func (s *scope) find(table *pg_query.RangeVar) *scope {
	if table.Schemaname != "" {
		return nil
	}
	for ; s != nil; s = s.outer {
		if s.query.Ctename == table.Relname {
			return s
		}
	}
	return nil
}

// writes says whether the query changes data, and so runs to its end whatever reads it.
func (s *scope) writes() bool { return s.query.Ctequery.GetSelectStmt() == nil }

// with opens the scope of a WITH. Those of its queries that write are ways of their own.
func (p *placer) with(w *pg_query.WithClause, outer *scope) *scope {
	s := outer
	for _, node := range w.GetCtes() {
		s = &scope{outer: s, query: node.GetCommonTableExpr(), recursive: w.Recursive}
		s.calls = s.outer.carries(s.query.Ctequery)
		switch {
		case w.Recursive:
			p.refuse("WITH RECURSIVE", s.query.Ctequery)
		case s.writes():
			rows := p.noRows
			p.statement(s.query.Ctequery, s.outer)
			p.noRows = rows
		}
	}
	return s
}

// carries says whether a query makes calls, by itself or by what it reads.
func (s *scope) carries(n tree.Message) bool {
	return len(tree.Singles(n)) > 0 || tree.Any(n, func(table *pg_query.RangeVar) bool {
		q := s.find(table)
		return q != nil && q.calls && !q.writes()
	})
}
