package place

import (
	"fmt"

	"github.com/jeroenrinzema/psql-wire/codes"
	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/planner/tree"
	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// hintFor says what to do instead of a call that was refused in some place. It must work:
// what it shows is never refused with a hint that leads back.
func hintFor(call *pg_query.FuncCall, what string) string {
	name := tree.Name(call.Funcname)
	switch {
	case isSet(name):
		return hintAlone(name)
	case tree.Any(call, func(*pg_query.ColumnRef) bool { return true }):
		return hintPerRow(name)
	case what == createTableAs:
		return fmt.Sprintf("Create the table first, and fill it: INSERT INTO … SELECT … FROM %s(…) AS c", name)
	}
	return hintAlone(name)
}

// hintAlone works for every call whose arguments are the same for all rows.
func hintAlone(name string) string {
	return fmt.Sprintf("Call it in a statement of its own, SELECT … FROM %s(…) AS c, and pass on what it returns as parameters.", name)
}

// hintPerRow is for a call whose arguments differ from row to row, for which FROM is no
// place.
func hintPerRow(name string) string {
	if f, ok := sqlfuncs.Lookup(name); ok && f.Once {
		return hintOnce(f)
	}
	return fmt.Sprintf("Call it for each row in the SELECT list of a statement of its own, SELECT %s(…) FROM …, and pass on what it returns as parameters.", name)
}

// hintOnce is for a function that no statement calls for each of its rows.
func hintOnce(f *sqlfuncs.Function) string {
	if f.Args[0].Type == datum.TextArray {
		return fmt.Sprintf("Give it those of all rows at once: SELECT … FROM %s(ARRAY(SELECT …), …) AS c", f.Name)
	}
	return fmt.Sprintf("Call it for each of them in a statement of its own, SELECT … FROM %s(…) AS c, with literals or parameters.", f.Name)
}

// forEachRow is the error of a call for each row of a function that is not for that.
func forEachRow(call *pg_query.FuncCall, f *sqlfuncs.Function, at func(int32) int) *pgerr.Error {
	return pgerr.Newf(codes.FeatureNotSupported, "%s cannot be called for each row", f.Name).
		WithHint("%s", hintOnce(f)).At(at(call.Location))
}

// UsesAnotherItem is the error of a call in FROM whose argument is made of another item there.
func UsesAnotherItem(name string) *pgerr.Error {
	hint := hintPerRow(name)
	if isSet(name) {
		hint = fmt.Sprintf("Join with all of its rows: … JOIN %s() AS c ON …", name)
	}
	return pgerr.Newf(codes.FeatureNotSupported, "an argument of %s in FROM cannot use another FROM item", name).
		WithHint("%s", hint)
}

const createTableAs = "CREATE TABLE AS"
