// Package wire reads and writes the messages of the PostgreSQL protocol, version 3
// (https://www.postgresql.org/docs/current/protocol-message-formats.html). It does no I/O of its own,
// keeps no state of a session, and nothing in it is safe for concurrent use.
//
//	input.go    what was read from a client, cut into frames
//	body.go     the fields of one message
//	decode.go   a whole message of a client's, decoded once
//	output.go   messages to a client, collected until they are written
//	frames.go   frames that pass through: their length, and what they say
//	txstate.go  the state of a transaction, and what ReadyForQuery tells of it
//	rows.go     descriptions and rows of an upstream; parameters for it
//	formats.go  text and binary
//	text.go     client encodings
package wire
