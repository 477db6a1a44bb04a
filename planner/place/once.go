package place

import (
	"math"

	pg_query "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/reflect/protoreflect"

	"raisinproxy/planner/tree"
)

// onceList places the calls in a list whose items are each evaluated exactly once: that
// of a SELECT without FROM, or VALUES.
type onceList struct {
	*placer
	place Place
}

// onceItems places the calls of such a list.
func (p *placer) onceItems(items []*pg_query.Node) {
	l := onceList{placer: p, place: InList}
	start := len(p.placed)
	l.all(items)
	calls := p.placed[start:]
	if len(calls) == 0 {
		return
	}
	// A function that returns a set would have the calls made for each of its rows.
	others := p.needFunctions(scalarFunction, items, "a function that returns a set, or looks at several rows")
	last := int32(-1)
	for _, c := range calls {
		if computed(c.Node) {
			last = max(last, c.Node.Location)
		}
	}
	p.undisturbed(others, func(at int32) bool { return at < last })
}

// needFunctions asks about the functions of a list, except those in subqueries. It returns
// those that are not in the arguments of calls.
func (p *placer) needFunctions(k factKind, items []*pg_query.Node, what string) (others []*pg_query.FuncCall) {
	for _, item := range items {
		tree.Outside(item, func(m protoreflect.Message) {
			if f, ok := m.Interface().(*pg_query.FuncCall); ok {
				if _, is := tree.Function(f); !is {
					p.needFunction(k, f, what)
				}
			}
		})
		others = append(others, otherFunctions(item)...)
	}
	return others
}

// otherFunctions are the calls below n, except the proxy's and what is in their arguments.
func otherFunctions(n *pg_query.Node) (others []*pg_query.FuncCall) {
	tree.DescendUnless(n.ProtoReflect(), func(m protoreflect.Message) bool {
		f, ok := m.Interface().(*pg_query.FuncCall)
		if !ok {
			return true
		}
		if _, is := tree.Function(f); is {
			return false
		}
		others = append(others, f)
		return true
	})
	return others
}

// undisturbed asks whether the functions that PostgreSQL calls before the arguments of a call
// are computed, but that run after them here, change nothing: those at such places.
func (p *placer) undisturbed(others []*pg_query.FuncCall, before func(at int32) bool) {
	for _, other := range others {
		if before(other.Location) {
			p.needFunction(stableFunction, other, "a volatile function that runs before it, if its arguments are computed")
		}
	}
}

// computed says whether an argument of a call is more than literals and parameters.
func computed(call *pg_query.FuncCall) (found bool) {
	for _, arg := range call.Args {
		tree.Descend(arg.ProtoReflect(), func(m protoreflect.Message) {
			switch m.Interface().(type) {
			case *pg_query.FuncCall, *pg_query.SubLink:
				found = true
			}
		})
	}
	return found
}

// once places the calls in an expression that is evaluated exactly once; parts of it that
// might not be are refused.
func (l *onceList) once(n *pg_query.Node) {
	if !l.holds[n] {
		return
	}
	switch v := n.GetNode().(type) {
	case *pg_query.Node_FuncCall:
		if _, ok := tree.Function(v.FuncCall); ok {
			l.placer.place(v.FuncCall, l.place)
			return
		}
		l.refuse("the arguments of another function", n)
	case *pg_query.Node_NamedArgExpr:
		l.once(v.NamedArgExpr.Arg)
	case *pg_query.Node_RowExpr:
		l.all(v.RowExpr.Args)
	case *pg_query.Node_AArrayExpr:
		l.all(v.AArrayExpr.Elements)
	default:
		l.value(n)
	}
}

func (l *onceList) all(nodes []*pg_query.Node) {
	for _, n := range nodes {
		l.once(n)
	}
}

// value is once for an expression whose value is used by another, in a way by which the
// planner might see that it does not matter: that of ROW(f(), 1) IS NULL is known.
func (l *onceList) value(n *pg_query.Node) {
	if !l.holds[n] {
		return
	}
	switch v := n.GetNode().(type) {
	case *pg_query.Node_FuncCall:
		l.once(n)
	case *pg_query.Node_TypeCast:
		l.needType(opaqueType, v.TypeCast.TypeName)
		l.value(v.TypeCast.Arg)
	case *pg_query.Node_AIndirection:
		l.value(v.AIndirection.Arg)
		l.refuseAll("an index", v.AIndirection.Indirection)
	case *pg_query.Node_NullTest:
		l.value(v.NullTest.Arg)
	case *pg_query.Node_BooleanTest:
		l.value(v.BooleanTest.Arg)
	case *pg_query.Node_CollateClause:
		l.value(v.CollateClause.Arg)
	case *pg_query.Node_BoolExpr:
		l.logic(v.BoolExpr)
	case *pg_query.Node_AExpr:
		l.operator(v.AExpr, n)
	case *pg_query.Node_CaseExpr:
		l.choice(v.CaseExpr)
	case *pg_query.Node_CoalesceExpr:
		l.value(v.CoalesceExpr.Args[0])
		l.refuseAll("COALESCE, but for its first argument", v.CoalesceExpr.Args[1:])
	case *pg_query.Node_SubLink:
		l.refuse("a subquery expression", n)
	default:
		l.refuse("this expression", n)
	}
}

// logic: the first operand of AND and OR is always evaluated, unless another is constant.
func (l *onceList) logic(n *pg_query.BoolExpr) {
	l.value(n.Args[0])
	l.refuseAll("AND or OR, but for the first operand", n.Args[1:])
	for _, arg := range n.Args[1:] {
		if l.constant(arg) != late {
			l.refuse("AND or OR beside what may be a constant", n)
		}
	}
}

// onceOperators return NULL only of NULL, or look into a call's JSON.
var onceOperators = map[string]bool{
	"=": true, "<>": true, "<": true, "<=": true, ">": true, ">=": true,
	"||": true, "->": true, "->>": true, "-": true, "+": true,
}

// operator: with NULL beside it the planner knows the result.
func (l *onceList) operator(n *pg_query.A_Expr, whole *pg_query.Node) {
	if n.Kind != pg_query.A_Expr_Kind_AEXPR_OP || !onceOperators[tree.Name(n.Name)] {
		l.refuse("this operator", whole)
		return
	}
	for _, side := range []*pg_query.Node{n.Lexpr, n.Rexpr} {
		if side == nil {
			continue
		}
		if l.holds[side] {
			l.value(side)
		} else if l.constant(side) == uncertain {
			l.refuse("an operator beside what may be NULL", whole)
		}
	}
}

// choice is CASE: its test is always evaluated, unless no WHEN is left of it.
func (l *onceList) choice(n *pg_query.CaseExpr) {
	whens := n.Args
	if n.Arg != nil {
		l.value(n.Arg)
		for _, when := range whens {
			if l.constant(when.GetCaseWhen().Expr) == uncertain {
				l.refuse("CASE beside what may be NULL", n)
			}
		}
	} else {
		l.value(whens[0].GetCaseWhen().Expr)
	}
	for i, when := range whens {
		if i > 0 || n.Arg != nil {
			l.refuse("CASE, but for its test", when.GetCaseWhen().Expr)
		}
		l.refuse("CASE, but for its test", when.GetCaseWhen().Result)
	}
	if n.Defresult != nil {
		l.refuse("CASE, but for its test", n.Defresult)
	}
}

// constant is the kind of an operand beside a call: there are no rows.
func (l *onceList) constant(n *pg_query.Node) kind {
	before := l.facts.count()
	f := folding{placer: l.placer, level: &level{}}
	k := f.kind(n)
	if k == uncertain {
		l.facts.rewind(before)
	}
	return k
}

// rowList places the calls of a SELECT list over rows.
func (p *placer) rowList(n *pg_query.SelectStmt) {
	var calls []*pg_query.FuncCall
	for _, target := range n.TargetList {
		p.rowValue(target.GetResTarget().GetVal())
		calls = append(calls, tree.Singles(target)...)
	}
	if len(calls) == 0 {
		return
	}
	if n.LimitOffset != nil {
		p.refuseHint("a SELECT list with OFFSET, which skips rows after its calls", offsetHint, calls[0])
	}
	if n.LimitOption == pg_query.LimitOption_LIMIT_OPTION_WITH_TIES {
		p.refuseHint("a SELECT list WITH TIES, which looks at a row more", offsetHint, calls[0])
	}
	others := p.needFunctions(singleFunction, n.TargetList, "a function that returns a set")
	first := int32(math.MaxInt32)
	for _, call := range calls {
		if computed(call) {
			first = min(first, call.Location)
		}
	}
	p.undisturbed(others, func(at int32) bool { return at > first })
}

const offsetHint = "Let a subquery choose the rows: SELECT … FROM (SELECT … OFFSET …) AS x"

// rowValue is an item of a SELECT list over rows: the call itself, a column of it, or a
// cast of these.
func (p *placer) rowValue(n *pg_query.Node) {
	if !p.holds[n] {
		return
	}
	switch v := n.GetNode().(type) {
	case *pg_query.Node_FuncCall:
		if f, ok := tree.Function(v.FuncCall); ok {
			if f.Once {
				p.fail(forEachRow(v.FuncCall, f, p.at))
			}
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
		if op := tree.Name(v.AExpr.Name); (op == "->" || op == "->>") && v.AExpr.Rexpr.GetAConst() != nil {
			p.rowValue(v.AExpr.Lexpr)
			return
		}
	}
	p.refuse("a larger expression over rows", n)
}
