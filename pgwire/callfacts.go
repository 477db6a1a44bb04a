package pgwire

import (
	"context"
	"errors"

	"raisinproxy/pgwire/upstream"
	"raisinproxy/pgwire/wire"
)

// This file finds out what a call depends on and only the upstream knows: the branch,
// how long a statement may take, and how a text is to be read.

// readFacts asks for the facts before the frame at the head is answered. An error of the
// upstream's, a cancelled statement for example, is the answer to that frame then.
func (s *proxied) readFacts() error {
	err := s.client.Waiting(func(context.Context) error { return s.askFacts() })
	if theirs, ok := errors.AsType[*upstream.Error](err); ok && theirs.IsOrdinary() {
		s.failHead(theirs)
		return nil
	}
	return err
}

// failHead answers the frame at the head of the input with an error.
func (s *proxied) failHead(err error) {
	kind, body, ok, _ := s.client.In.Peek()
	if !ok {
		kind = s.client.In.Buf[s.client.In.Start] // of a long message, which is dropped as it arrives
	}
	s.fail(err)
	if kind != 'Q' {
		s.skipping = true
		return
	}
	s.answered(body)
	s.ForgetUnnamed()
	if !s.up.IsOpened() {
		s.ready()
	} else {
		s.endPipeline()
	}
}

// askFacts asks the upstream for what a call depends on and no ParameterStatus tells:
// any relayed statement may have changed it.
func (s *proxied) askFacts() error {
	inPipeline := s.up.IsOpen()
	return s.conv.Say(s.conv.AskFacts(func(f *upstream.Facts) {
		s.learn(f, inPipeline)
		s.settingsStale = false
	}))
}

// learn takes over what the upstream has told. What a pipeline has set is reported at its
// end, and counts for its texts before.
func (s *proxied) learn(f *upstream.Facts, inPipeline bool) {
	s.upstreamTimeout = f.Timeout
	if inPipeline {
		s.view.standard = f.Standard
		s.view.text = wire.TranscoderFor(f.Encoding)
		s.unreportedSettings = true
	}
	s.caller.Scope.Branch = defaultBranch
	if f.Branch != nil {
		s.caller.Scope.Branch = s.decoded(f.Branch)
	}
}

// decoded is a name that the upstream tells, in the client's encoding.
func (s *proxied) decoded(raw []byte) string {
	name, err := s.view.text.FromClient(raw)
	if err != nil { // no encoding has two names for it
		name = raw
	}
	return string(name)
}
