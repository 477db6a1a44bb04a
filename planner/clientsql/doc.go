// Package clientsql holds the answers to the catalogue queries that drivers send by
// themselves and that package catalog cannot evaluate: their texts are not this project's to keep,
// or they need more of SQL than is there. It is data, not an engine: a query is answered
// if its text is known here, and no other is.
//
// The answers are those of PostgreSQL 15 in a database in which nobody has created
// anything. A test compares every one of them with a real server.
//
// # How a query is recognised
//
// A statement is reduced to its normalised words (see sqltext.Text.Normalise):
// white space, comments, case and the values of literals no longer matter. An
// [Index] finds the answers of that text, and picks the one whose literals are
// the client's. In [Answer.SQL] a literal is a constant, which the client must
// send as it stands, unless the answer lists it as Free (any one value) or Lists
// (one value or more, separated by commas, as in IN ('r', 'v')):
//
//	Answer{
//		SQL:  "SELECT t.oid, typarray FROM pg_type t WHERE t.typname = 'jsonb'",
//		Free: []int{0}, // any type's name
//		…
//	}
//
// Literals are counted from 0 in the order of the text; those separated by
// nothing but commas count as one, and so do the literals at the same place of
// parenthesised groups, as in VALUES ('a', 1), ('b', 2). A minus sign before a
// number that starts an expression belongs to the literal.
//
// # Where the queries come from
//
// Every text here, and in the tests of package catalog, was captured on the wire: an installed client ran against a
// PostgreSQL 15 behind a program that writes down what it is sent.
// [Answer.Source] names the client, its version and the occasion. A text is not
// copied from a client's source, and what no client was seen to send is not here.
//
// Some clients cannot be run where this is developed, and their texts are not
// this project's to keep; Npgsql is one. An answer may have a Digest in the place of the SQL: it
// recognises the statement and says nothing of it. The digest is the SHA-256 of the
// folded text and of the literals that are constant. The result is this project's: the tests
// compare it with that of plain queries.
//
// The digests of Npgsql are not of captured statements, but of those that the sources
// of its releases 6.0.0 to 10.0.3 make. Whoever runs another version captures its
// batch (log_statement = 'all' shows it), puts it in a file and has the digests
// printed:
//
//	go test ./planner/clientsql -run DigestOfAFile -v -args -statement /tmp/types.sql
//
// The same prints the literals with their places, for Lists and Free; `-varying 8`
// leaves those of place 8 out of the digest.
//
// # Adding an answer
//
// Capture the SQL and put it into catalog/testdata/queries.sql: if the test there passes,
// that is all. Else the place for it is here, one file a client: name the client and its
// version in Source, and run the tests, which print what PostgreSQL says of its columns.
package clientsql
