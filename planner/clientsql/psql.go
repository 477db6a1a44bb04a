package clientsql

import (
	"fmt"
	"slices"
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
	listRelations(`psql 15.18, \dt`, `SELECT n.nspname as "Schema",
  c.relname as "Name",
  CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type",
  pg_catalog.pg_get_userbyid(c.relowner) as "Owner"
FROM pg_catalog.pg_class c
     LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
     LEFT JOIN pg_catalog.pg_am am ON am.oid = c.relam
WHERE c.relkind IN ('r','p','')
      AND n.nspname <> 'pg_catalog'
      AND n.nspname !~ '^pg_toast'
      AND n.nspname <> 'information_schema'
  AND pg_catalog.pg_table_is_visible(c.oid)
ORDER BY 1,2;`),
	listRelations(`psql 15.18, \di`, `SELECT n.nspname as "Schema",
  c.relname as "Name",
  CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type",
  pg_catalog.pg_get_userbyid(c.relowner) as "Owner",
  c2.relname as "Table"
FROM pg_catalog.pg_class c
     LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
     LEFT JOIN pg_catalog.pg_am am ON am.oid = c.relam
     LEFT JOIN pg_catalog.pg_index i ON i.indexrelid = c.oid
     LEFT JOIN pg_catalog.pg_class c2 ON i.indrelid = c2.oid
WHERE c.relkind IN ('i','I','')
      AND n.nspname <> 'pg_catalog'
      AND n.nspname !~ '^pg_toast'
      AND n.nspname <> 'information_schema'
  AND pg_catalog.pg_table_is_visible(c.oid)
ORDER BY 1,2;`, colRelname.as("Table")),
	listRelations(`psql 15.18, \dv`, `SELECT n.nspname as "Schema",
  c.relname as "Name",
  CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type",
  pg_catalog.pg_get_userbyid(c.relowner) as "Owner"
FROM pg_catalog.pg_class c
     LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('v','')
      AND n.nspname <> 'pg_catalog'
      AND n.nspname !~ '^pg_toast'
      AND n.nspname <> 'information_schema'
  AND pg_catalog.pg_table_is_visible(c.oid)
ORDER BY 1,2;`),
	listRelations(`psql 15.18, \dm`, `SELECT n.nspname as "Schema",
  c.relname as "Name",
  CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type",
  pg_catalog.pg_get_userbyid(c.relowner) as "Owner"
FROM pg_catalog.pg_class c
     LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
     LEFT JOIN pg_catalog.pg_am am ON am.oid = c.relam
WHERE c.relkind IN ('m','')
      AND n.nspname <> 'pg_catalog'
      AND n.nspname !~ '^pg_toast'
      AND n.nspname <> 'information_schema'
  AND pg_catalog.pg_table_is_visible(c.oid)
ORDER BY 1,2;`),
	listRelations(`psql 15.18, \ds`, `SELECT n.nspname as "Schema",
  c.relname as "Name",
  CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type",
  pg_catalog.pg_get_userbyid(c.relowner) as "Owner"
FROM pg_catalog.pg_class c
     LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('S','')
      AND n.nspname <> 'pg_catalog'
      AND n.nspname !~ '^pg_toast'
      AND n.nspname <> 'information_schema'
  AND pg_catalog.pg_table_is_visible(c.oid)
ORDER BY 1,2;`),
	{
		Source: `psql 15.18, \dn`,
		SQL: `SELECT n.nspname AS "Name",
  pg_catalog.pg_get_userbyid(n.nspowner) AS "Owner"
FROM pg_catalog.pg_namespace n
WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
ORDER BY 1;`,
		Columns: []Column{colNspname.as("Name"), computed("Owner", datum.Name)},
		Rows:    fixed([]datum.Datum{datum.OfText("public"), datum.OfText("pg_database_owner")}),
	},
	{
		Source: `psql 15.18, \df`,
		SQL: `SELECT n.nspname as "Schema",
  p.proname as "Name",
  pg_catalog.pg_get_function_result(p.oid) as "Result data type",
  pg_catalog.pg_get_function_arguments(p.oid) as "Argument data types",
 CASE p.prokind
  WHEN 'a' THEN 'agg'
  WHEN 'w' THEN 'window'
  WHEN 'p' THEN 'proc'
  ELSE 'func'
 END as "Type"
FROM pg_catalog.pg_proc p
     LEFT JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
WHERE pg_catalog.pg_function_is_visible(p.oid)
      AND n.nspname <> 'pg_catalog'
      AND n.nspname <> 'information_schema'
ORDER BY 1, 2, 4;`,
		Columns: []Column{
			colNspname.as("Schema"), colProname.as("Name"), computed("Result data type", datum.Text),
			computed("Argument data types", datum.Text), computed("Type", datum.Text),
		},
		Rows: none,
	},
	{
		Source: `psql 15.18, \du, \dg`,
		SQL: `SELECT r.rolname, r.rolsuper, r.rolinherit,
  r.rolcreaterole, r.rolcreatedb, r.rolcanlogin,
  r.rolconnlimit, r.rolvaliduntil,
  ARRAY(SELECT b.rolname
        FROM pg_catalog.pg_auth_members m
        JOIN pg_catalog.pg_roles b ON (m.roleid = b.oid)
        WHERE m.member = r.oid) as memberof
, r.rolreplication
, r.rolbypassrls
FROM pg_catalog.pg_roles r
WHERE r.rolname !~ '^pg_'
ORDER BY 1;`,
		Columns: []Column{
			computed("rolname", datum.Name), computed("rolsuper", datum.Bool), computed("rolinherit", datum.Bool),
			computed("rolcreaterole", datum.Bool), computed("rolcreatedb", datum.Bool), computed("rolcanlogin", datum.Bool),
			computed("rolconnlimit", datum.Int4), computed("rolvaliduntil", datum.Timestamptz), computed("memberof", datum.NameArray),
			computed("rolreplication", datum.Bool), computed("rolbypassrls", datum.Bool),
		},
		Rows: fixed([]datum.Datum{
			datum.OfText("postgres"), datum.OfBool(true), datum.OfBool(true), datum.OfBool(true), datum.OfBool(true), datum.OfBool(true),
			datum.OfInt(-1), datum.Null, datum.OfText("{}"), datum.OfBool(true), datum.OfBool(true),
		}),
	},
	{
		Source: `psql 15.18, \dx`,
		SQL: `SELECT e.extname AS "Name", e.extversion AS "Version", n.nspname AS "Schema", c.description AS "Description"
FROM pg_catalog.pg_extension e LEFT JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace LEFT JOIN pg_catalog.pg_description c ON c.objoid = e.oid AND c.classoid = 'pg_catalog.pg_extension'::pg_catalog.regclass
ORDER BY 1;`,
		Columns: []Column{
			colExtname.as("Name"), column("Version", datum.Text, relPgExtension, 6), colNspname.as("Schema"),
			column("Description", datum.Text, relPgDescription, 4),
		},
		Rows: fixed([]datum.Datum{
			datum.OfText("plpgsql"), datum.OfText("1.0"), datum.OfText(pgCatalog), datum.OfText("PL/pgSQL procedural language"),
		}),
	},
	{
		Source: `psql 15.18, \dT`,
		SQL: `SELECT n.nspname as "Schema",
  pg_catalog.format_type(t.oid, NULL) AS "Name",
  pg_catalog.obj_description(t.oid, 'pg_type') as "Description"
FROM pg_catalog.pg_type t
     LEFT JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
WHERE (t.typrelid = 0 OR (SELECT c.relkind = 'c' FROM pg_catalog.pg_class c WHERE c.oid = t.typrelid))
  AND NOT EXISTS(SELECT 1 FROM pg_catalog.pg_type el WHERE el.oid = t.typelem AND el.typarray = t.oid)
      AND n.nspname <> 'pg_catalog'
      AND n.nspname <> 'information_schema'
  AND pg_catalog.pg_type_is_visible(t.oid)
ORDER BY 1, 2;`,
		Columns: []Column{colNspname.as("Schema"), computed("Name", datum.Text), computed("Description", datum.Text)},
		Rows:    none,
	},
	{
		Source: `psql 15.18, \dp`,
		SQL: `SELECT n.nspname as "Schema",
  c.relname as "Name",
  CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'S' THEN 'sequence' WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' END as "Type",
  pg_catalog.array_to_string(c.relacl, E'\n') AS "Access privileges",
  pg_catalog.array_to_string(ARRAY(
    SELECT attname || E':\n  ' || pg_catalog.array_to_string(attacl, E'\n  ')
    FROM pg_catalog.pg_attribute a
    WHERE attrelid = c.oid AND NOT attisdropped AND attacl IS NOT NULL
  ), E'\n') AS "Column privileges",
  pg_catalog.array_to_string(ARRAY(
    SELECT polname
    || CASE WHEN NOT polpermissive THEN
       E' (RESTRICTIVE)'
       ELSE '' END
    || CASE WHEN polcmd != '*' THEN
           E' (' || polcmd::pg_catalog.text || E'):'
       ELSE E':'
       END
    || CASE WHEN polqual IS NOT NULL THEN
           E'\n  (u): ' || pg_catalog.pg_get_expr(polqual, polrelid)
       ELSE E''
       END
    || CASE WHEN polwithcheck IS NOT NULL THEN
           E'\n  (c): ' || pg_catalog.pg_get_expr(polwithcheck, polrelid)
       ELSE E''
       END    || CASE WHEN polroles <> '{0}' THEN
           E'\n  to: ' || pg_catalog.array_to_string(
               ARRAY(
                   SELECT rolname
                   FROM pg_catalog.pg_roles
                   WHERE oid = ANY (polroles)
                   ORDER BY 1
               ), E', ')
       ELSE E''
       END
    FROM pg_catalog.pg_policy pol
    WHERE polrelid = c.oid), E'\n')
    AS "Policies"
FROM pg_catalog.pg_class c
     LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r','v','m','S','f','p')
  AND n.nspname !~ '^pg_' AND pg_catalog.pg_table_is_visible(c.oid)
ORDER BY 1, 2;`,
		Columns: []Column{
			colNspname.as("Schema"), colRelname.as("Name"), computed("Type", datum.Text), computed("Access privileges", datum.Text),
			computed("Column privileges", datum.Text), computed("Policies", datum.Text),
		},
		Rows: none,
	},
	{
		Source: `psql 15.18, \d of a name`,
		SQL: `SELECT c.oid,
  n.nspname,
  c.relname
FROM pg_catalog.pg_class c
     LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relname OPERATOR(pg_catalog.~) '^(x)$' COLLATE pg_catalog.default
  AND pg_catalog.pg_table_is_visible(c.oid)
ORDER BY 2, 3;`,
		Free:    []int{0},
		Columns: []Column{colRelOID, colNspname, colRelname},
		Rows:    noneNamed(0),
	},
	{
		Source: `psql 15.18, \dt of a name`,
		SQL: `SELECT n.nspname as "Schema",
  c.relname as "Name",
  CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type",
  pg_catalog.pg_get_userbyid(c.relowner) as "Owner"
FROM pg_catalog.pg_class c
     LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
     LEFT JOIN pg_catalog.pg_am am ON am.oid = c.relam
WHERE c.relkind IN ('r','p','t','s','')
  AND c.relname OPERATOR(pg_catalog.~) '^(x)$' COLLATE pg_catalog.default
  AND pg_catalog.pg_table_is_visible(c.oid)
ORDER BY 1,2;`,
		Free:    []int{19},
		Columns: relationColumns,
		Rows:    noneNamed(0),
	},
}

// relationColumns are those of the lists of relations.
var relationColumns = []Column{
	colNspname.as("Schema"), colRelname.as("Name"), computed("Type", datum.Text), computed("Owner", datum.Name),
}

// listRelations is an answer about the user's relations.
func listRelations(source, sql string, more ...Column) Answer {
	return Answer{Source: source, SQL: sql, Columns: slices.Concat(relationColumns, more), Rows: none}
}

// noneNamed is the Rows of a query for visible relations whose names match an input,
// the regular expression that psql makes of a pattern. Those of the catalogue are
// not here; their names start with pg_.
func noneNamed(input int) func(Call) ([][]datum.Datum, error) {
	return func(c Call) ([][]datum.Datum, error) {
		name, opens := strings.CutPrefix(c.text(input), "^(")
		name, closes := strings.CutSuffix(name, ")$")
		plain := strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
		if !opens || !closes || !plain || strings.HasPrefix(name, "pg_") {
			return nil, needsUpstream("a description of what matches \"%s\"", c.text(input))
		}
		return nil, nil
	}
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
