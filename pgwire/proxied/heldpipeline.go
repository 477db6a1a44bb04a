package proxied

import (
	"errors"
	"strings"

	"raisinproxy/pgwire/drive"
	"raisinproxy/pgwire/frontend"
	"raisinproxy/pgwire/upstream"
	"raisinproxy/pgwire/wire"
)

// This file keeps a pipeline together in which calls have taken something. What the client
// sends on to the upstream can still fail, and then the rows that told of it must not have
// been sent: so the answers go through the session, behind its own, instead of straight to
// the client.

// held are messages for the upstream whose answers come through the session.
type held struct {
	messages []byte
	answers  int // that they will have
}

// holding says whether what is relayed can fail together with what calls have taken.
func (s *session) holding() bool {
	return s.Unit.Open() && (s.TxState() != wire.InBlock || s.Unit.Whole)
}

// hold is relay while something would have to be given back.
func (s *session) hold(kind byte, body []byte) drive.Verdict {
	if !s.Blocking {
		return frontend.NeedCall
	}
	s.settingsStale = true
	if s.procedures.mayCommit(&s.Message, s.View.Standard) {
		s.Unit.Keep()
	}
	switch {
	case kind == 'S' && len(body) == 0:
		s.endHeld(s.closePipeline)
		return frontend.NeedInput
	case kind == 'Q' || kind == 'F':
		s.endHeld(func() error { return s.queryHeld(kind, body) })
		return frontend.NeedInput
	}
	s.held.messages = wire.AppendFrame(s.held.messages, kind, body)
	if strings.IndexByte("PBDEC", kind) >= 0 {
		s.held.answers++
	}
	if kind != 'E' && len(s.held.messages) < frontend.MaxPending {
		return frontend.NeedInput
	}
	if err := s.drainHeld(); err != nil {
		return s.FailPipeline(err)
	}
	return frontend.NeedInput
}

// drainHeld sends what is held and takes the answers.
func (s *session) drainHeld() error {
	if err := s.settleRelayed(); err != nil || len(s.held.messages) == 0 {
		return err
	}
	messages, answers := s.held.messages, s.held.answers
	s.held = held{}
	s.up.OpenPipeline()
	if err := s.conv.CloseNow(); err != nil {
		return err
	}
	return s.takeHeld(func(visit upstream.Visit) error { return s.conv.StreamFrames(messages, answers, visit) })
}

// errPipelineFailed: the client has been told already.
var errPipelineFailed = errors.New("the pipeline has failed")

// settleRelayed waits for what was relayed straight, which a long message is.
func (s *session) settleRelayed() error {
	if settled, _ := s.up.Settled(); !settled {
		if err := s.up.Settle(); err != nil {
			return err
		}
	}
	if s.up.HasFailed() {
		_ = s.UndoUnit()
		s.held = held{}
		return errPipelineFailed
	}
	return nil
}

// queryHeld relays a query that ends the pipeline.
func (s *session) queryHeld(kind byte, body []byte) error {
	s.up.OpenPipeline()
	if err := s.conv.CloseNow(); err != nil {
		return errors.Join(err, s.closePipeline())
	}
	message := wire.AppendFrame(nil, kind, body)
	return s.takeHeld(func(visit upstream.Visit) error { return s.conv.StreamEnd(message, visit) })
}

// takeHeld has messages sent and passes their answers on. While they are under way nobody
// knows what becomes of the transaction: they may hold a COMMIT.
func (s *session) takeHeld(send func(upstream.Visit) error) error {
	s.Unit.EndStatement(s.Client.Out.Position())
	s.Unit.Deciding = true
	return s.decided(send(func(kind byte, body []byte) error {
		switch kind {
		case 'E':
			return upstream.ReadError(body)
		case 'Z':
			return nil
		case 'C':
			s.noteHeldTag(strings.TrimSuffix(string(body), "\x00"))
		}
		s.pass(kind, body)
		return nil
	}))
}

// noteHeldTag takes account of a command that has completed amid the pipeline. Of others than
// these nobody knows whether they have committed what came before: a procedure may, for example.
func (s *session) noteHeldTag(tag string) {
	verb, object, _ := strings.Cut(tag, " ")
	switch verb {
	case "SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "COPY", "FETCH", "MOVE", "BEGIN", "SAVEPOINT", "RELEASE",
		"SET", "RESET", "SHOW", "LOCK", "LISTEN", "NOTIFY", "DECLARE", "CLOSE", "PREPARE", "DEALLOCATE", "TRUNCATE":
		return
	case "CREATE", "ALTER", "DROP":
		if object == "TABLE" {
			return
		}
	}
	s.Unit.Keep()
}

// endHeld ends a pipeline, and tells the client in which transaction it is then.
func (s *session) endHeld(last func() error) {
	s.Skipping, s.Tx.Pipelined = false, false
	for _, step := range []func() error{s.drainHeld, last} {
		err := step()
		if theirs, ok := errors.AsType[*upstream.Error](err); ok {
			s.Fail(theirs)
			s.Skipping = false
			continue
		}
		if err != nil && !errors.Is(err, errPipelineFailed) {
			s.endQuery(err)
			return
		}
	}
	s.endQuery(nil)
}
