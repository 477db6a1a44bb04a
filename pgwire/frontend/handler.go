package frontend

import (
	"context"
	"time"

	"raisinproxy/pgwire/drive"
	"raisinproxy/pgwire/login"
	"raisinproxy/pgwire/wire"
	"raisinproxy/planner/plan"
	"raisinproxy/planner/rewrite"
	"raisinproxy/sqlfuncs/datum"
)

// Handler is what a session does otherwise with a PostgreSQL behind it (proxied) than without
// one (embedded). It is chosen once, when the session is made, and owns the state of the transaction.
// Everything in it is called by the session's owner.
type Handler interface {
	// Begin is the end of the start-up: it applies the client's parameters, or opens the upstream.
	Begin(guest *login.Guest) error
	// ReportGreeting tells the client the settings that it begins with.
	ReportGreeting()
	// ProcessID is the id that the client is told; 0: one is to be made up.
	ProcessID() int32

	// Before says what stands before any frame; OurTurn: nothing.
	Before() drive.Verdict
	// Partial looks at a frame that has not arrived as a whole.
	Partial() drive.Verdict
	// Dispatch answers one frame. NeedInput means that it is done.
	Dispatch(m *wire.Message) drive.Verdict
	// Consult does what stands between a frame and its answer. Its error is for GiveUp.
	Consult(v drive.Verdict) error

	TransactionState() wire.TxState
	// EnsureTransaction begins an implicit transaction if there is none; EndImplicit commits it.
	EnsureTransaction()
	EndImplicit()
	// AbortTransaction is what an error does to the transaction.
	AbortTransaction()
	// ControlTransaction runs a transaction command and returns its tag; "": it was sent.
	ControlTransaction(st *plan.Statement, t *plan.Transaction) (tag string, err error)
	// TellBlock is called when what the calls of the open block took has changed.
	TellBlock()
	// AnswerFailure answers an error that only the handler understands, and says whether it was one.
	AnswerFailure(err error) bool

	// RefreshSettings derives what depends on settings.
	RefreshSettings()
	// BeforeCall makes sure of the settings amid a statement. The context that it gives ends with the session, too, if the call may
	// wait; end must be called after the call.
	BeforeCall(ctx context.Context) (bound context.Context, end func())
	// ReportSettings tells the client which settings have changed.
	ReportSettings()
	StatementTimeout() time.Duration

	// Refuses is what is wrong with a statement in this mode.
	Refuses(st *plan.Statement) error
	// Probe asks the upstream what a statement means.
	Probe(st *plan.Statement, declared []datum.Type) (*plan.Statement, error)
	// OpenExecute makes a portal of an EXECUTE one of the statement that it names, if it has to be.
	OpenExecute(p *Portal) error
	// RunSplit runs a portal of a statement that both sides have a part in, PrepareSplit is SQL's PREPARE of one.
	RunSplit(p *Portal, maxRows int, describe bool) error
	PrepareSplit(st *plan.Statement, a *rewrite.PrepareSplit) error
	// CheckStatement and CheckPortal refuse a name if the upstream has one of it.
	CheckStatement(name string) error
	CheckPortal(name string) error
	// ShadowStatement and ShadowPortal note that an unnamed one takes the place of the upstream's.
	ShadowStatement()
	ShadowPortal()
	// ForgetUnnamed drops the unnamed statement and portal, as every simple query does.
	ForgetUnnamed()
	// ClosePortal closes what the upstream has of a portal.
	ClosePortal(p *Portal)

	// Source is the connection whose answers go to the client by themselves.
	Source() drive.Source
	// GiveUp ends the session because the upstream has gone, or cannot be had.
	GiveUp(err error)
	// Settle lets what is under way be answered before the session ends, LastStatement before the server does.
	Settle()
	LastStatement()
	HangUpUpstream()
}
