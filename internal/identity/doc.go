// Package identity decides who a client is. An exchange does no I/O: the front end moves the
// bytes, this package says what to send and judges what came back.
//
//	x := policy.Begin(user, channel, nil)
//	step, err := x.Start()
//	for err == nil {
//		send(step.Messages)
//		if step.Done {
//			return x.Identity()
//		}
//		typ, body := receive()
//		step, err = x.Respond(typ, body)
//	}
//	fail(err) // always FATAL; Cause, for the log, says why
//
// # Where things are
//
//	policy.go    Policy: what is asked of whom; Identity: the result
//	exchange.go  Exchange: one connection's authentication, message by message
//	channel.go   what an exchange runs over, and how it is bound to that
//	scram.go     the server side of SCRAM-SHA-256 and SCRAM-SHA-256-PLUS
//	verifier.go  verifiers: making, reading, checking a password against one
//	saslprep.go  the form of a password that is hashed
//	users.go     the users file
//	cert.go      client certificates, and whose they are
//	authquery.go users that a PostgreSQL knows. A role that is expired is kept out by the
//	             operator's query: see auth_query in docs/operations.md
//	throttle.go  whose turn it is to be judged, when others of its network failed
//
// Messages, details and SQLSTATEs are PostgreSQL's: auth.c, auth-sasl.c and
// auth-scram.c of release 15, and the tests compare them with a running server.
//
// # Why the SCRAM server is written here
//
// xdg-go/scram was looked at first; the tests use it as an independent client.
// Its server does not serve here: it parses and obeys the user name and the
// authorization identity in the client's message, which PostgreSQL ignores and
// refuses; it takes a nonce of any bytes; its errors do not tell what was
// malformed, so that the details that PostgreSQL sends could not be sent; and they
// quote the client's message, which may carry what must not be logged.
package identity
