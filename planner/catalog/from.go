package catalog

import (
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/planner/tree"
	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/datum"
)

// maxItems is how many items the bits of a set can tell apart.
const maxItems = 64

func (c *compiler) fromItem(n *pg_query.Node) (node, error) {
	switch n := n.GetNode().(type) {
	case *pg_query.Node_RangeVar:
		return c.fromRelation(n.RangeVar)
	case *pg_query.Node_RangeSubselect:
		return c.fromSubquery(n.RangeSubselect)
	case *pg_query.Node_RangeFunction:
		return c.fromFunction(n.RangeFunction)
	case *pg_query.Node_JoinExpr:
		return c.fromJoin(n.JoinExpr)
	}
	return nil, refusal("this FROM item")
}

func (c *compiler) fromRelation(n *pg_query.RangeVar) (node, error) {
	if n.Catalogname != "" || !n.Inh {
		return nil, refusal("relation \"%s\"", n.Relname)
	}
	if cte := c.ctes[n.Relname]; cte != nil && n.Schemaname == "" {
		return c.fromCTE(n, cte)
	}
	schema := n.Schemaname
	if schema == "" {
		schema = pgCatalog
	}
	if f, ok := sqlfuncs.Lookup(n.Relname); ok && f.Set && (n.Schemaname == "" || n.Schemaname == "public") {
		return c.fromSet(Set{Func: f}, n.Alias)
	}
	rel := relations()[qualified{schema, n.Relname}]
	if rel == nil || !rel.readable() {
		return nil, refusal("relation \"%s\"", n.Relname)
	}
	s, err := c.addItem(&item{alias: n.Relname, rel: rel, partial: rel.partial, oid: rel.oid, columns: rel.columns}, n.Alias)
	if err != nil {
		return nil, err
	}
	s.rows = func(x *execution, _ *row) ([][]datum.Datum, error) { return x.relationRows(rel) }
	return s, nil
}

// fromCTE is a WITH query, which is computed where it is named: it has no effects.
func (c *compiler) fromCTE(n *pg_query.RangeVar, cte *pg_query.CommonTableExpr) (node, error) {
	ctes, outer := c.ctes, c.scope
	c.ctes, c.scope = without(ctes, cte.Ctename), nil
	b, err := c.query(cte.Ctequery.GetSelectStmt())
	c.ctes, c.scope = ctes, outer
	if err != nil {
		return nil, err
	}
	return c.addQuery(b, &item{alias: n.Relname}, n.Alias)
}

func without(ctes map[string]*pg_query.CommonTableExpr, name string) map[string]*pg_query.CommonTableExpr {
	rest := make(map[string]*pg_query.CommonTableExpr)
	for other, cte := range ctes {
		if other != name {
			rest[other] = cte
		}
	}
	return rest
}

func (c *compiler) fromSubquery(n *pg_query.RangeSubselect) (node, error) {
	if n.Alias == nil {
		return nil, refusal("a subquery without a name")
	}
	outer := c.scope
	if !n.Lateral { // it does not see its neighbours
		c.scope = outer.outer
	}
	b, err := c.query(n.Subquery.GetSelectStmt())
	c.scope = outer
	if err != nil {
		return nil, err
	}
	if n.Lateral {
		return nil, refusal("a LATERAL subquery")
	}
	outer.outward = outer.outward || b.correlated
	return c.addQuery(b, &item{}, n.Alias)
}

func (c *compiler) addQuery(b *body, i *item, alias *pg_query.Alias) (node, error) {
	for _, col := range b.columns {
		i.columns = append(i.columns, column{col.Name, col.Type, col.Typmod})
	}
	s, err := c.addItem(i, alias)
	if err != nil {
		return nil, err
	}
	s.correlated = b.correlated
	s.rows = func(x *execution, r *row) ([][]datum.Datum, error) { return b.rows(x, r.outer) }
	return s, nil
}

// fromFunction is unnest(array) or generate_series(from, to).
func (c *compiler) fromFunction(n *pg_query.RangeFunction) (node, error) {
	call := tree.FromFunction(n)
	if call == nil || len(n.Functions) != 1 || n.Ordinality || n.IsRowsfrom || len(n.Coldeflist) > 0 {
		return nil, refusal("this FROM item")
	}
	if name, ok := tree.CatalogName(call.Funcname); ok && name == "pg_get_keywords" && len(call.Args) == 0 {
		return c.fromKeywords(n.Alias)
	}
	if f, ok := tree.Function(call); ok && f.Set {
		return c.fromSet(Set{Func: f, Call: call}, n.Alias)
	}
	var e *expr
	refs, err := c.reading(func() (err error) {
		c.scope.setsAllowed = true
		e, err = c.function(call)
		c.scope.setsAllowed = false
		return err
	})
	if err != nil {
		return nil, err
	}
	name := tree.Name(call.Funcname)
	if n.Alias != nil && len(n.Alias.Colnames) == 0 {
		name = n.Alias.Aliasname
	}
	s, err := c.addItem(&item{alias: tree.Name(call.Funcname), columns: []column{{name, e.t, e.typmod}}}, n.Alias)
	if err != nil {
		return nil, err
	}
	s.correlated, s.needs = refs != 0 || c.scope.outward, refs
	s.rows = func(x *execution, r *row) ([][]datum.Datum, error) { return setRows(x, r, e) }
	return s, nil
}

// fromSet is one of the product's functions that return a set. A call in a WITH query that is
// read twice is one.
func (c *compiler) fromSet(set Set, alias *pg_query.Alias) (node, error) {
	at := slices.Index(c.sets, set)
	if at < 0 {
		at, c.sets = len(c.sets), append(c.sets, set)
	}
	i := &item{alias: set.Func.Name}
	if set.Call == nil {
		i.rel = &relation{schema: "public", name: set.Func.Name}
	}
	for _, col := range set.Func.Columns {
		i.columns = append(i.columns, column{col.Name, col.Type, -1})
	}
	s, err := c.addItem(i, alias)
	if err != nil {
		return nil, err
	}
	columns := len(set.Func.Columns)
	s.rows = func(x *execution, _ *row) ([][]datum.Datum, error) {
		rows := make([][]datum.Datum, len(x.sets[at]))
		for n := range rows {
			rows[n] = x.sets[at][n][:columns:columns]
		}
		return rows, nil
	}
	return s, nil
}

// fromKeywords is pg_get_keywords(), without the descriptions of the categories.
func (c *compiler) fromKeywords(alias *pg_query.Alias) (node, error) {
	columns := []column{{"word", datum.Text, -1}, {"catcode", datum.Char, -1}}
	s, err := c.addItem(&item{alias: "pg_get_keywords", columns: columns, partial: true}, alias)
	if err != nil {
		return nil, err
	}
	s.rows = func(*execution, *row) (rows [][]datum.Datum, _ error) {
		for _, k := range keywords() {
			rows = append(rows, []datum.Datum{text(k.word), text(k.category)})
		}
		return rows, nil
	}
	return s, nil
}

// setRows are the rows of a function in FROM.
func setRows(x *execution, r *row, e *expr) ([][]datum.Datum, error) {
	v, err := e.eval(x, r)
	if err != nil {
		return nil, err
	}
	if !e.set {
		return [][]datum.Datum{{v}}, nil
	}
	if v.Null {
		return nil, nil
	}
	values, err := x.elements(arrayOf(e.t), v)
	if err != nil {
		return nil, err
	}
	rows := make([][]datum.Datum, len(values))
	for i, v := range values {
		rows[i] = []datum.Datum{v}
	}
	return rows, nil
}

func (c *compiler) addItem(i *item, alias *pg_query.Alias) (*scan, error) {
	if alias != nil {
		i.alias = alias.Aliasname
		i.rel = nil
		if len(alias.Colnames) > len(i.columns) {
			return nil, refusal("these names of columns")
		}
		i.columns = slices.Clone(i.columns)
		for n, name := range alias.Colnames {
			i.columns[n].name = name.GetString_().GetSval()
		}
	}
	if slices.ContainsFunc(c.scope.items, func(other *item) bool { return other.alias == i.alias }) || len(c.scope.items) == maxItems {
		return nil, refusal("these FROM items")
	}
	c.scope.items = append(c.scope.items, i)
	return &scan{index: len(c.scope.items) - 1}, nil
}

func (c *compiler) fromJoin(n *pg_query.JoinExpr) (node, error) {
	outer := n.Jointype == pg_query.JoinType_JOIN_LEFT
	if n.Jointype != pg_query.JoinType_JOIN_INNER && !outer || n.IsNatural || n.Alias != nil || n.JoinUsingAlias != nil {
		return nil, refusal("this JOIN")
	}
	first := len(c.scope.items)
	left, err := c.fromItem(n.Larg)
	if err != nil {
		return nil, err
	}
	middle := len(c.scope.items)
	right, err := c.fromItem(n.Rarg)
	if err != nil {
		return nil, err
	}
	j := &join{left: left, right: right, outer: outer}
	if j.on, err = c.conjuncts(n.Quals); err != nil {
		return nil, err
	}
	if len(n.UsingClause) > 0 {
		return j, c.using(j, n.UsingClause, first, middle)
	}
	return j, nil
}
