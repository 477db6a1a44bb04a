package expr

import (
	"github.com/jeroenrinzema/psql-wire/codes"
	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/planner/catalog"
	"raisinproxy/planner/tree"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// TypeName reads a type. typmod is -1 or, for varchar and character, the length in
// characters plus 4, as in pg_attribute.
func (c *Compiler) TypeName(n *pg_query.TypeName) (t datum.Type, typmod int32, err *pgerr.Error) {
	name, ok := tree.CatalogName(n.GetNames())
	if schema := tree.Schema(n.GetNames()); !schemas[schema] {
		return 0, 0, noSchema(schema).At(c.At(n.GetLocation()))
	}
	if !ok || name == datum.Unknown.TypName() || n.GetSetof() || n.GetPctType() {
		return 0, 0, c.NeedsUpstream(n.GetLocation(), "type %s", tree.Name(n.GetNames()))
	}
	t, known := typeNamed(name, len(n.GetArrayBounds()) > 0)
	if !known {
		return 0, 0, pgerr.Newf(codes.UndefinedObject, "type \"%s\" does not exist", tree.Qualified(n.GetNames())).At(c.At(n.GetLocation()))
	}
	if !builtin(t) || catalog.IsPseudoType(uint32(t)) {
		return 0, 0, c.NeedsUpstream(n.GetLocation(), "type %s", tree.Name(n.GetNames()))
	}
	if len(n.GetTypmods()) == 0 {
		return t, -1, nil
	}
	typmod, err = c.typeLength(n, t)
	return t, typmod, err
}

// typeNamed finds a built-in type, or the array of one, by its name in pg_catalog.
func typeNamed(name string, array bool) (datum.Type, bool) {
	if t, known := datum.TypeByName(name); known && !array {
		return t, true
	}
	oid, known := catalog.TypeNamed(name, array)
	return datum.Type(oid), known
}

// typeLength reads the modifier of a type, which must be a length.
func (c *Compiler) typeLength(n *pg_query.TypeName, t datum.Type) (typmod int32, err *pgerr.Error) {
	if datum.Supported(t) && !t.IsString() && t != datum.Numeric || t == datum.Text || t == datum.Name {
		return 0, pgerr.Newf(codes.Syntax, "type modifier is not allowed for type \"%s\"", t.TypName()).At(c.At(n.GetLocation()))
	}
	length, isInt := tree.IntConst(n.GetTypmods()[0])
	word, hasLength := map[datum.Type]string{datum.Varchar: "varchar", datum.Bpchar: "char"}[t]
	if !hasLength || len(n.GetTypmods()) != 1 || !isInt {
		c.unknowable(c.NeedsUpstream(n.GetLocation(), "this form of type %s", tree.Name(n.GetNames())))
		return -1, nil
	}
	if length < 1 {
		return 0, pgerr.Newf(codes.InvalidParameterValue, "length for type %s must be at least 1", word).At(c.At(n.GetLocation()))
	}
	if length > maxVarchar {
		return 0, pgerr.Newf(codes.InvalidParameterValue, "length for type %s cannot exceed %d", word, maxVarchar).At(c.At(n.GetLocation()))
	}
	return length + 4, nil
}

// maxVarchar is PostgreSQL's MaxAttrSize.
const maxVarchar = 10485760

// DisplayName is what messages call a type, of those that are not computed with too.
func DisplayName(t datum.Type) string {
	if name, ok := catalog.TypeDisplay(uint32(t)); ok && !t.Known() {
		return name
	}
	return t.String()
}

// builtin says whether a type is the same in every PostgreSQL. Of any other, such as a
// domain, only the upstream knows what it turns into.
func builtin(t datum.Type) bool {
	_, ok := catalog.TypeDisplay(uint32(t))
	return ok
}

// schemas are those of an empty database; "" is none.
var schemas = map[string]bool{"": true, "pg_catalog": true, "public": true, "information_schema": true}

func noSchema(name string) *pgerr.Error {
	return pgerr.Newf(codes.InvalidSchemaName, "schema \"%s\" does not exist", name)
}
