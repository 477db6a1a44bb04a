// Package pgwire serves clients over the PostgreSQL protocol, version 3
// (https://www.postgresql.org/docs/current/protocol.html).
//
// # Rooms
//
//	login/          from the first byte of a connection to whose it is
//	drive/          serves a client: reading, waiting, writing, by an event loop or by goroutines
//	upstream/       the connection to a PostgreSQL: what it owes (Ledger), what the proxy says by itself (Conversation)
//	wire/           messages in and out, formats, encodings
//	auth/           who a client is; settings/, run-time parameters; poll/, the loop
//	wiretest/       the runner of wire scripts, for tests
//
// # Files
//
//	server.go       accepting, the table of sessions, cancel requests, the end
//	startup.go      from the log-in to ReadyForQuery
//	session.go      a session, and how it is driven; view.go, its settings; objects.go and kept.go, what it keeps under names
//	step.go         the fast path: answers the frames that are there, without I/O
//	query.go        the simple query
//	extended.go     Parse, Bind, Describe, Execute, Close, Sync
//	portal.go       running a statement, rows and their limits
//	env.go          what a session tells plans, and its commands (SET, PREPARE, …)
//	transaction.go  an error, and what it does; block.go, a transaction without a PostgreSQL
//	unit.go         what calls took, and how it is given back
//	handler.go      what differs with and without a PostgreSQL: embedded.go, proxied.go
//
// With an upstream:
//
//	upstream.go     greeting clients as it does, and giving it up; opening.go, opening it in time, and in which scope
//	processids.go   the ids that clients are told
//	route.go        what of a client's messages is answered here; route_text.go, which texts are
//	turn.go         when an answer has its turn; callfacts.go, what calls depend on; taken.go, names in use on either side
//	deferredbegin.go  BEGIN while the upstream is not open
//	hold.go         a pipeline in which calls have taken something; commit.go, a COMMIT that fails then; procedures.go,
//	                what may have committed amid it
//	long.go         messages that pass while they arrive
//	pendingcloses.go  the session's portals there, closed before anything else runs
//	split.go        statements that both have a part in; splitrows.go, their rows; certain.go, what they rest on; probe.go,
//	                what they mean; prepare.go, SQL's PREPARE and EXECUTE of them
//	batch.go        several statements in one query; reported.go, what they changed
//	exchange.go     the session as a Conversation sees it; pipeline.go, pipelines that the proxy opened
//
// # The life of a connection
//
// Serve accepts it and gives it a goroutine, serveConn, which owns everything in
// the session until it parks it. startup answers the requests before the start-up packet, asks the
// policy who the client is, and greets it. Then drive lets step answer what has
// arrived. step never blocks: a text that is not planned yet, a call that must
// wait for a backend, a full output buffer or an empty input buffer end it with
// a verdict, on which Serve does the blocking work and comes back. When it waits for its
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
