package local

import (
	"slices"
	"strconv"

	"github.com/jeroenrinzema/psql-wire/codes"
	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/planner/expr"
	"raisinproxy/planner/plan"
	"raisinproxy/planner/tree"
	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

func (c *compiler) selectStmt(s *plan.Statement, n *pg_query.SelectStmt) *pgerr.Error {
	sel := &Select{}
	s.Action = sel
	if err := c.withQueries(n.WithClause); err != nil {
		return err
	}
	if len(n.ValuesLists) > 0 {
		if err := c.onlyPlainSelect(n); err != nil {
			return err
		}
		return c.topValues(s, sel, n)
	}
	if err := c.selectBody(s, sel, n); err != nil {
		return err
	}
	sel.Calls = c.Calls
	for _, call := range c.Calls {
		for _, arg := range call.Args {
			sel.noteEarly(arg)
		}
	}
	return c.limit(sel, n.LimitCount)
}

// selectBody compiles a SELECT except its WITH and LIMIT.
func (c *compiler) selectBody(s *plan.Statement, sel *Select, n *pg_query.SelectStmt) *pgerr.Error {
	for _, item := range n.FromClause {
		if err := c.fromItem(sel, item); err != nil {
			return err
		}
	}
	if err := c.onlyPlainSelect(n); err != nil {
		return err
	}
	inFrom := len(c.Calls)
	sel.before = inFrom
	s.Columns = make([]plan.Column, 0, len(n.TargetList))
	for _, target := range n.TargetList {
		if err := c.target(s, sel, target.GetResTarget()); err != nil {
			return err
		}
	}
	if err := c.where(sel, n.WhereClause); err != nil {
		return err
	}
	if len(c.Calls) > inFrom && (len(sel.filters) > 0 || sel.values != nil) {
		return c.NeedsUpstream(0, "a call for each row")
	}
	return nil
}

// onlyPlainSelect refuses the clauses that are not answered here.
func (c *compiler) onlyPlainSelect(n *pg_query.SelectStmt) *pgerr.Error {
	switch {
	case n.Op != pg_query.SetOperation_SETOP_NONE:
		return c.NeedsUpstream(0, "UNION, INTERSECT or EXCEPT")
	case n.IntoClause != nil:
		return c.NeedsUpstream(0, "SELECT INTO")
	case len(n.DistinctClause) > 0, len(n.GroupClause) > 0, n.HavingClause != nil, len(n.WindowClause) > 0,
		len(n.SortClause) > 0, n.LimitOffset != nil, len(n.LockingClause) > 0:
		return c.NeedsUpstream(0, "a SELECT with this clause")
	}
	return nil
}

// limit compiles LIMIT, which reads literals and parameters alone.
func (c *compiler) limit(sel *Select, n *pg_query.Node) *pgerr.Error {
	if n == nil || n.GetAConst().GetIsnull() {
		return nil
	}
	from := c.From
	c.From = nil
	e, err := c.Expr(n)
	c.From = from
	if err != nil {
		return err
	}
	limit, ok, err := c.Implicit(e, datum.Int8)
	switch {
	case err != nil:
		return err
	case !ok:
		return c.NeedsUpstream(tree.Location(n), "this LIMIT")
	}
	sel.limit = limit
	sel.noteEarly(limit)
	return nil
}

// topValues is VALUES as a statement of its own.
func (c *compiler) topValues(s *plan.Statement, sel *Select, n *pg_query.SelectStmt) *pgerr.Error {
	item, err := c.valuesLists(sel, n.ValuesLists)
	if err != nil {
		return err
	}
	sel.Calls, sel.outputs = c.Calls, item.Columns
	s.Columns = make([]plan.Column, len(item.Columns))
	for i, column := range item.Columns {
		s.Columns[i] = plan.Column{Name: item.Names[i], Type: column.Type(), Typmod: -1}
	}
	return c.limit(sel, n.LimitCount)
}

// valuesLists compiles a VALUES list; every column gets the type that its rows
// have in common.
func (c *compiler) valuesLists(sel *Select, lists []*pg_query.Node) (item expr.Item, err *pgerr.Error) {
	var tuples [][]expr.Expr
	for _, list := range lists {
		items := list.GetList().GetItems()
		tuple := make([]expr.Expr, len(items))
		for i, item := range items {
			if tuple[i], err = c.Expr(item); err != nil {
				return expr.Item{}, err
			}
		}
		if len(tuples) > 0 && len(tuple) != len(tuples[0]) {
			return expr.Item{}, pgerr.Newf(codes.Syntax, "VALUES lists must all be the same length").At(c.At(tree.Location(items[0])))
		}
		tuples = append(tuples, tuple)
	}
	for i := range tuples[0] {
		t, err := c.unify(tuples, i)
		if err != nil {
			return expr.Item{}, err
		}
		item.Names = append(item.Names, "column"+strconv.Itoa(i+1))
		item.Columns = append(item.Columns, expr.ValuesColumn(i, t))
	}
	for _, e := range slices.Concat(tuples...) {
		sel.noteEarly(e)
	}
	sel.values = tuples
	return item, nil
}

// unify converts column i of all tuples to their common type.
func (c *compiler) unify(tuples [][]expr.Expr, i int) (datum.Type, *pgerr.Error) {
	common := datum.Unknown
	for _, tuple := range tuples {
		t := tuple[i].Type()
		next, ok := expr.CommonType(common, t)
		if !ok {
			return 0, c.NeedsUpstream(0, "a VALUES list of %s and %s", expr.DisplayName(common), expr.DisplayName(t))
		}
		common = next
	}
	if common == datum.Unknown {
		common = datum.Text
	}
	for _, tuple := range tuples {
		converted, _, err := c.Implicit(tuple[i], common)
		if err != nil {
			return 0, err
		}
		tuple[i] = converted
	}
	return common, nil
}

// where splits the condition: what reads no column decides beforehand.
func (c *compiler) where(sel *Select, n *pg_query.Node) *pgerr.Error {
	if n == nil {
		return nil
	}
	conjuncts := []*pg_query.Node{n}
	if b := n.GetBoolExpr(); b != nil && b.Boolop == pg_query.BoolExprType_AND_EXPR {
		conjuncts = b.Args
	}
	never := false
	for _, conjunct := range conjuncts {
		e, err := c.Condition(conjunct)
		if err != nil {
			return err
		}
		if never {
			continue // PostgreSQL does not look at what follows a constant that is false
		}
		never = expr.IsFalse(e)
		if expr.MentionsColumns(e) {
			sel.filters = append(sel.filters, e)
		} else {
			sel.guards = append(sel.guards, e)
		}
		sel.noteEarly(e)
	}
	return nil
}

func (s *Select) noteEarly(e expr.Expr) {
	if ok, fallible := expr.Early(e); ok && fallible {
		s.early = append(s.early, e)
	}
}

// target compiles one item of the SELECT list, which may be several columns.
func (c *compiler) target(s *plan.Statement, sel *Select, n *pg_query.ResTarget) *pgerr.Error {
	if len(n.Indirection) > 0 {
		return c.NeedsUpstream(n.Location, "this expression")
	}
	columns, err := c.expand(n)
	if err != nil {
		return err
	}
	for _, col := range columns {
		if col.value.Type() == datum.Unknown {
			if col.value, err = c.Operand(col.value, datum.Text); err != nil {
				return err
			}
		}
		sel.noteEarly(col.value)
		sel.outputs = append(sel.outputs, col.value)
		s.Columns = append(s.Columns, plan.Column{Name: col.name, Type: col.value.Type(), Typmod: typmodOf(n.Val)})
	}
	if len(sel.outputs) > plan.MaxColumns {
		return pgerr.Newf(codes.TooManyColumns, "target lists can have at most %d entries", plan.MaxColumns)
	}
	return nil
}

// typmodOf is the typmod of a column that is a cast to varchar(n).
func typmodOf(n *pg_query.Node) int32 {
	typeName := n.GetTypeCast().GetTypeName()
	if len(typeName.GetTypmods()) != 1 {
		return -1
	}
	if length, ok := tree.IntConst(typeName.GetTypmods()[0]); ok {
		return length + 4
	}
	return -1
}

type outputColumn struct {
	name  string
	value expr.Expr
}

// expand turns *, alias.* and (f(…)).* into their columns; anything else is one.
func (c *compiler) expand(n *pg_query.ResTarget) ([]outputColumn, *pgerr.Error) {
	if ref := n.Val.GetColumnRef(); ref != nil && ref.Fields[len(ref.Fields)-1].GetAStar() != nil {
		return c.star(ref)
	}
	if field := n.Val.GetAIndirection(); field != nil {
		if call, f, column := tree.FieldOfCall(field); f != nil && column == "" {
			return c.starOfCall(call, f)
		}
	}
	e, err := c.Expr(n.Val)
	if err != nil {
		return nil, err
	}
	name := n.Name
	if name == "" {
		name = tree.ColumnName(n.Val)
	}
	return []outputColumn{{name, e}}, nil
}

// starOfCall is (f(…)).*, which evaluates the call once.
func (c *compiler) starOfCall(n *pg_query.FuncCall, f *sqlfuncs.Function) ([]outputColumn, *pgerr.Error) {
	call, err := c.Call(f, n)
	if err != nil {
		return nil, err
	}
	columns := make([]outputColumn, len(f.Columns))
	for i, col := range f.Columns {
		columns[i] = outputColumn{col.Name, expr.ColumnOf(call, i)}
	}
	return columns, nil
}
