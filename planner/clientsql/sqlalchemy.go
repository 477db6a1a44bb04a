package clientsql

import "raisinproxy/sqlfuncs/datum"

// SQLAlchemy asks for a table before it creates or reflects it. What it asks on
// connecting (version, current_schema, transaction isolation) has no FROM.
var sqlalchemyAnswers = []Answer{
	{
		Source:  "SQLAlchemy 1.4.54 over asyncpg 0.27.0, has_table",
		SQL:     `select relname from pg_class c join pg_namespace n on n.oid=c.relnamespace where pg_catalog.pg_table_is_visible(c.oid) and relname=$1`,
		Params:  []datum.Type{datum.Name},
		Columns: []Column{colRelname},
		Rows:    relationsWhere(relationVisible, relationNamed(0)),
	},
	{
		Source:  "SQLAlchemy 1.4.54 over asyncpg 0.27.0, has_table with a schema",
		SQL:     `select relname from pg_class c join pg_namespace n on n.oid=c.relnamespace where n.nspname=$1 and relname=$2`,
		Params:  []datum.Type{datum.Name, datum.Name},
		Columns: []Column{colRelname},
		Rows:    relationsWhere(relationInSchema(0), relationNamed(1)),
	},
	{
		Source:  "SQLAlchemy 1.4.54 over asyncpg 0.27.0, get_table_names, get_view_names",
		SQL:     `SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind in ('r', 'p')`,
		Params:  []datum.Type{datum.Name},
		Lists:   []int{0},
		Columns: []Column{colRelname},
		Rows:    relationNames(inSchemaOfKinds(0, 1)),
	},
	{
		Source:  "SQLAlchemy 1.4.54 over asyncpg 0.27.0, has_sequence",
		SQL:     `SELECT relname FROM pg_class c join pg_namespace n on n.oid=c.relnamespace where relkind='S' and n.nspname=$1 and relname=$2`,
		Params:  []datum.Type{datum.Name, datum.Name},
		Columns: []Column{colRelname},
		Rows:    none,
	},
	{
		Source:  "SQLAlchemy 1.4.54 over asyncpg 0.27.0, get_sequence_names",
		SQL:     `SELECT relname FROM pg_class c join pg_namespace n on n.oid=c.relnamespace where relkind='S' and n.nspname=$1`,
		Params:  []datum.Type{datum.Name},
		Columns: []Column{colRelname},
		Rows:    none,
	},
	{
		Source:  "SQLAlchemy 1.4.54 over psycopg2 2.9.5, get_sequence_names",
		SQL:     `SELECT relname FROM pg_class c join pg_namespace n on n.oid=c.relnamespace where relkind='S' and n.nspname='public'`,
		Free:    []int{1},
		Columns: []Column{colRelname},
		Rows:    none,
	},
	{
		Source: "SQLAlchemy 1.4.54 over asyncpg 0.27.0, has_type",
		SQL: `SELECT EXISTS (
                SELECT * FROM pg_catalog.pg_type t
                WHERE t.typname = $1
                AND pg_type_is_visible(t.oid)
                )`,
		Params:  []datum.Type{datum.Name},
		Columns: []Column{computed("exists", datum.Bool)},
		Rows: func(c Call) ([][]datum.Datum, error) {
			return [][]datum.Datum{{datum.OfBool(typeByName(pgCatalog, c.text(0)) != nil)}}, nil
		},
	},
	{
		Source:  "SQLAlchemy 1.4.46 over psycopg2, has_table",
		SQL:     `select relname from pg_class c join pg_namespace n on n.oid=c.relnamespace where pg_catalog.pg_table_is_visible(c.oid) and relname='pg_class'`,
		Free:    []int{0},
		Columns: []Column{colRelname},
		Rows: relationNames(func(c Call, r relationRow) bool {
			return r.name == c.text(0) && r.namespace == pgCatalog
		}),
	},
	{
		Source:  "SQLAlchemy 1.4.46 over psycopg2, has_table with a schema",
		SQL:     `select relname from pg_class c join pg_namespace n on n.oid=c.relnamespace where n.nspname='information_schema' and relname='tables'`,
		Free:    []int{0, 1},
		Columns: []Column{colRelname},
		Rows: relationNames(func(c Call, r relationRow) bool {
			return r.namespace == c.text(0) && r.name == c.text(1)
		}),
	},
	{
		Source:  "SQLAlchemy 1.4.46 over psycopg2, get_table_names",
		SQL:     `SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'public' AND c.relkind in ('r', 'p')`,
		Free:    []int{0},
		Lists:   []int{1},
		Columns: []Column{colRelname},
		Rows:    relationNames(inSchemaOfKinds(0, 1)),
	},
	{
		Source:  "SQLAlchemy 1.4.46 over psycopg2, has_sequence",
		SQL:     `SELECT relname FROM pg_class c join pg_namespace n on n.oid=c.relnamespace where relkind='S' and n.nspname='public' and relname='q'`,
		Free:    []int{1, 2},
		Columns: []Column{colRelname},
		Rows:    none,
	},
	{
		Source:  "SQLAlchemy 1.4.46 over psycopg2, get_schema_names",
		SQL:     `SELECT nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg_%' ORDER BY nspname`,
		Columns: []Column{colNspname},
		Rows:    fixed(userSchemas...),
	},
	{
		Source: "SQLAlchemy 1.4.46 over psycopg2, before it creates an enumeration",
		SQL: `SELECT EXISTS (
                SELECT * FROM pg_catalog.pg_type t
                WHERE t.typname = 'mood'
                AND pg_type_is_visible(t.oid)
                )`,
		Free:    []int{0},
		Columns: []Column{computed("exists", datum.Bool)},
		Rows: func(c Call) ([][]datum.Datum, error) {
			return [][]datum.Datum{{datum.OfBool(typeByName(pgCatalog, c.text(0)) != nil)}}, nil
		},
	},
	{
		Source: "SQLAlchemy 1.4.46 over psycopg2, before it creates an enumeration in a schema",
		SQL: `SELECT EXISTS (
                SELECT * FROM pg_catalog.pg_type t, pg_catalog.pg_namespace n
                WHERE t.typnamespace = n.oid
                AND t.typname = 'mood'
                AND n.nspname = 'public'
                )`,
		Free:    []int{0, 1},
		Columns: []Column{computed("exists", datum.Bool)},
		Rows: func(c Call) ([][]datum.Datum, error) {
			return [][]datum.Datum{{datum.OfBool(typeByName(c.text(1), c.text(0)) != nil)}}, nil
		},
	},
}
