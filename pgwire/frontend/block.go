package frontend

import (
	"time"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/pgwire/wire"
	"raisinproxy/planner/plan"
	"raisinproxy/sqlfuncs/pgerr"
)

// Block is the transaction of a session that has no PostgreSQL: none behind it at all, or none that is
// open yet. There is nothing to undo but settings; the states, warnings and errors are
// PostgreSQL's all the same, since drivers and pools live by them.
type Block struct {
	S     *Session
	State wire.TxState
}

// TransactionState is its state.
func (b *Block) TransactionState() wire.TxState { return b.State }

// EnsureTransaction makes sure that there is a transaction.
func (b *Block) EnsureTransaction() {
	if b.State == wire.NoTransaction {
		b.State = wire.ImplicitTransaction
		b.S.Tx.started = time.Time{}
		b.S.View.Vars.Begin()
	}
}

// EndImplicit commits what no BEGIN has claimed.
func (b *Block) EndImplicit() {
	if b.State == wire.ImplicitTransaction {
		b.end(true)
	}
}

// end ends the transaction and with it every portal.
func (b *Block) end(commit bool) {
	if commit {
		b.S.View.Vars.Commit()
	} else {
		b.S.View.Vars.Rollback()
	}
	b.State, b.S.Tx.Pipelined = wire.NoTransaction, false
	b.S.Unit.succeed(false)
	b.S.Tx.savepoints = b.S.Tx.savepoints[:0]
	b.S.EndPortals()
}

// AbortTransaction is what an error does to it.
func (b *Block) AbortTransaction() {
	switch b.State {
	case wire.InBlock:
		b.State = wire.FailedBlock
		b.S.View.Vars.Fail()
	case wire.ImplicitTransaction:
		b.end(false)
	}
}

// Control runs a transaction command and returns its tag.
func (b *Block) Control(t *plan.Transaction) (tag string, err error) {
	inBlock := b.State == wire.InBlock || b.State == wire.FailedBlock
	ends := t.Kind == plan.Commit || t.Kind == plan.Rollback
	switch {
	case t.Kind == plan.Begin:
		return t.Tag, b.begin(t)
	case !inBlock && !ends:
		return "", ErrNoBlock(SavepointCommands[t.Kind])
	case !inBlock && t.Chain:
		return "", ErrNoBlock(t.Tag + " AND CHAIN")
	case !inBlock:
		b.S.Warn(codes.NoActiveSQLTransaction, "there is no transaction in progress")
	case !ends:
		return t.Tag, b.savepoint(t)
	case t.Kind == plan.Commit && b.State == wire.FailedBlock:
		b.finish(t, false)
		return "ROLLBACK", nil
	}
	b.finish(t, t.Kind == plan.Commit)
	return t.Tag, nil
}

// ErrNoBlock refuses a command outside of transaction blocks.
func ErrNoBlock(command string) error {
	return pgerr.Newf(codes.NoActiveSQLTransaction, "%s can only be used in transaction blocks", command)
}

// SavepointCommands are the names of the commands about savepoints.
var SavepointCommands = map[plan.TransactionKind]string{
	plan.Savepoint:        "SAVEPOINT",
	plan.ReleaseSavepoint: "RELEASE SAVEPOINT",
	plan.RollbackTo:       "ROLLBACK TO SAVEPOINT",
}

func (b *Block) begin(t *plan.Transaction) error {
	if b.State == wire.InBlock {
		b.S.Warn(codes.ActiveSQLTransaction, "there is already a transaction in progress")
	}
	for _, m := range t.Modes {
		if err := b.S.setMode(m, true); err != nil {
			return err
		}
	}
	b.State = wire.InBlock
	return nil
}

// finish ends a transaction, and with AND CHAIN begins another of the same characteristics.
func (b *Block) finish(t *plan.Transaction, commit bool) {
	characteristics := b.S.View.Vars.Characteristics()
	b.end(commit)
	if t.Chain {
		b.State = wire.InBlock
		b.S.Tx.started = time.Time{}
		b.S.View.Vars.BeginWith(characteristics)
	}
}

// savepoint is a command about one. Portals that were opened since a savepoint go with it when
// it is rolled back.
func (b *Block) savepoint(t *plan.Transaction) error {
	if t.Kind == plan.Savepoint {
		b.S.View.Vars.Savepoint()
		b.S.Tx.savepoints = append(b.S.Tx.savepoints, t.Savepoint)
		return nil
	}
	depth := len(b.S.Tx.savepoints)
	for depth > 0 && b.S.Tx.savepoints[depth-1] != t.Savepoint {
		depth--
	}
	if depth == 0 {
		return pgerr.Newf(codes.InvalidSavepointSpecification, "savepoint \"%s\" does not exist", t.Savepoint)
	}
	if t.Kind == plan.ReleaseSavepoint {
		b.S.View.Vars.ReleaseTo(depth)
		b.S.Tx.savepoints = b.S.Tx.savepoints[:depth-1]
		return nil
	}
	b.S.View.Vars.RollbackTo(depth)
	b.S.Tx.savepoints = b.S.Tx.savepoints[:depth]
	b.State = wire.InBlock
	for name, p := range b.S.Objects.Portals {
		if p.depth >= depth {
			b.S.DropNamedPortal(name)
		}
	}
	return nil
}
