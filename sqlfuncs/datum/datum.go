// Package datum holds SQL values of the few types that the proxy itself
// evaluates, with PostgreSQL's input and output forms, text and binary.
//
// A Datum does not know its type: the plan that produced it does, as in
// PostgreSQL. That keeps it small enough to be passed by value, and a statement
// whose plan is cached is evaluated without allocating.
package datum

// Datum is one SQL value. Which field counts depends on the type: Int for
// booleans (0 or 1), integers, oid and timestamptz (microseconds since
// 2000-01-01 UTC, PostgreSQL's epoch); Str for everything else.
type Datum struct {
	Null bool
	Int  int64
	Str  string
}

// Null is SQL's NULL of any type.
var Null = Datum{Null: true}

// OfBool makes a boolean.
func OfBool(b bool) Datum {
	if b {
		return Datum{Int: 1}
	}
	return Datum{}
}

// OfInt makes an integer of any width.
func OfInt(i int64) Datum { return Datum{Int: i} }

// OfText makes a value of any type that is kept as text.
func OfText(s string) Datum { return Datum{Str: s} }

// Bool reads a boolean.
func (d Datum) Bool() bool { return d.Int != 0 }

// Type is a PostgreSQL type by its OID in pg_type.
type Type uint32

// The types that are evaluated here. Any other OID can be described and relayed
// but not computed with.
const (
	Invalid     Type = 0
	Bool        Type = 16
	Char        Type = 18
	Name        Type = 19
	Int8        Type = 20
	Int2        Type = 21
	Int4        Type = 23
	Regproc     Type = 24
	Text        Type = 25
	OID         Type = 26
	JSON        Type = 114
	Float4      Type = 700
	Float8      Type = 701
	Unknown     Type = 705
	Bpchar      Type = 1042
	Varchar     Type = 1043
	Date        Type = 1082
	Timestamp   Type = 1114
	Timestamptz Type = 1184
	Numeric     Type = 1700
	UUID        Type = 2950
	Void        Type = 2278
	JSONB       Type = 3802
	TextArray   Type = 1009
	NameArray   Type = 1003

	VarcharArray Type = 1015
)

// info is what pg_type says of a type: the name that format_type prints, the
// internal name, and the width (-1: variable).
type info struct {
	display string
	name    string
	length  int16
}

var types = map[Type]info{
	Bool:        {"boolean", "bool", 1},
	Char:        {`"char"`, "char", 1},
	Name:        {"name", "name", 64},
	Int8:        {"bigint", "int8", 8},
	Int2:        {"smallint", "int2", 2},
	Int4:        {"integer", "int4", 4},
	Regproc:     {"regproc", "regproc", 4},
	Text:        {"text", "text", -1},
	OID:         {"oid", "oid", 4},
	JSON:        {"json", "json", -1},
	Float4:      {"real", "float4", 4},
	Float8:      {"double precision", "float8", 8},
	Unknown:     {"unknown", "unknown", -2},
	Bpchar:      {"character", "bpchar", -1},
	Varchar:     {"character varying", "varchar", -1},
	Date:        {"date", "date", 4},
	Timestamp:   {"timestamp without time zone", "timestamp", 8},
	Timestamptz: {"timestamp with time zone", "timestamptz", 8},
	Numeric:     {"numeric", "numeric", -1},
	UUID:        {"uuid", "uuid", 16},
	Void:        {"void", "void", 4},
	JSONB:       {"jsonb", "jsonb", -1},
	TextArray:   {"text[]", "_text", -1},
	NameArray:   {"name[]", "_name", -1},

	VarcharArray: {"character varying[]", "_varchar", -1},
}

// byName is keyed by the internal name, which is what the parser's type names
// end in: it turns `integer` into pg_catalog.int4 itself.
var byName = func() map[string]Type {
	m := make(map[string]Type, len(types))
	for t, i := range types {
		m[i.name] = t
	}
	return m
}()

// TypeByName finds a type by pg_type.typname.
func TypeByName(name string) (Type, bool) {
	t, ok := byName[name]
	return t, ok
}

// String is the name that PostgreSQL prints in messages, such as "bigint".
func (t Type) String() string {
	if i, ok := types[t]; ok {
		return i.display
	}
	return "???"
}

// TypName is pg_type.typname, such as "int8".
func (t Type) TypName() string { return types[t].name }

// Len is pg_type.typlen: bytes, or -1 for a variable length.
func (t Type) Len() int16 {
	if i, ok := types[t]; ok {
		return i.length
	}
	return -1
}

// Known says whether the type is one that this package names.
func (t Type) Known() bool { _, ok := types[t]; return ok }

// isReg says whether values are OIDs that are shown as names: regproc and its kin, from
// regprocedure to regtype, regrole and regnamespace. They have both, Int and Str.
func isReg(t Type) bool {
	return t == Regproc || t >= 2202 && t <= 2206 || t == 4089 || t == 4096
}

// IsInteger says whether the type is one of the three integer types.
func (t Type) IsInteger() bool { return t == Int2 || t == Int4 || t == Int8 }

// IsString says whether the type is of PostgreSQL's string category, all of
// which turn into text by themselves.
func (t Type) IsString() bool { return t == Text || t == Varchar || t == Name || t == Bpchar }
