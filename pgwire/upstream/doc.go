// Package upstream is the connection of a session to the PostgreSQL behind the proxy. It knows nothing of sessions: a
// client is a net.Conn to it, and a Client to whom a Conversation passes on what is the client's.
//
//	server.go        where it is and who connects; connect.go, connecting in time; greeting.go, how much it may say
//	                 then; reach.go, whether it can be had, for the log; try.go, what is tried before clients come
//	conn.go          the way there and back; polling.go, the same by an event loop; account.go, what the session asks
//	                 of its state; amend.go, the error of a COMMIT with more in it; idleread_*.go, reading
//	                 without a buffer for a connection that is idle
//	ledger.go        what is owed, which transaction it is, and whether data of a COPY is waited for; a pure value
//	capture.go       answers that go to the proxy instead of the client
//	conversation.go  what the proxy says by itself; messages.go, its words and names; stream.go, answers as they come;
//	                 kept.go, statements that stay prepared; sessionfacts.go, what is true of a session
//	                 there that calls depend on; errors.go
//	processids.go    what clients were told instead of the ids of its processes
package upstream
