// Package differential has one test. It runs each statement of a corpus on a PostgreSQL
// where PL/pgSQL functions stand in for the functions of the proxy and tell of every
// call, under several plans of PostgreSQL's own, and then through the proxy in front of
// an equal database. What the proxy answers has to be what PostgreSQL answers, and a call
// that PostgreSQL makes under none of these plans may not be made.
//
//	corpus_test.go, generate_test.go   the statements, and how they are written down
//	script_test.go                     runs a statement, and keeps what was answered
//	standin_test.go, testdata          PostgreSQL with the stand-ins; the plans
//	proxied_test.go                    the proxy, and a store that counts
//	judge_test.go                      compares the two
//	differential_test.go               the test and its report
//
// To try some statements only, and to see what was refused:
//
//	go test ./internal/differential -run 'Test/guards' -v
//	go test ./internal/differential -run Test -match 'NOT EXISTS' -v
package differential
