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
