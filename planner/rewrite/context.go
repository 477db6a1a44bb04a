package rewrite

import (
	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/planner/tree"
)

// callContext is where calls stand in the parse tree.
type callContext struct {
	from   map[*pg_query.FuncCall]*pg_query.RangeFunction
	field  map[*pg_query.FuncCall]*pg_query.A_Indirection
	target map[*pg_query.FuncCall]*pg_query.ResTarget // whose name comes from the call
}

func contextOf(n *pg_query.Node) *callContext {
	at := &callContext{
		from:   map[*pg_query.FuncCall]*pg_query.RangeFunction{},
		field:  map[*pg_query.FuncCall]*pg_query.A_Indirection{},
		target: map[*pg_query.FuncCall]*pg_query.ResTarget{},
	}
	tree.Each(n, func(item *pg_query.RangeFunction) { at.from[tree.FromFunction(item)] = item })
	tree.Each(n, func(field *pg_query.A_Indirection) {
		if call, f, _ := tree.FieldOfCall(field); f != nil {
			at.field[call] = field
		}
	})
	tree.Each(n, func(query *pg_query.SelectStmt) {
		for _, item := range query.TargetList {
			target := item.GetResTarget()
			if call := namingCall(target.Val); call != nil {
				at.target[call] = target
			}
		}
	})
	return at
}

// listItems are the columns and fields that stand where a list of values is expected.
func listItems(n *pg_query.Node) map[tree.Message]bool {
	lists := map[tree.Message]bool{}
	list := func(values ...*pg_query.Node) {
		for _, value := range values {
			lists[value.GetColumnRef()], lists[value.GetAIndirection()] = true, true
		}
	}
	tree.Each(n, func(target *pg_query.ResTarget) { list(target.Val) })
	tree.Each(n, func(row *pg_query.RowExpr) { list(row.Args...) })
	tree.Each(n, func(query *pg_query.SelectStmt) {
		for _, row := range query.ValuesLists {
			list(row.GetList().GetItems()...)
		}
	})
	return lists
}

// namingCall is the call that gives a column its name: PostgreSQL looks through
// casts and selections.
func namingCall(n *pg_query.Node) *pg_query.FuncCall {
	for {
		switch v := n.GetNode().(type) {
		case *pg_query.Node_FuncCall:
			return v.FuncCall
		case *pg_query.Node_TypeCast:
			n = v.TypeCast.Arg
		case *pg_query.Node_AIndirection:
			n = v.AIndirection.Arg
		default:
			return nil
		}
	}
}
