package identity

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/sqlfuncs/pgerr"
)

// MaxResponseBytes is the length of the longest message of a client that has not
// authenticated, as the protocol counts it: without the type.
const MaxResponseBytes = 10000

// maxSASLBytes is PG_MAX_SASL_MESSAGE_LENGTH, counted likewise.
const maxSASLBytes = 1024

// awaitedSASL is PostgreSQL's name for every message of a SASL exchange.
const awaitedSASL = "SASL"

const (
	mechanismSCRAM = "SCRAM-SHA-256"
	mechanismPlus  = "SCRAM-SHA-256-PLUS" // bound to the TLS channel
)

// Step is what the server does next: send Messages, in one write, and then, if
// not Done, wait for the client's next message.
type Step struct {
	Messages []pgproto3.BackendMessage
	// Done: the client is who Exchange.Identity says; the last of Messages is
	// AuthenticationOk.
	Done bool
}

// Exchange is the authentication of one connection; see the package comment for
// how to drive it. It belongs to one goroutine.
//
// Every error is a *pgerr.Error of severity FATAL, to be sent before the
// connection is closed. Its Cause never holds a secret.
type Exchange struct {
	id      Identity
	channel Channel
	certMap *CertMap
	cred    *credential
	doomed  error // why this exchange must fail, whatever the client proves
	scram   scramServer

	// decides: the next step says whether the client is let in.
	decides bool
	start   func() (Step, error)
	// respond takes the client's next message; nil when none is expected.
	respond func(body []byte) (Step, error)
	// awaited is PostgreSQL's name for that message.
	awaited string
	done    bool
}

// Start says what to send first. It is to be called once.
func (x *Exchange) Start() (Step, error) {
	start := x.start
	if start == nil {
		return Step{}, errOutOfTurn()
	}
	x.start = nil
	return start()
}

// Respond takes the next message of the client, its type and body, and says what
// to send then. It keeps no part of body.
func (x *Exchange) Respond(typ byte, body []byte) (Step, error) {
	respond := x.respond
	x.respond = nil // whatever happens, no message is judged twice
	switch {
	case respond == nil:
		return Step{}, errOutOfTurn()
	case typ != 'p':
		return Step{}, fatalProtocol("expected %s response, got message type %d", x.awaited, typ)
	case len(body)+4 > x.Limit():
		if err := x.Unreadable(); err != nil {
			return Step{}, err
		}
		return Step{}, fatalProtocol("invalid message length")
	}
	return respond(body)
}

// Decides says whether the next step, Start or Respond, judges what the client has shown of
// a secret: a front end may let it wait, so that nobody tries many.
func (x *Exchange) Decides() bool { return x.decides }

// Limit is the greatest length of the message that is awaited, as the protocol counts it.
func (x *Exchange) Limit() int {
	if x.awaited == awaitedSASL {
		return maxSASLBytes
	}
	return MaxResponseBytes
}

// Unreadable is what a client is told whose message is longer than Limit, has a length
// that cannot be, or is cut short; nil: nothing, as in PostgreSQL.
func (x *Exchange) Unreadable() error {
	if x.awaited != awaitedSASL {
		return nil
	}
	_, err := x.fail(errUnreadable)
	return err
}

// Identity is who the client is. Before a Step was Done it is the zero value.
func (x *Exchange) Identity() Identity {
	if !x.done {
		return Identity{}
	}
	return x.id
}

func (x *Exchange) accept() (Step, error) { return x.acceptAfter() }

func (x *Exchange) acceptAfter(messages ...pgproto3.BackendMessage) (Step, error) {
	x.done = true
	return Step{Messages: append(messages, &pgproto3.AuthenticationOk{}), Done: true}, nil
}

// ask sends m and waits for an answer of the kind that awaited names.
func (x *Exchange) ask(m pgproto3.BackendMessage, awaited string, respond func([]byte) (Step, error)) (Step, error) {
	x.awaited, x.respond, x.decides = awaited, respond, false
	return Step{Messages: []pgproto3.BackendMessage{m}}, nil
}

// askLast sends m and waits for the answer that decides.
func (x *Exchange) askLast(m pgproto3.BackendMessage, awaited string, respond func([]byte) (Step, error)) (Step, error) {
	step, err := x.ask(m, awaited, respond)
	x.decides = true
	return step, err
}

// fail gives the one answer to every wrong name and every wrong password, so that
// it tells nobody which of them was wrong. The log may know.
func (x *Exchange) fail(why error) (Step, error) {
	e := pgerr.Fatalf(codes.InvalidPassword, "password authentication failed for user \"%s\"", x.id.User)
	e.Cause = why
	return Step{}, e
}

var (
	errWrongPassword = errors.New("wrong password")
	errUnreadable    = errors.New("a SASL response of a length that cannot be, or cut short")
	errUnknownUser   = errors.New("no such user")
	errNoSecret      = errors.New("the user has no password")
)

// --- cleartext ---

func (x *Exchange) refuseCleartext() (Step, error) {
	return Step{}, pgerr.Fatalf(codes.InvalidAuthorizationSpecification,
		"cleartext password authentication is offered over TLS only").
		WithHint("Connect with sslmode=require or stronger.")
}

func (x *Exchange) askPassword() (Step, error) {
	return x.askLast(&pgproto3.AuthenticationCleartextPassword{}, "password", x.checkPassword)
}

func (x *Exchange) checkPassword(body []byte) (Step, error) {
	// A string with its terminator and nothing after it.
	if bytes.IndexByte(body, 0) != len(body)-1 || len(body) == 0 {
		return Step{}, fatalProtocol("invalid password packet size")
	}
	password := string(body[:len(body)-1])
	if password == "" {
		return Step{}, pgerr.Fatalf(codes.InvalidPassword, "empty password returned by client")
	}
	// Hashed for every user, listed or not, so that all take the same time.
	right := x.cred.verify(password)
	switch {
	case x.doomed != nil:
		return x.fail(x.doomed)
	case !right:
		return x.fail(errWrongPassword)
	}
	x.id.Password = newSecret(password)
	return x.acceptAfter()
}

// --- SASL ---

func (x *Exchange) offerSASL() (Step, error) {
	offer := &pgproto3.AuthenticationSASL{AuthMechanisms: []string{mechanismSCRAM}}
	if x.channel.EndPoint != nil {
		offer.AuthMechanisms = []string{mechanismPlus, mechanismSCRAM} // the best one first
	}
	return x.ask(offer, awaitedSASL, x.saslInitialResponse)
}

// saslInitialResponse takes the first message: the mechanism and, usually, the
// mechanism's first message with it.
func (x *Exchange) saslInitialResponse(body []byte) (Step, error) {
	mechanism, rest, ok := bytes.Cut(body, []byte{0})
	if !ok {
		return Step{}, fatalProtocol("invalid string in message")
	}
	x.scram.channel = &x.channel
	x.scram.plus = string(mechanism) == mechanismPlus && x.channel.EndPoint != nil
	if string(mechanism) != mechanismSCRAM && !x.scram.plus {
		return Step{}, fatalProtocol("client selected an invalid SASL authentication mechanism")
	}
	if len(rest) < 4 {
		return Step{}, fatalProtocol("insufficient data left in message")
	}
	n, data := int32(binary.BigEndian.Uint32(rest)), rest[4:]
	absent := n == -1
	switch {
	case absent && len(data) > 0, n >= 0 && len(data) > int(n):
		return Step{}, fatalProtocol("invalid message format")
	case absent:
		// The first message was kept back: an empty challenge asks for it.
		return x.ask(&pgproto3.AuthenticationSASLContinue{}, awaitedSASL, x.scramFirst)
	case n < 0 || len(data) < int(n):
		return Step{}, fatalProtocol("insufficient data left in message")
	}
	return x.scramFirst(data)
}

func (x *Exchange) scramFirst(body []byte) (Step, error) {
	message, err := saslText(body)
	if err != nil {
		return Step{}, err
	}
	challenge, err := x.scram.first(message, x.cred)
	if err != nil {
		return Step{}, err
	}
	return x.askLast(&pgproto3.AuthenticationSASLContinue{Data: []byte(challenge)}, awaitedSASL, x.scramFinal)
}

func (x *Exchange) scramFinal(body []byte) (Step, error) {
	message, err := saslText(body)
	if err != nil {
		return Step{}, err
	}
	signature, right, err := x.scram.final(message, x.cred)
	switch {
	case err != nil:
		return Step{}, err
	case x.doomed != nil:
		return x.fail(x.doomed)
	case !right:
		return x.fail(errWrongPassword)
	}
	return x.acceptAfter(&pgproto3.AuthenticationSASLFinal{Data: []byte(signature)})
}

// saslText is a SCRAM message as text: some, and without NUL.
func saslText(body []byte) (string, error) {
	switch {
	case len(body) == 0:
		return "", malformed("The message is empty.")
	case bytes.IndexByte(body, 0) >= 0:
		return "", malformed("Message length does not match input length.")
	}
	return string(body), nil
}

func fatalProtocol(format string, args ...any) *pgerr.Error {
	return pgerr.Fatalf(codes.ProtocolViolation, format, args...)
}

// errOutOfTurn is for a front end that does not keep to the steps.
func errOutOfTurn() *pgerr.Error {
	return pgerr.Fatalf(codes.Internal, "authentication message out of turn")
}
