// Package sqltext looks at SQL without parsing it. It takes any bytes, never fails, and
// its time is linear, so it is what sees the text of a client first.
//
// A Text is read once, and all others go through its tokens. Only MayCommit, ExecuteAs and
// Portable take plain strings, of which there is no Text any more, and read them again.
//
//	text.go        Text: SQL and its tokens
//	lexer.go       PostgreSQL's rules of what a token is
//	statement.go   the statements of a text, and what they are about
//	mention.go     whether a text could be about the proxy at all, by its bytes
//	command.go     what the first words of a text say: transactions, EXECUTE, CALL
//	shape.go       a text without the literals of its calls: which literal is a value
//	normalise.go   a text without what does not matter, for clientsql
//	portable.go    a text that is the same under both standard_conforming_strings
//	name.go, quote.go, number.go
//	               folding, quoting and cutting of names; numbers of later versions
package sqltext
