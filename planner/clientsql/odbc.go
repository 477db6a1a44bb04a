package clientsql

import (
	"cmp"
	"slices"
	"strings"

	"raisinproxy/sqlfuncs/datum"
)

var odbcAnswers = []Answer{
	typeQuery{fields: []field{fieldOID, fieldBaseType}, where: hasName}.answer(Answer{
		Source: "psqlODBC 13.02, on connecting",
		SQL:    `select oid, typbasetype from pg_type where typname = 'lo'`,
		Free:   []int{0},
	}),
	{
		Source:  "psqlODBC 13.02, SQLTables with tables of the system",
		SQL:     `select relname, nspname, relkind from pg_catalog.pg_class c, pg_catalog.pg_namespace n where relkind in ('r', 'v', 'm', 'f', 'p') and n.oid = relnamespace order by nspname, relname`,
		Lists:   []int{0},
		Columns: []Column{colRelname, colNspname, colRelkind},
		Rows: func(c Call) ([][]datum.Datum, error) {
			wanted, err := ofKinds(c.chars(0))
			if err != nil {
				return nil, err
			}
			found := slices.DeleteFunc(relations(), func(r relationRow) bool { return !wanted(r) })
			slices.SortFunc(found, func(a, b relationRow) int {
				return cmp.Or(strings.Compare(a.namespace, b.namespace), strings.Compare(a.name, b.name))
			})
			var out [][]datum.Datum
			for _, r := range found {
				out = append(out, []datum.Datum{datum.OfText(r.name), datum.OfText(r.namespace), datum.OfText(r.kind)})
			}
			return out, nil
		},
	},
	{
		Source: "psqlODBC 13.02, SQLColumns in public",
		SQL:    `select n.nspname, c.relname, a.attname, a.atttypid, t.typname, a.attnum, a.attlen, a.atttypmod, a.attnotnull, c.relhasrules, c.relkind, c.oid, pg_get_expr(d.adbin, d.adrelid), case t.typtype when 'd' then t.typbasetype else 0 end, t.typtypmod, 0, attidentity, c.relhassubclass from (((pg_catalog.pg_class c inner join pg_catalog.pg_namespace n on n.oid = c.relnamespace and c.relname like 'x' and n.nspname like 'public') inner join pg_catalog.pg_attribute a on (not a.attisdropped) and a.attnum > 0 and a.attrelid = c.oid) inner join pg_catalog.pg_type t on t.oid = a.atttypid) left outer join pg_attrdef d on a.atthasdef and d.adrelid = a.attrelid and d.adnum = a.attnum order by n.nspname, c.relname, attnum`,
		Free:   []int{3},
		Columns: []Column{
			colNspname, colRelname, colAttname, colAtttypid, colTypname, column("attnum", datum.Int2, relPgAttribute, 6),
			column("attlen", datum.Int2, relPgAttribute, 5), column("atttypmod", datum.Int4, relPgAttribute, 9),
			column("attnotnull", datum.Bool, relPgAttribute, 14), column("relhasrules", datum.Bool, relPgClass, 20), colRelkind, colRelOID,
			computed("pg_get_expr", datum.Text), computed("case", datum.OID), column("typtypmod", datum.Int4, relPgType, 27),
			computed("?column?", datum.Int4), column("attidentity", datum.Char, relPgAttribute, 17),
			column("relhassubclass", datum.Bool, relPgClass, 22),
		},
		Rows: none,
	},
	{
		Source:  "psqlODBC 13.02, SQLTables (help of isql 2.3.11)",
		SQL:     `select relname, nspname, relkind from pg_catalog.pg_class c, pg_catalog.pg_namespace n where relkind in ('r', 'v', 'm', 'f', 'p') and nspname not in ('pg_catalog', 'information_schema', 'pg_toast', 'pg_temp_1') and n.oid = relnamespace order by nspname, relname`,
		Lists:   []int{0},
		Columns: []Column{colRelname, colNspname, colRelkind},
		Rows:    none,
	},
}
