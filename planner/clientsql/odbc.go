package clientsql

var odbcAnswers = []Answer{
	typeQuery{fields: []field{fieldOID, fieldBaseType}, where: hasName}.answer(Answer{
		Source: "psqlODBC 13.02, on connecting",
		SQL:    `select oid, typbasetype from pg_type where typname = 'lo'`,
		Free:   []int{0},
	}),
	{
		Source:  "psqlODBC 13.02, SQLTables (help of isql 2.3.11)",
		SQL:     `select relname, nspname, relkind from pg_catalog.pg_class c, pg_catalog.pg_namespace n where relkind in ('r', 'v', 'm', 'f', 'p') and nspname not in ('pg_catalog', 'information_schema', 'pg_toast', 'pg_temp_1') and n.oid = relnamespace order by nspname, relname`,
		Lists:   []int{0},
		Columns: []Column{colRelname, colNspname, colRelkind},
		Rows:    none,
	},
}
