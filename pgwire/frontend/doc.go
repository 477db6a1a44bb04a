// Package frontend is a session as its client sees it: statements and portals, transactions, settings, calls, errors. What
// a session does otherwise with a PostgreSQL behind it than without one is in its Handler; the one without is here.
//
//	session.go      a session, and how it is driven; shared.go, what sessions share: Env, Registry
//	startup.go      from the log-in to ReadyForQuery
//	handler.go      what a Handler does; embedded.go, the one without a PostgreSQL
//	step.go         the fast path: answers the frames that are there, without I/O
//	query.go        the simple query
//	extended.go     Parse, Bind, Describe, Execute, Close, Sync
//	portal.go       running a statement, rows and their limits
//	env.go          what a session tells plans, and its commands (SET, PREPARE, …)
//	view.go         its settings; objects.go and kept.go, what it keeps under names
//	transaction.go  an error, and what it does; block.go, a transaction without a PostgreSQL
//	unit.go         what calls took, and how it is given back
//
// # Flushing
//
// Answers are collected and leave in one write when the client waits for them:
// at ReadyForQuery, at Flush and at an error, but not before everything that has
// already arrived is answered.
//
// # Known gaps
//
// Without an upstream, what only a PostgreSQL can answer is refused with 0A000: SQL
// cursors, COPY, LISTEN and the function call protocol need one. A statement with its
// text (Query, Parse), a Bind of a statement with calls and a row for which calls run
// are in memory as a whole.
package frontend
