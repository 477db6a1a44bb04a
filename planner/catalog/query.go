package catalog

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	pg_query "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/reflect/protoreflect"

	"raisinproxy/planner/tree"
	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/datum"
)

// Column describes a column of a result.
type Column struct {
	Name   string
	Type   datum.Type
	Typmod int32 // -1: none
}

// Query is a query over the catalogues. It is immutable.
type Query struct {
	Params  []datum.Type
	Columns []Column
	// Sets are the calls whose rows the query reads.
	Sets []Set
	body *body
}

// Set is a call of one of the product's functions that return a set. Its rows are given to the
// query when it runs.
type Set struct {
	Func *sqlfuncs.Function
	Call *pg_query.FuncCall // while the query is compiled; nil: it is read as a relation
}

// Compile compiles a query. The error is of type *pgerr.Error; its code is 0A000 where
// the query is not one that is answered here. declared are the types of the parameters,
// datum.Invalid or datum.Unknown where one is left open; at turns a place in the parsed
// text into a position.
func Compile(n *pg_query.SelectStmt, declared []datum.Type, prepared bool, at func(int32) int) (*Query, error) {
	c := &compiler{at: at, prepared: prepared}
	for _, t := range declared {
		if t == datum.Invalid {
			t = datum.Unknown
		}
		c.params = append(c.params, t)
	}
	b, err := c.query(n)
	if err != nil {
		return nil, err
	}
	if slices.Contains(c.params, datum.Unknown) {
		return nil, refusal("a parameter of no type")
	}
	if slices.Contains(c.params, datum.Timestamptz) { // which input does not read
		return nil, refusal("a parameter of type %s", displayOf(datum.Timestamptz))
	}
	for _, col := range b.columns {
		if col.Type == datum.Bpchar {
			return nil, refusal("a result of type %s", displayOf(col.Type))
		}
	}
	return &Query{Params: c.params, Columns: b.columns, Sets: c.sets, body: b}, nil
}

// Own is a query of the product's own, compiled when it is first asked for. Its
// parameters are of the types that the text gives them.
func Own(sql string) func() *Query {
	return sync.OnceValue(func() *Query {
		parsed, err := pg_query.Parse(sql)
		if err != nil {
			panic("catalog: " + sql + ": " + err.Error())
		}
		q, err := Compile(parsed.Stmts[0].Stmt.GetSelectStmt(), nil, true, func(int32) int { return 0 })
		if err != nil {
			panic("catalog: " + sql + ": " + err.Error())
		}
		return q
	})
}

// Rows runs the query, over these rows of its sets. It may be called by several goroutines at
// once.
func (q *Query) Rows(s Session, args []datum.Datum, sets [][]sqlfuncs.Row) ([][]datum.Datum, error) {
	x := &execution{query: q, session: s, args: args, sets: sets, steps: maxSteps}
	rows, err := q.body.rows(x, nil)
	if err != nil {
		return nil, err
	}
	for i, col := range q.Columns {
		if col.Type == typeNodeTree && slices.ContainsFunc(rows, func(r []datum.Datum) bool { return !r[i].Null }) {
			return nil, refusal("a result of type %s", displayOf(col.Type))
		}
	}
	return rows, nil
}

// execution is one run of a query.
type execution struct {
	query       *Query
	session     Session
	args        []datum.Datum
	sets        [][]sqlfuncs.Row
	steps       int
	item        datum.Datum // of the array that ANY looks at
	expressions map[string]*regexp.Regexp
	kept        map[any]any // what is the same for all rows: subqueries, indexes
}

// maxSteps bounds the rows that one query looks at: some tens of milliseconds.
const maxSteps = 400_000

func (x *execution) step() error {
	if x.steps--; x.steps < 0 {
		return refusal("a query that looks at so many rows of the catalogue")
	}
	return nil
}

func (x *execution) expression(pattern string, fold bool) (*regexp.Regexp, error) {
	key := pattern
	if fold {
		key = "*" + pattern
	}
	if re := x.expressions[key]; re != nil {
		return re, nil
	}
	re, err := expression(pattern, fold)
	if err == nil {
		if x.expressions == nil {
			x.expressions = make(map[string]*regexp.Regexp)
		}
		x.expressions[key] = re
	}
	return re, err
}

// keep computes a value once for each execution.
func (x *execution) keep(key any, compute func() (any, error)) (any, error) {
	if v, ok := x.kept[key]; ok {
		return v, nil
	}
	v, err := compute()
	if err == nil {
		if x.kept == nil {
			x.kept = make(map[any]any)
		}
		x.kept[key] = v
	}
	return v, err
}

// body is a SELECT, a VALUES list, or two of them with UNION between them.
type body struct {
	columns []Column
	from    node
	items   int
	where   []*expr
	outputs []*expr
	group   []*expr // nil: none; not nil, and empty: one group of all rows
	having  *expr
	aggs    []*aggregate
	// distinct: rows that are the same are one.
	distinct bool
	order    []sortKey
	limit    *expr
	offset   *expr
	// correlated: it reads columns of the query around.
	correlated bool

	values      [][]*expr
	left, right *body // of UNION
}

type sortKey struct {
	column     int
	compare    func(l, r datum.Datum) int
	descending bool
	nullsFirst bool
}

// maxDepth bounds queries within queries, and maxQueries all of a statement: a WITH query
// is compiled wherever it is named.
const (
	maxDepth   = 20
	maxQueries = 300
)

func (c *compiler) query(n *pg_query.SelectStmt) (*body, error) {
	c.depth++
	if c.queries++; c.depth > maxDepth || c.queries > maxQueries {
		return nil, refusal("a query of so many levels")
	}
	defer func() { c.depth-- }()
	if n.IntoClause != nil || len(n.LockingClause) > 0 || len(n.WindowClause) > 0 {
		return nil, refusal("a SELECT with this clause")
	}
	outerCTEs := c.ctes
	defer func() { c.ctes = outerCTEs }()
	if err := c.with(n.WithClause); err != nil {
		return nil, err
	}
	outer := c.scope
	c.scope = &scope{outer: outer}
	defer func() { c.scope = outer }()
	b, err := c.bodyOf(n)
	if err != nil {
		return nil, err
	}
	b.correlated = b.correlated || c.scope.outward
	return b, c.limits(b, n)
}

func (c *compiler) bodyOf(n *pg_query.SelectStmt) (*body, error) {
	switch {
	case n.Op != pg_query.SetOperation_SETOP_NONE:
		return c.union(n)
	case len(n.ValuesLists) > 0:
		return c.values(n)
	}
	return c.selectBody(n)
}

func (c *compiler) with(n *pg_query.WithClause) error {
	if n == nil {
		return nil
	}
	if n.Recursive {
		return refusal("WITH RECURSIVE")
	}
	all := make(map[string]*pg_query.CommonTableExpr)
	maps.Copy(all, c.ctes)
	for _, node := range n.Ctes {
		cte := node.GetCommonTableExpr()
		if cte.Ctequery.GetSelectStmt() == nil || len(cte.Aliascolnames) > 0 {
			return refusal("this WITH query")
		}
		// One that nobody reads is compiled for its errors.
		outer := c.scope
		c.ctes, c.scope = maps.Clone(all), nil
		_, err := c.query(cte.Ctequery.GetSelectStmt())
		if c.scope = outer; err != nil {
			return err
		}
		all[cte.Ctename] = cte
	}
	c.ctes = all
	return nil
}

func (c *compiler) union(n *pg_query.SelectStmt) (*body, error) {
	if n.Op != pg_query.SetOperation_SETOP_UNION {
		return nil, refusal("INTERSECT or EXCEPT")
	}
	left, err := c.query(n.Larg)
	if err != nil {
		return nil, err
	}
	right, err := c.query(n.Rarg)
	if err != nil {
		return nil, err
	}
	b := &body{left: left, right: right, distinct: !n.All, columns: left.columns, correlated: left.correlated || right.correlated}
	if len(left.columns) != len(right.columns) {
		return nil, refusal("this UNION")
	}
	for i, column := range left.columns {
		if column.Type != right.columns[i].Type {
			return nil, refusal("a UNION of %s and %s", displayOf(column.Type), displayOf(right.columns[i].Type))
		}
		if column.Typmod != right.columns[i].Typmod {
			b.columns = slices.Clone(b.columns)
			b.columns[i].Typmod = -1
		}
	}
	for _, item := range n.SortClause {
		key, err := c.sortKey(b, item.GetSortBy(), nil)
		if err != nil {
			return nil, err
		}
		b.order = append(b.order, key)
	}
	return b, nil
}

func (c *compiler) values(n *pg_query.SelectStmt) (*body, error) {
	if len(n.SortClause) > 0 {
		return nil, refusal("VALUES in an order")
	}
	b := &body{}
	for _, list := range n.ValuesLists {
		tuple, err := c.exprs(list.GetList().GetItems())
		if err != nil {
			return nil, err
		}
		if len(b.values) > 0 && len(tuple) != len(b.values[0]) {
			return nil, refusal("these VALUES")
		}
		b.values = append(b.values, tuple)
	}
	for i := range b.values[0] {
		column := make([]*expr, len(b.values))
		for j, tuple := range b.values {
			column[j] = tuple[i]
		}
		t, column, err := c.unify(column)
		if err != nil {
			return nil, err
		}
		for j := range column {
			b.values[j][i] = column[j]
		}
		b.columns = append(b.columns, Column{"column" + itoa(int64(i)+1), t, -1})
	}
	return b, nil
}

func (c *compiler) selectBody(n *pg_query.SelectStmt) (*body, error) {
	b := &body{}
	c.scope.body = b
	for _, item := range n.FromClause {
		from, err := c.fromItem(item)
		if err != nil {
			return nil, err
		}
		if b.from != nil {
			from = &join{left: b.from, right: from}
		}
		b.from = from
	}
	b.items = len(c.scope.items)
	if err := c.targets(b, n.TargetList); err != nil {
		return nil, err
	}
	conjuncts, err := c.conjuncts(n.WhereClause)
	if err != nil {
		return nil, err
	}
	if b.from == nil {
		b.from = &nothing{}
	}
	b.from, conjuncts = inOrder(b.from, conjuncts)
	b.where = b.from.push(conjuncts)
	if err := c.grouping(b, n); err != nil {
		return nil, err
	}
	if len(n.DistinctClause) > 0 {
		if len(n.DistinctClause) > 1 || n.DistinctClause[0].GetNode() != nil {
			return nil, refusal("DISTINCT ON")
		}
		b.distinct = true
	}
	for _, item := range n.SortClause {
		key, err := c.sortKey(b, item.GetSortBy(), n.TargetList)
		if err != nil {
			return nil, err
		}
		if b.distinct && key.column >= len(b.columns) {
			return nil, refusal("DISTINCT in this order")
		}
		b.order = append(b.order, key)
	}
	return b, nil
}

func (c *compiler) targets(b *body, list []*pg_query.Node) error {
	for _, node := range list {
		target := node.GetResTarget()
		if ref := target.Val.GetColumnRef(); ref != nil && ref.Fields[len(ref.Fields)-1].GetAStar() != nil {
			if err := c.star(b, ref); err != nil {
				return err
			}
			continue
		}
		c.scope.setsAllowed = true
		e, err := c.expr(target.Val)
		c.scope.setsAllowed = false
		if err != nil {
			return err
		}
		if e, err = c.typed(e); err != nil {
			return err
		}
		name := target.Name
		if name == "" {
			name = tree.ColumnName(target.Val)
		}
		b.add(name, e)
	}
	return nil
}

func (b *body) add(name string, e *expr) {
	b.columns = append(b.columns, Column{name, e.t, e.typmod})
	b.outputs = append(b.outputs, e)
}

// sortKey is one item of ORDER BY: a place or a name in the SELECT list, or an
// expression, which becomes a column that is dropped after sorting.
func (c *compiler) sortKey(b *body, n *pg_query.SortBy, targets []*pg_query.Node) (sortKey, error) {
	if n.SortbyDir == pg_query.SortByDir_SORTBY_USING {
		return sortKey{}, refusal("ORDER BY … USING")
	}
	key := sortKey{column: -1, descending: n.SortbyDir == pg_query.SortByDir_SORTBY_DESC}
	key.nullsFirst = key.descending
	if n.SortbyNulls != pg_query.SortByNulls_SORTBY_NULLS_DEFAULT {
		key.nullsFirst = n.SortbyNulls == pg_query.SortByNulls_SORTBY_NULLS_FIRST
	}
	if k := n.Node.GetAConst(); k != nil {
		key.column = int(k.GetIval().GetIval()) - 1
		if k.GetIval() == nil || key.column < 0 || key.column >= len(b.columns) {
			return key, refusal("this ORDER BY")
		}
	} else if ref := n.Node.GetColumnRef(); ref != nil && len(ref.Fields) == 1 {
		key.column = slices.IndexFunc(b.columns, func(col Column) bool { return col.Name == tree.Name(ref.Fields) })
	}
	if key.column < 0 {
		key.column = sameTarget(n.Node, targets, len(b.columns))
	}
	var t datum.Type
	switch {
	case key.column >= 0:
		t = b.columns[key.column].Type
	case targets == nil:
		return key, refusal("this ORDER BY")
	default:
		e, err := c.expr(n.Node)
		if err != nil {
			return key, err
		}
		if e, err = c.typed(e); err != nil {
			return key, err
		}
		b.outputs = append(b.outputs, e)
		key.column, t = len(b.outputs)-1, e.t
	}
	var err error
	key.compare, err = comparison(t, t, "<")
	return key, err
}

// sameTarget is the item of the SELECT list that an expression repeats, or -1.
func sameTarget(n *pg_query.Node, targets []*pg_query.Node, columns int) int {
	if len(targets) != columns { // there is a * among them
		return -1
	}
	return slices.IndexFunc(targets, func(t *pg_query.Node) bool {
		return sameNode(n.ProtoReflect(), t.GetResTarget().GetVal().ProtoReflect())
	})
}

// sameNode compares two expressions, except where they stand in the text.
func sameNode(a, b protoreflect.Message) bool {
	if a.IsValid() != b.IsValid() || a.Descriptor() != b.Descriptor() {
		return false
	}
	fields := a.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if f.Name() == "location" {
			continue
		}
		if a.Has(f) != b.Has(f) || a.Has(f) && !sameField(f, a.Get(f), b.Get(f)) {
			return false
		}
	}
	return true
}

func sameField(f protoreflect.FieldDescriptor, a, b protoreflect.Value) bool {
	switch {
	case f.IsList():
		if a.List().Len() != b.List().Len() {
			return false
		}
		for i := range a.List().Len() {
			if !sameNode(a.List().Get(i).Message(), b.List().Get(i).Message()) {
				return false
			}
		}
		return true
	case f.Message() != nil:
		return sameNode(a.Message(), b.Message())
	}
	return a.Equal(b)
}

func (c *compiler) limits(b *body, n *pg_query.SelectStmt) (err error) {
	number := func(node *pg_query.Node) (*expr, error) {
		if node == nil || node.GetAConst().GetIsnull() {
			return nil, nil
		}
		e, err := c.expr(node)
		if err != nil {
			return nil, err
		}
		if e, err = c.to(e, datum.Int8); err == nil && !e.t.IsInteger() {
			err = refusal("this LIMIT")
		}
		return e, err
	}
	if b.limit, err = number(n.LimitCount); err != nil {
		return err
	}
	if n.LimitOption == pg_query.LimitOption_LIMIT_OPTION_WITH_TIES {
		return refusal("WITH TIES")
	}
	b.offset, err = number(n.LimitOffset)
	return err
}

// rows computes the result; outer is the row of the query around.
func (b *body) rows(x *execution, outer *row) ([][]datum.Datum, error) {
	rows, err := b.unsorted(x, outer)
	if err != nil {
		return nil, err
	}
	if b.distinct {
		rows = unique(rows, len(b.columns))
	}
	if len(b.order) > 0 {
		slices.SortStableFunc(rows, b.compareRows)
	}
	if rows, err = b.cut(x, outer, rows); err != nil {
		return nil, err
	}
	for i := range rows {
		rows[i] = rows[i][:len(b.columns):len(b.columns)]
	}
	return rows, nil
}

func (b *body) unsorted(x *execution, outer *row) ([][]datum.Datum, error) {
	switch {
	case b.left != nil:
		left, err := b.left.rows(x, outer)
		if err != nil {
			return nil, err
		}
		right, err := b.right.rows(x, outer)
		return slices.Concat(left, right), err
	case b.values != nil:
		var rows [][]datum.Datum
		for _, tuple := range b.values {
			values, err := evalAll(x, &row{outer: outer}, tuple)
			if err != nil {
				return nil, err
			}
			rows = append(rows, values)
		}
		return rows, nil
	}
	var rows [][]datum.Datum
	r := &row{outer: outer, items: make([][]datum.Datum, b.items)}
	emit := func() (err error) {
		rows, err = b.project(x, r, rows)
		return err
	}
	if b.group != nil {
		return b.grouped(x, r)
	}
	err := b.from.each(x, r, func() error {
		if ok, err := holds(x, r, b.where); !ok || err != nil {
			return err
		}
		return emit()
	})
	return rows, err
}

// project computes the columns of a row; set-returning functions make several of it.
func (b *body) project(x *execution, r *row, rows [][]datum.Datum) ([][]datum.Datum, error) {
	values, err := evalAll(x, r, b.outputs)
	if err != nil {
		return nil, err
	}
	sets := make(map[int][]datum.Datum)
	longest := 0
	for i, e := range b.outputs {
		if !e.set {
			continue
		}
		sets[i] = nil
		if !values[i].Null {
			if sets[i], err = x.elements(arrayOf(e.t), values[i]); err != nil {
				return nil, err
			}
		}
		longest = max(longest, len(sets[i]))
	}
	if len(sets) == 0 {
		return append(rows, values), nil
	}
	for n := range longest {
		if err := x.step(); err != nil {
			return nil, err
		}
		one := slices.Clone(values)
		for i, set := range sets {
			if one[i] = datum.Null; n < len(set) {
				one[i] = set[n]
			}
		}
		rows = append(rows, one)
	}
	return rows, nil
}

func evalAll(x *execution, r *row, list []*expr) ([]datum.Datum, error) {
	values := make([]datum.Datum, len(list))
	for i, e := range list {
		var err error
		if values[i], err = e.eval(x, r); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// holds says whether all conditions are true.
func holds(x *execution, r *row, conditions []*expr) (bool, error) {
	for _, e := range conditions {
		v, err := e.eval(x, r)
		if err != nil || v.Null || !v.Bool() {
			return false, err
		}
	}
	return true, nil
}

func (b *body) compareRows(l, r []datum.Datum) int {
	for _, key := range b.order {
		lv, rv := l[key.column], r[key.column]
		switch {
		case lv.Null && rv.Null:
			continue
		case lv.Null == rv.Null:
		case lv.Null == key.nullsFirst:
			return -1
		default:
			return 1
		}
		order := key.compare(lv, rv)
		if key.descending {
			order = -order
		}
		if order != 0 {
			return order
		}
	}
	return 0
}

// cut is OFFSET and LIMIT.
func (b *body) cut(x *execution, outer *row, rows [][]datum.Datum) ([][]datum.Datum, error) {
	for _, e := range []*expr{b.offset, b.limit} {
		if e == nil {
			continue
		}
		v, err := e.eval(x, &row{outer: outer})
		if err != nil {
			return nil, err
		}
		n := min(v.Int, int64(len(rows)))
		switch {
		case v.Null:
		case n < 0:
			return nil, refusal("a LIMIT below zero")
		case e == b.offset:
			rows = rows[n:]
		default:
			rows = rows[:n]
		}
	}
	return rows, nil
}

// unique keeps the first of rows whose first n values are the same.
func unique(rows [][]datum.Datum, n int) [][]datum.Datum {
	seen := make(map[string]bool)
	return slices.DeleteFunc(rows, func(r []datum.Datum) bool {
		key := rowKey(r[:n])
		old := seen[key]
		seen[key] = true
		return old
	})
}

func rowKey(values []datum.Datum) string {
	var b strings.Builder
	for _, v := range values {
		if v.Null {
			b.WriteString("N")
			continue
		}
		b.WriteString("V" + itoa(v.Int) + ":" + itoa(int64(len(v.Str))) + ":" + v.Str)
	}
	return b.String()
}
