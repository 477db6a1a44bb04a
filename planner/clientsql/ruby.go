package clientsql

import (
	"slices"

	"raisinproxy/sqlfuncs/datum"
)

var rubyAnswers = slices.Concat(pgGemAnswers, activeRecordAnswers(), []Answer{{
	Source:  "Sequel 5.63.0, tables",
	SQL:     `SELECT "relname" FROM "pg_class" INNER JOIN "pg_namespace" ON ("pg_namespace"."oid" = "pg_class"."relnamespace") WHERE (("relkind" IN ('r', 'p')) AND ("pg_namespace"."nspname" = any(current_schemas(false))))`,
	Lists:   []int{0},
	Columns: []Column{colRelname},
	Rows:    none,
}})

var pgGemAnswers = []Answer{
	typeQuery{fields: []field{
		fieldOID, fieldName, fieldElem, fieldDelim,
		fieldInput.as("typinput").from(colProname),
	}}.answer(Answer{
		Source: "ruby pg 1.4.5, BasicTypeRegistry",
		SQL: `SELECT t.oid, t.typname, t.typelem, t.typdelim, ti.proname AS typinput
				FROM pg_type as t
				JOIN pg_proc as ti ON ti.oid = t.typinput`,
	}),
}

// activeRecordAnswers have lists of names that depend on what the application has
// registered; a list of OIDs is of what a result had.
func activeRecordAnswers() []Answer {
	const typeMap = `SELECT t.oid, t.typname, t.typelem, t.typdelim, t.typinput, r.rngsubtype, t.typtype, t.typbasetype
FROM pg_type as t
LEFT JOIN pg_range as r ON oid = rngtypid
`
	typeMapFields := []field{
		fieldOID, fieldName, fieldElem, fieldDelim, fieldInput, fieldSubtype, fieldKind, fieldBaseType,
	}
	return []Answer{
		typeQuery{fields: []field{fieldOID, fieldName}, where: nameIsIn(0)}.answer(Answer{
			Source: "ActiveRecord 6.1.7.10, to decode results",
			SQL: `SELECT t.oid, t.typname
FROM pg_type as t
WHERE t.typname IN ('int2', 'int4', 'int8', 'oid', 'float4', 'float8', 'numeric', 'bool', 'timestamp', 'timestamptz')`,
			Lists: []int{0},
		}),
		typeQuery{fields: typeMapFields, where: anyOf(nameIsIn(0), kindIsIn(1), always(hasElement))}.answer(Answer{
			Source: "ActiveRecord 6.1.7.10, type map",
			SQL: typeMap + `WHERE
  t.typname IN ('int2', 'int4', 'int8', 'oid', 'float4', 'float8', 'text', 'varchar', 'char', 'name', 'bpchar', 'bool', 'bit', 'varbit', 'timestamptz', 'date', 'money', 'bytea', 'point', 'hstore', 'json', 'jsonb', 'cidr', 'inet', 'uuid', 'xml', 'tsvector', 'macaddr', 'citext', 'ltree', 'line', 'lseg', 'box', 'path', 'polygon', 'circle', 'time', 'timestamp', 'numeric', 'interval')
  OR t.typtype IN ('r', 'e', 'd')
  OR t.typinput = 'array_in(cstring,oid,integer)'::regprocedure
  OR t.typelem != 0`,
			Lists: []int{0, 1},
		}),
		typeQuery{fields: typeMapFields, where: nameIsIn(0)}.answer(Answer{
			Source: "ActiveRecord 7.0.10, 7.1.6 and 7.2.3.2, type map: by name",
			SQL: typeMap + `WHERE
  t.typname IN ('int2', 'int4', 'int8', 'oid', 'float4', 'float8', 'text', 'varchar', 'char', 'name', 'bpchar', 'bool', 'bit', 'varbit', 'date', 'money', 'bytea', 'point', 'hstore', 'json', 'jsonb', 'cidr', 'inet', 'uuid', 'xml', 'tsvector', 'macaddr', 'citext', 'ltree', 'line', 'lseg', 'box', 'path', 'polygon', 'circle', 'time', 'timestamp', 'timestamptz', 'numeric', 'interval')`,
			Lists: []int{0},
		}),
		typeQuery{fields: typeMapFields, where: kindIsIn(0)}.answer(Answer{
			Source: "ActiveRecord 7.0.10, 7.1.6 and 7.2.3.2, type map: by kind",
			SQL: typeMap + `WHERE
  t.typtype IN ('r', 'e', 'd')`,
			Lists: []int{0},
		}),
		typeQuery{fields: typeMapFields, where: elementIsIn(0)}.answer(Answer{
			Source: "ActiveRecord 7.0.10, 7.1.6 and 7.2.3.2, type map: arrays of the types found",
			SQL: typeMap + `WHERE
  t.typelem IN (16, 17, 18, 19, 20, 21, 23, 25, 26, 114, 142, 600, 601, 602, 603, 604, 628, 700, 701, 718, 790, 829, 869, 650, 1042, 1043, 1082, 1083, 1114, 1184, 1186, 1560, 1562, 1700, 2950, 3614, 3802, 3904, 3906, 3908, 3910, 3912, 3926)`,
			Lists: []int{0},
		}),
		typeQuery{fields: typeMapFields, where: oidIsIn(0)}.answer(Answer{
			Source: "ActiveRecord 6.1.7.10, for a type that it does not know yet",
			SQL:    typeMap + `WHERE t.oid IN (869, 4451)`,
			Lists:  []int{0},
		}),
		{
			Source:  "ActiveRecord 6.1.7.10, lookup_cast_type",
			SQL:     `SELECT 'character varying(10)'::regtype::oid`,
			Free:    []int{0},
			Columns: []Column{computed("oid", datum.OID)},
			Rows: func(c Call) ([][]datum.Datum, error) {
				oid, err := regtypeIn(c.text(0))
				return [][]datum.Datum{{oidDatum(oid)}}, err
			},
		},
		{
			Source:  "ActiveRecord 6.1.7.10, encoding",
			SQL:     `SELECT pg_encoding_to_char(encoding) FROM pg_database WHERE datname = current_database()`,
			Columns: []Column{computed("pg_encoding_to_char", datum.Name)},
			Rows:    fixed([]datum.Datum{datum.OfText("UTF8")}),
		},
		{
			Source:  "ActiveRecord 6.1.7.10, table_exists?, data_source_exists?",
			SQL:     `SELECT c.relname FROM pg_class c LEFT JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ANY (current_schemas(false)) AND c.relname = 'locks' AND c.relkind IN ('r','p')`,
			Free:    []int{0},
			Lists:   []int{1},
			Columns: []Column{colRelname},
			Rows:    none,
		},
		{
			Source:  "ActiveRecord 6.1.7.10, collation",
			SQL:     `SELECT datcollate FROM pg_database WHERE datname = current_database()`,
			Columns: []Column{column("datcollate", datum.Text, relPgDatabase, 12)},
			Rows:    fixed([]datum.Datum{datum.OfText("C.UTF-8")}),
		},
		{
			Source:  "ActiveRecord 6.1.7.10, ctype",
			SQL:     `SELECT datctype FROM pg_database WHERE datname = current_database()`,
			Columns: []Column{column("datctype", datum.Text, relPgDatabase, 13)},
			Rows:    fixed([]datum.Datum{datum.OfText("C.UTF-8")}),
		},
		{
			Source: "ActiveRecord 6.1.7.10, schema_names",
			SQL: `SELECT nspname
  FROM pg_namespace
 WHERE nspname !~ '^pg_.*'
   AND nspname NOT IN ('information_schema')
 ORDER by nspname;`,
			Columns: []Column{colNspname},
			Rows:    fixed([]datum.Datum{datum.OfText("public")}),
		},
		{
			Source:  "ActiveRecord 6.1.7.10, extensions",
			SQL:     `SELECT extname FROM pg_extension`,
			Columns: []Column{colExtname},
			Rows:    fixed([]datum.Datum{datum.OfText("plpgsql")}),
		},
		{
			Source: "ActiveRecord 6.1.7.10, indexes",
			SQL: `SELECT distinct i.relname, d.indisunique, d.indkey, pg_get_indexdef(d.indexrelid), t.oid,
                pg_catalog.obj_description(i.oid, 'pg_class') AS comment
FROM pg_class t
INNER JOIN pg_index d ON t.oid = d.indrelid
INNER JOIN pg_class i ON d.indexrelid = i.oid
LEFT JOIN pg_namespace n ON n.oid = i.relnamespace
WHERE i.relkind IN ('i', 'I')
  AND d.indisprimary = 'f'
  AND t.relname = 'x'
  AND n.nspname = ANY (current_schemas(false))
ORDER BY i.relname`,
			Free: []int{3},
			Columns: []Column{
				colRelname, column("indisunique", datum.Bool, relPgIndex, 5), column("indkey", typeInt2Vector, relPgIndex, 16),
				computed("pg_get_indexdef", datum.Text), colRelOID, computed("comment", datum.Text),
			},
			Rows: none,
		},
		{
			Source: "ActiveRecord 6.1.7.10, foreign_keys",
			SQL: `SELECT t2.oid::regclass::text AS to_table, a1.attname AS column, a2.attname AS primary_key, c.conname AS name, c.confupdtype AS on_update, c.confdeltype AS on_delete, c.convalidated AS valid
FROM pg_constraint c
JOIN pg_class t1 ON c.conrelid = t1.oid
JOIN pg_class t2 ON c.confrelid = t2.oid
JOIN pg_attribute a1 ON a1.attnum = c.conkey[1] AND a1.attrelid = t1.oid
JOIN pg_attribute a2 ON a2.attnum = c.confkey[1] AND a2.attrelid = t2.oid
JOIN pg_namespace t3 ON c.connamespace = t3.oid
WHERE c.contype = 'f'
  AND t1.relname = 'x'
  AND t3.nspname = ANY (current_schemas(false))
ORDER BY c.conname`,
			Free: []int{3},
			Columns: []Column{
				computed("to_table", datum.Text), colAttname.as("column"), colAttname.as("primary_key"), colConname.as("name"),
				column("on_update", datum.Char, relPgConstraint, 13), column("on_delete", datum.Char, relPgConstraint, 14),
				column("valid", datum.Bool, relPgConstraint, 7),
			},
			Rows: none,
		},
		{
			Source:  "ActiveRecord 6.1.7.10, tables, data_sources",
			SQL:     `SELECT c.relname FROM pg_class c LEFT JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ANY (current_schemas(false)) AND c.relkind IN ('r','p')`,
			Lists:   []int{0},
			Columns: []Column{colRelname},
			Rows:    none,
		},
	}
}

func hasElement(t *pgType) bool { return t.elem != 0 || t.isArray() }
