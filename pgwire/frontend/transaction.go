package frontend

import (
	"time"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/pgwire/wire"
	"raisinproxy/sqlfuncs/pgerr"
)

// transaction is what a session notes of its transaction beside the state, which the handler
// owns (TxState). Without an upstream there is nothing to undo except settings; the states,
// warnings and errors are PostgreSQL's all the same, since drivers and pools live by them.
type transaction struct {
	// batch: statements share an implicit transaction, in which some commands may
	// not run that may run alone.
	batch bool
	// Pipelined: a statement of the pipeline has run already.
	Pipelined  bool
	savepoints []string
	started    time.Time // zero: nobody asked yet
	now        time.Time // start of the statement; zero likewise
}

// TxState is the state of the session's transaction, whose one owner is the handler.
func (s *Session) TxState() wire.TxState { return s.Handler.TransactionState() }

// BeginImplicit makes sure that there is a transaction.
func (s *Session) BeginImplicit() {
	s.Tx.now = time.Time{}
	s.Handler.EnsureTransaction()
}

// EndPortals drops every portal.
func (s *Session) EndPortals() {
	s.dropNamedPortals()
	s.Objects.UnnamedPortal.State = PortalAbsent
}

// Fail answers an error, which aborts the transaction.
func (s *Session) Fail(err error) {
	if s.Client.IsGone {
		s.Over = true
		return
	}
	if s.Handler.AnswerFailure(err) {
		return
	}
	e := *pgerr.From(err)
	e.Detail = WithDetail(e.Detail, s.UndoUnit())
	s.Report(&e)
	s.Over = s.Over || e.Severity == pgerr.SeverityFatal
	s.Handler.AbortTransaction()
}

// ErrAborted answers everything in a transaction that has failed.
var ErrAborted = pgerr.Newf(codes.InFailedSQLTransaction, "current transaction is aborted, commands ignored until end of transaction block")

// Warn sends a warning.
func (s *Session) Warn(code codes.Code, text string) {
	s.Report(&pgerr.Error{Severity: pgerr.SeverityWarning, Code: code, Message: text})
}
