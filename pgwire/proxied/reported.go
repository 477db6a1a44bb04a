package proxied

import (
	"slices"

	"raisinproxy/pgwire/wire"
)

// A PostgreSQL reports changed parameters (ParameterStatus) at the end of a query, once,
// and only those that are not again what they were. A query of several statements is several
// there if one of them is answered here, so what it reports after each is held back.

// heldParameters are the parameters that changed since a query began.
type heldParameters struct {
	before map[string]string
	frames map[string][]byte // the last report of each
}

// tellParameters tells what was held back.
func (s *session) tellParameters() {
	held := s.unreported
	s.unreported = nil
	for _, name := range inOrder(held.frames) {
		m := wire.Body{Rest: held.frames[name][wire.FrameHeader:]}
		m.Text()
		if string(m.Text()) != held.before[name] {
			s.News(held.frames[name])
		}
	}
}

// News passes on what the upstream says that is no answer: a notice, a notification, or
// the new value of a parameter.
func (s *session) News(frame []byte) {
	if frame[0] == 'S' && s.unreported != nil {
		m := wire.Body{Rest: frame[wire.FrameHeader:]}
		s.unreported.frames[string(m.Text())] = slices.Clone(frame)
		return
	}
	s.Client.Out.Buf = append(s.Client.Out.Buf, frame...)
}
