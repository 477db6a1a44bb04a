package place

import (
	"strconv"

	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/planner/tree"
)

// This file looks at what stands in FROM beside a call. If PostgreSQL's planner can prove
// that it has no rows, then the query has none, and the call is never made.

// siblings checks the items of a level.
func (p *placer) siblings(l *level) {
	for _, i := range l.items {
		if !i.checked {
			i.checked = true
			p.sibling(l, i)
		}
	}
}

func (p *placer) sibling(l *level, i *item) {
	if i.table != nil {
		p.siblingTable(i)
		return
	}
	switch v := i.node.GetNode().(type) {
	case *pg_query.Node_RangeVar:
		p.siblingWith(l, i, v.RangeVar)
	case *pg_query.Node_RangeSubselect:
		b := l.below(l.scope)
		if v.RangeSubselect.Lateral {
			b.parent = l
		}
		i.columnSet = p.siblingQuery(b, i.node, v.RangeSubselect.Subquery.GetSelectStmt())
		i.named(v.RangeSubselect.Alias)
	case *pg_query.Node_RangeFunction:
		for _, f := range v.RangeFunction.Functions {
			if call := f.GetList().GetItems()[0].GetFuncCall(); call != nil {
				p.needFunction(opaqueFunction, call, besideFunction)
			}
		}
	default:
		p.uncertainAt(tree.Location(i.node), besideItem)
	}
}

// The reasons why a call is refused beside something in FROM.
const (
	besideFunction  = "a function that is written in SQL"
	besideItem      = "this FROM item"
	besideTable     = "a view, or a partitioned, inherited or row-secured table"
	besideQuery     = "this subquery in FROM"
	besideSettings  = "a table with constraint_exclusion = on"
	besideCondition = "this condition"
	besideNames     = "a subquery whose columns may be those of the query around it"
)

// siblingTable asks whether a table is an ordinary one, whose rows only its own pages tell.
func (p *placer) siblingTable(i *item) {
	at := i.table.Location
	p.need(plainTable, relationName(i.table), "", besideTable, at)
	p.need(settingIsNot, "constraint_exclusion", "on", besideSettings, at)
}

// siblingWith is a WITH query that makes no calls. PostgreSQL may make it part of the level.
func (p *placer) siblingWith(l *level, i *item, n *pg_query.RangeVar) {
	q := l.scope.find(n)
	switch {
	case q.writes():
		i.rest = ofRow
	case q.recursive:
		p.uncertainAt(n.Location, besideQuery)
	default:
		if q.columns == nil { // queries that build on each other would double the work each time
			columns := p.siblingQuery(l.below(q.outer), i.node, q.query.Ctequery.GetSelectStmt())
			q.columns = &columns
			q.columns.rename(q.query.Aliascolnames)
		}
		i.columnSet = *q.columns
	}
	i.alias = q.query.Ctename
	i.named(n.Alias)
}

// siblingQuery checks a query without calls, and finds its columns.
func (p *placer) siblingQuery(b *level, at tree.Message, n *pg_query.SelectStmt) columnSet {
	if n.GetOp() != pg_query.SetOperation_SETOP_NONE || n.GetHavingClause() != nil || !certainLimit(n) {
		p.uncertainAt(tree.Location(at), besideQuery)
		return columnSet{}
	}
	b.scope = p.with(n.WithClause, b.scope)
	for _, item := range n.FromClause {
		p.besideItem(b, item)
	}
	b.clauses = append(b.clauses, Clause{Quals: n.WhereClause, Word: "where", outer: true})
	p.siblings(b)
	for c := range b.clauses {
		p.sort(b, &b.clauses[c])
	}
	return p.outputs(b, n)
}

// besideItem notes an item of FROM of a query without calls.
func (p *placer) besideItem(l *level, n *pg_query.Node) {
	join := n.GetJoinExpr()
	if join == nil {
		l.beside(n)
		return
	}
	before := len(l.items)
	p.besideItem(l, join.Larg)
	p.besideItem(l, join.Rarg)
	l.clauses = append(l.clauses, Clause{Quals: join.Quals, Word: "on", outer: true})
	l.merged(join, before)
}

// outputs are the columns of a query in FROM, whose own items have been checked. Those
// that are constants are uncertain: a condition on them is one on the constants.
func (p *placer) outputs(l *level, n *pg_query.SelectStmt) columnSet {
	p.siblings(l)
	out := columnSet{rest: ofRow}
	if len(n.ValuesLists) > 0 {
		out.valuesColumns(n)
		return out
	}
	for _, target := range n.TargetList {
		p.output(l, &out, target.GetResTarget())
	}
	return out
}

// valuesColumns are constants, except those that are calls.
func (s *columnSet) valuesColumns(n *pg_query.SelectStmt) {
	for at := range n.ValuesLists[0].GetList().GetItems() {
		k := uncertain
		for _, list := range n.ValuesLists {
			if items := list.GetList().GetItems(); at < len(items) && len(tree.Singles(items[at])) > 0 {
				k = ofRow
			}
		}
		s.add("column"+strconv.Itoa(at+1), k)
	}
}

func (p *placer) output(l *level, out *columnSet, target *pg_query.ResTarget) {
	if fields := target.Val.GetColumnRef().GetFields(); len(fields) > 0 && fields[len(fields)-1].GetAStar() != nil {
		for _, i := range l.items {
			if len(fields) == 1 || i.alias == tree.Name(fields[:len(fields)-1]) {
				out.include(&i.columnSet)
			}
		}
		return
	}
	if call, f, column := tree.FieldOfCall(target.Val.GetAIndirection()); call != nil && column == "" {
		for _, c := range f.Columns {
			out.add(c.Name, ofRow)
		}
		return
	}
	if tree.IsStar(target.Val) {
		out.open, out.rest = true, uncertain
		return
	}
	name := target.Name
	if name == "" {
		name = tree.ColumnName(target.Val)
	}
	out.add(name, p.outputKind(l, target.Val))
}

// include adds the columns of an item, for *.
func (s *columnSet) include(from *columnSet) {
	if from.open {
		s.open, s.rest = true, min(s.rest, from.leastKind())
		return
	}
	for _, name := range from.order {
		s.add(name, from.kinds[name])
	}
}

// outputKind is row or uncertain.
func (p *placer) outputKind(l *level, n *pg_query.Node) kind {
	if len(tree.Singles(n)) > 0 {
		return ofRow
	}
	before := p.facts.count()
	f := folding{placer: p, level: l}
	if f.kind(n) != ofRow {
		p.facts.rewind(before)
		return uncertain
	}
	return ofRow
}
