// Package local compiles and runs the statements that are answered here, without a
// PostgreSQL: calls alone, what drivers send by themselves, and everything of an embedded
// server. What is not known here is refused with an error that plan.NeedsUpstream knows.
//
//	compile.go     Compile: a parsed statement to a plan.Statement
//	query.go       SELECT and VALUES; from.go: FROM, WITH and subqueries
//	select.go      how they are run: Check, Open, Next, Column
//	utility.go     SET, SHOW, BEGIN, PREPARE, …
//	execute.go     EXECUTE and its arguments
//	catalogue.go   queries over the system catalogues
//	sets.go        the functions that return rows, over which such queries are evaluated too
package local
