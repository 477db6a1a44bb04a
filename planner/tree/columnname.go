package tree

import pg_query "github.com/pganalyze/pg_query_go/v5"

// ColumnName is what PostgreSQL calls a column of a SELECT list that has no name
// (FigureColname of its parse_target.c).
func ColumnName(n *pg_query.Node) string {
	if name, strength := figureColumnName(n); strength > 0 {
		return name
	}
	return "?column?"
}

// figureColumnName returns a name and how good it is: 2 from a column or
// function, 1 from a type, 0 none.
func figureColumnName(n *pg_query.Node) (name string, strength int) {
	switch n := n.GetNode().(type) {
	case *pg_query.Node_ColumnRef:
		return Name(n.ColumnRef.Fields), 2
	case *pg_query.Node_FuncCall:
		return Name(n.FuncCall.Funcname), 2
	case *pg_query.Node_AExpr:
		if n.AExpr.Kind == pg_query.A_Expr_Kind_AEXPR_NULLIF {
			return "nullif", 2
		}
	case *pg_query.Node_TypeCast:
		if name, strength = figureColumnName(n.TypeCast.Arg); strength <= 1 {
			return Name(n.TypeCast.TypeName.GetNames()), 1
		}
		return name, strength
	case *pg_query.Node_CollateClause:
		return figureColumnName(n.CollateClause.Arg)
	case *pg_query.Node_AIndirection:
		return indirectionName(n.AIndirection)
	case *pg_query.Node_CaseExpr:
		if name, strength = figureColumnName(n.CaseExpr.Defresult); strength <= 1 {
			return "case", 1
		}
		return name, strength
	case *pg_query.Node_AArrayExpr:
		return "array", 2
	case *pg_query.Node_CoalesceExpr:
		return "coalesce", 2
	case *pg_query.Node_SubLink:
		return subLinkName(n.SubLink)
	case *pg_query.Node_SqlvalueFunction:
		return valueFunctionNames[n.SqlvalueFunction.Op], 2
	}
	return "", 0
}

func indirectionName(n *pg_query.A_Indirection) (name string, strength int) {
	for _, field := range n.Indirection {
		if s := field.GetString_(); s != nil {
			name = s.GetSval()
		}
	}
	if name != "" {
		return name, 2
	}
	return figureColumnName(n.Arg)
}

func subLinkName(n *pg_query.SubLink) (name string, strength int) {
	switch n.SubLinkType {
	case pg_query.SubLinkType_EXISTS_SUBLINK:
		return "exists", 2
	case pg_query.SubLinkType_ARRAY_SUBLINK:
		return "array", 2
	case pg_query.SubLinkType_EXPR_SUBLINK:
		target := n.Subselect.GetSelectStmt().GetTargetList()
		if len(target) == 0 {
			return "", 0
		}
		if name := target[0].GetResTarget().GetName(); name != "" {
			return name, 2
		}
		return figureColumnName(target[0].GetResTarget().GetVal())
	}
	return "", 0
}

var valueFunctionNames = map[pg_query.SQLValueFunctionOp]string{
	pg_query.SQLValueFunctionOp_SVFOP_CURRENT_USER:      "current_user",
	pg_query.SQLValueFunctionOp_SVFOP_USER:              "user",
	pg_query.SQLValueFunctionOp_SVFOP_CURRENT_ROLE:      "current_role",
	pg_query.SQLValueFunctionOp_SVFOP_SESSION_USER:      "session_user",
	pg_query.SQLValueFunctionOp_SVFOP_CURRENT_CATALOG:   "current_catalog",
	pg_query.SQLValueFunctionOp_SVFOP_CURRENT_SCHEMA:    "current_schema",
	pg_query.SQLValueFunctionOp_SVFOP_CURRENT_TIMESTAMP: "current_timestamp",
}
