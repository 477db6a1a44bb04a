// Package tree looks at parse trees: what stands in them, without saying what it means.
//
//	walk.go         visiting all messages of a kind, or those outside subqueries
//	calls.go        calls of the proxy's functions
//	names.go        names and literals
//	columnname.go   what PostgreSQL calls a column that has no name
package tree
