package place

import (
	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/planner/tree"
)

// kind says what PostgreSQL's planner can know of an expression before it runs.
type kind int

const (
	// uncertain: it may be NULL, or a constant, or nobody knows.
	uncertain kind = iota
	// planned: PostgreSQL may compute it while it plans; it is not NULL.
	planned
	// late: the same for all rows, but computed only when the statement runs.
	late
	// ofRow: it depends on a row.
	ofRow
)

// folding finds the kind of expressions of a level: whether the planner could compute
// them. Where that depends on what functions and operators are, it asks for facts.
type folding struct {
	*placer
	level *level
	// mixed: there was an OR of which an arm depends on no row. Its value may be known
	// before there are rows, if it is true.
	mixed bool
}

// kind is the kind of an expression.
func (f *folding) kind(n *pg_query.Node) kind {
	if logic := n.GetBoolExpr(); logic != nil && logic.Boolop != pg_query.BoolExprType_NOT_EXPR {
		return f.logic(logic)
	}
	outer := f.mixed
	f.mixed = false
	k := f.value(n)
	if f.mixed {
		k = uncertain
	}
	f.mixed = outer
	return k
}

func (f *folding) value(n *pg_query.Node) kind {
	switch v := n.GetNode().(type) {
	case *pg_query.Node_AConst:
		if v.AConst.Isnull {
			return uncertain
		}
		return planned
	case *pg_query.Node_ParamRef, *pg_query.Node_SqlvalueFunction:
		return late // a generic plan cannot know it
	case *pg_query.Node_ColumnRef:
		return f.level.kindOf(v.ColumnRef)
	case *pg_query.Node_TypeCast:
		return f.cast(v.TypeCast)
	case *pg_query.Node_CollateClause:
		return f.kind(v.CollateClause.Arg)
	case *pg_query.Node_NamedArgExpr:
		return f.kind(v.NamedArgExpr.Arg)
	case *pg_query.Node_AExpr:
		return f.operator(v.AExpr)
	case *pg_query.Node_FuncCall:
		return f.function(v.FuncCall)
	case *pg_query.Node_CoalesceExpr:
		if f.kind(v.CoalesceExpr.Args[0]) == ofRow {
			return ofRow
		}
	case *pg_query.Node_MinMaxExpr:
		return f.all(v.MinMaxExpr.Args...)
	case *pg_query.Node_AArrayExpr:
		return f.all(v.AArrayExpr.Elements...)
	case *pg_query.Node_AIndirection:
		return f.indirection(v.AIndirection)
	case *pg_query.Node_BoolExpr:
		return f.truth(v.BoolExpr.Args[0])
	case *pg_query.Node_NullTest:
		return f.nullTest(v.NullTest)
	case *pg_query.Node_BooleanTest:
		return f.truth(v.BooleanTest.Arg)
	case *pg_query.Node_SubLink:
		return f.subquery(v.SubLink)
	}
	return uncertain
}

// all is the kind of what is computed from all of these.
func (f *folding) all(nodes ...*pg_query.Node) kind {
	most := planned
	for _, n := range nodes {
		if n == nil {
			continue
		}
		k := f.kind(n)
		if k == uncertain {
			return uncertain
		}
		most = max(most, k)
	}
	return most
}

// truth is the kind of NOT, IS TRUE and their kin.
func (f *folding) truth(n *pg_query.Node) kind {
	if k := f.kind(n); k > planned {
		return k
	}
	return uncertain
}

// logic is AND or OR. With a constant in it, it might become its other part. An AND is
// false as soon as one part is; an OR is not while one arm depends on a row.
func (f *folding) logic(n *pg_query.BoolExpr) kind {
	least, most := ofRow, uncertain
	for _, arg := range n.Args {
		k := f.kind(arg)
		least, most = min(least, k), max(most, k)
	}
	switch {
	case least <= planned:
		return uncertain
	case least < most && n.Boolop == pg_query.BoolExprType_AND_EXPR:
		return uncertain
	case least < most:
		f.mixed = true
	}
	return most
}

// cast: of a literal only a string's is certain not to become NULL.
func (f *folding) cast(n *pg_query.TypeCast) kind {
	k := f.kind(n.Arg)
	if n.Arg.GetParamRef() == nil && n.Arg.GetAConst().GetSval() == nil {
		f.needType(opaqueType, n.TypeName)
	}
	return k
}

func (f *folding) operator(n *pg_query.A_Expr) kind {
	nodes := []*pg_query.Node{n.Lexpr}
	right := []*pg_query.Node{n.Rexpr}
	if escape := n.Rexpr.GetFuncCall(); escape != nil && len(escape.Funcname) == 2 && escapes[tree.Name(escape.Funcname)] {
		right = escape.Args // the parser's form of LIKE … ESCAPE and SIMILAR TO
	}
	switch n.Kind {
	case pg_query.A_Expr_Kind_AEXPR_OP, pg_query.A_Expr_Kind_AEXPR_OP_ANY, pg_query.A_Expr_Kind_AEXPR_OP_ALL,
		pg_query.A_Expr_Kind_AEXPR_LIKE, pg_query.A_Expr_Kind_AEXPR_ILIKE, pg_query.A_Expr_Kind_AEXPR_SIMILAR,
		pg_query.A_Expr_Kind_AEXPR_DISTINCT, pg_query.A_Expr_Kind_AEXPR_NOT_DISTINCT:
		nodes = append(nodes, right...)
	case pg_query.A_Expr_Kind_AEXPR_IN, pg_query.A_Expr_Kind_AEXPR_BETWEEN, pg_query.A_Expr_Kind_AEXPR_NOT_BETWEEN,
		pg_query.A_Expr_Kind_AEXPR_BETWEEN_SYM, pg_query.A_Expr_Kind_AEXPR_NOT_BETWEEN_SYM:
		nodes = append(nodes, n.Rexpr.GetList().GetItems()...)
	case pg_query.A_Expr_Kind_AEXPR_NULLIF: // of constants it may be NULL
		if f.kind(n.Lexpr) != ofRow {
			return uncertain
		}
		nodes = append(nodes, n.Rexpr)
	default:
		return uncertain
	}
	k := f.all(nodes...)
	if k != uncertain {
		f.needOperator(opaqueOperator, n)
	}
	if k == planned && !neverNull[tree.Name(n.Name)] {
		return uncertain // of two constants it may be NULL
	}
	return k
}

var escapes = map[string]bool{"like_escape": true, "similar_to_escape": true}

// neverNull are operators that make no NULL of what is not NULL, on any built-in type.
var neverNull = map[string]bool{"+": true, "-": true, "*": true, "/": true, "%": true, "||": true}

// function is a function of rows, or one that the planner does not compute.
func (f *folding) function(n *pg_query.FuncCall) kind {
	if n.Over != nil {
		return uncertain
	}
	if n.AggStar {
		return ofRow
	}
	k := f.all(n.Args...)
	switch k {
	case uncertain:
		return uncertain
	case planned:
		f.needFunction(lateFunction, n, besideCondition)
		k = late
	}
	f.needFunction(opaqueFunction, n, besideCondition)
	return k
}

// indirection is a field or an element.
func (f *folding) indirection(n *pg_query.A_Indirection) kind {
	k := f.kind(n.Arg)
	for _, part := range n.Indirection {
		if part.GetAStar() != nil {
			return uncertain
		}
		if i := part.GetAIndices(); i != nil && f.all(i.Lidx, i.Uidx) == uncertain {
			return uncertain
		}
	}
	if k != ofRow {
		return uncertain
	}
	return k
}

// nullTest: newer planners know which columns are never NULL.
func (f *folding) nullTest(n *pg_query.NullTest) kind {
	k := f.kind(n.Arg)
	if k == planned {
		return uncertain
	}
	if n.Arg.GetAArrayExpr() != nil {
		return uncertain
	}
	if ref := n.Arg.GetColumnRef(); k == ofRow && n.Nulltesttype == pg_query.NullTestType_IS_NULL && ref != nil {
		for _, i := range f.level.candidates(ref) {
			if i.table != nil {
				f.need(nullable, relationName(i.table), tree.Name(ref.Fields), besideCondition, ref.Location)
			}
		}
	}
	return k
}

// subquery is a subquery in an expression.
func (f *folding) subquery(n *pg_query.SubLink) kind {
	query := n.Subselect.GetSelectStmt()
	switch n.SubLinkType {
	case pg_query.SubLinkType_EXPR_SUBLINK, pg_query.SubLinkType_ARRAY_SUBLINK:
		return late // at the earliest
	case pg_query.SubLinkType_ALL_SUBLINK:
		return f.kind(n.Testexpr)
	case pg_query.SubLinkType_ANY_SUBLINK:
		if k := f.kind(n.Testexpr); k == ofRow && f.solid(query) {
			return ofRow
		}
	case pg_query.SubLinkType_EXISTS_SUBLINK:
		if f.namesRow(query) && f.solid(query) {
			return ofRow
		}
		before := f.facts.count()
		if f.uncorrelated(n.Subselect, f.level) {
			return late
		}
		f.facts.rewind(before)
	}
	return uncertain
}

// namesRow says whether a subquery is certain to name a row of the level.
func (f *folding) namesRow(query *pg_query.SelectStmt) bool {
	own := tree.OwnNames(query)
	return tree.Any(query, func(ref *pg_query.ColumnRef) bool {
		return len(ref.Fields) == 2 && !own[tree.Name(ref.Fields[:1])] && f.level.kindOf(ref) == ofRow
	})
}

// solid says whether the planner cannot prove that a subquery has no rows. It may join
// the subquery to the level.
func (f *folding) solid(n *pg_query.SelectStmt) bool {
	if n.Op != pg_query.SetOperation_SETOP_NONE || n.HavingClause != nil || n.LimitCount != nil || len(n.FromClause) == 0 {
		return false
	}
	if f.err != nil {
		return false
	}
	b := f.level.below(f.level.scope)
	b.parent = f.level
	f.siblingQuery(b, n, n)
	return f.err == nil
}

// kindOf is the kind of a column, wherever it may come from.
func (l *level) kindOf(ref *pg_query.ColumnRef) kind {
	fields := ref.Fields
	if fields[len(fields)-1].GetAStar() != nil {
		return uncertain
	}
	candidates := l.candidates(ref)
	if len(candidates) == 0 {
		return uncertain
	}
	name, least := tree.Name(fields), ofRow
	for _, i := range candidates {
		if len(fields) == 1 && i.wholeRow(name) {
			return uncertain
		}
		least = min(least, i.kindOf(name))
	}
	return least
}

// candidates are the items that a column may be of.
func (l *level) candidates(ref *pg_query.ColumnRef) (found []*item) {
	name, fields := tree.Name(ref.Fields), len(ref.Fields)
	for ; l != nil; l = l.parent {
		for _, i := range l.items {
			switch {
			case fields == 1 && (i.has(name) || i.wholeRow(name)):
				found = append(found, i)
			case fields == 2 && i.alias == tree.Name(ref.Fields[:1]):
				return []*item{i} // the innermost of this name
			case fields == 3 && i.table != nil && i.table.Alias == nil && i.table.Relname == tree.Name(ref.Fields[:2]) &&
				i.table.Schemaname == tree.Name(ref.Fields[:1]):
				return []*item{i}
			}
		}
	}
	return found
}

// isCatalogType says whether a type is certain to be built in.
func isCatalogType(n *pg_query.TypeName) bool {
	names := n.GetNames()
	return len(names) == 2 && tree.Name(names[:1]) == "pg_catalog" || len(names) == 1 && tree.Name(names) == "text"
}
