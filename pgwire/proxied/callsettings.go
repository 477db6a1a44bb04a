package proxied

import (
	"context"
	"errors"

	"raisinproxy/pgwire/upstream"
	"raisinproxy/pgwire/wire"
)

// This file finds out what a call depends on and only the upstream knows: the branch,
// how long a statement may take, and how a text is to be read. (What a plan rests on is in
// placefacts.go.)

// beforeHead has something said before the frame at the head is answered. An error of the
// upstream's, a cancelled statement for example, is the answer to that frame then.
func (s *session) beforeHead(say func() error) error {
	err := s.Client.Waiting(func(context.Context) error { return say() })
	if theirs, ok := errors.AsType[*upstream.Error](err); ok && theirs.IsOrdinary() {
		s.failHead(theirs)
		return nil
	}
	return err
}

// failHead answers the frame at the head of the input with an error.
func (s *session) failHead(err error) {
	kind, _ := s.Client.In.Head() // maybe of a long message, which is dropped as it arrives
	_, body, _, _ := s.Client.In.Peek()
	s.Fail(err)
	if kind != 'Q' {
		s.Skipping = true
		return
	}
	s.Answered(body)
	s.ForgetUnnamed()
	if !s.up.IsOpened() {
		s.Ready()
	} else {
		s.endPipeline()
	}
}

// askFacts asks the upstream for what a call depends on and no ParameterStatus tells:
// any relayed statement may have changed it.
func (s *session) askFacts() error {
	inPipeline := s.up.IsOpen()
	return s.conv.Say(s.conv.AskFacts(func(f *upstream.Facts) {
		s.learn(f, inPipeline)
		s.settingsStale = false
	}))
}

// learn takes over what the upstream has told. What a pipeline has set is reported at its
// end, and counts for its texts before.
func (s *session) learn(f *upstream.Facts, inPipeline bool) {
	s.upstreamTimeout = f.Timeout
	if inPipeline {
		s.View.Standard = f.Standard
		s.View.Text = wire.TranscoderFor(f.Encoding)
		s.unreportedSettings = true
	}
	s.Caller.Scope.Branch = defaultBranch
	if f.Branch != nil {
		s.Caller.Scope.Branch = s.decoded(f.Branch)
	}
}

// decoded is a name that the upstream tells, in the client's encoding.
func (s *session) decoded(raw []byte) string {
	name, err := s.View.Text.FromClient(raw)
	if err != nil { // no encoding has two names for it
		name = raw
	}
	return string(name)
}
