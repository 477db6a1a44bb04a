// Package clientsql knows the catalogue queries that drivers send by themselves and that
// package catalog cannot evaluate: they need more of SQL than is there, or their texts are not
// this project's to keep. It is data, answers.sql: a query is answered if its text is known
// there, by another query, with the same answer, that package catalog evaluates.
//
//	answers.sql   the queries and what answers them
//	answers.go    reading it
//	index.go      finding the answer to a statement
//	fold.go       lists of literals, whatever their length
//
// # answers.sql
//
// A paragraph is an answer:
//
//	-- the client, its version, and what makes it ask
//	-- varies 0
//	SELECT t.oid, typarray FROM pg_type t WHERE t.typname = 'jsonb'
//	-- answer
//	SELECT oid, typarray FROM pg_type WHERE typname = ANY ($1)
//
// The first query is the client's, as it was sent. It is known by its normalised words (see
// sqltext.Text.Normalise): white space, comments and case do not matter. Its literals are
// constants, except those whose places are listed behind varies: each of them is a
// parameter of the query behind answer, as an array of what the client wrote.
//
// Literals are counted from 0 in the order of the text. Those separated by nothing but
// commas count as one, as in IN ('r', 'v'), and so do the literals at the same place of
// parenthesised groups, as in VALUES ('a', 1), ('b', 2). A minus sign before a number that
// starts an expression belongs to the literal.
//
// # Where the queries come from
//
// Every text here, and in the tests of package catalog, was captured on the wire: an installed
// client ran against a PostgreSQL 15 behind a program that writes down what it is sent. A text
// is not copied from a client's source, and what no client was seen to send is not here.
//
// Some clients cannot be run where this is developed, and their texts are not this project's
// to keep; Npgsql is one. A digest stands in the place of such a text: it recognises the
// statement and says nothing of it. It is the SHA-256 of the folded text and of the literals that
// are constant. The digests of Npgsql are not of captured statements, but of those that the
// sources of its releases 6.0.0 to 10.0.3 make.
//
// # Adding an answer
//
// Capture the SQL (log_statement = 'all' shows it) and put it into
// catalog/testdata/queries.sql: if the test there passes, that is all. Else add a paragraph here
// and run the tests of this package. They run the client's query on a PostgreSQL and compare the
// columns and the rows with those of the answer. For a text that cannot be kept,
//
//	go test ./planner/clientsql -run DigestOfAFile -v -args -statement /tmp/types.sql
//
// prints the digests of the statements in a file, and their literals with their places;
// `-varying 8` leaves those of place 8 out of the digest.
package clientsql
