package catalog

import (
	"slices"
	"sync"

	"raisinproxy/sqlfuncs/datum"
)

const (
	pgCatalog         = "pg_catalog"
	informationSchema = "information_schema"
)

// Types that datum has no name for.
const (
	typeInt2Vector   datum.Type = 22
	typeOIDVector    datum.Type = 30
	typeNodeTree     datum.Type = 194
	typeRegprocedure datum.Type = 2202
	typeRegclass     datum.Type = 2205
	typeRegtype      datum.Type = 2206
	typeRegrole      datum.Type = 4096
	typeRegnamespace datum.Type = 4089
)

// pgType is what is asked of a row of pg_type.
type pgType struct {
	oid            uint32
	namespace      string
	name           string
	kind, category string
	elem, array    uint32
	baseType       uint32
	typmod         int32
	display        string // format_type(oid, NULL)
}

var types = sync.OnceValue(func() []*pgType {
	s := sections()["pg_type"]
	schemas := make(map[string]string)
	namespaces := sections()["pg_namespace"]
	for n := range namespaces.records {
		schemas[namespaces.field(n, "oid")] = namespaces.field(n, "nspname")
	}
	var all []*pgType
	for r := range s.records {
		all = append(all, &pgType{
			oid: uint32(s.number(r, "oid")), namespace: schemas[s.field(r, "typnamespace")], name: s.field(r, "typname"),
			kind: s.field(r, "typtype"), category: s.field(r, "typcategory"), elem: uint32(s.number(r, "typelem")),
			array: uint32(s.number(r, "typarray")), baseType: uint32(s.number(r, "typbasetype")), typmod: int32(s.number(r, "typtypmod")),
		})
	}
	byOID := make(map[uint32]*pgType)
	for _, t := range all {
		byOID[t.oid] = t
	}
	for _, t := range all {
		t.display = display(t, byOID)
	}
	return all
})

// standardNames are the types that format_type calls by SQL's names.
var standardNames = map[uint32]string{
	16: "boolean", 18: `"char"`, 20: "bigint", 21: "smallint", 23: "integer", 700: "real", 701: "double precision", 1042: "character",
	1043: "character varying", 1083: "time without time zone", 1186: "interval", 1700: "numeric", 1114: "timestamp without time zone", 1184: "timestamp with time zone",
	1266: "time with time zone", 1560: "bit", 1562: "bit varying",
}

func display(t *pgType, byOID map[uint32]*pgType) string {
	if element := byOID[t.elem]; element != nil && element.array == t.oid {
		return display(element, byOID) + "[]"
	}
	if name, ok := standardNames[t.oid]; ok {
		return name
	}
	name := quoteIdent(t.name)
	if t.namespace != pgCatalog {
		name = quoteIdent(t.namespace) + "." + name
	}
	return name
}

var typesByOID = sync.OnceValue(func() map[uint32]*pgType {
	all := make(map[uint32]*pgType)
	for _, t := range types() {
		all[t.oid] = t
	}
	return all
})

// typeByOID is nil for an OID that no type has.
func typeByOID(oid uint32) *pgType { return typesByOID()[oid] }

// typeByName finds a type in a schema; without one, in pg_catalog.
func typeByName(schema, name string) *pgType {
	if schema == "" {
		schema = pgCatalog
	}
	i := slices.IndexFunc(types(), func(t *pgType) bool { return t.name == name && t.namespace == schema })
	if i < 0 {
		return nil
	}
	return types()[i]
}

// element is the type of an array's elements, or 0.
func element(t datum.Type) datum.Type {
	switch p := typeByOID(uint32(t)); {
	case t == typeInt2Vector || t == typeOIDVector:
		return datum.Type(p.elem)
	case p != nil && p.category == "A":
		return datum.Type(p.elem)
	}
	return 0
}

// arrayOf is the array type of t, or 0.
func arrayOf(t datum.Type) datum.Type {
	if p := typeByOID(uint32(t)); p != nil {
		return datum.Type(p.array)
	}
	return 0
}

func isInteger(t datum.Type) bool { return t.IsInteger() || t == datum.OID }

// isReg says whether values of t are OIDs that are shown as names.
func isReg(t datum.Type) bool {
	return t == typeRegtype || t == typeRegprocedure || t == typeRegclass || t == typeRegrole || t == typeRegnamespace || t == datum.Regproc
}

// isNumber says whether values of t are kept in Datum.Int.
func isNumber(t datum.Type) bool { return isInteger(t) || isReg(t) }

// isText says whether t is compared byte by byte.
func isText(t datum.Type) bool { return t.IsString() || t == datum.Char || t == datum.Unknown }

// TypeNamed finds a built-in type of pg_catalog by its name, or the array of it.
func TypeNamed(name string, array bool) (oid uint32, ok bool) {
	t := typeByName(pgCatalog, name)
	if t != nil && array && (t.category != "A" || t.elem == 0) { // an array of any dimension is of one type
		t = typeByOID(t.array)
	}
	if t == nil {
		return 0, false
	}
	return t.oid, true
}

// ElementOf is the type of the elements of a built-in array type.
func ElementOf(oid uint32) (of uint32, ok bool) {
	t := typeByOID(oid)
	if t == nil || t.category != "A" || t.elem == 0 {
		return 0, false
	}
	return t.elem, true
}

// ArrayOf is the built-in type of the arrays of a type.
func ArrayOf(oid uint32) (array uint32, ok bool) {
	t := typeByOID(oid)
	if t == nil || t.array == 0 {
		return 0, false
	}
	return t.array, true
}

// IsPseudoType says whether a type has no values of its own, such as anyelement.
func IsPseudoType(oid uint32) bool {
	t := typeByOID(oid)
	return t != nil && t.kind == "p"
}

// TypeDisplay is what PostgreSQL calls a built-in type in messages (format_type), such
// as `bytea`, `smallint[]` or `time without time zone`. ok is false for an OID that is
// not the same on every server: those of the row types of views, of the information
// schema and of the user's types.
func TypeDisplay(oid uint32) (name string, ok bool) {
	t := typeByOID(oid)
	if t == nil || oid >= firstUnpinned {
		return "", false
	}
	return t.display, true
}

// firstUnpinned is the first OID that initdb gives, in an order of its own.
const firstUnpinned = 12000
