package proxied

import "raisinproxy/pgwire/wire"

// This file is the session as a Conversation sees it: what that passes on to the client while the
// proxy sends messages of which the client knows nothing.

// Pass passes on rows of the upstream's.
func (s *session) Pass(rows []byte) { s.Client.Out.Buf = append(s.Client.Out.Buf, rows...) }

// Flush sends what waits, if it is much or now is true.
func (s *session) Flush(now bool) error {
	if !now && len(s.Client.Out.Buf) <= s.MostWaiting() {
		return nil
	}
	return s.Client.Flush()
}

// pass sends a frame of the upstream's to the client.
func (s *session) pass(kind byte, body []byte) {
	if kind == 'C' {
		s.Client.Out.Tag = len(s.Client.Out.Buf)
	}
	s.Client.Out.Buf = wire.AppendFrame(s.Client.Out.Buf, kind, body)
}
