package clientsql

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// psql sends no query of its own on connecting; these are of backslash commands.
var psqlAnswers = []Answer{
	{
		Source: `psql 15.18, \gdesc`,
		SQL: `SELECT name AS "Column", pg_catalog.format_type(tp, tpm) AS "Type"
FROM (VALUES ('token', '20'::pg_catalog.oid, -1),('price', '1700'::pg_catalog.oid, 655366)) s(name, tp, tpm)`,
		Lists:   []int{0, 1},
		Columns: []Column{computed("Column", datum.Text), computed("Type", datum.Text)},
		Rows:    describedColumns,
	},
	{
		Source: `psql 15.18, \d`,
		SQL: `SELECT n.nspname as "Schema",
  c.relname as "Name",
  CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type",
  pg_catalog.pg_get_userbyid(c.relowner) as "Owner"
FROM pg_catalog.pg_class c
     LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
     LEFT JOIN pg_catalog.pg_am am ON am.oid = c.relam
WHERE c.relkind IN ('r','p','v','m','S','f','')
      AND n.nspname <> 'pg_catalog'
      AND n.nspname !~ '^pg_toast'
      AND n.nspname <> 'information_schema'
  AND pg_catalog.pg_table_is_visible(c.oid)
ORDER BY 1,2;`,
		Columns: []Column{colNspname.as("Schema"), colRelname.as("Name"), computed("Type", datum.Text), computed("Owner", datum.Name)},
		Rows:    none,
	},
	listDatabases(`psql 15.18, \l`, `d.daticulocale as "ICU Locale",
       CASE d.datlocprovider WHEN 'c' THEN 'libc' WHEN 'i' THEN 'icu' END AS "Locale Provider"`,
		column("ICU Locale", datum.Text, relPgDatabase, 14)),
	listDatabases(`psql 15.18, \l where the server says that it is 14.18`, `NULL as "ICU Locale",
       'libc' AS "Locale Provider"`,
		computed("ICU Locale", datum.Text)),
}

func listDatabases(source, provider string, icuLocale Column) Answer {
	return Answer{
		Source: source,
		SQL: `SELECT d.datname as "Name",
       pg_catalog.pg_get_userbyid(d.datdba) as "Owner",
       pg_catalog.pg_encoding_to_char(d.encoding) as "Encoding",
       d.datcollate as "Collate",
       d.datctype as "Ctype",
       ` + provider + `,
       pg_catalog.array_to_string(d.datacl, E'\n') AS "Access privileges"
FROM pg_catalog.pg_database d
ORDER BY 1;`,
		Columns: []Column{
			colDatname.as("Name"),
			computed("Owner", datum.Name),
			computed("Encoding", datum.Name),
			column("Collate", datum.Text, relPgDatabase, 12),
			column("Ctype", datum.Text, relPgDatabase, 13),
			icuLocale,
			computed("Locale Provider", datum.Text),
			computed("Access privileges", datum.Text),
		},
		Rows: listedDatabases,
	}
}

// describedColumns answers \gdesc: the literals are name, type OID, name, type
// OID… and the type modifiers.
func describedColumns(c Call) ([][]datum.Datum, error) {
	namesAndTypes, typmods := c.Literals[0], c.Literals[1]
	var out [][]datum.Datum
	for i, modifier := range typmods {
		d, err := datum.Parse(datum.OID, namesAndTypes[2*i+1])
		if err != nil {
			return nil, err
		}
		typmod, err := strconv.Atoi(modifier)
		if err != nil {
			return nil, pgerr.Newf(codes.InvalidTextRepresentation, "invalid input syntax for type integer: \"%s\"", modifier)
		}
		display, err := formatType(uint32(d.Int), typmod)
		if err != nil {
			return nil, err
		}
		out = append(out, []datum.Datum{datum.OfText(namesAndTypes[2*i]), datum.OfText(display)})
	}
	return out, nil
}

// formatType is format_type, without intervals of some fields only.
func formatType(oid uint32, typmod int) (string, error) {
	t := typeByOID(oid)
	switch {
	case oid == 0:
		return "-", nil
	case t == nil:
		return "???", nil
	case typmod < 0:
		return t.display, nil
	}
	element, isArray := strings.CutSuffix(t.display, "[]")
	// The modifier stands before "with time zone".
	name, zone, hasZone := strings.Cut(element, " with")
	modifier, err := formatModifier(name, typmod)
	if err != nil {
		return "", err
	}
	name += modifier
	if hasZone {
		name += " with" + zone
	}
	if isArray {
		name += "[]"
	}
	return name, nil
}

// lengthHeader is VARHDRSZ, which the modifiers of some types include.
const lengthHeader = 4

func formatModifier(name string, typmod int) (string, error) {
	switch name {
	case "boolean", "smallint", "integer", "bigint", "real", "double precision":
		return "", nil
	case "character varying", "character":
		if typmod <= lengthHeader {
			return "", nil
		}
		return fmt.Sprintf("(%d)", typmod-lengthHeader), nil
	case "numeric":
		if typmod < lengthHeader {
			return "", nil
		}
		// The scale is signed, of eleven bits, since PostgreSQL 15.
		typmod -= lengthHeader
		return fmt.Sprintf("(%d,%d)", typmod>>16&0xffff, (typmod&0x7ff^0x400)-0x400), nil
	case "interval":
		const allFields, full = 0x7fff, 0xffff
		if typmod>>16&allFields != allFields {
			return "", needsUpstream("an interval of some fields")
		}
		if typmod&full == full {
			return "", nil
		}
		return fmt.Sprintf("(%d)", typmod&full), nil
	}
	return fmt.Sprintf("(%d)", typmod), nil
}

func listedDatabases(c Call) ([][]datum.Datum, error) {
	var out [][]datum.Datum
	for _, name := range databases(c.Session) {
		privileges := datum.Null
		if strings.HasPrefix(name, "template") {
			privileges = datum.OfText("=c/postgres\npostgres=CTc/postgres")
		}
		out = append(out, []datum.Datum{
			datum.OfText(name), datum.OfText("postgres"), datum.OfText("UTF8"),
			datum.OfText("C.UTF-8"), datum.OfText("C.UTF-8"), datum.Null, datum.OfText("libc"), privileges,
		})
	}
	return out, nil
}
