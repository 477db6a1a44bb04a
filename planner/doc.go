// Package planner turns SQL text into immutable plans that sessions share. It is
// pure: it has no connection, no clock and no session state; what an evaluation
// needs of its session it asks through plan.Env.
//
//	planner.go    Cached and Plan: text in, plan.Script out
//	cache.go      texts that were planned already
//	template.go   one plan for all texts that differ in the literals of their calls alone
//	answeredhere.go
//	              which statements with calls are answered without the upstream
//
// A text goes down through the packages and comes back as a plan:
//
//	sqltext    reads it, once: tokens, what it is about, its shape
//	pgparse    PostgreSQL's parser behind its bounds; positions of errors
//	place      where a call may stand, and what that rests on: why a call is refused
//	local      statements answered here: SELECT, SET, BEGIN, EXECUTE, the catalogues
//	rewrite    statements in which the upstream has a part: probe, arguments, main
//
// They stand on expr (expressions: types, casts, evaluation), tree (walking parse trees),
// plan (what all of them make), catalog and clientsql (queries over the system catalogues
// of an embedded server). Nobody imports what stands above; the linter sees to it.
package planner
