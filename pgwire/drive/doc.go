// Package drive serves the clients of sessions: it reads, lets the session answer what is there, writes, and waits,
// by an event loop where the system has one, else by a goroutine for each. It knows neither what is said nor what a
// session is, except for the Machine that it drives.
//
//	machine.go  what is driven: Machine; Source, a second connection that answers the same client
//	client.go   the connection to a client: what was read, what is to be written; ending it from other goroutines:
//	            Stop, Hurry, HangUp, Cancel
//	run.go      the way of the answers, by a goroutine; reading, and what becomes of a client that is gone, silent or
//	            told to stop
//	loop.go     sessions that wait without a goroutine
//	wait.go     waiting for something else, while the client may leave or a statement may be cancelled
//	workers.go  goroutines for what the loop may not do
package drive
