package rewrite

import (
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

// RowPlan is about the calls that run once for each row of the result, in its order.
// In Main, the columns that they fill are NULL of the right type, and the arguments
// follow the visible columns.
type RowPlan struct {
	// Calls run for each row, in this order. Their arguments are columns of Hidden.
	Calls []SplitCall
	// Hidden are the types of the columns of Main after the visible ones.
	Hidden []datum.Type
	// Items are the columns to fill.
	Items []RowItem
}

// RowItem is a visible column that calls fill.
type RowItem struct {
	// Type of the column, as the probe describes it.
	Type   datum.Type
	column int // from the front; negative: from the end, -1 is the last
	value  expr.Expr
}

// Column is the index of the column among as many visible ones.
func (i *RowItem) Column(visible int) int {
	if i.column < 0 {
		return visible + i.column
	}
	return i.column
}

// Value computes the column from the results of the row's calls, in the order of
// RowPlan.Calls.
func (i *RowItem) Value(rows []sqlfuncs.Row) (datum.Datum, error) {
	return i.value.Eval(expr.WithResults(rows))
}

// perRow plans the calls that run for each row of the statement n.
func (r *rewriter) perRow(n *pg_query.Node) *pgerr.Error {
	if len(r.rows) == 0 || r.plan.Explain != nil {
		return nil
	}
	query := n.GetSelectStmt() // place has refused any other
	if !r.findTrailing(query) {
		return r.refuse(r.rows[0].call, "this form")
	}
	return r.planRows(query)
}

// findTrailing finds the end of the SELECT list, where the hidden columns go.
func (r *rewriter) findTrailing(query *pg_query.SelectStmt) bool {
	first := r.tokenAt(r.source.Offset(query.TargetList[0].GetResTarget().GetLocation()))
	if first < 0 {
		return false
	}
	items := int(tree.Location(&pg_query.Node{Node: &pg_query.Node_List{List: &pg_query.List{Items: query.FromClause}}}))
	from := r.wordBefore(r.tokenFrom(r.source.Offset(int32(items))), "from", r.tokens[first].depth)
	if isRowsFrom(query.FromClause[0]) { // whose own FROM comes before its location
		from = r.wordBefore(from, "from", r.tokens[first].depth)
	}
	if from <= first {
		return false
	}
	r.trailing = r.tokens[from-1].End
	return true
}

// isRowsFrom says whether a FROM clause begins with ROWS FROM (…).
func isRowsFrom(n *pg_query.Node) bool {
	for n.GetJoinExpr() != nil {
		n = n.GetJoinExpr().Larg
	}
	return n.GetRangeFunction().GetIsRowsfrom()
}

func (r *rewriter) planRows(query *pg_query.SelectStmt) *pgerr.Error {
	perRow := &RowPlan{}
	made := map[*pg_query.FuncCall]*expr.Call{}
	for i, s := range r.rows {
		call, _ := r.splitCall(s, len(perRow.Hidden))
		perRow.Calls = append(perRow.Calls, call)
		for slot, arg := range s.function.Args {
			if !s.leavesOut(slot) {
				perRow.Hidden = append(perRow.Hidden, arg.Type)
			}
		}
		made[s.call] = &expr.Call{Func: s.function, Index: i}
	}
	r.plan.Rows = perRow
	if len(query.TargetList)+len(perRow.Hidden) > plan.MaxColumns {
		return pgerr.Newf(codes.TooManyColumns, "target lists can have at most %d entries", plan.MaxColumns).
			WithDetail("Each argument of a call that runs for each row is one of them.")
	}
	list := rowList{rewriter: r, compiler: &expr.Compiler{At: r.source.Char, Params: expr.NewParams(nil), Made: made}}
	return list.plan(query)
}

// rowList plans the columns of a SELECT list over rows.
type rowList struct {
	*rewriter
	compiler *expr.Compiler
	// front counts the columns so far; stars the items among them that are an
	// unknown number.
	front, stars int
}

func (l *rowList) plan(query *pg_query.SelectStmt) *pgerr.Error {
	for i, node := range query.TargetList {
		target := node.GetResTarget()
		calls := tree.Calls(target)
		values, err := l.values(target.Val)
		if err != nil {
			return err
		}
		if len(calls) == 0 {
			l.skip(target.Val)
			continue
		}
		if l.ordersBy(query, target, len(values)) {
			return l.refuse(calls[0], "ORDER BY")
		}
		back, ok := l.columnsAfter(query.TargetList[i+1:])
		if !ok && l.stars > 0 {
			return l.refuse(calls[0], "a SELECT list between two *")
		}
		for j, value := range values {
			item := RowItem{Type: value.Type(), column: l.front + j, value: value}
			if l.stars > 0 {
				item.column = j - len(values) - back
			}
			l.rewriter.plan.Rows.Items = append(l.rewriter.plan.Rows.Items, item)
		}
		l.front += len(values)
	}
	return nil
}

// skip passes an item without calls.
func (l *rowList) skip(n *pg_query.Node) {
	if tree.IsStar(n) {
		l.stars++
	} else {
		l.front++
	}
}

// columnsAfter counts the columns of the items; ok is false if that is unknown.
func (l *rowList) columnsAfter(items []*pg_query.Node) (columns int, ok bool) {
	for _, item := range items {
		value := item.GetResTarget().GetVal()
		_, f, column := tree.FieldOfCall(value.GetAIndirection())
		switch {
		case f != nil && column == "":
			columns += len(f.Columns)
		case tree.IsStar(value):
			return 0, false
		default:
			columns++
		}
	}
	return columns, true
}

// values compiles what an item computes from its call.
func (l *rowList) values(n *pg_query.Node) ([]expr.Expr, *pgerr.Error) {
	calls := tree.Calls(n)
	if len(calls) == 0 {
		return nil, nil
	}
	if call, f, column := tree.FieldOfCall(n.GetAIndirection()); f != nil && column == "" {
		values := make([]expr.Expr, len(f.Columns))
		for i := range values {
			values[i] = expr.ColumnOf(l.compiler.Made[call], i)
		}
		return values, nil
	}
	value, err := l.compiler.Expr(n)
	if err == nil {
		err = l.compiler.Opaque
	}
	switch {
	case err == nil:
	case l.rewriter.plan.Refused != nil: // the statement is refused for that, or by the upstream
		value, err = expr.Whole(l.compiler.Made[calls[0]]), nil
	case err.Code == codes.FeatureNotSupported, err.Code == codes.UndefinedObject, err.Code == codes.InvalidSchemaName:
		err = l.refuse(calls[0], "a larger expression over rows") // its types may be a user's
	}
	return []expr.Expr{value}, err
}

// ordersBy says whether ORDER BY may name the item: by its number, or by the name
// of its column.
func (l *rowList) ordersBy(query *pg_query.SelectStmt, target *pg_query.ResTarget, columns int) bool {
	names := map[string]bool{target.Name: true}
	if target.Name == "" {
		names[tree.ColumnName(target.Val)] = true
	}
	if call, f, column := tree.FieldOfCall(target.Val.GetAIndirection()); call != nil && column == "" {
		names = map[string]bool{}
		for _, c := range f.Columns {
			names[c.Name] = true
		}
	}
	for _, node := range query.SortClause {
		by := node.GetSortBy().GetNode()
		if number, ok := tree.IntConst(by); ok {
			first, last := l.front+l.stars+1, l.front+columns
			if int(number) >= first && (l.stars > 0 || int(number) <= last) {
				return true
			}
		}
		if fields := by.GetColumnRef().GetFields(); len(fields) == 1 && names[tree.Name(fields)] {
			return true
		}
	}
	return false
}

// trailingColumns writes the arguments of the calls for each row. They have names of
// their own, since ORDER BY name means a column of the result before one of a table.
func (r *rewriter) trailingColumns(w *textWriter) {
	number := 0
	for _, s := range r.rows {
		for slot := range s.function.Args {
			if s.leavesOut(slot) {
				continue
			}
			number++
			w.put(s.name, ", ")
			r.cast(w, s, slot)
			w.put(s.name, ` AS "_raisin_`, strconv.Itoa(number), `"`)
		}
	}
}
