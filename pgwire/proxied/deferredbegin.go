package proxied

import (
	"raisinproxy/pgwire/upstream"
	"raisinproxy/pgwire/wire"
	"raisinproxy/planner/plan"
)

// This file holds BEGIN back while the upstream is not open: a session that takes locks
// within transactions needs no connection there. Whatever does need the upstream opens
// it, and then the transaction begins there too.

// holds says whether a script is a transaction command that is answered here because
// the upstream is not open: BEGIN, or the end of a block whose BEGIN was held back.
func (s *session) holds(script *plan.Script) bool {
	if s.up.IsOpened() || len(script.Statements) != 1 {
		return false
	}
	t, ok := script.Statements[0].Action.(*plan.Transaction)
	if !ok || t.Chain {
		return false
	}
	switch t.Kind {
	case plan.Begin:
		return s.deferredBegin == ""
	case plan.Commit, plan.Rollback:
		return s.deferredBegin != ""
	}
	return false
}

// ControlTransaction runs a transaction command that was to be answered here. By the time it
// runs the upstream may be open: then it is the upstream's.
func (s *session) ControlTransaction(st *plan.Statement, t *plan.Transaction) (tag string, err error) {
	if s.up.IsOpened() {
		return "", s.controlUpstream(st)
	}
	if tag, err = s.unopened.Control(t); err != nil {
		return "", err
	}
	s.deferredBegin = ""
	if t.Kind == plan.Begin {
		s.deferredBegin = st.Text
	}
	return tag, nil
}

// releaseBegin begins in the upstream what was held back, in the state that it is in.
func (s *session) releaseBegin() error {
	if s.deferredBegin == "" {
		return nil
	}
	begin := s.deferredBegin
	s.deferredBegin = ""
	if err := s.conv.Command(begin); err != nil {
		return err
	}
	wasFailed := s.unopened.State == wire.FailedBlock
	s.unopened.State = wire.NoTransaction // from here on the upstream's is the one that counts
	if wasFailed {
		return s.conv.Abort()
	}
	return nil
}

// controlUpstream runs a transaction command in the pipeline that the client is in.
func (s *session) controlUpstream(st *plan.Statement) error {
	text, err := s.View.Text.ToClient(st.Text)
	if err != nil {
		return err
	}
	s.up.OpenPipeline()
	return s.conv.Say(upstream.Part{
		Messages: upstream.Run(upstream.Control, text, nil, nil),
		Visit:    upstream.Each('C', func(tag []byte) { s.pass('C', tag) }),
	})
}
