// Package catalog answers queries over the system catalogues of an embedded server, behind
// which there is no PostgreSQL: what drivers and tools ask for by themselves, whatever
// words they ask in.
//
// The catalogues are those of PostgreSQL 15 in a database in which nobody has created
// anything (catalogue.tsv), with the product's own functions, the session's database, user
// and settings. A query is evaluated over them if every part of it is known here: Compile
// refuses it otherwise, with the code 0A000. What is answered is what PostgreSQL answers,
// columns, types and errors included: a test runs the queries of testdata/queries.sql here
// and there.
//
// It is an evaluator for small tables: joins are nested loops, which an index speeds up
// where a column equals something that is known, and a query that looks at too many rows
// is refused.
//
//   - data.go, catalogue.tsv, relation.go: the catalogues; session.go: what they show of a
//     session; types.go, proc.go, regtype.go: types and functions by name and OID;
//     keywords.go, keywords.txt: the words of pg_get_keywords()
//   - query.go, aggregate.go, sublink.go: SELECT and its clauses
//   - from.go, column.go: what stands in FROM, and its columns; scan.go, join.go,
//     condition.go: how its rows are found
//   - expr.go, operator.go, function.go, pattern.go: expressions
//   - cast.go, array.go, formattype.go: values and their text
//
// A driver's query that is not answered is added to testdata/queries.sql; the test says
// what is missing.
package catalog
