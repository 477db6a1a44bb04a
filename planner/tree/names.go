package tree

import (
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v5"
)

// Name is the last part of a name: without its schema.
func Name(names []*pg_query.Node) string {
	if len(names) == 0 {
		return ""
	}
	return names[len(names)-1].GetString_().GetSval()
}

// Schema is the part before; "" if there is none.
func Schema(names []*pg_query.Node) string {
	if len(names) < 2 {
		return ""
	}
	return names[len(names)-2].GetString_().GetSval()
}

// CatalogName reads a name that is unqualified or of pg_catalog.
func CatalogName(names []*pg_query.Node) (string, bool) {
	switch len(names) {
	case 1:
		return names[0].GetString_().GetSval(), true
	case 2:
		return names[1].GetString_().GetSval(), names[0].GetString_().GetSval() == "pg_catalog"
	}
	return "", false
}

// Qualified is a whole name, for messages.
func Qualified(names []*pg_query.Node) string {
	parts := make([]string, len(names))
	for i, n := range names {
		parts[i] = n.GetString_().GetSval()
	}
	return strings.Join(parts, ".")
}

// IntConst is a literal that is an integer of 32 bits.
func IntConst(n *pg_query.Node) (int32, bool) {
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

// IsTrue says whether a condition is true, in the words of the user or the parser.
func IsTrue(n *pg_query.Node) bool {
	if cast := n.GetTypeCast(); Name(cast.GetTypeName().GetNames()) == "bool" {
		n = cast.Arg
		if s := n.GetAConst().GetSval(); s != nil {
			return s.Sval == "t" || s.Sval == "true"
		}
	}
	return n.GetAConst().GetBoolval().GetBoolval()
}

// WithNames are the names of the WITH queries in n.
func WithNames(n Message) map[string]bool {
	names := map[string]bool{}
	Each(n, func(cte *pg_query.CommonTableExpr) { names[cte.Ctename] = true })
	return names
}

// OwnNames are the names by which a query and those in it know what they read.
func OwnNames(query Message) map[string]bool {
	own := map[string]bool{}
	Each(query, func(table *pg_query.RangeVar) { own[table.Relname] = true })
	Each(query, func(alias *pg_query.Alias) { own[alias.Aliasname] = true })
	return own
}
