// Package pgparse is PostgreSQL's parser behind its bounds. The parser is C: a stack that
// overflows in it ends the process, and it cannot be interrupted. So nothing else may call it.
//
//	limits.go      what it may see, and why: 54001, "statement too complex"
//	nesting.go     how deep and how high a text is, without parsing
//	writer.go      the text that it gets, which differs from the user's in places
//	parse.go       Parse: the statements of a text, USE BRANCH among them
//	errors.go      its errors, with the codes and hints that it leaves out
//	positions.go   from places in the parse tree back to the user's text
package pgparse
