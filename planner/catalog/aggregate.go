package catalog

import (
	"math/big"
	"slices"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/sqlfuncs/datum"
)

// aggregate is one call of an aggregate function.
type aggregate struct {
	args     []*expr
	order    []sortKey
	keys     []*expr // of the order
	distinct bool
	// result is computed of the arguments' values in all rows of a group.
	result func(*execution, [][]datum.Datum) (datum.Datum, error)
}

var aggregates = map[string]bool{"count": true, "array_agg": true, "string_agg": true, "bool_or": true, "bool_and": true, "every": true, "max": true, "min": true, "sum": true}

// aggregate compiles a call of an aggregate function; its value is one of the row's.
func (c *compiler) aggregate(name string, n *pg_query.FuncCall) (*expr, error) {
	s := c.scope
	if s.body == nil || s.inAggregate || n.AggFilter != nil || n.Over != nil || n.AggWithinGroup {
		return nil, refusal("function %s", name)
	}
	s.inAggregate = true
	defer func() { s.inAggregate = false }()
	a := &aggregate{distinct: n.AggDistinct}
	var err error
	if a.args, err = c.exprs(n.Args); err != nil {
		return nil, err
	}
	for i, e := range a.args {
		if a.args[i], err = c.typed(e); err != nil {
			return nil, err
		}
	}
	for _, item := range n.AggOrder {
		if err := c.aggregateOrder(a, item.GetSortBy()); err != nil {
			return nil, err
		}
	}
	t, err := a.resolve(name, n.AggStar)
	if err != nil {
		return nil, err
	}
	s.body.aggs = append(s.body.aggs, a)
	place := len(s.body.aggs) - 1
	return computed(t, func(_ *execution, r *row) (datum.Datum, error) { return r.aggregates[place], nil }), nil
}

func (c *compiler) aggregateOrder(a *aggregate, n *pg_query.SortBy) error {
	if n.Node.GetAConst() != nil {
		return refusal("an aggregate in this order")
	}
	scratch := &body{}
	key, err := c.sortKey(scratch, n, []*pg_query.Node{})
	if err != nil || a.distinct {
		return refusal("an aggregate in this order")
	}
	key.column = len(a.args) + len(a.keys)
	a.keys, a.order = append(a.keys, scratch.outputs[0]), append(a.order, key)
	return nil
}

// resolve finds the function that the arguments' types mean.
func (a *aggregate) resolve(name string, star bool) (datum.Type, error) {
	var t datum.Type
	if len(a.args) > 0 {
		t = a.args[0].t
	}
	switch {
	case name == "count" && (star || len(a.args) == 1):
		a.result = func(_ *execution, rows [][]datum.Datum) (datum.Datum, error) {
			if star {
				return datum.OfInt(int64(len(rows))), nil
			}
			return datum.OfInt(int64(len(notNull(rows)))), nil
		}
		return datum.Int8, nil
	case name == "array_agg" && len(a.args) == 1 && arrayOf(t) != 0 && element(t) == 0:
		a.result = func(x *execution, rows [][]datum.Datum) (datum.Datum, error) {
			if len(rows) == 0 {
				return datum.Null, nil
			}
			return x.array(t, firstColumn(rows))
		}
		return arrayOf(t), nil
	case name == "string_agg" && len(a.args) == 2 && isText(t) && a.args[1].t == datum.Text:
		a.result = joinTexts
		return datum.Text, nil
	case (name == "bool_or" || name == "bool_and" || name == "every") && len(a.args) == 1 && t == datum.Bool:
		a.result = func(_ *execution, rows [][]datum.Datum) (datum.Datum, error) {
			values := notNull(rows)
			if len(values) == 0 {
				return datum.Null, nil
			}
			decides := datum.OfBool(name == "bool_or")
			found := slices.ContainsFunc(values, func(r []datum.Datum) bool { return r[0] == decides })
			return datum.OfBool(found == decides.Bool()), nil
		}
		return datum.Bool, nil
	case name == "sum" && len(a.args) == 1 && t == datum.Int8:
		a.result = sum
		return datum.Numeric, nil
	case (name == "max" || name == "min") && len(a.args) == 1 && (isInteger(t) || t == datum.Text || t == datum.Timestamptz):
		return t, a.extreme(name, t)
	}
	return 0, refusal("this form of function %s", name)
}

func (a *aggregate) extreme(name string, t datum.Type) error {
	compare, err := comparison(t, t, "<")
	a.result = func(_ *execution, rows [][]datum.Datum) (datum.Datum, error) {
		best := datum.Null
		for _, r := range notNull(rows) {
			if order := compare(r[0], best); best.Null || name == "max" && order > 0 || name == "min" && order < 0 {
				best = r[0]
			}
		}
		return best, nil
	}
	return err
}

// sum is that of bigint, which is numeric.
func sum(_ *execution, rows [][]datum.Datum) (datum.Datum, error) {
	values := notNull(rows)
	if len(values) == 0 {
		return datum.Null, nil
	}
	var total big.Int
	for _, r := range values {
		total.Add(&total, big.NewInt(r[0].Int))
	}
	return datum.OfText(total.String()), nil
}

func notNull(rows [][]datum.Datum) [][]datum.Datum {
	return slices.DeleteFunc(slices.Clone(rows), func(r []datum.Datum) bool { return r[0].Null })
}

func joinTexts(_ *execution, rows [][]datum.Datum) (datum.Datum, error) {
	var b strings.Builder
	values := notNull(rows)
	for i, r := range values {
		if i > 0 {
			b.WriteString(r[1].Str)
		}
		b.WriteString(r[0].Str)
	}
	if len(values) == 0 {
		return datum.Null, nil
	}
	return datum.OfText(b.String()), nil
}

// grouping compiles GROUP BY and HAVING. With them, or with an aggregate, only what is
// grouped by may stand outside of aggregates.
func (c *compiler) grouping(b *body, n *pg_query.SelectStmt) error {
	if len(n.GroupClause) == 0 && n.HavingClause == nil && len(b.aggs) == 0 {
		return nil
	}
	if n.GroupDistinct {
		return refusal("GROUP BY DISTINCT")
	}
	b.group = []*expr{}
	grouped := map[columnRef]bool{}
	for _, item := range n.GroupClause {
		c.scope.columns = nil
		e, err := c.expr(groupItem(item, n.TargetList))
		if err != nil {
			return err
		}
		if e.columnOf < 0 || len(c.scope.columns) != 1 {
			return refusal("GROUP BY an expression")
		}
		grouped[c.scope.columns[0]] = true
		b.group = append(b.group, e)
	}
	c.scope.columns = nil
	if n.HavingClause != nil {
		var err error
		if b.having, err = c.condition(n.HavingClause); err != nil {
			return err
		}
	}
	// The columns of the SELECT list once more, without those of FROM and WHERE.
	scratch := &body{aggs: b.aggs}
	c.scope.body = scratch
	defer func() { c.scope.body = b }()
	if err := c.targets(scratch, n.TargetList); err != nil {
		return err
	}
	for _, ref := range c.scope.columns {
		if !grouped[ref] {
			return refusal("a column that is not grouped by")
		}
	}
	return nil
}

// groupItem is an expression, or that of a place in the SELECT list.
func groupItem(n *pg_query.Node, targets []*pg_query.Node) *pg_query.Node {
	if i := int(n.GetAConst().GetIval().GetIval()); i > 0 && i <= len(targets) {
		return targets[i-1].GetResTarget().Val
	}
	return n
}

// grouped computes one row for each group.
func (b *body) grouped(x *execution, r *row) ([][]datum.Datum, error) {
	groups, err := b.groups(x, r)
	if err != nil {
		return nil, err
	}
	var rows [][]datum.Datum
	for _, g := range groups {
		one := &row{outer: r.outer, items: g.items, aggregates: make([]datum.Datum, len(b.aggs))}
		for i, a := range b.aggs {
			if one.aggregates[i], err = a.of(x, g.args[i]); err != nil {
				return nil, err
			}
		}
		if b.having != nil {
			if ok, err := holds(x, one, []*expr{b.having}); err != nil {
				return nil, err
			} else if !ok {
				continue
			}
		}
		if rows, err = b.project(x, one, rows); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

type group struct {
	items [][]datum.Datum   // of its first row
	args  [][][]datum.Datum // of each aggregate, in each row
}

func (b *body) groups(x *execution, r *row) ([]*group, error) {
	var all []*group
	byKey := make(map[string]*group)
	add := func(key string) *group {
		g := &group{items: slices.Clone(r.items), args: make([][][]datum.Datum, len(b.aggs))}
		all, byKey[key] = append(all, g), g
		return g
	}
	err := b.from.each(x, r, func() error {
		if ok, err := holds(x, r, b.where); !ok || err != nil {
			return err
		}
		keys, err := evalAll(x, r, b.group)
		if err != nil {
			return err
		}
		g := byKey[rowKey(keys)]
		if g == nil {
			g = add(rowKey(keys))
		}
		for i, a := range b.aggs {
			values, err := evalAll(x, r, slices.Concat(a.args, a.keys))
			if err != nil {
				return err
			}
			g.args[i] = append(g.args[i], values)
		}
		return nil
	})
	if len(all) == 0 && len(b.group) == 0 {
		add("")
	}
	return all, err
}

func (a *aggregate) of(x *execution, rows [][]datum.Datum) (datum.Datum, error) {
	if len(a.order) > 0 {
		sorted := &body{order: a.order}
		slices.SortStableFunc(rows, sorted.compareRows)
	}
	if a.distinct {
		rows = unique(slices.Clone(rows), len(a.args))
	}
	return a.result(x, rows)
}
