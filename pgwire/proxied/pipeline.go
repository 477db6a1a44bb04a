package proxied

import (
	"errors"

	"raisinproxy/pgwire/upstream"
	"raisinproxy/pgwire/wire"
	"raisinproxy/planner/plan"
)

// This file keeps pipelines of the proxy's, messages up to a Sync that the client did not send, in
// step with the client's own.

// queryInPipeline answers a simple query amid a pipeline: it ends the pipeline, as any
// query does, and fails with it.
func (s *session) queryInPipeline(script *plan.Script) {
	s.RunScript(script)
	s.endPipeline()
}

// endPipeline ends a query whose messages were part of a pipeline, aborted if an error of
// the proxy's wants it so, and tells the client in which transaction it is then.
func (s *session) endPipeline() {
	var err error
	if s.mustAbort {
		s.mustAbort = false
		err = s.conv.Abort()
	}
	// What the last statement did is not done before its transaction is.
	tag := s.Client.Out.TakeTag()
	if err == nil {
		err = s.closePipeline()
	}
	if theirs, ok := errors.AsType[*upstream.Error](err); ok {
		s.Fail(theirs)
		tag, err = nil, nil
	}
	s.Client.Out.Buf = append(s.Client.Out.Buf, tag...)
	s.endQuery(err)
}

// endQuery tells the client in which transaction the upstream is after a query. With an
// error that is not the user's nothing is known of it any more: the session is over.
func (s *session) endQuery(err error) {
	if err != nil {
		s.GiveUp(err)
		s.Over = true
		return
	}
	s.followTransaction()
	s.EndImplicit()
	s.Ready()
}

// closePipeline ends the pipeline that the proxy has opened. The error is a
// *upstream.Error if its transaction could not be committed.
func (s *session) closePipeline() error {
	if !s.up.IsOpen() {
		return nil
	}
	if s.up.IsLost() {
		return upstream.ErrLost // and nothing has been committed
	}
	s.Unit.Deciding = s.up.Status() != wire.StatusBlock && !s.up.HasFailed()
	return s.decided(s.conv.Sync())
}

// decided says that it is known what became of the transaction, if the upstream has answered.
func (s *session) decided(err error) error {
	if _, theirs := errors.AsType[*upstream.Error](err); theirs || err == nil {
		s.Unit.Deciding = false
	}
	return err
}
