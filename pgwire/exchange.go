package pgwire

import (
	"raisinproxy/pgwire/login"
	"raisinproxy/pgwire/upstream"
)

// This file is how a session talks to its upstream by itself: it sends messages that the
// client knows nothing of, and sees the answers instead of the client.

// listener is a session as a conversation with its upstream sees it.
type listener struct{ s *proxied }

// News passes on what the upstream says besides answers.
func (l listener) News(frame []byte) { l.s.news(frame) }

// Pass passes on rows of the upstream's.
func (l listener) Pass(rows []byte) { l.s.client.Out.Buf = append(l.s.client.Out.Buf, rows...) }

// MostWaiting is how many bytes may wait for the client.
func (l listener) MostWaiting() int { return l.s.maxWaiting() }

// Flush sends what waits, if it is much or now is true.
func (l listener) Flush(now bool) error {
	if !now && len(l.s.client.Out.Buf) <= l.s.maxWaiting() {
		return nil
	}
	return l.s.client.Flush()
}

// CopyIn passes on the data of a COPY. If it cannot, answers are lost, so nothing that the upstream says
// can be told from then on.
func (l listener) CopyIn() error {
	err := l.s.copyIn()
	l.s.client.IsGone = l.s.client.IsGone || err != nil
	return err
}

// pass sends a frame of the upstream's to the client.
func (s *proxied) pass(kind byte, body []byte) {
	if kind == 'C' {
		s.client.Out.Tag = len(s.client.Out.Buf)
	}
	start := s.client.Out.Begin(kind)
	s.client.Out.Buf = append(s.client.Out.Buf, body...)
	s.client.Out.End(start)
}

// copyIn passes on the data of a COPY that runs amid an exchange, until it ends or the
// upstream wants no more of it. The frame at the head of the input counts as answered
// from here on, and what follows it is read here and not by the watcher.
func (s *proxied) copyIn() error {
	if err := s.client.Flush(); err != nil {
		return err
	}
	return s.client.Reading(s.readCopy)
}

func (s *proxied) readCopy() error {
	s.consumeFrame()
	for s.up.Copying() {
		kind, body, ok, bad := s.client.In.Peek()
		switch {
		case bad != nil:
			s.broken = bad
			return bad
		case ok:
			s.forwardCopy(kind, body)
			if s.up.Unsent() <= maxPending {
				continue
			}
		}
		if err := s.up.Flush(); err != nil {
			return err
		}
		if ok {
			continue
		}
		if err := s.client.In.Fill(s.client.Conn()); err != nil && s.up.Copying() {
			return s.whyInterrupted(err)
		}
	}
	// A Flush that was sent before the data has been ignored.
	s.up.Send('H', nil)
	return s.up.Flush()
}

func (s *proxied) whyInterrupted(err error) error {
	switch {
	case s.up.IsLost():
		return upstream.ErrLost
	case s.client.IsStopping():
		return login.ErrShutdown
	}
	return err
}

// forwardCopy sends on a message of the client's while the upstream waits for data.
func (s *proxied) forwardCopy(kind byte, body []byte) {
	if kind == 'c' || kind == 'f' {
		s.up.EndCopy()
	}
	s.up.Send(kind, body)
	s.client.In.Skip(body)
}
