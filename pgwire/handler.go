package pgwire

import (
	"time"

	"raisinproxy/pgwire/drive"
	"raisinproxy/pgwire/login"
	"raisinproxy/pgwire/wire"
	"raisinproxy/planner/plan"
	"raisinproxy/planner/rewrite"
	"raisinproxy/sqlfuncs/datum"
)

// handler is what a session does otherwise with a PostgreSQL behind it (proxied) than without
// one (embedded). It is chosen once, when the session is made, and owns the state of the transaction.
// Everything in it is called by the session's owner.
type handler interface {
	// begin is the end of the start-up: it applies the client's parameters, or opens the upstream.
	begin(guest *login.Guest) error
	// reportGreeting tells the client the settings that it begins with.
	reportGreeting()
	// processID is the id that the client is told; 0: one is to be made up.
	processID() int32

	// before says what stands before any frame; ourTurn: nothing.
	before() drive.Verdict
	// partial looks at a frame that has not arrived as a whole.
	partial() drive.Verdict
	// dispatch answers one frame. needInput means that it is done.
	dispatch(m *wire.Message) drive.Verdict
	// consult does what stands between a frame and its answer. If it says false the session is over.
	consult(v drive.Verdict) bool

	transactionState() wire.TxState
	// ensureTransaction begins an implicit transaction if there is none; endImplicit commits it.
	ensureTransaction()
	endImplicit()
	// abortTransaction is what an error does to the transaction.
	abortTransaction()
	// controlTransaction runs a transaction command and returns its tag; "": it was sent.
	controlTransaction(st *plan.Statement, t *plan.Transaction) (tag string, err error)
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
	refuses(st *plan.Statement) error
	// turnToAsk is ourTurn if the upstream can be asked now what a statement means; probe asks it.
	turnToAsk() drive.Verdict
	probe(st *plan.Statement, declared []datum.Type) (*plan.Statement, error)
	// openExecute makes a portal of an EXECUTE one of the statement that it names, if it has to be.
	openExecute(p *portal) error
	// runSplit runs a portal of a statement that both sides have a part in, prepareSplit is SQL's PREPARE of one.
	runSplit(p *portal, maxRows int, describe bool) error
	prepareSplit(st *plan.Statement, a *rewrite.PrepareSplit) error
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

	// source is the connection whose answers go to the client by themselves.
	source() drive.Source
	// giveUp ends the session because the upstream has gone, or cannot be had.
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
