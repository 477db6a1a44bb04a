package clientsql

import (
	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/planner/catalog"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// jdbcAnswers are what tools and migrations ask of DatabaseMetaData that package
// catalog does not evaluate: window functions and composite values. Of the user's
// tables an empty database has none; answers about the catalogue's own are not here.
var jdbcAnswers = []Answer{
	{
		Source: "pgjdbc 42.5.5, getColumns in all schemas",
		SQL:    `SELECT * FROM (SELECT n.nspname,c.relname,a.attname,a.atttypid,a.attnotnull OR (t.typtype = 'd' AND t.typnotnull) AS attnotnull,a.atttypmod,a.attlen,t.typtypmod,row_number() OVER (PARTITION BY a.attrelid ORDER BY a.attnum) AS attnum, nullif(a.attidentity, '') as attidentity,nullif(a.attgenerated, '') as attgenerated,pg_catalog.pg_get_expr(def.adbin, def.adrelid) AS adsrc,dsc.description,t.typbasetype,t.typtype  FROM pg_catalog.pg_namespace n  JOIN pg_catalog.pg_class c ON (c.relnamespace = n.oid)  JOIN pg_catalog.pg_attribute a ON (a.attrelid=c.oid)  JOIN pg_catalog.pg_type t ON (a.atttypid = t.oid)  LEFT JOIN pg_catalog.pg_attrdef def ON (a.attrelid=def.adrelid AND a.attnum = def.adnum)  LEFT JOIN pg_catalog.pg_description dsc ON (c.oid=dsc.objoid AND a.attnum = dsc.objsubid)  LEFT JOIN pg_catalog.pg_class dc ON (dc.oid=dsc.classoid AND dc.relname='pg_class')  LEFT JOIN pg_catalog.pg_namespace dn ON (dc.relnamespace=dn.oid AND dn.nspname='pg_catalog')  WHERE c.relkind in ('r','p','v','f','m') and a.attnum > 0 AND NOT a.attisdropped  AND c.relname LIKE 'x') c WHERE true  AND attname LIKE '%' ORDER BY nspname,c.relname,attnum`,
		Free:   []int{7, 8},
		Columns: []catalog.Column{
			column("nspname", datum.Name), column("relname", datum.Name), column("attname", datum.Name), column("atttypid", datum.OID),
			column("attnotnull", datum.Bool), column("atttypmod", datum.Int4), column("attlen", datum.Int2), column("typtypmod", datum.Int4),
			column("attnum", datum.Int8), column("attidentity", datum.Char), column("attgenerated", datum.Char), column("adsrc", datum.Text),
			column("description", datum.Text), column("typbasetype", datum.OID), column("typtype", datum.Char),
		},
		Rows: noneUnless("the columns of the catalogue", "relname LIKE $1"),
	},
	{
		Source: "pgjdbc 42.5.5, getPrimaryKeys in all schemas",
		SQL:    `SELECT        result.TABLE_CAT,        result.TABLE_SCHEM,        result.TABLE_NAME,        result.COLUMN_NAME,        result.KEY_SEQ,        result.PK_NAME FROM      (SELECT NULL AS TABLE_CAT, n.nspname AS TABLE_SCHEM,   ct.relname AS TABLE_NAME, a.attname AS COLUMN_NAME,   (information_schema._pg_expandarray(i.indkey)).n AS KEY_SEQ, ci.relname AS PK_NAME,   information_schema._pg_expandarray(i.indkey) AS KEYS, a.attnum AS A_ATTNUM FROM pg_catalog.pg_class ct   JOIN pg_catalog.pg_attribute a ON (ct.oid = a.attrelid)   JOIN pg_catalog.pg_namespace n ON (ct.relnamespace = n.oid)   JOIN pg_catalog.pg_index i ON ( a.attrelid = i.indrelid)   JOIN pg_catalog.pg_class ci ON (ci.oid = i.indexrelid) WHERE true  AND ct.relname = 'x' AND i.indisprimary  ) result where  result.A_ATTNUM = (result.KEYS).x  ORDER BY result.table_name, result.pk_name, result.key_seq`,
		Free:   []int{0},
		Columns: []catalog.Column{
			column("table_cat", datum.Text), column("table_schem", datum.Name), column("table_name", datum.Name),
			column("column_name", datum.Name), column("key_seq", datum.Int4), column("pk_name", datum.Name),
		},
		Rows: noneUnless("the primary keys of the catalogue", "relname = $1"),
	},
	{
		Source: "pgjdbc 42.5.5, getIndexInfo in all schemas",
		SQL:    `SELECT     tmp.TABLE_CAT,     tmp.TABLE_SCHEM,     tmp.TABLE_NAME,     tmp.NON_UNIQUE,     tmp.INDEX_QUALIFIER,     tmp.INDEX_NAME,     tmp.TYPE,     tmp.ORDINAL_POSITION,     trim(both '"' from pg_catalog.pg_get_indexdef(tmp.CI_OID, tmp.ORDINAL_POSITION, false)) AS COLUMN_NAME,   CASE tmp.AM_NAME     WHEN 'btree' THEN CASE tmp.I_INDOPTION[tmp.ORDINAL_POSITION - 1] & 1::smallint       WHEN 1 THEN 'D'       ELSE 'A'     END     ELSE NULL   END AS ASC_OR_DESC,     tmp.CARDINALITY,     tmp.PAGES,     tmp.FILTER_CONDITION FROM (SELECT NULL AS TABLE_CAT, n.nspname AS TABLE_SCHEM,   ct.relname AS TABLE_NAME, NOT i.indisunique AS NON_UNIQUE,   NULL AS INDEX_QUALIFIER, ci.relname AS INDEX_NAME,   CASE i.indisclustered     WHEN true THEN 1    ELSE CASE am.amname       WHEN 'hash' THEN 2      ELSE 3    END   END AS TYPE,   (information_schema._pg_expandarray(i.indkey)).n AS ORDINAL_POSITION,   ci.reltuples AS CARDINALITY,   ci.relpages AS PAGES,   pg_catalog.pg_get_expr(i.indpred, i.indrelid) AS FILTER_CONDITION,   ci.oid AS CI_OID,   i.indoption AS I_INDOPTION,   am.amname AS AM_NAME FROM pg_catalog.pg_class ct   JOIN pg_catalog.pg_namespace n ON (ct.relnamespace = n.oid)   JOIN pg_catalog.pg_index i ON (ct.oid = i.indrelid)   JOIN pg_catalog.pg_class ci ON (ci.oid = i.indexrelid)   JOIN pg_catalog.pg_am am ON (ci.relam = am.oid) WHERE true  AND ct.relname = 'x') AS tmp ORDER BY NON_UNIQUE, TYPE, INDEX_NAME, ORDINAL_POSITION`,
		Free:   []int{11},
		Columns: []catalog.Column{
			column("table_cat", datum.Text), column("table_schem", datum.Name), column("table_name", datum.Name),
			column("non_unique", datum.Bool), column("index_qualifier", datum.Text), column("index_name", datum.Name),
			column("type", datum.Int4), column("ordinal_position", datum.Int4), column("column_name", datum.Text),
			column("asc_or_desc", datum.Text), column("cardinality", datum.Float4), column("pages", datum.Int4), column("filter_condition", datum.Text),
		},
		Rows: noneUnless("the indexes of the catalogue", "relname = $1"),
	},
}

func column(name string, t datum.Type) catalog.Column {
	return catalog.Column{Name: name, Type: t, Typmod: -1}
}

// noneUnless is the Rows of a query that a database without relations of the user's
// answers with nothing, and whose answer about the catalogue is not here. The condition
// is about the relations, of which the first literal is the parameter.
func noneUnless(what, condition string) func(Call) ([][]datum.Datum, error) {
	query := catalog.Own("SELECT 1 FROM pg_class WHERE " + condition)
	return func(c Call) ([][]datum.Datum, error) {
		found, err := query().Rows(c.Session, []datum.Datum{datum.OfText(c.Literals[0][0])})
		if err == nil && len(found) > 0 {
			err = pgerr.Newf(codes.FeatureNotSupported, "%s needs an [upstream]", what)
		}
		return nil, err
	}
}
