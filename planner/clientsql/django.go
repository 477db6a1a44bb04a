package clientsql

import "raisinproxy/sqlfuncs/datum"

var djangoAnswers = []Answer{
	typeQuery{fields: []field{fieldArray}, where: hasName}.answer(Answer{
		Source: "Django 3.2.25 with django.contrib.postgres, on connecting",
		SQL:    `SELECT typarray FROM pg_type WHERE typname = 'citext'`,
		Free:   []int{0},
	}),
	{
		Source: "Django 3.2.25, table_names: runserver, migrate",
		SQL: `SELECT c.relname,
            CASE WHEN c.relispartition THEN 'p' WHEN c.relkind IN ('m', 'v') THEN 'v' ELSE 't' END
            FROM pg_catalog.pg_class c
            LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
            WHERE c.relkind IN ('f', 'm', 'p', 'r', 'v')
                AND n.nspname NOT IN ('pg_catalog', 'pg_toast')
                AND pg_catalog.pg_table_is_visible(c.oid)`,
		Columns: []Column{colRelname, computed("case", datum.Text)},
		Rows:    none,
	},
}
