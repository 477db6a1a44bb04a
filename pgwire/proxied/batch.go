package proxied

import (
	"errors"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/pgwire/frontend"
	"raisinproxy/pgwire/upstream"
	"raisinproxy/pgwire/wire"
	"raisinproxy/planner/local"
	"raisinproxy/planner/plan"
	"raisinproxy/planner/sqltext"
	"raisinproxy/sqlfuncs/pgerr"
)

// batch runs a simple query of several statements of which one is answered here: one after the
// other, each where it belongs, in one implicit transaction of the upstream's, as a
// query without such a one would run there.
type batch struct {
	s *session
	// hidden: the upstream is in a transaction block that the client did not begin.
	hidden bool
	// standard: standard_conforming_strings when the query came, by which all of it is
	// read, whatever its statements set.
	standard bool
}

// queryBatch answers the query and leaves the upstream in the transaction that the
// client is told of.
func (s *session) queryBatch(script *plan.Script) {
	s.ReportAll(script.Notices)
	s.unreported = &heldParameters{before: s.up.Params(), frames: map[string][]byte{}}
	b := &batch{s: s, standard: s.View.Standard}
	err := b.run(script)
	if err == nil && b.hidden {
		err = b.commit()
	}
	if err != nil {
		err = b.failed(err)
	}
	s.tellParameters()
	if !s.Over {
		s.endQuery(err)
	}
}

// commit ends the transaction that the client did not begin. The last statement is not
// complete before that.
func (b *batch) commit() error {
	tag := b.s.Client.Out.TakeTag()
	b.s.Unit.Deciding = true
	if err := b.s.conv.Command("COMMIT"); err != nil {
		return err
	}
	b.s.Client.Out.Buf = append(b.s.Client.Out.Buf, tag...)
	return nil
}

func (b *batch) run(script *plan.Script) error {
	if b.s.up.IsOpen() {
		if err := b.leavePipeline(); err != nil {
			return err
		}
	}
	defer func() { b.s.Unit.Whole = false }()
	for _, st := range script.Statements {
		b.s.followTransaction()
		if b.s.TxState() == wire.FailedBlock && !st.EndsTransaction() {
			return frontend.ErrAborted
		}
		if err := b.begin(); err != nil {
			return err
		}
		b.s.Unit.Whole = b.hidden
		b.s.EndUnitStatement()
		if err := b.statement(st); err != nil {
			return err
		}
	}
	return nil
}

// leavePipeline ends a pipeline that the client has begun and not ended: the query is part of
// its transaction. Nothing tells whether that is a block but the warning of a BEGIN
// within one. A session that hears no warnings is refused: the proxy must not commit what it has
// begun.
func (b *batch) leavePipeline() error {
	level, warned, refused, err := b.runInPipeline("SHOW client_min_messages") // a query would take a snapshot
	if err == nil && level == "error" {
		return errors.Join(errMutePipeline, b.s.conv.Abort())
	}
	if err == nil && !refused {
		_, warned, refused, err = b.runInPipeline("BEGIN")
	}
	if err != nil {
		return err
	}
	b.hidden = !warned && !refused
	return b.s.closePipeline()
}

var errMutePipeline = pgerr.Newf(codes.FeatureNotSupported, "a query with a raisin_ function amid a pipeline needs client_min_messages below error").
	WithHint("End the pipeline with Sync first.")

// runInPipeline runs a command in the open pipeline, and tells the first value of its result,
// whether it had a warning, and whether the pipeline has failed, by it or before.
func (b *batch) runInPipeline(sql string) (value string, warned, refused bool, err error) {
	err = b.s.conv.Say(upstream.Part{
		Messages: upstream.Run(upstream.Control, sql, nil, nil),
		Notice:   func([]byte) { warned = true },
		Fail: func([]byte) error {
			refused = true
			return nil
		},
		Visit: upstream.Each('D', func(row []byte) { value = string(wire.ReadRow(row)[0]) }),
	})
	return value, warned, refused, err
}

// begin makes sure that there is a transaction.
func (b *batch) begin() error {
	if b.s.up.Status() != wire.StatusIdle {
		return nil
	}
	b.hidden = true
	return b.s.conv.Command("BEGIN")
}

// failed tells the client of an error, and makes the upstream's transaction what it
// would be after it. It returns an error only if the upstream is lost.
func (b *batch) failed(err error) error {
	theirs, ok := errors.AsType[*upstream.Error](err)
	if b.s.up.IsLost() && !ok {
		return err
	}
	if ok && b.s.up.Status() == wire.StatusIdle && !b.hidden { // it is that of a COMMIT
		theirs.Response.Detail = frontend.WithDetail(theirs.Response.Detail, b.s.View.Text.Best(frontend.Describe("The block took: ", b.s.Unit.Block)))
	}
	b.s.Fail(err)
	if b.s.Over {
		return nil
	}
	abort := b.s.mustAbort
	b.s.mustAbort = false
	if b.s.up.IsOpen() {
		if err := b.s.closePipeline(); err != nil {
			return err
		}
	}
	switch {
	case b.s.up.Status() == wire.StatusIdle: // a COMMIT that failed has rolled back
		return nil
	case b.hidden:
		return b.s.conv.Command("ROLLBACK")
	case abort:
		return b.s.conv.Abort()
	}
	return nil
}

func (b *batch) statement(st *plan.Statement) error {
	if b.s.involved(st) {
		if err := b.s.runSplitQuery(st); err != nil {
			return err
		}
		return b.s.closePipeline()
	}
	if st.Mentions || b.s.isOurStatement(st) {
		if b.s.settingsStale {
			if err := b.s.askFacts(); err != nil {
				return err
			}
		}
		b.s.BeginImplicit()
		return b.s.RunStatement(st)
	}
	if branch, ok := st.UseBranch(); ok {
		return b.relay(useBranch(branch), st.Start)
	}
	if t, ok := st.Action.(*plan.Transaction); ok && b.hidden {
		return b.transaction(t, st)
	}
	return b.relay(st.Text, st.Start)
}

// transaction is a transaction command in a transaction that the client did not begin.
func (b *batch) transaction(t *plan.Transaction, st *plan.Statement) error {
	switch t.Kind {
	case plan.Begin:
		for _, m := range t.Modes {
			// By name, as SET TRANSACTION does: the text may have any form.
			if err := b.s.conv.Command("SET LOCAL " + m.Name + " = '" + m.Values[0].Text + "'"); err != nil {
				return err
			}
		}
		b.hidden = false // from here on the client has begun it
		b.s.Client.Out.CommandComplete(t.Tag)
		return nil
	case plan.Commit, plan.Rollback:
		if t.Chain {
			return frontend.ErrNoBlock(t.Tag + " AND CHAIN")
		}
		b.s.Warn(codes.NoActiveSQLTransaction, "there is no transaction in progress")
		b.hidden = false
		return b.end(st)
	}
	return frontend.ErrNoBlock(frontend.SavepointCommands[t.Kind])
}

// end ends the transaction: what calls have done in it does not hang on it any more.
func (b *batch) end(st *plan.Statement) error {
	b.s.Unit.Deciding = true
	if err := b.relay(st.Text, st.Start); err != nil {
		return err
	}
	b.s.EndUnit(false)
	return nil
}

// relay sends one statement upstream and passes its answers on. In its query before
// characters stand before it.
func (b *batch) relay(text string, before int) error {
	if b.s.Refresh(); b.standard != b.s.View.Standard {
		text = sqltext.Portable(text, b.standard)
	}
	encoded, err := b.s.View.Text.ToClient(text)
	if err != nil {
		return err
	}
	b.s.settingsStale = true
	return b.s.conv.StreamQuery(encoded, func(kind byte, body []byte) error {
		switch kind {
		case 'E':
			return shifted(body, before)
		case 'Z', '3':
			return nil
		}
		b.s.pass(kind, body)
		return nil
	})
}

// isOurStatement says whether a statement is about a prepared statement that is kept here.
func (s *session) isOurStatement(st *plan.Statement) bool {
	switch a := st.Action.(type) {
	case *local.Execute:
		return s.keeps(a.Name)
	case *plan.Deallocate:
		return s.keeps(a.Name)
	}
	return s.keeps(st.Within) || s.keeps(st.Prepares) || frontend.IsEmptyBranch(st)
}
