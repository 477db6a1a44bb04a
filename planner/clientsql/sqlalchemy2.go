package clientsql

import (
	"slices"
	"strconv"
	"strings"

	"raisinproxy/sqlfuncs/datum"
)

// SQLAlchemy 2.0 writes its catalogue queries with its own expressions, which name the
// types of the parameters as the driver needs it.
var sqlalchemy2Answers = slices.Concat(
	sqlalchemy2Literals,
	sqlalchemy2Parameters(`VARCHAR(64) COLLATE "C"`, "SQLAlchemy 2.0.0 over psycopg 3 and asyncpg 0.27.0"),
	sqlalchemy2Kinds(`VARCHAR(64) COLLATE "C"`, "VARCHAR", "SQLAlchemy 2.0.0 over psycopg 3"),
	sqlalchemy2Kinds(`VARCHAR(64) COLLATE "C"`, "CHAR", "SQLAlchemy 2.0.0 over asyncpg 0.27.0"),
	sqlalchemy2Parameters("VARCHAR", "SQLAlchemy 2.0.10 to 2.1.0b3 over psycopg 3 and asyncpg 0.27.0"),
	sqlalchemy2Kinds("VARCHAR", "VARCHAR", "SQLAlchemy 2.0.10 to 2.1.0b3 over psycopg 3, 2.0.10 over asyncpg 0.27.0"),
	sqlalchemy2Kinds("VARCHAR", "CHAR", "SQLAlchemy 2.0.25 to 2.1.0b3 over asyncpg 0.27.0"),
)

// sqlalchemy2Relations is the beginning of the queries for relations.
const sqlalchemy2Relations = `SELECT pg_catalog.pg_class.relname 
FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_catalog.pg_namespace.oid = pg_catalog.pg_class.relnamespace 
WHERE `

const (
	sqlalchemy2Schemas = `SELECT pg_catalog.pg_namespace.nspname 
FROM pg_catalog.pg_namespace 
WHERE `
	sqlalchemy2Types = `SELECT pg_catalog.pg_type.typname 
FROM pg_catalog.pg_type JOIN pg_catalog.pg_namespace ON pg_catalog.pg_namespace.oid = pg_catalog.pg_type.typnamespace 
WHERE `
)

var sqlalchemy2Literals = []Answer{
	{
		Source:  "SQLAlchemy 2.0.0 to 2.1.0b3 over psycopg2 2.9.5, has_table",
		SQL:     sqlalchemy2Relations + `pg_catalog.pg_class.relname = 'x' AND pg_catalog.pg_class.relkind = ANY (ARRAY['r', 'p', 'f', 'v', 'm']) AND pg_catalog.pg_table_is_visible(pg_catalog.pg_class.oid) AND pg_catalog.pg_namespace.nspname != 'pg_catalog'`,
		Free:    []int{0},
		Lists:   []int{1},
		Columns: []Column{colRelname},
		// What is visible is in pg_catalog.
		Rows: none,
	},
	{
		Source:  "SQLAlchemy 2.0.0 to 2.1.0b3 over psycopg2 2.9.5, has_table with a schema",
		SQL:     sqlalchemy2Relations + `pg_catalog.pg_class.relname = 'x' AND pg_catalog.pg_class.relkind = ANY (ARRAY['r', 'p', 'f', 'v', 'm']) AND pg_catalog.pg_namespace.nspname = 'public'`,
		Free:    []int{0, 2},
		Lists:   []int{1},
		Columns: []Column{colRelname},
		Rows:    relationsWhere(relationNamed(0), relationOfKinds(1), relationInSchema(2)),
	},
	{
		Source:  "SQLAlchemy 2.0.0 to 2.1.0b3 over psycopg2 2.9.5, get_table_names, get_view_names",
		SQL:     sqlalchemy2Relations + `pg_catalog.pg_class.relkind = ANY (ARRAY['r', 'p']) AND pg_catalog.pg_class.relpersistence != 't' AND pg_catalog.pg_table_is_visible(pg_catalog.pg_class.oid) AND pg_catalog.pg_namespace.nspname != 'pg_catalog'`,
		Lists:   []int{0},
		Columns: []Column{colRelname},
		Rows:    none,
	},
	{
		Source:  "SQLAlchemy 2.0.0 to 2.1.0b3 over psycopg2 2.9.5, get_table_names with a schema",
		SQL:     sqlalchemy2Relations + `pg_catalog.pg_class.relkind = ANY (ARRAY['r', 'p']) AND pg_catalog.pg_class.relpersistence != 't' AND pg_catalog.pg_namespace.nspname = 'public'`,
		Free:    []int{2},
		Lists:   []int{0},
		Columns: []Column{colRelname},
		Rows:    relationsWhere(relationOfKinds(0), relationInSchema(1)),
	},
	{
		Source:  "SQLAlchemy 2.0.0 to 2.1.0b3 over psycopg2 2.9.5, get_schema_names",
		SQL:     sqlalchemy2Schemas + `pg_catalog.pg_namespace.nspname NOT LIKE 'pg_%' ORDER BY pg_catalog.pg_namespace.nspname`,
		Columns: []Column{colNspname},
		Rows:    fixed(userSchemas...),
	},
	{
		Source:  "SQLAlchemy 2.0.0 to 2.1.0b3 over psycopg2 2.9.5, has_schema",
		SQL:     sqlalchemy2Schemas + `pg_catalog.pg_namespace.nspname = 'public'`,
		Free:    []int{0},
		Columns: []Column{colNspname},
		Rows:    schemaNamed,
	},
	{
		Source:  "SQLAlchemy 2.0.0 to 2.1.0b3 over psycopg2 2.9.5, has_sequence",
		SQL:     sqlalchemy2Relations + `pg_catalog.pg_class.relkind = 'S' AND pg_catalog.pg_class.relname = 's' AND pg_catalog.pg_table_is_visible(pg_catalog.pg_class.oid) AND pg_catalog.pg_namespace.nspname != 'pg_catalog'`,
		Free:    []int{1},
		Columns: []Column{colRelname},
		Rows:    none,
	},
	{
		Source:  "SQLAlchemy 2.0.0 to 2.1.0b3 over psycopg2 2.9.5, get_sequence_names",
		SQL:     sqlalchemy2Relations + `pg_catalog.pg_class.relkind = ANY (ARRAY['S']) AND pg_catalog.pg_table_is_visible(pg_catalog.pg_class.oid) AND pg_catalog.pg_namespace.nspname != 'pg_catalog'`,
		Columns: []Column{colRelname},
		Rows:    none,
	},
	{
		Source:  "SQLAlchemy 2.0.0 to 2.1.0b3 over psycopg2 2.9.5, has_type",
		SQL:     sqlalchemy2Types + `pg_catalog.pg_type.typname = 't' AND pg_catalog.pg_type_is_visible(pg_catalog.pg_type.oid) AND pg_catalog.pg_namespace.nspname != 'pg_catalog'`,
		Free:    []int{0},
		Columns: []Column{colTypname},
		Rows:    none,
	},
}

// withTypes writes the types of the parameters, of names and of characters, into a text.
func withTypes(sql, name, char string) string {
	return strings.NewReplacer("::NAME", "::"+name, "::KIND", "::"+char).Replace(sql)
}

// sqlalchemy2Parameters are the queries with parameters that are names.
func sqlalchemy2Parameters(name, source string) []Answer {
	text := func(n int) []datum.Type { return slices.Repeat([]datum.Type{datum.Varchar}, n) }
	return []Answer{
		{
			Source:  source + ", has_table",
			SQL:     withTypes(sqlalchemy2Relations+`pg_catalog.pg_class.relname = $1::NAME AND pg_catalog.pg_class.relkind = ANY (ARRAY[$2::VARCHAR, $3::VARCHAR, $4::VARCHAR, $5::VARCHAR, $6::VARCHAR]) AND pg_catalog.pg_table_is_visible(pg_catalog.pg_class.oid) AND pg_catalog.pg_namespace.nspname != $7::NAME`, name, ""),
			Params:  text(7),
			Columns: []Column{colRelname},
			Rows:    relationsWhere(relationNamed(0), relationOfKinds(1, 2, 3, 4, 5), relationVisible, relationNotInSchema(6)),
		},
		{
			Source:  source + ", has_table with a schema",
			SQL:     withTypes(sqlalchemy2Relations+`pg_catalog.pg_class.relname = $1::NAME AND pg_catalog.pg_class.relkind = ANY (ARRAY[$2::VARCHAR, $3::VARCHAR, $4::VARCHAR, $5::VARCHAR, $6::VARCHAR]) AND pg_catalog.pg_namespace.nspname = $7::NAME`, name, ""),
			Params:  text(7),
			Columns: []Column{colRelname},
			Rows:    relationsWhere(relationNamed(0), relationOfKinds(1, 2, 3, 4, 5), relationInSchema(6)),
		},
		{
			Source:  source + ", get_schema_names",
			SQL:     withTypes(sqlalchemy2Schemas+`pg_catalog.pg_namespace.nspname NOT LIKE $1::NAME ORDER BY pg_catalog.pg_namespace.nspname`, name, ""),
			Params:  text(1),
			Columns: []Column{colNspname},
			Rows: func(c Call) ([][]datum.Datum, error) {
				if pattern := c.text(0); pattern != "pg_%" {
					return nil, needsUpstream("a list of schemas unlike \"%s\"", pattern)
				}
				return userSchemas, nil
			},
		},
		{
			Source:  source + ", has_schema",
			SQL:     withTypes(sqlalchemy2Schemas+`pg_catalog.pg_namespace.nspname = $1::NAME`, name, ""),
			Params:  text(1),
			Columns: []Column{colNspname},
			Rows:    schemaNamed,
		},
		{
			Source:  source + ", get_sequence_names",
			SQL:     withTypes(sqlalchemy2Relations+`pg_catalog.pg_class.relkind = ANY (ARRAY[$1::VARCHAR]) AND pg_catalog.pg_table_is_visible(pg_catalog.pg_class.oid) AND pg_catalog.pg_namespace.nspname != $2::NAME`, name, ""),
			Params:  text(2),
			Columns: []Column{colRelname},
			Rows:    relationsWhere(relationOfKinds(0), relationVisible, relationNotInSchema(1)),
		},
		typeQuery{
			fields: []field{fieldName},
			where:  and(hasName, always((*pgType).visible), notInSchema(1)),
		}.answer(Answer{
			Source: source + ", has_type",
			SQL:    withTypes(sqlalchemy2Types+`pg_catalog.pg_type.typname = $1::NAME AND pg_catalog.pg_type_is_visible(pg_catalog.pg_type.oid) AND pg_catalog.pg_namespace.nspname != $2::NAME`, name, ""),
			Params: text(2),
		}),
	}
}

// sqlalchemy2Kinds are the queries with parameters that are of the type "char".
func sqlalchemy2Kinds(name, char, source string) []Answer {
	kind := datum.Varchar
	if char == "CHAR" {
		kind = datum.Bpchar
	}
	tables := func(of string, kinds int, schema string, inSchema relationCondition) Answer {
		var params []string
		inputs := make([]int, kinds)
		for i := range inputs {
			inputs[i] = i
			params = append(params, parameter(i)+"::VARCHAR")
		}
		return Answer{
			Source: source + of,
			SQL: withTypes(sqlalchemy2Relations+`pg_catalog.pg_class.relkind = ANY (ARRAY[`+strings.Join(params, ", ")+`]) AND pg_catalog.pg_class.relpersistence != `+
				parameter(kinds)+`::KIND AND `+schema+parameter(kinds+1)+`::NAME`, name, char),
			Params:  slices.Concat(slices.Repeat([]datum.Type{datum.Varchar}, kinds), []datum.Type{kind, datum.Varchar}),
			Columns: []Column{colRelname},
			Rows:    relationsWhere(relationOfKinds(inputs...), relationNotOfPersistence(kinds, kind), inSchema),
		}
	}
	const (
		visible = `pg_catalog.pg_table_is_visible(pg_catalog.pg_class.oid) AND pg_catalog.pg_namespace.nspname != `
		inside  = `pg_catalog.pg_namespace.nspname = `
	)
	visibleNotIn := func(input int) relationCondition {
		return allOf(relationVisible, relationNotInSchema(input))
	}
	return []Answer{
		tables(", get_table_names", 2, visible, visibleNotIn(3)),
		tables(", get_table_names with a schema", 2, inside, relationInSchema(3)),
		tables(", get_view_names", 1, visible, visibleNotIn(2)),
		{
			Source:  source + ", has_sequence",
			SQL:     withTypes(sqlalchemy2Relations+`pg_catalog.pg_class.relkind = $1::KIND AND pg_catalog.pg_class.relname = $2::NAME AND pg_catalog.pg_table_is_visible(pg_catalog.pg_class.oid) AND pg_catalog.pg_namespace.nspname != $3::NAME`, name, char),
			Params:  []datum.Type{kind, datum.Varchar, datum.Varchar},
			Columns: []Column{colRelname},
			Rows:    relationsWhere(relationOfKind(0, kind), relationNamed(1), relationVisible, relationNotInSchema(2)),
		},
	}
}

func parameter(input int) string { return "$" + strconv.Itoa(input+1) }

// userSchemas are those that are not of the system, in order.
var userSchemas = [][]datum.Datum{
	{datum.OfText("information_schema")},
	{datum.OfText("public")},
}

// schemaNamed is the Rows of a query for the schema with a name.
func schemaNamed(c Call) ([][]datum.Datum, error) {
	if _, ok := schemaOIDs[c.text(0)]; !ok {
		return nil, nil
	}
	return [][]datum.Datum{{datum.OfText(c.text(0))}}, nil
}
