package pgwire

import (
	"errors"
	"time"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/pgwire/upstream"
	"raisinproxy/pgwire/wire"
	"raisinproxy/planner"
	"raisinproxy/sqlfuncs/pgerr"
)

// transaction is the state of a session's transaction. Without an upstream there
// is nothing to undo but settings; the states, warnings and errors are
// PostgreSQL's all the same, since drivers and pools live by them.
type transaction struct {
	// alone is the state while no upstream is open. Nothing but this file reads it: see
	// txState.
	alone wire.TxState
	// batch: statements share an implicit transaction, in which some commands may
	// not run that may run alone.
	batch bool
	// pipelined: a statement of the series has run already.
	pipelined  bool
	savepoints []string
	started    time.Time // zero: nobody asked yet
	now        time.Time // start of the statement; zero likewise
}

// txState is the state of the session's transaction. It has one owner: the upstream as soon
// as that is open, by what its answers tell, and before, or without one, what ran here.
// While the upstream owes answers it is not known: see turn.
func (s *session) txState() wire.TxState {
	if s.up == nil {
		return s.alone
	}
	state := s.up.TxState()
	if state == wire.InBlock && s.mustAbort {
		return wire.FailedBlock // before anything else happens
	}
	return state
}

func (s *session) status() byte {
	switch s.txState() {
	case wire.InBlock:
		return wire.StatusBlock
	case wire.FailedBlock:
		return wire.StatusFailed
	}
	return wire.StatusIdle
}

// beginImplicit makes sure that there is a transaction.
func (s *session) beginImplicit() {
	s.now = time.Time{}
	if s.up == nil && s.alone == wire.NoTransaction {
		s.alone = wire.ImplicitTransaction
		s.started = time.Time{}
		s.vars.Begin()
	}
}

// endImplicit commits what no BEGIN has claimed.
func (s *session) endImplicit() {
	switch {
	case s.up != nil:
		if !s.up.IsOpen() && s.txState() == wire.NoTransaction {
			s.endPortals()
			s.endUnit(false)
		}
	case s.alone == wire.ImplicitTransaction:
		s.endTransaction(true)
	}
}

// endTransaction ends the transaction and with it every portal.
func (s *session) endTransaction(commit bool) {
	if commit {
		s.vars.Commit()
	} else {
		s.vars.Rollback()
	}
	s.alone, s.pipelined = wire.NoTransaction, false
	s.unit.succeed(false)
	s.savepoints = s.savepoints[:0]
	s.endPortals()
}

// endPortals drops every portal.
func (s *session) endPortals() {
	s.dropNamedPortals()
	s.unnamedPortal.state = portalAbsent
}

// abort is what an error does to the transaction.
func (s *session) abort() {
	if s.up != nil {
		inSeries, state := s.up.IsOpen(), s.up.TxState()
		s.mustAbort = inSeries || state == wire.InBlock
		if !inSeries && state == wire.NoTransaction {
			s.endPortals() // what becomes of them else the upstream tells
		}
		return
	}
	switch s.alone {
	case wire.InBlock:
		s.alone = wire.FailedBlock
		s.vars.Fail()
	case wire.ImplicitTransaction:
		s.endTransaction(false)
	}
}

// fail answers an error, which aborts the transaction.
func (s *session) fail(err error) {
	switch {
	case s.torn:
		s.over = true
		return
	case errors.Is(err, upstream.ErrLost), errors.Is(err, errSeriesFailed):
		return // what comes next ends the session, or it has been told
	}
	if theirs, ok := errors.AsType[*upstream.Error](err); ok {
		if !theirs.IsOrdinary() {
			return // its last words, which end the session
		}
		theirs.Response.Detail = withDetail(theirs.Response.Detail, s.text.Best(s.undoUnit()))
		s.out.Message(&theirs.Response)
		s.out.Due = true
		s.abort()
		s.mustAbort = false // it has done so itself
		return
	}
	e := *pgerr.From(err)
	e.Detail = withDetail(e.Detail, s.undoUnit())
	s.report(&e)
	s.over = s.over || e.Severity == pgerr.SeverityFatal
	s.abort()
}

var errAborted = pgerr.Newf(codes.InFailedSQLTransaction, "current transaction is aborted, commands ignored until end of transaction block")

// control runs a transaction command and returns its tag.
func (s *session) control(t *planner.Transaction) (tag string, err error) {
	switch t.Kind {
	case planner.Begin:
		return t.Tag, s.beginBlock(t)
	case planner.Commit:
		return s.commitBlock(t)
	case planner.Rollback:
		return t.Tag, s.rollbackBlock(t)
	}
	if s.alone != wire.InBlock && s.alone != wire.FailedBlock {
		return "", pgerr.Newf(codes.NoActiveSQLTransaction, "%s can only be used in transaction blocks", savepointCommands[t.Kind])
	}
	if t.Kind == planner.Savepoint {
		s.vars.Savepoint()
		s.savepoints = append(s.savepoints, t.Savepoint)
		return t.Tag, nil
	}
	return t.Tag, s.endSavepoint(t)
}

var savepointCommands = map[planner.TransactionKind]string{
	planner.Savepoint:        "SAVEPOINT",
	planner.ReleaseSavepoint: "RELEASE SAVEPOINT",
	planner.RollbackTo:       "ROLLBACK TO SAVEPOINT",
}

func (s *session) beginBlock(t *planner.Transaction) error {
	if s.alone == wire.InBlock {
		s.warn(codes.ActiveSQLTransaction, "there is already a transaction in progress")
	}
	if err := s.applyModes(t.Modes); err != nil {
		return err
	}
	s.alone = wire.InBlock
	return nil
}

func (s *session) applyModes(modes []planner.Mode) error {
	for _, m := range modes {
		if err := s.setMode(m, true); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) commitBlock(t *planner.Transaction) (tag string, err error) {
	switch s.alone {
	case wire.FailedBlock:
		return "ROLLBACK", s.finishBlock(t, false)
	case wire.InBlock:
		return t.Tag, s.finishBlock(t, true)
	}
	return t.Tag, s.noBlock(t, "COMMIT AND CHAIN", true)
}

func (s *session) rollbackBlock(t *planner.Transaction) error {
	if s.alone == wire.FailedBlock || s.alone == wire.InBlock {
		return s.finishBlock(t, false)
	}
	return s.noBlock(t, "ROLLBACK AND CHAIN", false)
}

// noBlock is COMMIT or ROLLBACK without a BEGIN: a warning, and the end of the
// implicit transaction.
func (s *session) noBlock(t *planner.Transaction, chain string, commit bool) error {
	if t.Chain {
		return pgerr.Newf(codes.NoActiveSQLTransaction, "%s can only be used in transaction blocks", chain)
	}
	s.warn(codes.NoActiveSQLTransaction, "there is no transaction in progress")
	s.endTransaction(commit)
	return nil
}

// finishBlock ends an explicit transaction, and with AND CHAIN begins another of
// the same characteristics.
func (s *session) finishBlock(t *planner.Transaction, commit bool) error {
	characteristics := s.vars.Characteristics()
	s.endTransaction(commit)
	if t.Chain {
		s.alone = wire.InBlock
		s.started = time.Time{}
		s.vars.BeginWith(characteristics)
	}
	return nil
}

// endSavepoint is RELEASE or ROLLBACK TO. Portals that were opened since the
// savepoint go with it when it is rolled back.
func (s *session) endSavepoint(t *planner.Transaction) error {
	depth := len(s.savepoints)
	for depth > 0 && s.savepoints[depth-1] != t.Savepoint {
		depth--
	}
	if depth == 0 {
		return pgerr.Newf(codes.InvalidSavepointSpecification, "savepoint \"%s\" does not exist", t.Savepoint)
	}
	if t.Kind == planner.ReleaseSavepoint {
		s.vars.ReleaseTo(depth)
		s.savepoints = s.savepoints[:depth-1]
		return nil
	}
	s.vars.RollbackTo(depth)
	s.savepoints = s.savepoints[:depth]
	s.alone = wire.InBlock
	for name, p := range s.portals {
		if p.depth >= depth {
			s.dropNamedPortal(name)
		}
	}
	return nil
}

func (s *session) warn(code codes.Code, text string) {
	s.report(&pgerr.Error{Severity: pgerr.SeverityWarning, Code: code, Message: text})
}
