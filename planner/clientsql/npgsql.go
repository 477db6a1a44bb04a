package clientsql

import (
	"fmt"
	"slices"
	"strings"

	"raisinproxy/planner/catalog"
	"raisinproxy/sqlfuncs/datum"
)

// Npgsql loads all types on its first connection to a database, in one batch with
// SELECT version(): the types, the fields of the composite types, and the labels
// of the enumerations. Of the last two an empty database has none. Options of the
// connection change the texts, but not the answers: nobody has made a composite
// type, or a type outside the schemas that are always loaded.
var npgsqlAnswers = slices.Concat(npgsqlTypes(), npgsqlFields(), npgsqlLabels())

// npgsqlLoad is what one text wants to know of the types.
type npgsqlLoad struct {
	source string
	digest string
	pseudo string // the pseudo types to load
	order  string // the order of those kinds that come after base types and before domains
	lists  []int  // the place of the schemas to load from among the literals
}

const (
	npgsqlTables  = ", Load Table Composites"
	npgsqlSchemas = ", SetTypeLoadingSchemas"

	npgsqlPseudo7 = "record void"
	npgsqlPseudo  = "record void unknown"

	npgsqlOrder802 = "rmc"
	npgsqlOrder    = "crm"
)

var npgsqlLoads = []npgsqlLoad{
	{"Npgsql 6, 7", "f8ae585b186a36d98a46efdd73ab3fbf47d46c291de026d0b78105b1801d3934", npgsqlPseudo7, npgsqlOrder802, nil},
	{"Npgsql 6, 7" + npgsqlTables, "cdb20269a5499729feda1e9b7db97ef342b1971ef46f494ff1f202f9dc1e7e4e", npgsqlPseudo7, npgsqlOrder802, nil},
	{"Npgsql 8.0.0-8.0.2", "f5400d66b3f4c88a9f6ccf89823c79f7092114de2061c7adb2eea8ff8550ac66", npgsqlPseudo, npgsqlOrder802, nil},
	{"Npgsql 8.0.0-8.0.2" + npgsqlTables, "d954cece38cde0197585f4250a00ff88fca2550e2c051c05502e8e7724505082", npgsqlPseudo, npgsqlOrder802, nil},
	{"Npgsql 8.0.3-8.0.9", "d6173ecc1a9b2e22987cd87444204b40754240d0bc17271c85c0b9cf8d0a4221", npgsqlPseudo, npgsqlOrder, nil},
	{"Npgsql 8.0.3-8.0.9" + npgsqlTables, "533fa22dd806a7ab1385a17c4fca0acc9daeae0466c84ba148dc6bb1b4022b5a", npgsqlPseudo, npgsqlOrder, nil},
	{"Npgsql 9-10.0.3", "639722974a072087f08c7ed07137dfd6f12b2fb10cc0b916f03bea968a66c274", npgsqlPseudo, npgsqlOrder, nil},
	{"Npgsql 9-10.0.3" + npgsqlTables, "14160d46e9de0cd6fe24b41e55cfb68f090185b1d516e6f87a7d776a1c5fdf07", npgsqlPseudo, npgsqlOrder, nil},
	{"Npgsql 9-10.0.3" + npgsqlSchemas, "5e5f75dd74e89fa02d40c64ab1c5e44f64616a1a87723bf8f895df7674cbe68c", npgsqlPseudo, npgsqlOrder, []int{8}},
	{"Npgsql 9-10.0.3" + npgsqlSchemas + npgsqlTables, "74219e6169ffeb99780146e72e8c088e42cd03690ff863d5a05afc9b78823cf8", npgsqlPseudo, npgsqlOrder, []int{8}},
}

func npgsqlTypes() []Answer {
	var out []Answer
	for _, l := range npgsqlLoads {
		out = append(out, l.answer())
	}
	return out
}

func (l npgsqlLoad) answer() Answer {
	query := catalog.Own(l.query())
	rows := func(c Call) ([][]datum.Datum, error) {
		var args []datum.Datum
		if l.lists != nil {
			args = append(args, array(c.Literals[0]))
		}
		return query().Rows(c.Session, args)
	}
	return Answer{
		Source: l.source + ": types", Digest: l.digest, Lists: l.lists, Rows: rows,
		Columns: []catalog.Column{
			column("nspname", datum.Name), column("oid", datum.OID), column("typname", datum.Name), column("typtype", datum.Char),
			column("typnotnull", datum.Bool), column("elemtypoid", datum.OID),
		},
	}
}

// query asks for the types that Npgsql wants to know: those that are no row types and no
// pseudo types but a few, and the arrays of the same. Npgsql forgets a type whose element
// it has not seen before: they come in the order of their kinds.
func (l npgsqlLoad) query() string {
	sql := `
		SELECT n.nspname, t.oid, t.typname, CASE WHEN a.oid IS NULL THEN t.typtype ELSE 'a' END AS typtype, t.typnotnull, e.oid AS elemtypoid
		FROM pg_type t
		JOIN pg_namespace n ON n.oid = t.typnamespace
		LEFT JOIN pg_type a ON a.typarray = t.oid
		LEFT JOIN pg_range r ON r.rngtypid = t.oid
		LEFT JOIN pg_range m ON m.rngmultitypid = t.oid
		LEFT JOIN pg_type e ON e.oid = coalesce(a.oid, r.rngsubtype, m.rngtypid, t.typbasetype)
		WHERE CASE
			WHEN a.oid IS NOT NULL THEN a.typtype NOT IN ('c', 'p') OR a.typname IN ('record', 'void')
			ELSE t.typtype NOT IN ('c', 'p') OR t.typname = ANY ('{` + strings.Join(strings.Fields(l.pseudo), ",") + `}')
		END`
	if l.lists != nil {
		sql += ` AND (n.nspname = ANY ($1) OR t.typcategory = 'U')`
	}
	sql += ` ORDER BY CASE WHEN a.oid IS NOT NULL THEN 9`
	for rank, kind := range "bep" + l.order + "d" {
		sql += fmt.Sprintf(" WHEN t.typtype = '%c' THEN %d", kind, rank)
	}
	return sql + ` END`
}

func npgsqlFields() []Answer {
	columns := []catalog.Column{column("oid", datum.OID), column("attname", datum.Name), column("atttypid", datum.OID)}
	return []Answer{
		{
			Source: "Npgsql 6-10.0.3: fields of composite types", Columns: columns, Rows: none,
			Digest: "e6700b5cafe8ea9f3bfbf7ffff49bad8afb820c0de4c8b648540cb50cc28c55e",
		},
		{
			Source: "Npgsql 6-10.0.3" + npgsqlTables + ": fields of composite types", Columns: columns, Rows: none,
			Digest: "6fe93b8d25b32e37b22abdb4ffd85b156518dcb97ecaadc5713f4358941174ec",
		},
		{
			Source: "Npgsql 9-10.0.3" + npgsqlSchemas + ": fields of composite types", Columns: columns, Rows: none,
			Digest: "94bb6422021d51564a9d3e661f58094769fe3ee7d0ad98456a9d2828cfa8d1fb", Lists: []int{2},
		},
		{
			Source: "Npgsql 9-10.0.3" + npgsqlSchemas + npgsqlTables + ": fields of composite types", Columns: columns, Rows: none,
			Digest: "c0a574216859fb91fca80297659b19fd3708d29d951c581325ee7f53254b98fd", Lists: []int{2},
		},
	}
}

func npgsqlLabels() []Answer {
	columns := []catalog.Column{column("oid", datum.OID), column("enumlabel", datum.Name)}
	return []Answer{
		{
			Source: "Npgsql 6-9.0.4: labels of enumerations", Columns: columns, Rows: none,
			Digest: "9eddd1500a05f57bbb1510dd2364cff0b772dd6ee0e437846a0b2c43df74f6b0",
		},
		{
			Source: "Npgsql 9.0.5-10.0.3: labels of enumerations", Columns: columns, Rows: none,
			Digest: "229d49f8fab4291b41820920ea8090f82bcd33042918f7ba2e3c325d2a358913",
		},
		{
			Source: "Npgsql 9.0.5-10.0.3" + npgsqlSchemas + ": labels of enumerations", Columns: columns, Rows: none,
			Digest: "ded582deada4991177d64c6dbe5daa5224a70d01f2ad4626abca018717a65a97", Lists: []int{0},
		},
	}
}
