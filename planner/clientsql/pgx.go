package clientsql

import "raisinproxy/sqlfuncs/datum"

var pgxAnswers = []Answer{
	{
		Source:  "pgx 5.13.0, LoadType",
		SQL:     `select $1::text::regtype::oid;`,
		Params:  []datum.Type{datum.Text},
		Columns: []Column{computed("oid", datum.OID)},
		Rows:    oidOfRegtype,
	},
	{
		Source:  "pgx 5.13.0, LoadType, QueryExecModeSimpleProtocol",
		SQL:     `select  'jsonb' ::text::regtype::oid;`,
		Free:    []int{0},
		Columns: []Column{computed("oid", datum.OID)},
		Rows:    oidOfRegtype,
	},
}

// oidOfRegtype is the Rows of SELECT input::regtype::oid.
func oidOfRegtype(c Call) ([][]datum.Datum, error) {
	if c.input(0)[0].Null {
		return [][]datum.Datum{{datum.Null}}, nil
	}
	oid, err := regtypeIn(c.text(0))
	return [][]datum.Datum{{oidDatum(oid)}}, err
}
