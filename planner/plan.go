// Package planner turns SQL text into immutable plans that sessions share. It is
// pure: it has no connection, no clock and no session state; what an evaluation
// needs of its session it asks through Env.
//
// A text goes through these files:
//
//	lexer.go, scan.go   our own lexer: what the text mentions, its bounds
//	parse.go            pg_query behind those bounds, positions of errors
//	cache.go            texts that were planned already
//	shape.go            texts that differ in the literals of their calls alone
//	compile.go          a parsed statement to a Statement
//	place.go, with.go   where a call may stand: the ways that lead to one
//	level.go, once.go   FROM, and lists that are evaluated once
//	conditions.go, …    what could keep PostgreSQL from a call: also folding.go,
//	                    siblings.go, equalities.go, and facts.go for what it is asked
//	resolve.go          types: calls, operators, parameters
//	coerce.go           the casts that nobody writes
//	hint.go             what to do instead of a call that is refused
//	select.go           SELECT and VALUES that are answered here
//	expr.go, cast.go    expressions and their evaluation
//	utility.go          everything that is not a query
package planner
