package catalog

import (
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/planner/tree"
	"raisinproxy/sqlfuncs/datum"
)

// scope is what the columns of one query are looked up in.
type scope struct {
	outer *scope
	items []*item
	// refs are the items that the expression being compiled reads, a bit for each, and
	// columns all of their columns that it reads.
	refs    uint64
	columns []columnRef
	// outward: the query reads a column of the one around.
	outward     bool
	setsAllowed bool // a set-returning function may stand here
	body        *body
	inAggregate bool
}

type columnRef struct{ item, column int }

// item is one item of FROM.
type item struct {
	alias   string
	rel     *relation // nil: it is no relation, or has another name
	partial bool      // there are more columns in PostgreSQL
	columns []column
	oid     uint32 // of the relation, its tableoid; 0: it is none
	// merged are the columns that JOIN … USING shows once, with the item before.
	merged []string
}

// maxItems is how many items the bits of a set can tell apart.
const maxItems = 64

// node is a part of FROM.
type node interface {
	// each calls yield for each row, having set the items of r.
	each(x *execution, r *row, yield func() error) error
	// push takes the conditions that can be tested on the way, and returns the rest.
	push([]conjunct) (rest []*expr)
	// bits are the items under the node.
	bits() uint64
}

// conjunct is one of the conditions between the ANDs of WHERE and ON, and the items of
// FROM that it reads.
type conjunct struct {
	*expr
	refs uint64
	// equal, if it is a comparison of two expressions that are equal when their values
	// are the same, are those, each with the items that it reads.
	equal [2]side
}

type side struct {
	*expr
	refs uint64
}

// nothing is a query without FROM: a single row.
type nothing struct{}

func (n *nothing) bits() uint64 { return 0 }
func (n *nothing) push(all []conjunct) []*expr {
	return exprsOf(all)
}
func (n *nothing) each(_ *execution, _ *row, yield func() error) error { return yield() }

func exprsOf(all []conjunct) (list []*expr) {
	for _, one := range all {
		list = append(list, one.expr)
	}
	return list
}

// scan yields the rows of one item.
type scan struct {
	index int
	// rows are those of the item; correlated ones are computed for each row before.
	rows       func(*execution, *row) ([][]datum.Datum, error)
	correlated bool
	needs      uint64 // items that it reads
	filters    []*expr
	// probe finds the rows whose column has the value of an expression that does not
	// read this item.
	probe  *expr
	column int
	text   bool // of the column: it is not a number
}

func (s *scan) bits() uint64 { return 1 << s.index }

func (s *scan) push(all []conjunct) []*expr {
	for _, one := range all {
		if s.probe == nil && !s.correlated {
			s.takeProbe(one)
		}
		s.filters = append(s.filters, one.expr)
	}
	return nil
}

// takeProbe uses an equality of a column and something else for an index. The condition
// is tested all the same.
func (s *scan) takeProbe(one conjunct) {
	for i, mine := range one.equal {
		other := one.equal[1-i]
		if mine.expr == nil || mine.refs != s.bits() || other.refs&s.bits() != 0 || mine.columnOf < 0 || family(mine.t) != family(other.t) || mine.t == datum.Bpchar || other.t == datum.Bpchar {
			continue
		}
		s.probe, s.column, s.text = other.expr, mine.columnOf, isText(mine.t)
	}
}

func (s *scan) each(x *execution, r *row, yield func() error) error {
	rows, err := s.candidates(x, r)
	if err != nil {
		return err
	}
	for _, one := range rows {
		if err := x.step(); err != nil {
			return err
		}
		r.items[s.index] = one
		ok, err := holds(x, r, s.filters)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if err := yield(); err != nil {
			return err
		}
	}
	r.items[s.index] = nil
	return nil
}

func (s *scan) candidates(x *execution, r *row) ([][]datum.Datum, error) {
	if s.correlated {
		return s.rows(x, r)
	}
	kept, err := x.keep(s, func() (any, error) { return s.rows(x, r) })
	if err != nil {
		return nil, err
	}
	rows, _ := kept.([][]datum.Datum)
	if s.probe == nil {
		return rows, nil
	}
	v, err := s.probe.eval(x, r)
	if err != nil || v.Null {
		return nil, err
	}
	index, err := x.keep(indexKey{s}, func() (any, error) { return s.buildIndex(rows), nil })
	if err != nil {
		return nil, err
	}
	return index.(map[any][][]datum.Datum)[s.key(v)], nil
}

type indexKey struct{ *scan }

func (s *scan) buildIndex(rows [][]datum.Datum) map[any][][]datum.Datum {
	index := make(map[any][][]datum.Datum)
	for _, one := range rows {
		if v := one[s.column]; !v.Null {
			index[s.key(v)] = append(index[s.key(v)], one)
		}
	}
	return index
}

func (s *scan) key(v datum.Datum) any {
	if s.text {
		return v.Str
	}
	return v.Int
}

// inOrder joins the items of inner joins so that, where there is a choice, each is found by
// what is known before: constants first, then columns of those that are there already.
func inOrder(n node, where []conjunct) (node, []conjunct) {
	leaves, where := flatten(n, where)
	var all node
	for placed := uint64(0); len(leaves) > 0; {
		i := next(leaves, where, placed)
		if placed |= leaves[i].bits(); all == nil {
			all = leaves[i]
		} else {
			all = &join{left: all, right: leaves[i]}
		}
		leaves = slices.Delete(leaves, i, i+1)
	}
	return all, where
}

// flatten takes inner joins apart.
func flatten(n node, where []conjunct) ([]node, []conjunct) {
	j, ok := n.(*join)
	if !ok || j.outer {
		return []node{n}, where
	}
	left, where := flatten(j.left, append(slices.Clone(where), j.on...))
	right, where := flatten(j.right, where)
	return append(left, right...), where
}

// next is the leaf that the most is known of.
func next(leaves []node, where []conjunct, placed uint64) int {
	best, most := -1, -1
	for i, leaf := range leaves {
		s, isScan := leaf.(*scan)
		if isScan && s.needs&^placed != 0 {
			continue
		}
		if known := knownOf(leaf, where, placed); known > most {
			best, most = i, known
		}
	}
	return max(best, 0)
}

// knownOf counts for an item what finds its rows: a column that equals one of another
// item, or a constant.
func knownOf(leaf node, where []conjunct, placed uint64) (known int) {
	const byColumn, byConstant = 2, 1
	for _, one := range where {
		for i, mine := range one.equal {
			other := one.equal[1-i]
			if mine.expr == nil || mine.refs == 0 || mine.refs&^leaf.bits() != 0 || mine.columnOf < 0 || other.refs&^placed != 0 {
				continue
			}
			if other.refs == 0 {
				known = max(known, byConstant)
			} else {
				known = byColumn
			}
		}
	}
	return known
}

// join is a cross or inner join, or a left one.
type join struct {
	left, right node
	outer       bool
	on          []conjunct
	filters     []*expr
}

func (j *join) bits() uint64 { return j.left.bits() | j.right.bits() }

func (j *join) push(all []conjunct) []*expr {
	if !j.outer {
		all = slices.Concat(j.on, all)
	}
	var left, right []conjunct
	for _, one := range all {
		switch {
		case one.refs&j.right.bits() == 0:
			left = append(left, one)
		case j.outer:
			j.filters = append(j.filters, one.expr)
		default:
			right = append(right, one)
		}
	}
	if j.outer {
		right = j.on
	}
	j.filters = append(j.filters, j.left.push(left)...)
	j.right.push(right)
	return nil
}

func (j *join) each(x *execution, r *row, yield func() error) error {
	pass := func() error {
		if ok, err := holds(x, r, j.filters); !ok || err != nil {
			return err
		}
		return yield()
	}
	return j.left.each(x, r, func() error {
		found := false
		err := j.right.each(x, r, func() error {
			found = true
			return pass()
		})
		if err != nil || found || !j.outer {
			return err
		}
		for i := range r.items {
			if j.right.bits()>>i&1 == 1 {
				r.items[i] = nil
			}
		}
		return pass()
	})
}

// conjuncts compiles a condition, one expression for each part between its ANDs.
func (c *compiler) conjuncts(n *pg_query.Node) ([]conjunct, error) {
	if n == nil {
		return nil, nil
	}
	parts := []*pg_query.Node{n}
	if b := n.GetBoolExpr(); b.GetBoolop() == pg_query.BoolExprType_AND_EXPR {
		parts = b.Args
	}
	var all []conjunct
	for _, part := range parts {
		if b := part.GetBoolExpr(); b.GetBoolop() == pg_query.BoolExprType_AND_EXPR {
			inner, err := c.conjuncts(part)
			if err != nil {
				return nil, err
			}
			all = append(all, inner...)
			continue
		}
		one, err := c.conjunct(part)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

func (c *compiler) conjunct(n *pg_query.Node) (one conjunct, err error) {
	one.refs, err = c.reading(func() (err error) {
		one.expr, err = c.condition(n)
		return err
	})
	if err != nil {
		return one, err
	}
	name, ok := tree.CatalogName(n.GetAExpr().GetName())
	if !ok || name != "=" || n.GetAExpr().Kind != pg_query.A_Expr_Kind_AEXPR_OP {
		return one, nil
	}
	// The sides once more, as the comparison has them.
	for i := range one.operands {
		one.equal[i].expr = one.operands[i]
		one.equal[i].refs, err = c.reading(func() error {
			_, err := c.expr([]*pg_query.Node{n.GetAExpr().Lexpr, n.GetAExpr().Rexpr}[i])
			return err
		})
		if err != nil {
			return one, err
		}
	}
	return one, nil
}

// reading says which items of FROM are read by what compile compiles.
func (c *compiler) reading(compile func() error) (refs uint64, err error) {
	before := c.scope.refs
	c.scope.refs = 0
	err = compile()
	refs = c.scope.refs
	c.scope.refs |= before
	return refs, err
}

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
	call := n.Functions[0].GetList().GetItems()[0].GetFuncCall()
	if call == nil || len(n.Functions) != 1 || n.Ordinality || n.IsRowsfrom || len(n.Coldeflist) > 0 {
		return nil, refusal("this FROM item")
	}
	if name, ok := tree.CatalogName(call.Funcname); ok && name == "pg_get_keywords" && len(call.Args) == 0 {
		return c.fromKeywords(n.Alias)
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

// using is JOIN … USING of two items; the columns are those of the left one.
func (c *compiler) using(j *join, names []*pg_query.Node, first, middle int) error {
	if middle != first+1 || len(c.scope.items) != middle+1 {
		return refusal("this JOIN")
	}
	for _, name := range names {
		l, lerr := c.itemColumn(c.scope, first, name.GetString_().GetSval())
		r, rerr := c.itemColumn(c.scope, middle, name.GetString_().GetSval())
		if lerr != nil || rerr != nil {
			return refusal("this JOIN")
		}
		e, err := c.compare("=", l, r)
		if err != nil {
			return err
		}
		j.on = append(j.on, conjunct{expr: e, refs: 1<<first | 1<<middle, equal: [2]side{{l, 1 << first}, {r, 1 << middle}}})
		c.scope.items[middle].merged = append(c.scope.items[middle].merged, name.GetString_().GetSval())
	}
	return nil
}

// columnRef finds a column in this query, or in those around it.
func (c *compiler) columnRef(ref *pg_query.ColumnRef) (*expr, error) {
	name := tree.Name(ref.Fields)
	for s, up := c.scope, 0; s != nil; s, up = s.outer, up+1 {
		var found *expr
		for i, it := range s.items {
			if !it.named(ref.Fields[:len(ref.Fields)-1]) || len(ref.Fields) == 1 && slices.Contains(it.merged, name) {
				continue
			}
			e, err := c.itemColumn(s, i, name)
			if err != nil {
				continue
			}
			if found != nil {
				return nil, refusal("column \"%s\" of two FROM items", name)
			}
			found = e
		}
		if found != nil {
			return c.fromOuter(found, up), nil
		}
	}
	return nil, refusal("column \"%s\"", name)
}

// named says whether the qualifiers of a column are the item's.
func (i *item) named(fields []*pg_query.Node) bool {
	switch len(fields) {
	case 0:
		return true
	case 1:
		return tree.Name(fields) == i.alias
	case 2:
		return i.rel != nil && tree.Name(fields) == i.rel.name && fields[0].GetString_().GetSval() == i.rel.schema
	}
	return false
}

// itemColumn is a column of an item.
func (c *compiler) itemColumn(s *scope, index int, name string) (*expr, error) {
	col := slices.IndexFunc(s.items[index].columns, func(col column) bool { return col.name == name })
	if name == "tableoid" && col < 0 && s.items[index].oid != 0 {
		return s.tableOID(index), nil
	}
	if col < 0 || name == "" {
		return nil, refusal("column \"%s\"", name)
	}
	s.refs |= 1 << index
	if !s.inAggregate {
		s.columns = append(s.columns, columnRef{index, col})
	}
	declared := s.items[index].columns[col]
	e := computed(declared.t, func(_ *execution, r *row) (datum.Datum, error) {
		if r.items[index] == nil {
			return datum.Null, nil
		}
		return r.items[index][col], nil
	})
	e.typmod, e.columnOf = declared.typmod, col
	return e, nil
}

// tableOID is the system column that says which relation a row is of.
func (s *scope) tableOID(index int) *expr {
	s.refs |= 1 << index
	oid := number(int64(s.items[index].oid))
	return computed(datum.OID, func(_ *execution, r *row) (datum.Datum, error) {
		if r.items[index] == nil {
			return datum.Null, nil
		}
		return oid, nil
	})
}

// fromOuter is a column of a query that is up levels around this one.
func (c *compiler) fromOuter(e *expr, up int) *expr {
	for s, n := c.scope, 0; n < up; s, n = s.outer, n+1 {
		s.outward = true
	}
	if up == 0 {
		return e
	}
	out := computed(e.t, func(x *execution, r *row) (datum.Datum, error) {
		for range up {
			r = r.outer
		}
		return e.eval(x, r)
	})
	out.typmod = e.typmod
	return out
}

// star is * or alias.*.
func (c *compiler) star(b *body, ref *pg_query.ColumnRef) error {
	found := false
	for i, it := range c.scope.items {
		if !it.named(ref.Fields[:len(ref.Fields)-1]) {
			continue
		}
		if len(it.merged) > 0 || it.partial {
			return refusal("* of this JOIN")
		}
		found = true
		for _, col := range it.columns {
			e, err := c.itemColumn(c.scope, i, col.name)
			if err != nil {
				return err
			}
			b.add(col.name, e)
		}
	}
	if !found {
		return refusal("this *")
	}
	return nil
}
