package planner

import (
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v5"
)

func nameOf(names []*pg_query.Node) string {
	if len(names) == 0 {
		return ""
	}
	return names[len(names)-1].GetString_().GetSval()
}

func schemaOf(names []*pg_query.Node) string {
	if len(names) < 2 {
		return ""
	}
	return names[len(names)-2].GetString_().GetSval()
}

// catalogName reads a name that is unqualified or of pg_catalog.
func catalogName(names []*pg_query.Node) (string, bool) {
	switch len(names) {
	case 1:
		return names[0].GetString_().GetSval(), true
	case 2:
		return names[1].GetString_().GetSval(), names[0].GetString_().GetSval() == "pg_catalog"
	}
	return "", false
}

func qualified(names []*pg_query.Node) string {
	parts := make([]string, len(names))
	for i, n := range names {
		parts[i] = n.GetString_().GetSval()
	}
	return strings.Join(parts, ".")
}

func intConst(n *pg_query.Node) (int32, bool) {
	k := n.GetAConst()
	if k == nil || k.Isnull {
		return 0, false
	}
	i, ok := k.Val.(*pg_query.A_Const_Ival)
	if !ok {
		return 0, false
	}
	return i.Ival.GetIval(), true
}

// ownNames are the names by which a query and those in it know what they read.
func ownNames(query protoMessage) map[string]bool {
	own := map[string]bool{}
	each(query, func(table *pg_query.RangeVar) { own[table.Relname] = true })
	each(query, func(alias *pg_query.Alias) { own[alias.Aliasname] = true })
	return own
}
