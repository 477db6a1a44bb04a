package proxied

import (
	"bytes"
	"cmp"
	"encoding/binary"

	"raisinproxy/pgwire/drive"
	"raisinproxy/pgwire/frontend"
	"raisinproxy/pgwire/upstream"
	"raisinproxy/pgwire/wire"
)

// This file passes long messages of the client's on while they arrive: a value of any
// size needs no more memory here than a short one.

// longMessage is the length from which a message is not waited for.
const longMessage = frontend.MaxPending

// Partial begins to pass on the message at the head, of which a part has arrived, if
// it is a long one for the upstream. What has to be looked at as a whole, a text, is
// not.
func (s *session) Partial() drive.Verdict {
	have := s.Client.In.Buf[s.Client.In.Start:s.Client.In.End]
	if s.Skipping || len(have) < wire.FrameHeader {
		return frontend.NeedInput
	}
	kind, length := have[0], int(binary.BigEndian.Uint32(have[1:]))
	if length < longMessage || kind == 'Q' || kind == 'P' {
		return frontend.NeedInput
	}
	if kind == 'B' && !s.up.Copying() {
		if v := s.startBind(have[wire.FrameHeader:]); v != frontend.OurTurn {
			return v
		}
	}
	if !s.up.IsOpened() {
		return frontend.NeedUpstream
	}
	if v := s.closeFirst(kind); v != frontend.OurTurn {
		return v
	}
	s.up.Expect(kind)
	s.settingsStale = true
	s.long = 1 + length
	return s.passLong()
}

// startBind does with the names in a Bind what Dispatch does. It is not the session's turn for one
// that names a statement or a portal that is kept here, or the names of which have not arrived.
func (s *session) startBind(have []byte) drive.Verdict {
	if bytes.Count(have, []byte{0}) < 2 {
		return frontend.NeedInput
	}
	m := &s.Message
	m.Decode('B', have)
	if isReserved(m.Portal) || isReserved(m.Statement) || s.hasStatementOf(m) {
		return frontend.NeedInput
	}
	portal, statement := s.known(m.Portal), m.Statement
	if v := s.settlePortals('B'); v != frontend.OurTurn {
		return v
	}
	if len(portal) > 0 {
		s.up.NamePortal()
	}
	s.procedures.bind(portal, statement)
	return s.replacePortal(portal, statement)
}

// replacePortal forgets the unnamed portal that is kept here when a relayed Bind makes another. One
// with a name cannot be replaced; what is wrong with the statement is said before that.
func (s *session) replacePortal(portal, statement []byte) drive.Verdict {
	name := s.known(portal)
	switch {
	case len(name) == 0:
		s.ClosePortal(&s.Objects.UnnamedPortal)
		s.Objects.UnnamedPortal.State, s.shadowsPortal = frontend.PortalAbsent, false
	case s.Objects.Portals[string(frontend.NameKey(name))] != nil:
		if v := s.turnToAsk(); v != frontend.OurTurn {
			return v
		}
		if s.Objects.Portals[string(frontend.NameKey(name))] == nil {
			break // it has ended with its transaction
		}
		s.up.OpenPipeline()
		err := s.conv.Say(upstream.Part{Messages: upstream.Describe(string(statement))})
		return s.FailPipeline(cmp.Or(err, frontend.ErrPortalExists(string(name))))
	}
	return frontend.OurTurn
}

// passLong passes on what has arrived of a long message.
func (s *session) passLong() drive.Verdict {
	have := s.Client.In.Buf[s.Client.In.Start:s.Client.In.End]
	n := min(s.long, len(have))
	s.up.SendPart(have[:n])
	s.Client.In.Drop(n)
	s.long -= n
	s.Client.In.Bulk = s.long > 0
	return frontend.NeedInput
}
