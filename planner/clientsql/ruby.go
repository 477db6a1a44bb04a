package clientsql

import (
	"slices"

	"raisinproxy/sqlfuncs/datum"
)

var rubyAnswers = slices.Concat(pgGemAnswers, activeRecordAnswers())

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
			Source:  "ActiveRecord 6.1.7.10, tables, data_sources",
			SQL:     `SELECT c.relname FROM pg_class c LEFT JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ANY (current_schemas(false)) AND c.relkind IN ('r','p')`,
			Lists:   []int{0},
			Columns: []Column{colRelname},
			Rows:    none,
		},
	}
}

func hasElement(t *pgType) bool { return t.elem != 0 || t.isArray() }
