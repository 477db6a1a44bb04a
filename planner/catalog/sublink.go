package catalog

import (
	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/planner/tree"
	"raisinproxy/sqlfuncs/datum"
)

// subLink is a query in an expression: a value, EXISTS, IN or ARRAY.
func (c *compiler) subLink(n *pg_query.SubLink) (*expr, error) {
	b, err := c.query(n.Subselect.GetSelectStmt())
	if err != nil {
		return nil, err
	}
	rows := func(x *execution, r *row) ([][]datum.Datum, error) {
		if b.correlated {
			return b.rows(x, r)
		}
		kept, err := x.keep(b, func() (any, error) { return b.rows(x, r) })
		if err != nil {
			return nil, err
		}
		all, _ := kept.([][]datum.Datum)
		return all, nil
	}
	if n.SubLinkType == pg_query.SubLinkType_EXISTS_SUBLINK {
		return computed(datum.Bool, func(x *execution, r *row) (datum.Datum, error) {
			all, err := rows(x, r)
			return datum.OfBool(len(all) > 0), err
		}), nil
	}
	if len(b.columns) != 1 {
		return nil, refusal("this subquery")
	}
	switch n.SubLinkType {
	case pg_query.SubLinkType_EXPR_SUBLINK:
		return scalar(b, rows), nil
	case pg_query.SubLinkType_ARRAY_SUBLINK:
		return c.arrayOfRows(b, rows)
	case pg_query.SubLinkType_ANY_SUBLINK, pg_query.SubLinkType_ALL_SUBLINK:
		return c.quantifiedRows(n, b, rows)
	}
	return nil, refusal("this subquery")
}

type rowsFunc func(*execution, *row) ([][]datum.Datum, error)

func scalar(b *body, rows rowsFunc) *expr {
	e := computed(b.columns[0].Type, func(x *execution, r *row) (datum.Datum, error) {
		all, err := rows(x, r)
		switch {
		case err != nil || len(all) == 0:
			return datum.Null, err
		case len(all) > 1:
			return datum.Null, refusal("a subquery of several rows")
		}
		return all[0][0], nil
	})
	e.typmod = b.columns[0].Typmod
	return e
}

func (c *compiler) arrayOfRows(b *body, rows rowsFunc) (*expr, error) {
	of := b.columns[0].Type
	if arrayOf(of) == 0 || element(of) != 0 {
		return nil, refusal("an array of %s", displayOf(of))
	}
	return computed(arrayOf(of), func(x *execution, r *row) (datum.Datum, error) {
		all, err := rows(x, r)
		if err != nil {
			return datum.Null, err
		}
		return x.array(of, firstColumn(all))
	}), nil
}

func firstColumn(rows [][]datum.Datum) []datum.Datum {
	values := make([]datum.Datum, len(rows))
	for i, r := range rows {
		values[i] = r[0]
	}
	return values
}

// quantifiedRows is IN (SELECT …), = ANY (SELECT …) and their kin.
func (c *compiler) quantifiedRows(n *pg_query.SubLink, b *body, rows rowsFunc) (*expr, error) {
	op := "="
	if len(n.OperName) > 0 {
		op = tree.Name(n.OperName)
	}
	l, err := c.expr(n.Testexpr)
	if err != nil {
		return nil, err
	}
	item := computed(b.columns[0].Type, func(x *execution, _ *row) (datum.Datum, error) { return x.item, nil })
	test, err := c.binary(op, l, item)
	if err != nil {
		return nil, err
	}
	anyOf := n.SubLinkType == pg_query.SubLinkType_ANY_SUBLINK
	return computed(datum.Bool, func(x *execution, r *row) (datum.Datum, error) {
		all, err := rows(x, r)
		if err != nil {
			return datum.Null, err
		}
		return x.anyOf(firstColumn(all), test, r, anyOf)
	}), nil
}
