// Package plan is what plans are made of and what sessions know of them. It makes none,
// and runs none.
//
//	statement.go   Script and Statement: a text and its statements, planned
//	action.go      what a statement does that is no query: transactions, SET, PREPARE, …
//	options.go     what a plan depends on besides its text
//	env.go         Env: what an evaluation asks of its session
//	upstream.go    the errors of what only a PostgreSQL can answer
//	limits.go      PostgreSQL's own limits
//
// Queries have types of their own: local.Select is answered by the proxy, rewrite.Split
// together with the upstream.
package plan
