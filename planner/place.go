package planner

import (
	"github.com/jeroenrinzema/psql-wire/codes"
	pg_query "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/reflect/protoreflect"

	"raisinproxy/sqlfuncs/pgerr"
)

// Place says where a call stands, and so how often it runs.
type Place int

// The places where a call may stand. Everywhere else it is refused, because it
// could not be said how often it would run.
const (
	// InFrom: an item of FROM. Once, before the statement.
	InFrom Place = iota
	// InList: an item of a SELECT list without FROM, or of a single VALUES row. Once.
	InList
	// PerRow: an item of a SELECT list over FROM. Once for each row of the result.
	PerRow
	// Explained: under EXPLAIN. Never.
	Explained
)

// placedCall is a call and its place.
type placedCall struct {
	call  *pg_query.FuncCall
	place Place
}

// placer walks a statement and places every call of ours.
type placer struct {
	at     func(int32) int
	placed []placedCall
	err    *pgerr.Error
	// perRow forbids calls for each row, with the reason; "" allows them.
	perRow string
}

// placeCalls places every call of ours in a statement.
func placeCalls(n *pg_query.Node, at func(int32) int) ([]placedCall, *pgerr.Error) {
	p := &placer{at: at}
	p.statement(n)
	return p.placed, p.err
}

func (p *placer) statement(n *pg_query.Node) {
	switch n := n.GetNode().(type) {
	case *pg_query.Node_SelectStmt:
		p.query(n.SelectStmt)
	case *pg_query.Node_InsertStmt:
		p.with(n.InsertStmt.WithClause, n.InsertStmt)
		p.statement(n.InsertStmt.SelectStmt)
		p.refuse("ON CONFLICT", n.InsertStmt.OnConflictClause)
		p.refuseAll("RETURNING", n.InsertStmt.ReturningList)
	case *pg_query.Node_UpdateStmt:
		p.with(n.UpdateStmt.WithClause, n.UpdateStmt)
		p.from(n.UpdateStmt.FromClause)
		p.refuseAll("UPDATE … SET", n.UpdateStmt.TargetList)
		p.refuse("WHERE", n.UpdateStmt.WhereClause)
		p.refuseAll("RETURNING", n.UpdateStmt.ReturningList)
	case *pg_query.Node_DeleteStmt:
		p.with(n.DeleteStmt.WithClause, n.DeleteStmt)
		p.from(n.DeleteStmt.UsingClause)
		p.refuse("WHERE", n.DeleteStmt.WhereClause)
		p.refuseAll("RETURNING", n.DeleteStmt.ReturningList)
	case *pg_query.Node_MergeStmt:
		p.with(n.MergeStmt.WithClause, n.MergeStmt)
		p.from([]*pg_query.Node{n.MergeStmt.SourceRelation})
		p.refuse("MERGE … ON", n.MergeStmt.JoinCondition)
		p.refuseAll("MERGE … WHEN", n.MergeStmt.MergeWhenClauses)
	case *pg_query.Node_PrepareStmt:
		p.statement(n.PrepareStmt.Query)
	case *pg_query.Node_ExecuteStmt:
		p.refuseAll("the arguments of EXECUTE", n.ExecuteStmt.Params)
	case *pg_query.Node_CopyStmt:
		p.withoutRows("COPY", n.CopyStmt.Query)
	case *pg_query.Node_DeclareCursorStmt:
		p.withoutRows("DECLARE CURSOR", n.DeclareCursorStmt.Query)
	case *pg_query.Node_ExplainStmt:
		p.explain(n.ExplainStmt)
	case *pg_query.Node_CreateTableAsStmt:
		if n.CreateTableAsStmt.Objtype == pg_query.ObjectType_OBJECT_TABLE && !n.CreateTableAsStmt.GetInto().GetSkipData() {
			p.refuse(createTableAs, n.CreateTableAsStmt.Query)
		}
	}
}

// withoutRows is a query whose calls may run once but not for each row.
func (p *placer) withoutRows(what string, query *pg_query.Node) {
	if query == nil {
		return
	}
	outer := p.perRow
	p.perRow = what
	p.statement(query)
	p.perRow = outer
}

func (p *placer) explain(n *pg_query.ExplainStmt) {
	if analyzes(n.Options) {
		p.refuse("EXPLAIN ANALYZE", n.Query)
		return
	}
	for _, call := range callsIn(n.Query) {
		p.placed = append(p.placed, placedCall{call, Explained})
	}
}

func (p *placer) query(n *pg_query.SelectStmt) {
	p.with(n.WithClause, n)
	if n.Op != pg_query.SetOperation_SETOP_NONE {
		p.refuse("a set operation", n.Larg)
		p.refuse("a set operation", n.Rarg)
	}
	p.from(n.FromClause)
	p.values(n.ValuesLists)
	p.targets(n)
	p.refuse("WHERE", n.WhereClause)
	p.refuse("HAVING", n.HavingClause)
	p.refuse("LIMIT", n.LimitCount)
	p.refuse("OFFSET", n.LimitOffset)
	p.refuseAll("DISTINCT ON", n.DistinctClause)
	p.refuseAll("GROUP BY", n.GroupClause)
	p.refuseAll("ORDER BY", n.SortClause)
	p.refuseAll("WINDOW", n.WindowClause)
	if limit, ok := intConst(n.LimitCount); ok && limit == 0 {
		p.refuseAll("a query with LIMIT 0", n.FromClause)
	}
}

// with places the calls of WITH queries. A query that nothing refers to would
// not run in PostgreSQL, so a call in it is refused rather than run.
func (p *placer) with(w *pg_query.WithClause, whole protoMessage) {
	if w == nil {
		return
	}
	live := liveQueries(w, whole)
	for _, node := range w.GetCtes() {
		cte := node.GetCommonTableExpr()
		_, reads := cte.Ctequery.GetNode().(*pg_query.Node_SelectStmt)
		switch {
		case w.Recursive:
			p.refuse("WITH RECURSIVE", cte.Ctequery)
		case reads && !live[cte.Ctename]:
			p.refuse("a WITH query that nothing refers to", cte.Ctequery)
		default:
			p.statement(cte.Ctequery)
		}
	}
}

func (p *placer) from(items []*pg_query.Node) {
	for _, item := range items {
		switch item := item.GetNode().(type) {
		case *pg_query.Node_RangeFunction:
			p.fromFunction(item.RangeFunction)
		case *pg_query.Node_RangeSubselect:
			p.statement(item.RangeSubselect.Subquery)
		case *pg_query.Node_JoinExpr:
			p.from([]*pg_query.Node{item.JoinExpr.Larg, item.JoinExpr.Rarg})
			p.refuse("a JOIN condition", item.JoinExpr.Quals)
		default:
			p.refuse("this FROM item", &pg_query.Node{Node: item})
		}
	}
}

func (p *placer) fromFunction(n *pg_query.RangeFunction) {
	if n.IsRowsfrom {
		p.refuse("ROWS FROM", n)
		return
	}
	if n.Ordinality {
		p.refuse("a FROM item WITH ORDINALITY", n)
		return
	}
	for _, function := range n.Functions {
		fn := function.GetList().GetItems()[0].GetFuncCall()
		if _, ok := ours(fn); !ok {
			p.refuse("the arguments of another function in FROM", function)
			continue
		}
		p.place(fn, InFrom)
	}
}

func (p *placer) values(lists []*pg_query.Node) {
	if len(lists) > 1 {
		p.refuseAll("VALUES of several rows", lists)
		return
	}
	for _, list := range lists {
		for _, item := range list.GetList().GetItems() {
			p.once(item, InList)
		}
	}
}

// targets places the calls of the SELECT list.
func (p *placer) targets(n *pg_query.SelectStmt) {
	place := InList
	refusal := ""
	switch {
	case n.HavingClause != nil:
		refusal = "a query with HAVING"
	case len(n.GroupClause) > 0:
		refusal = "a query with GROUP BY"
	case len(n.DistinctClause) > 0:
		refusal = "a query with DISTINCT"
	case len(n.WindowClause) > 0:
		refusal = "a query with WINDOW"
	case len(n.FromClause) > 0:
		place, refusal = PerRow, p.perRow
	case n.LimitCount != nil || n.LimitOffset != nil:
		refusal = "a query with LIMIT"
	}
	for _, target := range n.TargetList {
		value := target.GetResTarget().GetVal()
		if refusal != "" {
			p.refuse(refusal, value)
		} else if place == PerRow {
			p.rowValue(value)
		} else {
			p.once(value, InList)
		}
	}
}

// rowValue is an item of a SELECT list over rows: the call itself, a column of
// it, or a cast of these.
func (p *placer) rowValue(n *pg_query.Node) {
	switch v := n.GetNode().(type) {
	case *pg_query.Node_FuncCall:
		if _, ok := ours(v.FuncCall); ok {
			p.place(v.FuncCall, PerRow)
			return
		}
	case *pg_query.Node_AIndirection:
		if len(v.AIndirection.Indirection) == 1 {
			p.rowValue(v.AIndirection.Arg)
			return
		}
	case *pg_query.Node_TypeCast:
		p.rowValue(v.TypeCast.Arg)
		return
	case *pg_query.Node_AExpr:
		if op := nameOf(v.AExpr.Name); (op == "->" || op == "->>") && v.AExpr.Rexpr.GetAConst() != nil {
			p.rowValue(v.AExpr.Lexpr)
			return
		}
	}
	p.refuse("a larger expression over rows", n)
}

// once places calls in an expression that is evaluated exactly once; parts of it
// that might not be are refused.
func (p *placer) once(n *pg_query.Node, place Place) {
	switch v := n.GetNode().(type) {
	case nil:
	case *pg_query.Node_FuncCall:
		if _, ok := ours(v.FuncCall); ok {
			p.place(v.FuncCall, place)
		} else if aggregates[nameOf(v.FuncCall.Funcname)] {
			p.refuse("an aggregate", n)
		} else {
			p.onceAll(v.FuncCall.Args, place)
		}
	case *pg_query.Node_TypeCast:
		p.once(v.TypeCast.Arg, place)
	case *pg_query.Node_AIndirection:
		p.once(v.AIndirection.Arg, place)
	case *pg_query.Node_NamedArgExpr:
		p.once(v.NamedArgExpr.Arg, place)
	case *pg_query.Node_NullTest:
		p.once(v.NullTest.Arg, place)
	case *pg_query.Node_BooleanTest:
		p.once(v.BooleanTest.Arg, place)
	case *pg_query.Node_AArrayExpr:
		p.onceAll(v.AArrayExpr.Elements, place)
	case *pg_query.Node_RowExpr:
		p.onceAll(v.RowExpr.Args, place)
	case *pg_query.Node_BoolExpr:
		if v.BoolExpr.Boolop != pg_query.BoolExprType_NOT_EXPR {
			p.refuse("AND or OR", n)
			return
		}
		p.onceAll(v.BoolExpr.Args, place)
	case *pg_query.Node_AExpr:
		if v.AExpr.Kind != pg_query.A_Expr_Kind_AEXPR_OP {
			p.refuse("this operator", n)
			return
		}
		p.once(v.AExpr.Lexpr, place)
		p.once(v.AExpr.Rexpr, place)
	case *pg_query.Node_CaseExpr:
		p.refuse("CASE", n)
	case *pg_query.Node_CoalesceExpr:
		p.refuse("COALESCE", n)
	case *pg_query.Node_SubLink:
		p.refuse("a subquery expression", n)
	default:
		p.refuse("this expression", n)
	}
}

func (p *placer) onceAll(nodes []*pg_query.Node, place Place) {
	for _, n := range nodes {
		p.once(n, place)
	}
}

// aggregates are the built-in ones, whose arguments run once for each row.
var aggregates = func() map[string]bool {
	m := map[string]bool{}
	for _, name := range []string{
		"count", "sum", "min", "max", "avg", "every", "bool_and", "bool_or", "bit_and", "bit_or", "bit_xor",
		"array_agg", "string_agg", "json_agg", "jsonb_agg", "json_object_agg", "jsonb_object_agg", "xmlagg", "range_agg",
	} {
		m[name] = true
	}
	return m
}()

// place notes a call and looks at its arguments.
func (p *placer) place(n *pg_query.FuncCall, place Place) {
	name := nameOf(n.Funcname)
	switch {
	case n.AggDistinct:
		p.notAggregate(n, "DISTINCT specified, but %s is not an aggregate function", name)
	case n.AggWithinGroup:
		p.notAggregate(n, "WITHIN GROUP specified, but %s is not an aggregate function", name)
	case len(n.AggOrder) > 0:
		p.notAggregate(n, "ORDER BY specified, but %s is not an aggregate function", name)
	case n.AggFilter != nil:
		p.notAggregate(n, "FILTER specified, but %s is not an aggregate function", name)
	case n.Over != nil:
		p.notAggregate(n, "OVER specified, but %s is not a window function nor an aggregate function", name)
	}
	p.onceArguments(n, place)
	p.placed = append(p.placed, placedCall{n, place})
}

// onceArguments: a call inside an argument runs before the outer one, as often.
func (p *placer) onceArguments(n *pg_query.FuncCall, place Place) {
	if len(callsIn(n)) == 1 {
		return // only itself: its arguments are ordinary expressions
	}
	p.onceAll(n.Args, place)
}

func (p *placer) notAggregate(n *pg_query.FuncCall, format string, args ...any) {
	p.fail(pgerr.Newf(codes.WrongObjectType, format, args...).At(p.at(n.Location)))
}

func (p *placer) refuseAll(what string, nodes []*pg_query.Node) {
	for _, n := range nodes {
		p.refuse(what, n)
	}
}

// refuse reports the first call anywhere below m.
func (p *placer) refuse(what string, m protoMessage) {
	calls := callsIn(m)
	if len(calls) == 0 {
		return
	}
	name := nameOf(calls[0].Funcname)
	p.fail(pgerr.Newf(codes.FeatureNotSupported, "%s cannot be called in %s", name, what).
		WithDetail("It could not be said there how often it runs.").
		WithHint("%s", hintFor(calls[0], what)).
		At(p.at(calls[0].Location)))
}

func (p *placer) fail(err *pgerr.Error) {
	if p.err == nil {
		p.err = err
	}
}

type protoMessage interface {
	ProtoReflect() protoreflect.Message
}

// callsIn finds all calls of ours below m, outer ones before those in their
// arguments.
func callsIn(m protoMessage) []*pg_query.FuncCall {
	var calls []*pg_query.FuncCall
	descend(m.ProtoReflect(), func(m protoreflect.Message) {
		if fn, ok := m.Interface().(*pg_query.FuncCall); ok {
			if _, ok := ours(fn); ok {
				calls = append(calls, fn)
			}
		}
	})
	return calls
}

// liveQueries are the WITH queries that run: those that the statement itself refers to,
// or one that runs does, or that change data.
func liveQueries(w *pg_query.WithClause, whole protoMessage) map[string]bool {
	queries := map[string]protoreflect.Message{}
	live := map[string]bool{}
	var reached []protoreflect.Message
	for _, node := range w.GetCtes() {
		cte := node.GetCommonTableExpr()
		queries[cte.Ctename] = cte.Ctequery.ProtoReflect()
		if _, reads := cte.Ctequery.GetNode().(*pg_query.Node_SelectStmt); !reads {
			reached = append(reached, cte.Ctequery.ProtoReflect())
		}
	}
	note := func(m protoreflect.Message) {
		table, ok := m.Interface().(*pg_query.RangeVar)
		if query := queries[table.GetRelname()]; ok && table.Schemaname == "" && query != nil && !live[table.Relname] {
			live[table.Relname] = true
			reached = append(reached, query)
		}
	}
	descendPast(whole.ProtoReflect(), w.ProtoReflect(), note)
	for len(reached) > 0 {
		next := reached[len(reached)-1]
		reached = reached[:len(reached)-1]
		descend(next, note)
	}
	return live
}

// descend visits m and every message below it.
func descend(m protoreflect.Message, visit func(protoreflect.Message)) {
	descendPast(m, nil, visit)
}

// descendPast is descend that leaves out a part.
func descendPast(m, past protoreflect.Message, visit func(protoreflect.Message)) {
	if !m.IsValid() || m == past {
		return
	}
	visit(m)
	m.Range(func(field protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case field.Kind() != protoreflect.MessageKind:
		case field.IsList():
			list := v.List()
			for i := range list.Len() {
				descendPast(list.Get(i).Message(), past, visit)
			}
		default:
			descendPast(v.Message(), past, visit)
		}
		return true
	})
}

// locationOf is where the text of n begins, as a byte offset in the parsed text:
// the smallest location anywhere in it. 0 if nothing in it has one.
func locationOf(n *pg_query.Node) int32 {
	first := int32(-1)
	descend(n.ProtoReflect(), func(m protoreflect.Message) {
		field := m.Descriptor().Fields().ByName("location")
		if field == nil {
			return
		}
		if at := int32(m.Get(field).Int()); first < 0 || at < first {
			first = at
		}
	})
	return max(first, 0)
}
