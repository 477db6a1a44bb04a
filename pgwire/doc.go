// Package pgwire serves clients over the PostgreSQL protocol, version 3
// (https://www.postgresql.org/docs/current/protocol.html).
//
// # Rooms
//
//	server.go, cancelkeys.go   accepting, the table of sessions and of the keys that cancel them, the end
//	login/     from the first byte of a connection to whose it is
//	proxied/   a session with a PostgreSQL behind it
//	frontend/  a session as its client sees it, and without one behind
//	drive/     serves a client: reading, waiting, writing, by an event loop or by goroutines
//	upstream/  the connection to a PostgreSQL: what it owes (Ledger), what the proxy says by itself (Conversation)
//	wire/      messages in and out, formats, encodings
//	settings/  run-time parameters; poll/, the loop
//	wiretest/  the runner of wire scripts, for tests
//
// # The life of a connection
//
// Serve accepts it and gives it a goroutine, serveConn, which owns everything in
// the session until it parks it. login has the first byte: it answers the requests before the start-up
// packet, reads that, and asks internal/identity who the client is. From the log-in to the first ReadyForQuery it is
// frontend/startup.go. Then drive lets Session.Step (frontend/step.go) answer what has
// arrived. Step never blocks: a text that is not planned yet, a call that must
// wait for a backend, a full output buffer or an empty input buffer end it with
// a verdict, on which drive does the blocking work or has the session do it, and comes back. When it waits
// for its client it is parked with an event loop of drive's, if it can be: the loop owns it then, calls
// Step when there is input, and hands it to a goroutine for what may wait. A session ends
// when its client says so or is gone, when it breaks the protocol, when it
// panics (alone), or with the server.
//
// # Cancellation
//
// Who ends what: a call that waits has a context of its own, which a cancel
// request, the statement timeout, the end of the server or the end of the client
// cancels; the loop, or a goroutine that reads ahead while a call waits, notices the last of
// these, and the session waits for that goroutine before it goes on. Serve waits for all
// sessions.
package pgwire
