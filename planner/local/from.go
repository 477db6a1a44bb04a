package local

import (
	"slices"

	"github.com/jeroenrinzema/psql-wire/codes"
	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/planner/expr"
	"raisinproxy/planner/place"
	"raisinproxy/planner/plan"
	"raisinproxy/planner/tree"
	"raisinproxy/sqlfuncs/pgerr"
)

func (c *compiler) fromItem(sel *Select, n *pg_query.Node) *pgerr.Error {
	switch n := n.GetNode().(type) {
	case *pg_query.Node_RangeFunction:
		return c.fromCall(n.RangeFunction)
	case *pg_query.Node_RangeSubselect:
		if n.RangeSubselect.Lateral {
			return c.NeedsUpstream(tree.Location(n.RangeSubselect.Subquery), "LATERAL")
		}
		if len(n.RangeSubselect.Subquery.GetSelectStmt().GetValuesLists()) > 0 {
			return c.fromValues(sel, n.RangeSubselect)
		}
		return c.fromSubquery(n.RangeSubselect)
	case *pg_query.Node_JoinExpr:
		return c.fromJoin(sel, n.JoinExpr)
	case *pg_query.Node_RangeVar:
		if item, ok := c.with[n.RangeVar.Relname]; ok && n.RangeVar.Schemaname == "" {
			return c.addFrom(item, n.RangeVar.Alias, n.RangeVar.Location)
		}
		return c.NeedsUpstream(n.RangeVar.Location, "relation \"%s\"", n.RangeVar.Relname)
	}
	return c.NeedsUpstream(0, "this FROM item")
}

// fromJoin takes the joins that only list their items: CROSS JOIN and JOIN … ON true.
func (c *compiler) fromJoin(sel *Select, n *pg_query.JoinExpr) *pgerr.Error {
	always := n.Quals == nil || tree.IsTrue(n.Quals)
	if n.Jointype != pg_query.JoinType_JOIN_INNER || n.IsNatural || len(n.UsingClause) > 0 || n.Alias != nil || !always {
		return c.NeedsUpstream(0, "this JOIN")
	}
	if err := c.fromItem(sel, n.Larg); err != nil {
		return err
	}
	return c.fromItem(sel, n.Rarg)
}

func (c *compiler) fromCall(n *pg_query.RangeFunction) *pgerr.Error {
	fn := tree.FromFunction(n)
	f, ok := tree.Function(fn)
	if fn == nil || len(n.Coldeflist) > 0 {
		return c.NeedsUpstream(fn.GetLocation(), "this FROM item")
	}
	if !ok {
		return c.fromBuiltin(n, fn)
	}
	if f.Set {
		return c.NeedsUpstream(fn.Location, "a query over the rows of %s", f.Name)
	}
	c.NoteDatabase(fn)
	call, err := c.Call(f, fn)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(call.Args, expr.MentionsColumns) {
		return place.UsesAnotherItem(f.Name).At(c.At(fn.Location))
	}
	item := expr.Item{Alias: f.Name}
	for i, col := range f.Columns {
		item.Names = append(item.Names, col.Name)
		item.Columns = append(item.Columns, expr.FromColumn(call, i))
	}
	if n.Alias != nil && len(f.Columns) == 1 {
		item.Names[0] = n.Alias.Aliasname // as for any function of a scalar type
	}
	return c.addFrom(item, n.Alias, fn.Location)
}

// fromBuiltin is a function of PostgreSQL's in FROM, which returns a single column.
func (c *compiler) fromBuiltin(n *pg_query.RangeFunction, fn *pg_query.FuncCall) *pgerr.Error {
	value, err := c.Function(fn)
	if err != nil {
		return err
	}
	name := tree.Name(fn.Funcname)
	item := expr.Item{Alias: name, Names: []string{name}, Columns: []expr.Expr{c.Derive(value)}}
	if n.Alias != nil {
		item.Names[0] = n.Alias.Aliasname
	}
	return c.addFrom(item, n.Alias, fn.Location)
}

// fromSubquery is (SELECT …) AS alias, for a subquery of one row.
func (c *compiler) fromSubquery(n *pg_query.RangeSubselect) *pgerr.Error {
	if n.Alias == nil {
		return pgerr.Newf(codes.Syntax, "subquery in FROM must have an alias").
			WithHint("For example, FROM (SELECT ...) [AS] foo.").At(c.At(tree.Location(n.Subquery)))
	}
	item, err := c.subquery(n.Subquery)
	if err != nil {
		return err
	}
	return c.addFrom(item, n.Alias, 0)
}

// subquery compiles a query of one row within another. Its calls run in their
// turn; its columns are computed where they are used.
func (c *compiler) subquery(n *pg_query.Node) (item expr.Item, err *pgerr.Error) {
	query := n.GetSelectStmt()
	if query == nil || len(query.ValuesLists) > 0 || query.WithClause != nil || query.LimitCount != nil {
		return item, c.NeedsUpstream(tree.Location(n), "this subquery")
	}
	outer, calls := c.From, c.Calls
	c.From = nil
	sel, st := &Select{}, &plan.Statement{}
	err = c.selectBody(st, sel, query)
	c.From = outer
	if err != nil {
		return item, err
	}
	if sel.values != nil || len(sel.guards) > 0 || len(sel.filters) > 0 {
		c.Calls = calls
		return item, c.NeedsUpstream(tree.Location(n), "this subquery")
	}
	for i, col := range st.Columns {
		item.Names = append(item.Names, col.Name)
		item.Columns = append(item.Columns, c.Derive(sel.outputs[i]))
	}
	return item, nil
}

// withQueries compiles WITH. What it names can be read by FROM.
func (c *compiler) withQueries(n *pg_query.WithClause) *pgerr.Error {
	if n == nil {
		return nil
	}
	if n.Recursive {
		return c.NeedsUpstream(n.Location, "WITH RECURSIVE")
	}
	if c.with == nil {
		c.with = map[string]expr.Item{}
	}
	for _, node := range n.Ctes {
		cte := node.GetCommonTableExpr()
		if _, twice := c.with[cte.Ctename]; twice {
			return pgerr.Newf(codes.DuplicateAlias, "WITH query name \"%s\" specified more than once", cte.Ctename).At(c.At(cte.Location))
		}
		item, err := c.subquery(cte.Ctequery)
		if err != nil {
			return err
		}
		if len(cte.Aliascolnames) > len(item.Names) {
			return pgerr.Newf(codes.InvalidColumnReference, "WITH query \"%s\" has %d columns available but %d columns specified",
				cte.Ctename, len(item.Names), len(cte.Aliascolnames)).At(c.At(cte.Location))
		}
		item.Rename(cte.Aliascolnames)
		item.Alias = cte.Ctename
		c.with[cte.Ctename] = item
	}
	return nil
}

// fromValues is (VALUES …) AS alias(columns), which \gdesc of psql sends.
func (c *compiler) fromValues(sel *Select, n *pg_query.RangeSubselect) *pgerr.Error {
	sub := n.Subquery.GetSelectStmt()
	if sel.values != nil || len(sub.SortClause) > 0 ||
		sub.LimitCount != nil || sub.LimitOffset != nil || sub.WithClause != nil || n.Alias == nil {
		return c.NeedsUpstream(0, "a subquery")
	}
	calls := len(c.Calls)
	outer := c.From
	c.From = nil
	item, err := c.valuesLists(sel, sub.ValuesLists)
	c.From = outer
	if err != nil {
		return err
	}
	if len(c.Calls) > calls {
		return c.NeedsUpstream(0, "a call in a subquery")
	}
	return c.addFrom(item, n.Alias, 0)
}

// addFrom names an item and its columns as its alias says.
func (c *compiler) addFrom(item expr.Item, alias *pg_query.Alias, pos int32) *pgerr.Error {
	if alias != nil {
		item.Alias = alias.Aliasname
		if len(alias.Colnames) > len(item.Names) {
			return pgerr.Newf(codes.InvalidColumnReference, "table \"%s\" has %d columns available but %d columns specified",
				item.Alias, len(item.Names), len(alias.Colnames))
		}
		item.Rename(alias.Colnames)
	}
	for _, other := range c.From {
		if other.Alias == item.Alias {
			return pgerr.Newf(codes.DuplicateAlias, "table name \"%s\" specified more than once", item.Alias).At(c.At(pos))
		}
	}
	c.From = append(c.From, item)
	return nil
}

// star is * or alias.*.
func (c *compiler) star(ref *pg_query.ColumnRef) ([]outputColumn, *pgerr.Error) {
	items := c.From
	if len(ref.Fields) > 1 {
		item, err := c.Item(ref.Fields[0].GetString_().GetSval(), ref.Location)
		if err != nil {
			return nil, err
		}
		items = []expr.Item{*item}
	}
	if len(items) == 0 {
		return nil, pgerr.Newf(codes.Syntax, "SELECT * with no tables specified is not valid").At(c.At(ref.Location))
	}
	var columns []outputColumn
	for _, item := range items {
		for i, name := range item.Names {
			columns = append(columns, outputColumn{name, item.Columns[i]})
		}
	}
	return columns, nil
}
