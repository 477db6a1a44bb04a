package pgwire

import "raisinproxy/pgwire/upstream"

// This file is how a session talks to its upstream by itself: it sends messages that the
// client knows nothing of, and sees the answers instead of the client.

// News passes on what the upstream says besides answers.
func (s *proxied) News(frame []byte) { s.news(frame) }

// Pass passes on rows of the upstream's.
func (s *proxied) Pass(rows []byte) { s.out.Buf = append(s.out.Buf, rows...) }

// MostWaiting is how many bytes may wait for the client.
func (s *proxied) MostWaiting() int { return s.maxWaiting() }

// Flush sends what waits, if it is much or now is true.
func (s *proxied) Flush(now bool) error {
	if !now && len(s.out.Buf) <= s.maxWaiting() {
		return nil
	}
	return s.flush()
}

// CopyIn passes on the data of a COPY. If it cannot, answers are lost, so nothing that the upstream says
// can be told from then on.
func (s *proxied) CopyIn() error {
	err := s.copyIn()
	s.torn = s.torn || err != nil
	return err
}

// pass sends a frame of the upstream's to the client.
func (s *proxied) pass(kind byte, body []byte) {
	if kind == 'C' {
		s.out.Tag = len(s.out.Buf)
	}
	start := s.out.Begin(kind)
	s.out.Buf = append(s.out.Buf, body...)
	s.out.End(start)
}

// copyIn passes on the data of a COPY that runs amid an exchange, until it ends or the
// upstream wants no more of it. The frame at the head of the input counts as answered
// from here on, and what follows it is read here and not by the watcher.
func (s *proxied) copyIn() error {
	if err := s.flush(); err != nil {
		return err
	}
	s.watching.stop(s.session)
	defer s.watchAgain()
	s.takeHead()
	for s.up.Copying() {
		kind, body, ok, bad := s.in.Peek()
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
		if err := s.in.Fill(s.conn); err != nil && s.up.Copying() {
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
	case s.stopping.Load():
		return errShutdown
	}
	return err
}

// forwardCopy sends on a message of the client's while the upstream waits for data.
func (s *proxied) forwardCopy(kind byte, body []byte) {
	if kind == 'c' || kind == 'f' {
		s.up.EndCopy()
	}
	s.up.Send(kind, body)
	s.in.Skip(body)
}
