// Package wiretest runs wire scripts: text files that say what a client sends
// over the PostgreSQL protocol and what the server answers, message by message.
// The same script runs against the proxy and against a real PostgreSQL.
//
//	wiretest.RunDir(t, "../testdata/wire/embedded", newTarget)
//
// A script is a [datadriven] file; go test -rewrite writes what the server
// answered as the new expectation. The runner also checks the protocol itself:
// a frame that is too short or too long, a message out of place, a row whose
// columns do not fit its description, a second ReadyForQuery or a missing one
// fail the test whatever is expected.
//
//	go test ./pgwire/wiretest -run TestSameOnPostgres/portals [-v] [-rewrite]
//
// RunTable runs the rows of a Markdown table likewise: docs/malformed.md.
//
// # Commands
//
//	server locks=off auth=scram     options for NewTarget; before the first connection
//	connect [user=alice] [database=shop] [password=p] [protocol=3.2] [options=(-c a=b)] [name=value]…
//	                                start-up; every other argument, and every input line
//	                                "name value", is a start-up parameter; user=- leaves it out.
//	                                params, params=(TimeZone,…) show ParameterStatus; tls; gs2=y
//	query                           one Query message, the input as it stands
//	extended                        one message a line or between ";", all in one write:
//	    P s1 'select $1' int8,text  Parse: [statement] sql [parameter types]
//	    B p1 s1 (1, NULL) result=(b)  Bind: [portal statement] [(parameters)] [formats=(…)] [result=(…)]
//	    D S s1; D P p1; D P         Describe; also C S s1; C P p1 (Close)
//	    E p1 2; E; E 2              Execute: [portal] [maximum of rows]
//	    H; S; X; Q 'select 1'       Flush, Sync, Terminate, Query
//	    F 952 (oid(7), int4(1))     FunctionCall by OID, with a binary result
//	    d "1\n"; c; f "why"         CopyData, CopyDone, CopyFail
//	async; extended async           as query and extended, without waiting for the answer
//	await [read=A]                  what is owed; or what comes unprompted, up to a message of that type
//	raw [tls]                       a TCP connection without start-up
//	send [read=Z|ZZ|E|byte|close|raw|none]  frames by hand, one a line, unchecked:
//	    Q cstr("select 1")          a type, the values of its body; the length is computed
//	    Q len=3 int4(7) "abc"       … or given
//	    startup int4(196608) cstr("user") cstr("alice") byte(0)   a frame without a type
//	    bytes x'00ff'               bytes as they are
//	cancel [once] [key=wrong] [after=ssl|gss]  a CancelRequest for the connection,
//	                            repeated until what runs is answered, or once
//	close [abrupt]                  Terminate, and wait for the server to hang up; or just hang up
//	advance 5s; fault ARGS…         the target's clock and faults
//	mask token                      as the argument mask, for the rest of the script
//
// Every command takes conn=NAME (default a). Quoted text is 'as in SQL' or
// `likewise` (both may span lines; a doubled quote is one) or "with Go escapes"; ""
// is the unnamed statement or portal. Bare parameters are sent as text; x'002a',
// int2(1), int4(1), int8(1), bool(t), text("x") and jsonb("1") as binary; length(-2)
// is a length without a value; 7*100 is a hundred of them. With an H at the end the
// runner waits for what is owed up to it; with neither S, Q, F nor H it does not wait.
// Where the server asks for the data of a COPY and the command does not end it, the
// runner waits for the next command.
//
// Arguments of query, extended, await and send: oids (all fields of a row
// description), fields (all fields of an error but file, line, routine), brief (cut
// long lines, count rows and CopyData beyond three), hide=S (leave out messages of these types),
// chunk=N (write N bytes at a time), mask=token (16-digit tokens and 13-digit
// milliseconds), mask=/regexp/, let=tok:token or let=tok:2:token (column token of
// row 2 becomes $tok in later input and is shown as $tok; also by its number).
// $repeat(1999,", 1") in input is text repeated.
//
// # Answers
//
// One line a message, its type first: T name:type (name:type/b for binary), D
// [t 'text' 42 NULL b:42], C tag, Z status, t parameter types, S name=value,
// E severity sqlstate 'message' detail= hint= position=, A from=own or from=other (by the
// process id of start-up) 'channel' 'payload', G and H and W format [column formats], V
// [value], R kind, v version [options], closed when the server hung up. The OID of what
// users made is shown as custom.
//
// [datadriven]: https://pkg.go.dev/github.com/cockroachdb/datadriven
package wiretest
