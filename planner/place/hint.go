package place

import (
	"fmt"

	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/planner/tree"
)

// hintFor says what to do instead of a call that was refused in some place. It must work:
// what it shows is never refused with a hint that leads back.
func hintFor(call *pg_query.FuncCall, what string) string {
	name := tree.Name(call.Funcname)
	switch {
	case tree.Any(call, func(*pg_query.ColumnRef) bool { return true }):
		return HintPerRow(name)
	case what == createTableAs:
		return fmt.Sprintf("Create the table first, and fill it: INSERT INTO … SELECT … FROM %s(…) AS c", name)
	}
	return hintAlone(name)
}

// hintAlone works for every call whose arguments are the same for all rows.
func hintAlone(name string) string {
	return fmt.Sprintf("Call it in a statement of its own, SELECT … FROM %s(…) AS c, and pass on what it returns as parameters.", name)
}

// HintPerRow is for a call whose arguments differ from row to row, for which FROM is no
// place.
func HintPerRow(name string) string {
	return fmt.Sprintf("Call it for each row in the SELECT list of a statement of its own, SELECT %s(…) FROM …, and pass on what it returns as parameters.", name)
}

const createTableAs = "CREATE TABLE AS"
