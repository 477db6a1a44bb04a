package proxied

import (
	"raisinproxy/pgwire/frontend"
	"raisinproxy/pgwire/login"
	"raisinproxy/pgwire/upstream"
)

// This file is about data of a COPY that begins amid what the proxy says itself, behind a
// statement with calls for example. Data of every other COPY is relayed as any message (route.go).

// CopyIn passes on the data of a COPY that runs amid an exchange, until it ends or the
// upstream wants no more of it. The frame at the head of the input counts as answered
// from here on, and what follows it is read here and not by the watcher. If the data cannot be
// passed on, answers are lost, so nothing that the upstream says can be told from then on.
func (s *session) CopyIn() error {
	err := s.Client.Flush()
	if err == nil {
		err = s.Client.Reading(s.readCopy)
	}
	s.Client.IsGone = s.Client.IsGone || err != nil
	return err
}

func (s *session) readCopy() error {
	s.ConsumeFrame()
	for s.up.Copying() {
		kind, body, ok, bad := s.Client.In.Peek()
		switch {
		case bad != nil:
			s.Broken = bad
			return bad
		case ok:
			s.forwardCopy(kind, body)
			if s.up.Unsent() <= frontend.MaxPending {
				continue
			}
		}
		if err := s.up.Flush(); err != nil {
			return err
		}
		if ok {
			continue
		}
		if err := s.Client.In.Fill(s.Client.Conn()); err != nil && s.up.Copying() {
			return s.whyInterrupted(err)
		}
	}
	// A Flush that was sent before the data has been ignored.
	s.up.Send('H', nil)
	return s.up.Flush()
}

func (s *session) whyInterrupted(err error) error {
	switch {
	case s.up.IsLost():
		return upstream.ErrLost
	case s.Client.IsStopping():
		return login.ErrShutdown
	}
	return err
}

// forwardCopy sends on a message of the client's while the upstream waits for data.
func (s *session) forwardCopy(kind byte, body []byte) {
	if kind == 'c' || kind == 'f' {
		s.up.EndCopy()
	}
	s.up.Send(kind, body)
	s.Client.In.Skip(body)
}
