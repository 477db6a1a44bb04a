package pgwire

import (
	"time"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/pgwire/wire"
	"raisinproxy/planner/plan"
	"raisinproxy/sqlfuncs/pgerr"
)

// block is the transaction of a session that has no PostgreSQL: none behind it at all, or none that is
// open yet. There is nothing to undo but settings; the states, warnings and errors are
// PostgreSQL's all the same, since drivers and pools live by them.
type block struct {
	s     *session
	state wire.TxState
}

// beginImplicit makes sure that there is a transaction.
func (b *block) beginImplicit() {
	if b.state == wire.NoTransaction {
		b.state = wire.ImplicitTransaction
		b.s.tx.started = time.Time{}
		b.s.view.vars.Begin()
	}
}

// EndImplicit commits what no BEGIN has claimed.
func (b *block) endImplicit() {
	if b.state == wire.ImplicitTransaction {
		b.end(true)
	}
}

// end ends the transaction and with it every portal.
func (b *block) end(commit bool) {
	if commit {
		b.s.view.vars.Commit()
	} else {
		b.s.view.vars.Rollback()
	}
	b.state, b.s.tx.pipelined = wire.NoTransaction, false
	b.s.unit.succeed(false)
	b.s.tx.savepoints = b.s.tx.savepoints[:0]
	b.s.endPortals()
}

// abort is what an error does to it.
func (b *block) abort() {
	switch b.state {
	case wire.InBlock:
		b.state = wire.FailedBlock
		b.s.view.vars.Fail()
	case wire.ImplicitTransaction:
		b.end(false)
	}
}

// control runs a transaction command and returns its tag.
func (b *block) control(t *plan.Transaction) (tag string, err error) {
	switch t.Kind {
	case plan.Begin:
		return t.Tag, b.begin(t)
	case plan.Commit:
		return b.commit(t)
	case plan.Rollback:
		return t.Tag, b.rollback(t)
	}
	if b.state != wire.InBlock && b.state != wire.FailedBlock {
		return "", pgerr.Newf(codes.NoActiveSQLTransaction, "%s can only be used in transaction blocks", savepointCommands[t.Kind])
	}
	if t.Kind == plan.Savepoint {
		b.s.view.vars.Savepoint()
		b.s.tx.savepoints = append(b.s.tx.savepoints, t.Savepoint)
		return t.Tag, nil
	}
	return t.Tag, b.endSavepoint(t)
}

var savepointCommands = map[plan.TransactionKind]string{
	plan.Savepoint:        "SAVEPOINT",
	plan.ReleaseSavepoint: "RELEASE SAVEPOINT",
	plan.RollbackTo:       "ROLLBACK TO SAVEPOINT",
}

func (b *block) begin(t *plan.Transaction) error {
	if b.state == wire.InBlock {
		b.s.warn(codes.ActiveSQLTransaction, "there is already a transaction in progress")
	}
	if err := b.applyModes(t.Modes); err != nil {
		return err
	}
	b.state = wire.InBlock
	return nil
}

func (b *block) applyModes(modes []plan.Mode) error {
	for _, m := range modes {
		if err := b.s.setMode(m, true); err != nil {
			return err
		}
	}
	return nil
}

func (b *block) commit(t *plan.Transaction) (tag string, err error) {
	switch b.state {
	case wire.FailedBlock:
		return "ROLLBACK", b.finish(t, false)
	case wire.InBlock:
		return t.Tag, b.finish(t, true)
	}
	return t.Tag, b.none(t, "COMMIT AND CHAIN", true)
}

func (b *block) rollback(t *plan.Transaction) error {
	if b.state == wire.FailedBlock || b.state == wire.InBlock {
		return b.finish(t, false)
	}
	return b.none(t, "ROLLBACK AND CHAIN", false)
}

// noBlock is COMMIT or ROLLBACK without a BEGIN: a warning, and the end of the
// implicit transaction.
func (b *block) none(t *plan.Transaction, chain string, commit bool) error {
	if t.Chain {
		return pgerr.Newf(codes.NoActiveSQLTransaction, "%s can only be used in transaction blocks", chain)
	}
	b.s.warn(codes.NoActiveSQLTransaction, "there is no transaction in progress")
	b.end(commit)
	return nil
}

// finishBlock ends an explicit transaction, and with AND CHAIN begins another of
// the same characteristics.
func (b *block) finish(t *plan.Transaction, commit bool) error {
	characteristics := b.s.view.vars.Characteristics()
	b.end(commit)
	if t.Chain {
		b.state = wire.InBlock
		b.s.tx.started = time.Time{}
		b.s.view.vars.BeginWith(characteristics)
	}
	return nil
}

// endSavepoint is RELEASE or ROLLBACK TO. Portals that were opened since the
// savepoint go with it when it is rolled back.
func (b *block) endSavepoint(t *plan.Transaction) error {
	depth := len(b.s.tx.savepoints)
	for depth > 0 && b.s.tx.savepoints[depth-1] != t.Savepoint {
		depth--
	}
	if depth == 0 {
		return pgerr.Newf(codes.InvalidSavepointSpecification, "savepoint \"%s\" does not exist", t.Savepoint)
	}
	if t.Kind == plan.ReleaseSavepoint {
		b.s.view.vars.ReleaseTo(depth)
		b.s.tx.savepoints = b.s.tx.savepoints[:depth-1]
		return nil
	}
	b.s.view.vars.RollbackTo(depth)
	b.s.tx.savepoints = b.s.tx.savepoints[:depth]
	b.state = wire.InBlock
	for name, p := range b.s.objects.portals {
		if p.depth >= depth {
			b.s.dropNamedPortal(name)
		}
	}
	return nil
}
