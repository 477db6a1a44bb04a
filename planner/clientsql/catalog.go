package clientsql

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"raisinproxy/sqlfuncs/datum"
)

// pgType is a row of pg_type, joined with what the queries want of pg_namespace,
// pg_proc, pg_class and pg_range.
type pgType struct {
	oid       uint32
	namespace string // nspname
	name      string // typname
	length    int64  // typlen
	kind      string // typtype
	category  string // typcategory
	delimiter string // typdelim
	relation  uint32 // typrelid
	relkind   string // of that relation, or ""
	elem      uint32 // typelem
	array     uint32 // typarray
	input     string // typinput as a name
	receive   string // typreceive as a name, or ""
	notNull   bool   // typnotnull
	baseType  uint32 // typbasetype
	// Of a range: rngsubtype and rngmultitypid, else 0.
	rangeSubtype, multirange uint32
	display                  string // format_type(oid, NULL)
}

// The rows are in the order in which PostgreSQL stores them, which is that of a
// query without ORDER BY. Made by testdata/pg_type.sql.
//
//go:embed pg_type.tsv
var pgTypeTSV string

// types are the built-in types: base types, arrays, ranges and multiranges, pseudo
// types, and the domains and row types of the catalogue and the information
// schema. The OIDs of the latter (12000 and above) differ between real servers.
var types = sync.OnceValue(func() []*pgType {
	var out []*pgType
	for line := range strings.Lines(pgTypeTSV) {
		out = append(out, parseType(strings.Split(strings.TrimSuffix(line, "\n"), "\t")))
	}
	return out
})

const pgTypeFields = 18

func parseType(f []string) *pgType {
	if len(f) != pgTypeFields {
		panic(fmt.Sprintf("pg_type.tsv: %q has %d fields", f, len(f)))
	}
	for i := range f {
		if f[i] == `\N` {
			f[i] = ""
		}
	}
	return &pgType{
		oid: toOID(f[0]), namespace: f[1], name: f[2], length: toInt(f[3]),
		kind: f[4], category: f[5], delimiter: f[6], relation: toOID(f[7]), relkind: f[8],
		elem: toOID(f[9]), array: toOID(f[10]), input: f[11], receive: f[12],
		notNull: f[13] == "t", baseType: toOID(f[14]),
		rangeSubtype: toOID(f[15]), multirange: toOID(f[16]), display: f[17],
	}
}

func toOID(s string) uint32 { return uint32(toInt(s)) }

func toInt(s string) int64 {
	if s == "" {
		return 0
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		panic(fmt.Sprintf("pg_type.tsv: %v", err))
	}
	return n
}

var typesByOID = sync.OnceValue(func() map[uint32]*pgType {
	out := make(map[uint32]*pgType)
	for _, t := range types() {
		out[t.oid] = t
	}
	return out
})

// typeByOID is nil for an OID that no type has.
func typeByOID(oid uint32) *pgType { return typesByOID()[oid] }

// typeByName finds a type in a schema; without one, where the default search_path
// finds it.
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

const pgCatalog = "pg_catalog"

// schemaOIDs are the schemas of an empty database in pg_namespace. That of the
// information schema differs between real servers.
var schemaOIDs = map[string]uint32{
	pgCatalog: 11, "pg_toast": 99, "public": 2200, "information_schema": 13207,
}

func (t *pgType) isArray() bool { return t.input == "array_in" }

// visible says whether the type is found without its schema.
func (t *pgType) visible() bool { return t.namespace == pgCatalog }

// relationRow is a table or view, of which there are only those of the catalogue
// and the information schema. They are known by their row types.
type relationRow struct {
	oid                   uint32
	namespace, name, kind string
}

func relations() []relationRow {
	var out []relationRow
	for _, t := range types() {
		if t.relation != 0 {
			out = append(out, relationRow{t.relation, t.namespace, t.name, t.relkind})
		}
	}
	return out
}

// databases are those of a new server, the one that the client is in and those that
// others are in: an embedded server takes any name.
func databases(s Session) []string {
	out := slices.Concat([]string{"postgres", "template0", "template1", s.Database}, s.Databases)
	slices.Sort(out)
	return slices.Compact(out)
}

// OIDs of the catalogues in pg_class.
const (
	relPgType        = 1247
	relPgAttribute   = 1249
	relPgProc        = 1255
	relPgClass       = 1259
	relPgDatabase    = 1262
	relPgDescription = 2609
	relPgNamespace   = 2615
	relPgIndex       = 2610
	relPgConstraint  = 2606
	relPgExtension   = 3079
	relPgEnum        = 3501
	relPgRange       = 3541
)

// Types that datum has no name for.
const (
	typeRegtype    datum.Type = 2206
	typeOIDArray   datum.Type = 1028
	typeInt2Vector datum.Type = 22
	typeACL        datum.Type = 1034
)

// column is a column of a catalogue.
func column(name string, t datum.Type, table uint32, attnum int16) Column {
	return Column{Name: name, Type: t, Typmod: -1, Table: table, Attnum: attnum}
}

// computed is the column of an expression.
func computed(name string, t datum.Type) Column {
	return Column{Name: name, Type: t, Typmod: -1}
}

// as renames a column.
func (c Column) as(name string) Column {
	c.Name = name
	return c
}

// The columns of the catalogues that occur in the answers.
var (
	colTypeOID     = column("oid", datum.OID, relPgType, 1)
	colTypname     = column("typname", datum.Name, relPgType, 2)
	colTyplen      = column("typlen", datum.Int2, relPgType, 5)
	colTyptype     = column("typtype", datum.Char, relPgType, 7)
	colTypdelim    = column("typdelim", datum.Char, relPgType, 11)
	colTypelem     = column("typelem", datum.OID, relPgType, 14)
	colTyparray    = column("typarray", datum.OID, relPgType, 15)
	colTypinput    = column("typinput", datum.Regproc, relPgType, 16)
	colTypnotnull  = column("typnotnull", datum.Bool, relPgType, 25)
	colTypbasetype = column("typbasetype", datum.OID, relPgType, 26)
	colRngtypid    = column("rngtypid", datum.OID, relPgRange, 1)
	colRngsubtype  = column("rngsubtype", datum.OID, relPgRange, 2)
	colProname     = column("proname", datum.Name, relPgProc, 2)
	colNspname     = column("nspname", datum.Name, relPgNamespace, 2)
	colRelOID      = column("oid", datum.OID, relPgClass, 1)
	colRelname     = column("relname", datum.Name, relPgClass, 2)
	colRelkind     = column("relkind", datum.Char, relPgClass, 17)
	colAttname     = column("attname", datum.Name, relPgAttribute, 2)
	colAtttypid    = column("atttypid", datum.OID, relPgAttribute, 3)
	colEnumlabel   = column("enumlabel", datum.Name, relPgEnum, 4)
	colExtname     = column("extname", datum.Name, relPgExtension, 2)
	colConname     = column("conname", datum.Name, relPgConstraint, 2)
	colDatname     = column("datname", datum.Name, relPgDatabase, 2)
)
