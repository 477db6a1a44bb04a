// Package place says where a call stands, how often PostgreSQL would make it, and whether
// that is certain. A call of which it is not is refused, with a hint that works: what this
// package says is the answer to "why was this statement refused".
//
// Calls walks the ways that lead from a statement to a call:
//
//	place.go        statements; how often a call in a place runs
//	with.go         WITH queries
//	level.go        one query: its FROM items and what their columns are
//	once.go         lists: which part of an expression is evaluated for certain
//	sets.go         functions that return rows, which change nothing and may stand in any FROM
//	hint.go         what to do instead
//
// Then it looks for what could keep PostgreSQL from coming to the call:
//
//	conditions.go   WHERE and ON: guards, which decide before a call, and row filters
//	folding.go      what its planner could compute before there are rows
//	siblings.go     items of FROM beside the call that could be empty
//	equalities.go   equalities that could contradict each other
//	facts.go        what only the upstream knows of this, and how it is asked
//
// The error of a fact that does not hold, Fact.Refused, is told by pgwire/proxied when the
// upstream has said so, and without an upstream by local/compile.go.
//
// docs/decisions/0023 has the reasons.
package place
