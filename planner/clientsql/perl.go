package clientsql

import "raisinproxy/sqlfuncs/datum"

var perlAnswers = []Answer{
	{
		Source:  "DBD::Pg 3.16.0, data_sources",
		SQL:     `SELECT pg_catalog.quote_ident(datname) FROM pg_catalog.pg_database ORDER BY 1`,
		Columns: []Column{computed("quote_ident", datum.Text)},
		Rows: func(c Call) ([][]datum.Datum, error) {
			var out [][]datum.Datum
			for _, name := range databases(c.Session) {
				out = append(out, []datum.Datum{datum.OfText(quoteIdent(name))})
			}
			return out, nil
		},
	},
	{
		Source:  "DBD::Pg 3.16.0, get_info: SQL_DATA_SOURCE_READ_ONLY",
		SQL:     `SELECT CASE WHEN setting = 'on' THEN 'Y' ELSE 'N' END FROM pg_settings WHERE name = 'transaction_read_only'`,
		Columns: []Column{computed("case", datum.Text)},
		Rows: func(c Call) ([][]datum.Datum, error) {
			rows, err := setting("transaction_read_only", "off")(c)
			answer := "N"
			if err == nil && rows[0][0].Str == "on" {
				answer = "Y"
			}
			return [][]datum.Datum{{datum.OfText(answer)}}, err
		},
	},
	{
		Source: "DBD::Pg 3.16.0, table_info",
		SQL: `SELECT pg_catalog.quote_ident(pg_catalog.current_database()) AS "TABLE_CAT"
                     , pg_catalog.quote_ident(n.nspname) AS "TABLE_SCHEM"
                     , pg_catalog.quote_ident(c.relname) AS "TABLE_NAME"
                       -- any temp table or temp view is LOCAL TEMPORARY for us
                     , CASE WHEN pg_catalog.quote_ident(n.nspname) ~ '^pg_(toast_)?temp_' THEN
                                 'LOCAL TEMPORARY'
                            WHEN c.relkind ~ 'r|p' THEN
                                 CASE WHEN pg_catalog.quote_ident(n.nspname) ~ '^pg_' THEN
                                           'SYSTEM TABLE'
                                      ELSE 'TABLE'
                                  END
                            WHEN c.relkind = 'v' THEN
                                 CASE WHEN pg_catalog.quote_ident(n.nspname) ~ '^pg_' THEN
                                           'SYSTEM VIEW'
                                      ELSE 'VIEW'
                                  END
                            WHEN c.relkind = 'm' THEN
                                 CASE WHEN pg_catalog.quote_ident(n.nspname) ~ '^pg_' THEN
                                           'SYSTEM MATERIALIZED VIEW'
                                      ELSE 'MATERIALIZED VIEW'
                                  END
                            WHEN c.relkind = 'f' THEN
                                 CASE WHEN pg_catalog.quote_ident(n.nspname) ~ '^pg_' THEN
                                           'SYSTEM FOREIGN TABLE'
                                      ELSE 'FOREIGN TABLE'
                                  END
                            ELSE 'UNKNOWN'
                         END AS "TABLE_TYPE"
                     , d.description AS "REMARKS"
                     , pg_catalog.quote_ident(t.spcname) AS "pg_tablespace_name"
                     , pg_catalog.quote_ident(pg_catalog.pg_tablespace_location(t.oid)) AS "pg_tablespace_location" ,n.nspname AS pg_schema, c.relname AS pg_table
                  FROM pg_catalog.pg_class AS c
                  LEFT JOIN pg_catalog.pg_description AS d
                       ON (c.oid = d.objoid AND c.tableoid = d.classoid AND d.objsubid = 0)
                  LEFT JOIN pg_catalog.pg_namespace n ON (n.oid = c.relnamespace)
                  LEFT JOIN pg_catalog.pg_tablespace t ON (t.oid = c.reltablespace)
                 WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
					 AND NOT (pg_catalog.quote_ident(n.nspname) ~ '^pg_(toast_)?temp_' AND NOT pg_catalog.has_schema_privilege(n.nspname, 'USAGE'))
					 AND n.nspname = 'public'
					 AND c.relname = 'x'
                 ORDER BY "TABLE_TYPE", "TABLE_CAT", "TABLE_SCHEM", "TABLE_NAME"`,
		Free:    []int{24},
		Columns: perlTableColumns,
		Rows:    none,
	},
	{
		Source: "DBD::Pg 3.16.0, column_info",
		SQL: `SELECT
                pg_catalog.quote_ident(pg_catalog.current_database()) AS "TABLE_CAT"
                , pg_catalog.quote_ident(n.nspname) AS "TABLE_SCHEM"
                , pg_catalog.quote_ident(c.relname) AS "TABLE_NAME"
                , pg_catalog.quote_ident(a.attname) AS "COLUMN_NAME"
                , a.atttypid AS "DATA_TYPE"
                , pg_catalog.format_type(a.atttypid, NULL) AS "TYPE_NAME"
                , a.attlen AS "COLUMN_SIZE"
                , NULL::text AS "BUFFER_LENGTH"
                , NULL::text AS "DECIMAL_DIGITS"
                , NULL::text AS "NUM_PREC_RADIX"
                , CASE a.attnotnull WHEN 't' THEN 0 ELSE 1 END AS "NULLABLE"
                , pg_catalog.col_description(a.attrelid, a.attnum) AS "REMARKS"
                , pg_catalog.pg_get_expr(af.adbin, af.adrelid) AS "COLUMN_DEF"
                , NULL::text AS "SQL_DATA_TYPE"
                , NULL::text AS "SQL_DATETIME_SUB"
                , NULL::text AS "CHAR_OCTET_LENGTH"
                , a.attnum AS "ORDINAL_POSITION"
                , CASE a.attnotnull WHEN 't' THEN 'NO' ELSE 'YES' END AS "IS_NULLABLE"
                , pg_catalog.format_type(a.atttypid, a.atttypmod) AS "pg_type"
                , '?' AS "pg_constraint"
                , n.nspname AS "pg_schema"
                , c.relname AS "pg_table"
                , a.attname AS "pg_column"
                , a.attrelid AS "pg_attrelid"
                , a.attnum AS "pg_attnum"
                , a.atttypmod AS "pg_atttypmod"
                , t.typtype AS "_pg_type_typtype"
                , t.oid AS "_pg_type_oid"
            FROM
                pg_catalog.pg_type t
                JOIN pg_catalog.pg_attribute a ON (t.oid = a.atttypid)
                JOIN pg_catalog.pg_class c ON (a.attrelid = c.oid)
                LEFT JOIN pg_catalog.pg_attrdef af ON (a.attnum = af.adnum AND a.attrelid = af.adrelid)
                JOIN pg_catalog.pg_namespace n ON (n.oid = c.relnamespace)
            WHERE
                a.attnum >= 0
                AND c.relkind IN ('r','p','v','m','f')
                
				AND n.nspname = 'public'
				AND c.relname = 'x'
				AND a.attname LIKE '%'
            ORDER BY "TABLE_SCHEM", "TABLE_NAME", "ORDINAL_POSITION"`,
		Free: []int{10, 11},
		Columns: []Column{
			computed("TABLE_CAT", datum.Text), computed("TABLE_SCHEM", datum.Text), computed("TABLE_NAME", datum.Text),
			computed("COLUMN_NAME", datum.Text), colAtttypid.as("DATA_TYPE"), computed("TYPE_NAME", datum.Text),
			column("COLUMN_SIZE", datum.Int2, relPgAttribute, 5), computed("BUFFER_LENGTH", datum.Text),
			computed("DECIMAL_DIGITS", datum.Text), computed("NUM_PREC_RADIX", datum.Text), computed("NULLABLE", datum.Int4),
			computed("REMARKS", datum.Text), computed("COLUMN_DEF", datum.Text), computed("SQL_DATA_TYPE", datum.Text),
			computed("SQL_DATETIME_SUB", datum.Text), computed("CHAR_OCTET_LENGTH", datum.Text),
			column("ORDINAL_POSITION", datum.Int2, relPgAttribute, 6), computed("IS_NULLABLE", datum.Text),
			computed("pg_type", datum.Text), computed("pg_constraint", datum.Text), colNspname.as("pg_schema"),
			colRelname.as("pg_table"), colAttname.as("pg_column"), column("pg_attrelid", datum.OID, relPgAttribute, 1),
			column("pg_attnum", datum.Int2, relPgAttribute, 6), column("pg_atttypmod", datum.Int4, relPgAttribute, 9),
			colTyptype.as("_pg_type_typtype"), colTypeOID.as("_pg_type_oid"),
		},
		Rows: none,
	},
	{
		Source: "DBD::Pg 3.16.0, primary_key_info",
		SQL: `SELECT
                  c.oid
                , pg_catalog.quote_ident(n.nspname)
                , pg_catalog.quote_ident(c.relname)
                , pg_catalog.quote_ident(c2.relname)
                , i.indkey
                , pg_catalog.quote_ident(t.spcname)
                , pg_catalog.quote_ident(pg_catalog.pg_tablespace_location(t.oid))
                , n.nspname, c.relname, c2.relname
                , pg_catalog.quote_ident(pg_catalog.current_database())
            FROM
                pg_catalog.pg_class c
                JOIN pg_catalog.pg_index i ON (i.indrelid = c.oid)
                JOIN pg_catalog.pg_class c2 ON (c2.oid = i.indexrelid)
                LEFT JOIN pg_catalog.pg_namespace n ON (n.oid = c.relnamespace)
                LEFT JOIN pg_catalog.pg_tablespace t ON (t.oid = c.reltablespace)
            WHERE
                i.indisprimary IS TRUE
            AND c.relname = 'x'
			AND n.nspname = 'public'`,
		Free: []int{0},
		Columns: []Column{
			colRelOID, computed("quote_ident", datum.Text), computed("quote_ident", datum.Text), computed("quote_ident", datum.Text),
			column("indkey", typeInt2Vector, relPgIndex, 16), computed("quote_ident", datum.Text), computed("quote_ident", datum.Text),
			colNspname, colRelname, colRelname, computed("quote_ident", datum.Text),
		},
		Rows: none,
	},
	{
		Source: "DBD::Pg 3.16.0, table_info: the schemas",
		SQL: `SELECT
                       NULL::text AS "TABLE_CAT"
                     , pg_catalog.quote_ident(n.nspname) AS "TABLE_SCHEM"
                     , NULL::text AS "TABLE_NAME"
                     , NULL::text AS "TABLE_TYPE"
                     , CASE WHEN n.nspname ~ '^pg_' THEN 'system schema' ELSE 'owned by ' || pg_catalog.pg_get_userbyid(n.nspowner) END AS "REMARKS" ,n.nspname AS pg_schema, NULL::text AS pg_table
                    FROM pg_catalog.pg_namespace n
                    ORDER BY "TABLE_SCHEM"`,
		Columns: []Column{
			computed("TABLE_CAT", datum.Text), computed("TABLE_SCHEM", datum.Text), computed("TABLE_NAME", datum.Text),
			computed("TABLE_TYPE", datum.Text), computed("REMARKS", datum.Text), colNspname.as("pg_schema"), computed("pg_table", datum.Text),
		},
		Rows: perlSchemas,
	},
	{
		Source: "DBD::Pg 3.16.0, table_info: the types of tables",
		SQL: `SELECT "TABLE_CAT"
                         , "TABLE_SCHEM"
                         , "TABLE_NAME"
                         , "TABLE_TYPE"
                         , "REMARKS"
                    FROM
                      (SELECT NULL::text AS "TABLE_CAT"
                            , NULL::text AS "TABLE_SCHEM"
                            , NULL::text AS "TABLE_NAME") dummy_cols
                    CROSS JOIN
                      (SELECT 'TABLE'        AS "TABLE_TYPE"
                            , 'relkind ~ r|p'   AS "REMARKS"
                       UNION
                       SELECT 'SYSTEM TABLE'
                            , 'relkind ~ r|p; nspname ~ ^pg_(catalog|toast)$'
                       UNION
                       SELECT 'VIEW'
                            , 'relkind: v'
                       UNION
                       SELECT 'SYSTEM VIEW'
                            , 'relkind: v; nspname ~ ^pg_(catalog|toast)$'
                       UNION
                       SELECT 'MATERIALIZED VIEW'
                            , 'relkind: m'
                       UNION
                       SELECT 'SYSTEM MATERIALIZED VIEW'
                            , 'relkind: m; nspname ~ ^pg_(catalog|toast)$'
                       UNION
                       SELECT 'FOREIGN TABLE'
                            , 'relkind: f'
                       UNION
                       SELECT 'SYSTEM FOREIGN TABLE'
                            , 'relkind: f; nspname ~ ^pg_(catalog|toast)$'
                       UNION
                       SELECT 'LOCAL TEMPORARY'
                            , 'relkind ~ r|p; nspname ~ ^pg_(toast_)?temp') type_info
                     ORDER BY "TABLE_TYPE" ASC`,
		Columns: []Column{
			computed("TABLE_CAT", datum.Text), computed("TABLE_SCHEM", datum.Text), computed("TABLE_NAME", datum.Text),
			computed("TABLE_TYPE", datum.Text), computed("REMARKS", datum.Text),
		},
		Rows: perlTableTypes,
	},
	{
		Source: "DBD::Pg 3.16.0, tables",
		SQL: `SELECT * FROM (
                SELECT pg_catalog.quote_ident(pg_catalog.current_database()) AS "TABLE_CAT"
                     , pg_catalog.quote_ident(n.nspname) AS "TABLE_SCHEM"
                     , pg_catalog.quote_ident(c.relname) AS "TABLE_NAME"
                       -- any temp table or temp view is LOCAL TEMPORARY for us
                     , CASE WHEN pg_catalog.quote_ident(n.nspname) ~ '^pg_(toast_)?temp_' THEN
                                 'LOCAL TEMPORARY'
                            WHEN c.relkind ~ 'r|p' THEN
                                 CASE WHEN pg_catalog.quote_ident(n.nspname) ~ '^pg_' THEN
                                           'SYSTEM TABLE'
                                      ELSE 'TABLE'
                                  END
                            WHEN c.relkind = 'v' THEN
                                 CASE WHEN pg_catalog.quote_ident(n.nspname) ~ '^pg_' THEN
                                           'SYSTEM VIEW'
                                      ELSE 'VIEW'
                                  END
                            WHEN c.relkind = 'm' THEN
                                 CASE WHEN pg_catalog.quote_ident(n.nspname) ~ '^pg_' THEN
                                           'SYSTEM MATERIALIZED VIEW'
                                      ELSE 'MATERIALIZED VIEW'
                                  END
                            WHEN c.relkind = 'f' THEN
                                 CASE WHEN pg_catalog.quote_ident(n.nspname) ~ '^pg_' THEN
                                           'SYSTEM FOREIGN TABLE'
                                      ELSE 'FOREIGN TABLE'
                                  END
                            ELSE 'UNKNOWN'
                         END AS "TABLE_TYPE"
                     , d.description AS "REMARKS"
                     , pg_catalog.quote_ident(t.spcname) AS "pg_tablespace_name"
                     , pg_catalog.quote_ident(pg_catalog.pg_tablespace_location(t.oid)) AS "pg_tablespace_location" ,n.nspname AS pg_schema, c.relname AS pg_table
                  FROM pg_catalog.pg_class AS c
                  LEFT JOIN pg_catalog.pg_description AS d
                       ON (c.oid = d.objoid AND c.tableoid = d.classoid AND d.objsubid = 0)
                  LEFT JOIN pg_catalog.pg_namespace n ON (n.oid = c.relnamespace)
                  LEFT JOIN pg_catalog.pg_tablespace t ON (t.oid = c.reltablespace)
                 WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
					 AND NOT (pg_catalog.quote_ident(n.nspname) ~ '^pg_(toast_)?temp_' AND NOT pg_catalog.has_schema_privilege(n.nspname, 'USAGE'))
					 AND n.nspname = 'public'
					 AND c.relname LIKE '%'
                 ORDER BY "TABLE_TYPE", "TABLE_CAT", "TABLE_SCHEM", "TABLE_NAME"
                ) ti WHERE "TABLE_TYPE" IN ('TABLE')`,
		Free:    []int{24}, // the pattern
		Columns: perlTableColumns,
		Rows:    none,
	},
}

var perlTableColumns = []Column{
	computed("TABLE_CAT", datum.Text),
	computed("TABLE_SCHEM", datum.Text),
	computed("TABLE_NAME", datum.Text),
	computed("TABLE_TYPE", datum.Text),
	column("REMARKS", datum.Text, relPgDescription, 4),
	computed("pg_tablespace_name", datum.Text),
	computed("pg_tablespace_location", datum.Text),
	colNspname.as("pg_schema"),
	colRelname.as("pg_table"),
}

func perlSchemas(Call) ([][]datum.Datum, error) {
	var out [][]datum.Datum
	for _, s := range [][2]string{
		{"information_schema", "owned by postgres"},
		{pgCatalog, "system schema"},
		{"pg_toast", "system schema"},
		{"public", "owned by pg_database_owner"},
	} {
		name, remarks := datum.OfText(s[0]), datum.OfText(s[1])
		out = append(out, []datum.Datum{datum.Null, name, datum.Null, datum.Null, remarks, name, datum.Null})
	}
	return out, nil
}

func perlTableTypes(Call) ([][]datum.Datum, error) {
	var out [][]datum.Datum
	for _, t := range [][2]string{
		{"FOREIGN TABLE", "relkind: f"},
		{"LOCAL TEMPORARY", "relkind ~ r|p; nspname ~ ^pg_(toast_)?temp"},
		{"MATERIALIZED VIEW", "relkind: m"},
		{"SYSTEM FOREIGN TABLE", "relkind: f; nspname ~ ^pg_(catalog|toast)$"},
		{"SYSTEM MATERIALIZED VIEW", "relkind: m; nspname ~ ^pg_(catalog|toast)$"},
		{"SYSTEM TABLE", "relkind ~ r|p; nspname ~ ^pg_(catalog|toast)$"},
		{"SYSTEM VIEW", "relkind: v; nspname ~ ^pg_(catalog|toast)$"},
		{"TABLE", "relkind ~ r|p"},
		{"VIEW", "relkind: v"},
	} {
		out = append(out, []datum.Datum{datum.Null, datum.Null, datum.Null, datum.OfText(t[0]), datum.OfText(t[1])})
	}
	return out, nil
}
