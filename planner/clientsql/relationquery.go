package clientsql

import (
	"slices"

	"raisinproxy/sqlfuncs/datum"
)

// relationNames is the Rows of a query for the names of tables and views.
func relationNames(wanted func(Call, relationRow) bool) func(Call) ([][]datum.Datum, error) {
	return func(c Call) ([][]datum.Datum, error) {
		var out [][]datum.Datum
		for _, r := range relations() {
			if wanted(c, r) {
				out = append(out, []datum.Datum{datum.OfText(r.name)})
			}
		}
		return out, nil
	}
}

// inSchemaOfKinds is WHERE nspname = input AND relkind IN (input).
func inSchemaOfKinds(schema, kinds int) func(Call, relationRow) bool {
	return func(c Call, r relationRow) bool {
		return r.namespace == c.text(schema) && slices.Contains(c.chars(kinds), r.kind)
	}
}
