package clientsql

import (
	"slices"

	"raisinproxy/sqlfuncs/datum"
)

// node-postgres sends nothing of its own; these are of what is built on it or
// stands beside it.
var nodeAnswers = slices.Concat(nodeTables, []Answer{
	typeQuery{
		fields: []field{fieldOID, fieldArray},
		// The elements of all arrays, once each; a type has one array at most.
		where: always(func(t *pgType) bool {
			array := typeByOID(t.array)
			return array != nil && array.category == "A"
		}),
		order: oldestFirst,
	}.answer(Answer{
		Source: "postgres.js 3.4.9, on connecting",
		SQL: `select b.oid, b.typarray
      from pg_catalog.pg_type a
      left join pg_catalog.pg_type b on b.oid = a.typelem
      where a.typcategory = 'A'
      group by b.oid, b.typarray
      order by b.oid`,
	}),
	{
		Source: "Sequelize 6.37.8, on connecting",
		SQL: `WITH ranges AS (  SELECT pg_range.rngtypid, pg_type.typname AS rngtypname,         pg_type.typarray AS rngtyparray, pg_range.rngsubtype    FROM pg_range LEFT OUTER JOIN pg_type ON pg_type.oid = pg_range.rngtypid)` +
			`SELECT pg_type.typname, pg_type.typtype, pg_type.oid, pg_type.typarray,       ranges.rngtypname, ranges.rngtypid, ranges.rngtyparray  FROM pg_type LEFT OUTER JOIN ranges ON pg_type.oid = ranges.rngsubtype WHERE (pg_type.typtype IN('b', 'e'));`,
		Columns: []Column{
			colTypname, colTyptype, colTypeOID, colTyparray,
			colTypname.as("rngtypname"), colRngtypid, colTyparray.as("rngtyparray"),
		},
		Rows: typesAndTheirRanges,
	},
})

// nodeTables are what migrations ask of the information schema; it has a view that
// lists its own views too.
var nodeTables = []Answer{
	{
		Source:  "knex 3.3.0, hasTable",
		SQL:     `select * from information_schema.tables where table_name = $1 and table_schema = current_schema()`,
		Params:  []datum.Type{datum.Name},
		Columns: informationSchemaTables,
		Rows:    none,
	},
	{
		Source:  "Sequelize 6.37.8, showAllTables",
		SQL:     `SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' AND table_type LIKE '%TABLE' AND table_name != 'spatial_ref_sys';`,
		Columns: []Column{computed("table_name", datum.Name)},
		Rows:    none,
	},
	{
		Source:  "TypeORM 1.1.1, before migrations",
		SQL:     `SELECT * FROM "information_schema"."tables" WHERE "table_schema" = $1 AND "table_name" = $2`,
		Params:  []datum.Type{datum.Name, datum.Name},
		Columns: informationSchemaTables,
		Rows:    noneUnless("a description of the catalogue", relationInSchema(0), relationNamed(1)),
	},
}

var informationSchemaTables = []Column{
	computed("table_catalog", datum.Name), computed("table_schema", datum.Name), computed("table_name", datum.Name),
	computed("table_type", datum.Varchar), computed("self_referencing_column_name", datum.Name),
	computed("reference_generation", datum.Varchar), computed("user_defined_type_catalog", datum.Name),
	computed("user_defined_type_schema", datum.Name), computed("user_defined_type_name", datum.Name),
	yesOrNo("is_insertable_into"), yesOrNo("is_typed"), computed("commit_action", datum.Varchar),
}

// yesOrNo is a column of the information schema's type of that name, a varchar(3).
func yesOrNo(name string) Column {
	const three = 3 + lengthHeader
	return Column{Name: name, Type: datum.Varchar, Typmod: three}
}

// typesAndTheirRanges joins the base types with the range types over them.
func typesAndTheirRanges(Call) ([][]datum.Datum, error) {
	ranges := make(map[uint32]*pgType)
	for _, t := range types() {
		if isRange(t) {
			ranges[t.rangeSubtype] = t
		}
	}
	var out [][]datum.Datum
	for _, t := range types() {
		if t.kind != "b" && t.kind != "e" {
			continue
		}
		row := []datum.Datum{
			datum.OfText(t.name), datum.OfText(t.kind), oidDatum(t.oid), oidDatum(t.array),
			datum.Null, datum.Null, datum.Null,
		}
		if r := ranges[t.oid]; r != nil {
			row[4], row[5], row[6] = datum.OfText(r.name), oidDatum(r.oid), oidDatum(r.array)
		}
		out = append(out, row)
	}
	return out, nil
}
