package pgwire

import (
	"time"

	"raisinproxy/pgwire/wire"
	"raisinproxy/planner"
	"raisinproxy/sqlfuncs/datum"
)

// handler is what a session does otherwise with a PostgreSQL behind it (proxied) than without
// one (embedded). It is chosen once, when the session is made, and owns the state of the transaction.
// Everything in it is called by the session's owner.
type handler interface {
	// begin is the end of the start-up: it applies the client's parameters, or opens the upstream.
	begin(parameters []wire.Parameter) error
	// reportGreeting tells the client the settings that it begins with.
	reportGreeting()
	// processID is the id that the client is told; 0: one is to be made up.
	processID() int32

	// before says what stands before any frame; ourTurn: nothing.
	before() verdict
	// partial looks at a frame that has not arrived as a whole.
	partial() verdict
	// dispatch answers one frame. needInput means that it is done.
	dispatch(kind byte, body []byte) verdict
	// consult does what stands between a frame and its answer. If it says false the session is over.
	consult(v verdict) bool

	transactionState() wire.TxState
	// ensureTransaction begins an implicit transaction if there is none; endImplicit commits it.
	ensureTransaction()
	endImplicit()
	// abortTransaction is what an error does to the transaction.
	abortTransaction()
	// controlTransaction runs a transaction command and returns its tag; "": it was sent.
	controlTransaction(st *planner.Statement, t *planner.Transaction) (tag string, err error)
	// tellBlock is called when what the calls of the open block took has changed.
	tellBlock()
	// answerFailure answers an error that only the handler understands, and says whether it was one.
	answerFailure(err error) bool

	// refreshSettings derives what depends on settings; beforeCall makes sure of them amid a statement.
	refreshSettings()
	beforeCall()
	// reportSettings tells the client which settings have changed.
	reportSettings()
	statementTimeout() time.Duration

	// refuses is what is wrong with a statement in this mode.
	refuses(st *planner.Statement) error
	// turnToAsk is ourTurn if the upstream can be asked now what a statement means; probe asks it.
	turnToAsk() verdict
	probe(st *planner.Statement, declared []datum.Type) (*planner.Statement, error)
	// openExecute makes a portal of an EXECUTE one of the statement that it names, if it has to be.
	openExecute(p *portal) error
	// runSplit runs a portal of a statement that both sides have a part in, prepareSplit is SQL's PREPARE of one.
	runSplit(p *portal, maxRows int, describe bool) error
	prepareSplit(st *planner.Statement, a *planner.PrepareMixed) error
	// hasStatement and hasPortal say whether the upstream has one of that name.
	hasStatement(name string) (bool, error)
	hasPortal(name string) (bool, error)
	// shadowStatement and shadowPortal note that an unnamed one takes the place of the upstream's.
	shadowStatement()
	shadowPortal()
	// forgetUnnamed drops the unnamed statement and portal, as every simple query does.
	forgetUnnamed()
	// closePortal closes what the upstream has of a portal.
	closePortal(p *portal)

	// unsent is how many bytes wait for the upstream; flushUpstream writes them, tryFlush as far as it need
	// not wait: if it says false, a goroutine has to do the rest.
	unsent() int
	flushUpstream() error
	tryFlush() bool
	// writeToClient writes between two frames of the upstream's. tryWriteToClient writes what can be written
	// without waiting; not ok: the rest has to wait.
	writeToClient(b []byte) error
	tryWriteToClient(b []byte) (n int, ok bool)
	// mayPark says whether an event loop can serve the session while it waits for its client.
	mayPark() bool
	// lend and takeBack enclose a turn of the loop: a buffer of the loop's is lent.
	lend(buf []byte)
	takeBack(own func([]byte) []byte)

	// isLost says that the upstream has gone; giveUp ends the session for it.
	isLost() bool
	giveUp(err error)
	// settle lets what is under way be answered before the session ends, lastStatement before the server does.
	settle()
	lastStatement()
	hangUpUpstream()
}

var (
	_ handler = (*embedded)(nil)
	_ handler = (*proxied)(nil)
)
