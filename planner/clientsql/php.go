package clientsql

import "raisinproxy/sqlfuncs/datum"

var phpAnswers = []Answer{
	typeQuery{fields: []field{fieldOID, fieldName}}.answer(Answer{
		Source: "PHP 8.2.36, pg_field_type",
		SQL:    `select oid,typname from pg_type`,
	}),
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
