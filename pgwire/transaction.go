package pgwire

import (
	"time"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/pgwire/wire"
	"raisinproxy/sqlfuncs/pgerr"
)

// transaction is the state of a session's transaction. Without an upstream there
// is nothing to undo but settings; the states, warnings and errors are
// PostgreSQL's all the same, since drivers and pools live by them.
type transaction struct {
	// batch: statements share an implicit transaction, in which some commands may
	// not run that may run alone.
	batch bool
	// pipelined: a statement of the pipeline has run already.
	pipelined  bool
	savepoints []string
	started    time.Time // zero: nobody asked yet
	now        time.Time // start of the statement; zero likewise
}

// txState is the state of the session's transaction, whose one owner is the handler.
func (s *session) txState() wire.TxState { return s.handler.TransactionState() }

// beginImplicit makes sure that there is a transaction.
func (s *session) beginImplicit() {
	s.tx.now = time.Time{}
	s.handler.EnsureTransaction()
}

// endPortals drops every portal.
func (s *session) endPortals() {
	s.dropNamedPortals()
	s.objects.unnamedPortal.state = portalAbsent
}

// fail answers an error, which aborts the transaction.
func (s *session) fail(err error) {
	if s.client.IsGone {
		s.over = true
		return
	}
	if s.handler.AnswerFailure(err) {
		return
	}
	e := *pgerr.From(err)
	e.Detail = withDetail(e.Detail, s.undoUnit())
	s.report(&e)
	s.over = s.over || e.Severity == pgerr.SeverityFatal
	s.handler.AbortTransaction()
}

var errAborted = pgerr.Newf(codes.InFailedSQLTransaction, "current transaction is aborted, commands ignored until end of transaction block")

func (s *session) warn(code codes.Code, text string) {
	s.report(&pgerr.Error{Severity: pgerr.SeverityWarning, Code: code, Message: text})
}
