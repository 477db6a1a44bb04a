package clientsql

import "raisinproxy/sqlfuncs/datum"

var phpAnswers = []Answer{
	typeQuery{fields: []field{fieldOID, fieldName}}.answer(Answer{
		Source: "PHP 8.2.36, pg_field_type",
		SQL:    `select oid,typname from pg_type`,
	}),
	{
		Source: "PHP 8.2.36, pg_meta_data, which pg_insert and others call",
		SQL:    `SELECT a.attname, a.attnum, t.typname, a.attlen, a.attnotnull, a.atthasdef, a.attndims, t.typtype FROM pg_class as c  JOIN pg_attribute a ON (a.attrelid = c.oid)  JOIN pg_type t ON (a.atttypid = t.oid)  JOIN pg_namespace n ON (c.relnamespace = n.oid) WHERE a.attnum > 0 AND c.relname = 'x' AND n.nspname = 'public' ORDER BY a.attnum;`,
		Free:   []int{1},
		Columns: []Column{
			colAttname, column("attnum", datum.Int2, relPgAttribute, 6), colTypname, column("attlen", datum.Int2, relPgAttribute, 5),
			column("attnotnull", datum.Bool, relPgAttribute, 14), column("atthasdef", datum.Bool, relPgAttribute, 15),
			column("attndims", datum.Int4, relPgAttribute, 7), colTyptype,
		},
		Rows: none,
	},
	typeQuery{fields: []field{fieldName}, where: hasOID}.answer(Answer{
		Source: "PHP 8.2.36, PDO getColumnMeta",
		SQL:    `SELECT TYPNAME FROM PG_TYPE WHERE OID=3802`,
		Free:   []int{0},
	}),
	{
		Source:  "PHP 8.2.36, PDO getColumnMeta and pg_field_table",
		SQL:     `SELECT RELNAME FROM PG_CLASS WHERE OID=1247`,
		Free:    []int{0},
		Columns: []Column{colRelname},
		Rows: func(c Call) ([][]datum.Datum, error) {
			oid, err := c.oid(0)
			if err != nil {
				return nil, err
			}
			return relationNames(func(_ Call, r relationRow) bool { return r.oid == oid })(c)
		},
	},
}
