package place

import (
	"cmp"

	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/planner/tree"
)

// level is one query on a way, or beside it: what its conditions can name.
type level struct {
	scope *scope
	// parent is the level whose rows it can name too; nil for one that is computed by
	// itself, as those on a way are.
	parent  *level
	items   []*item
	clauses []Clause
	// equal are the equalities of all levels that PostgreSQL may make one of. The
	// topmost of them owns it.
	equal *equalities
	owner bool
	own   *levelEqualities
}

func newLevel(s *scope) *level {
	l := &level{scope: s, equal: &equalities{}, owner: true}
	l.own = l.equal.add()
	return l
}

// below is the level of a subquery in FROM, which PostgreSQL may make part of l.
func (l *level) below(s *scope) *level {
	b := &level{scope: s, equal: l.equal}
	b.own = l.equal.add()
	return b
}

// Clause is a WHERE or ON.
type Clause struct {
	Quals *pg_query.Node
	Word  string // by which it begins
	// outer: what is false in it does not make the result empty.
	outer bool
	// Guards are those among its conditions.
	Guards []*pg_query.Node
	// Ordered: PostgreSQL evaluates them as they are written. It does if there is
	// something in FROM; else it begins with what costs least.
	Ordered bool
}

// Conditions are those that AND joins.
func (c *Clause) Conditions() []*pg_query.Node { return conjuncts(c.Quals) }

func conjuncts(n *pg_query.Node) (all []*pg_query.Node) {
	if n == nil {
		return nil
	}
	if b := n.GetBoolExpr(); b.GetBoolop() == pg_query.BoolExprType_AND_EXPR {
		for _, arg := range b.Args {
			all = append(all, conjuncts(arg)...)
		}
		return all
	}
	return []*pg_query.Node{n}
}

// item is something in FROM, and what is known of its columns.
type item struct {
	columnSet
	node  *pg_query.Node // nil: a table that is changed
	alias string
	// derived: its columns may be those of others, by other names.
	derived bool
	table   *pg_query.RangeVar
	checked bool
}

// columnSet is what is known of columns.
type columnSet struct {
	kinds map[string]kind
	order []string // of the columns, if it is not open
	// open: there may be other columns too, which are of the kind rest.
	open bool
	rest kind
}

// add adds a column. Of two of the same name the worse counts.
func (s *columnSet) add(name string, k kind) {
	if s.kinds == nil {
		s.kinds = map[string]kind{}
	}
	if before, twice := s.kinds[name]; twice {
		k = min(k, before)
	}
	s.kinds[name] = k
	s.order = append(s.order, name)
}

// has says whether there may be a column of that name.
func (s *columnSet) has(name string) bool {
	_, known := s.kinds[name]
	return known || s.open
}

func (s *columnSet) kindOf(name string) kind {
	if k, known := s.kinds[name]; known {
		return k
	}
	if s.open && name != "tableoid" {
		return s.rest
	}
	return uncertain
}

// rename gives the first columns other names.
func (s *columnSet) rename(names []*pg_query.Node) {
	if len(names) == 0 {
		return
	}
	renamed := columnSet{open: s.open, rest: s.rest}
	if s.open { // which columns come first is not known
		for _, name := range names {
			renamed.add(name.GetString_().GetSval(), s.leastKind())
		}
		for name, k := range s.kinds {
			renamed.add(name, k)
		}
	} else {
		for at, name := range s.order {
			k := s.kinds[name]
			if at < len(names) {
				name = names[at].GetString_().GetSval()
			}
			renamed.add(name, k)
		}
	}
	*s = renamed
}

func (s *columnSet) leastKind() kind {
	least := ofRow
	if s.open {
		least = s.rest
	}
	for _, k := range s.kinds {
		least = min(least, k)
	}
	return least
}

// wholeRow says whether the alias by itself may stand for the row.
func (i *item) wholeRow(name string) bool {
	_, column := i.kinds[name]
	return i.alias == name && !column
}

// named gives the item its alias, and its first columns the names that come with it.
func (i *item) named(alias *pg_query.Alias) {
	if alias != nil {
		i.alias = alias.Aliasname
		i.rename(alias.Colnames)
	}
}

func (l *level) addTable(table *pg_query.RangeVar) *item {
	i := &item{columnSet: columnSet{open: true, rest: ofRow}, alias: cmp.Or(table.Alias.GetAliasname(), table.Relname), table: table}
	l.items = append(l.items, i)
	return i
}

// joined says what joins stand above an item of FROM.
type joined struct {
	kept  bool // none of them can leave it out
	inner bool // all are inner ones
}

// fromItem looks at an item of FROM on a way, and places the calls in it.
func (p *placer) fromItem(l *level, n *pg_query.Node, above joined) {
	switch v := n.GetNode().(type) {
	case *pg_query.Node_JoinExpr:
		p.join(l, v.JoinExpr, above)
		return
	case *pg_query.Node_RangeFunction:
		if call := p.fromFunction(v.RangeFunction, above); call != nil {
			l.items = append(l.items, callItem(call, v.RangeFunction.Alias))
			return
		}
	case *pg_query.Node_RangeSubselect:
		if l.scope.carries(v.RangeSubselect.Subquery) {
			p.fromSubquery(l, v.RangeSubselect, above)
			return
		}
	case *pg_query.Node_RangeVar:
		if q := l.scope.find(v.RangeVar); q != nil && q.calls && !q.writes() {
			p.fromWith(l, q, v.RangeVar, above)
			return
		}
	}
	p.refuse("this FROM item", n)
	l.beside(n)
}

// join is a JOIN: calls are certain on the sides that it keeps.
func (p *placer) join(l *level, n *pg_query.JoinExpr, above joined) {
	left, right := above, above
	inner := n.Jointype == pg_query.JoinType_JOIN_INNER
	left.inner, right.inner = above.inner && inner, above.inner && inner
	left.kept = above.kept && n.Jointype != pg_query.JoinType_JOIN_RIGHT
	right.kept = above.kept && n.Jointype != pg_query.JoinType_JOIN_LEFT
	before := len(l.items)
	p.fromItem(l, n.Larg, left)
	p.fromItem(l, n.Rarg, right)
	l.clauses = append(l.clauses, Clause{Quals: n.Quals, Word: "on", outer: !above.inner || !inner})
	p.refuse("a JOIN condition", n.Quals)
	l.merged(n, before)
}

// merged notes the columns that a JOIN makes of those of its sides.
func (l *level) merged(n *pg_query.JoinExpr, before int) {
	for _, name := range n.UsingClause {
		l.own.using[name.GetString_().GetSval()] = true
	}
	l.own.natural = l.own.natural || n.IsNatural
	if alias := n.Alias; alias != nil {
		whole := &item{columnSet: columnSet{open: true, rest: ofRow}, alias: alias.Aliasname, derived: true, checked: true}
		for _, side := range l.items[before:] {
			whole.rest = min(whole.rest, side.leastKind())
		}
		l.items = append(l.items, whole)
	}
	if alias := n.JoinUsingAlias; alias != nil {
		l.items = append(l.items, &item{columnSet: columnSet{open: true}, alias: alias.Aliasname, derived: true, checked: true})
	}
}

// fromFunction places a call that is an item of FROM; nil if it is none of the proxy's.
func (p *placer) fromFunction(n *pg_query.RangeFunction, above joined) *pg_query.FuncCall {
	if len(tree.Singles(n)) == 0 {
		return nil
	}
	if n.IsRowsfrom {
		p.refuse("ROWS FROM", n)
		return nil
	}
	if n.Ordinality {
		p.refuse("a FROM item WITH ORDINALITY", n)
		return nil
	}
	call := tree.FromFunction(n)
	if f, ok := tree.Function(call); !ok || f.Set {
		p.refuse("the arguments of another function in FROM", n)
		return nil
	}
	if !above.kept {
		p.refuse("the side of an outer join that may have no row", n)
		return nil
	}
	p.place(call, InFrom)
	return call
}

// callItem is what is seen of a call in FROM.
func callItem(call *pg_query.FuncCall, alias *pg_query.Alias) *item {
	f, _ := tree.Function(call)
	i := &item{alias: f.Name, checked: true}
	for _, c := range f.Columns {
		name := c.Name
		if alias != nil && len(f.Columns) == 1 {
			name = alias.Aliasname // as for any function of a scalar type
		}
		i.add(name, ofRow)
	}
	i.named(alias)
	return i
}

// fromSubquery is a subquery in FROM with calls in it.
func (p *placer) fromSubquery(l *level, n *pg_query.RangeSubselect, above joined) {
	switch {
	case n.Lateral:
		p.refuseCarried("a LATERAL subquery", l.scope, n.Subquery)
	case !above.kept:
		p.refuseCarried("the side of an outer join that may have no row", l.scope, n.Subquery)
	default:
		b := l.below(l.scope)
		query := n.Subquery.GetSelectStmt()
		p.query(query, b)
		i := &item{columnSet: p.outputs(b, query), derived: true, checked: true}
		i.named(n.Alias)
		l.items = append(l.items, i)
	}
}

// fromWith is a WITH query with calls in it, read in FROM.
func (p *placer) fromWith(l *level, q *scope, n *pg_query.RangeVar, above joined) {
	name := q.query.Ctename
	switch {
	case q.recursive:
		return // it was refused
	case p.reads[name] > 1 || p.named[name] > 1:
		p.refuseCarried("a WITH query that is not read exactly once", l.scope, q.query.Ctequery)
	case !above.kept:
		p.refuseCarried("the side of an outer join that may have no row", l.scope, q.query.Ctequery)
	default:
		b := newLevel(q.outer) // PostgreSQL never makes a WITH query that is volatile part of another
		query := q.query.Ctequery.GetSelectStmt()
		p.query(query, b)
		i := &item{columnSet: p.outputs(b, query), alias: name, derived: true, checked: true}
		i.rename(q.query.Aliascolnames)
		i.named(n.Alias)
		l.items = append(l.items, i)
	}
}

// refuseCarried refuses the calls that a query makes, by itself or by what it reads.
func (p *placer) refuseCarried(what string, s *scope, n *pg_query.Node) {
	p.refuse(what, n)
	tree.Each(n, func(table *pg_query.RangeVar) {
		if q := s.find(table); q != nil && q.calls && !q.writes() {
			p.refuseCarried(what, q.outer, q.query.Ctequery)
		}
	})
}

// beside notes an item of FROM that makes no calls. What it is is looked at when it
// matters.
func (l *level) beside(n *pg_query.Node) {
	if table := n.GetRangeVar(); table != nil && l.scope.find(table) == nil {
		l.addTable(table).node = n
		return
	}
	if item := n.GetRangeFunction(); tree.FromSet(item) != nil {
		l.items = append(l.items, callItem(tree.FromSet(item), item.Alias))
		return
	}
	l.items = append(l.items, &item{columnSet: columnSet{open: true}, node: n, alias: aliasOf(n), derived: true})
}

// aliasOf is the name by which an item of FROM is known.
func aliasOf(n *pg_query.Node) string {
	table, function := n.GetRangeVar(), n.GetRangeFunction()
	for _, alias := range []*pg_query.Alias{table.GetAlias(), n.GetRangeSubselect().GetAlias(), function.GetAlias()} {
		if alias != nil {
			return alias.Aliasname
		}
	}
	return cmp.Or(table.GetRelname(), tree.Name(tree.FromFunction(function).GetFuncname()))
}
