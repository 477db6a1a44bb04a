// Package tree looks at parse trees: what stands in them, without saying what it means.
// Every package that gets a parse tree asks here what it calls, names and holds.
//
//	calls.go        calls of the proxy's functions, and columns of what they return; functions
//	                of FROM
//	names.go        names, of schemas and WITH queries too; integers, and what is true
//	columnname.go   what PostgreSQL calls a column that has no name
//	walk.go         visiting all messages of a kind, or those outside subqueries; where the
//	                text of a part begins, and whether two parts are written alike
package tree
