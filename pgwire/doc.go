// Package pgwire serves clients over the PostgreSQL protocol, version 3
// (https://www.postgresql.org/docs/current/protocol.html).
//
// # Layers, by file
//
//	server.go       accepting, the table of sessions, cancel requests, the end
//	startup.go      from the first byte to ReadyForQuery; tls.go, secure connections
//	login.go        who a client is; authquery.go, users that the upstream knows;
//	                throttle.go, whose turn it is to be judged; entrance.go, how many log in at once
//	session.go      the driver of a session: reading, writing, planning, waiting
//	step.go         the fast path: answers the frames that are there, without I/O
//	eventloop.go    sessions that wait without a goroutine; workers.go, goroutines for
//	                what they cannot do then
//	query.go        the simple query
//	extended.go     Parse, Bind, Describe, Execute, Close, Sync
//	portal.go       running a statement, rows and their limits
//	kept.go         how much a session may keep under names; taken.go, names in use on either side
//	env.go          what a session tells plans, and its commands (SET, PREPARE, …)
//	transaction.go  the states of a transaction
//	frame.go        messages in; answer.go, messages out; text.go, encodings
//	upstream.go     the PostgreSQL behind: greeting clients as it does; opening.go, opening it
//	                in time, and in which scope; processids.go, the ids that clients are told;
//	                greeting.go, how much it may say; reach.go, whether it can be had, for
//	                the log; try.go, what is tried before clients come
//	route.go        what of a client's messages is ours; route_text.go, which texts are
//	turn.go         when ours has its turn; facts.go, what it depends on
//	relay.go        the way there and back; polling.go, the same by an event loop;
//	                account.go, what is owed
//	long.go         messages that pass while they arrive
//	held.go         BEGIN while the upstream is not open
//	stale.go        portals of ours there, closed before anything else runs
//	mixed.go        statements that both have a part in; batch.go, several in one query; reported.go, what it changed
//	probe.go        what such a statement means; mixed_rows.go, its rows
//	prepare.go      SQL's PREPARE and EXECUTE of such statements
//	exchange.go     what the session says to the upstream by itself
//	series.go       messages of ours up to a Sync, in step with the client's own
//	auth/           who a client is; settings/, run-time parameters; poll/, the loop
//	wiretest/       the runner of wire scripts, for tests
//
// # The life of a connection
//
// Serve accepts it and gives it a goroutine, serveConn, which owns everything in
// the session until it parks it. startup answers the requests before the start-up packet, asks the
// policy who the client is, and greets it. Then run lets step answer what has
// arrived. step never blocks: a text that is not planned yet, a call that must
// wait for a backend, a full output buffer or an empty input buffer end it with
// a verdict, on which run does the blocking work and comes back. When it waits for its
// client it is parked with an event loop, if it can be: the loop owns it then, calls
// step when there is input, and hands it to a goroutine for what may wait. A session ends
// when its client says so or is gone, when it breaks the protocol, when it
// panics (alone), or with the server.
//
// # Flushing
//
// Answers are collected and leave in one write when the client waits for them:
// at ReadyForQuery, at Flush and at an error, but not before everything that has
// already arrived is answered.
//
// # Cancellation
//
// Whoever ends what: a call that waits has a context of its own, which a cancel
// request, the statement timeout, the end of the server or the end of the client
// cancels; the loop, or a goroutine that reads ahead while a call waits, notices the last of
// these, and the session waits for that goroutine before it goes on. Serve waits for all
// sessions.
//
// # Known gaps
//
// Without an upstream, what only a PostgreSQL can answer is refused with 0A000: SQL
// cursors, COPY, LISTEN and the function call protocol need one. A statement with its
// text (Query, Parse), a Bind of a statement with calls and a row for which calls run
// are in memory as a whole.
package pgwire
