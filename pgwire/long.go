package pgwire

import (
	"bytes"
	"cmp"
	"encoding/binary"

	"raisinproxy/pgwire/drive"
	"raisinproxy/pgwire/upstream"
	"raisinproxy/pgwire/wire"
)

// This file passes long messages of the client's on while they arrive: a value of any
// size needs no more memory here than a short one.

// longMessage is the length from which a message is not waited for.
const longMessage = maxPending

// startLong begins to pass on the message at the head, of which a part has arrived, if
// it is a long one for the upstream. What has to be looked at as a whole, a text, is
// not.
func (s *proxied) startLong() drive.Verdict {
	have := s.client.In.Buf[s.client.In.Start:s.client.In.End]
	if s.skipping || len(have) < wire.FrameHeader {
		return needInput
	}
	kind, length := have[0], int(binary.BigEndian.Uint32(have[1:]))
	if length < longMessage || kind == 'Q' || kind == 'P' {
		return needInput
	}
	if kind == 'B' && !s.up.Copying() {
		if v := s.startBind(have[wire.FrameHeader:]); v != ourTurn {
			return v
		}
	}
	if !s.up.IsOpened() {
		return needUpstream
	}
	if v := s.closeFirst(kind); v != ourTurn {
		return v
	}
	s.up.Expect(kind)
	s.settingsStale = true
	s.long = 1 + length
	return s.passLong()
}

// startBind does with the names in a Bind what route does. It is not our turn for one
// that names a statement or a portal of ours, or the names of which have not arrived.
func (s *proxied) startBind(have []byte) drive.Verdict {
	if bytes.Count(have, []byte{0}) < 2 {
		return needInput
	}
	m := &s.message
	m.Decode('B', have)
	if isReserved(m.Portal) || isReserved(m.Statement) || s.hasStatementOf(m) {
		return needInput
	}
	portal, statement := s.known(m.Portal), m.Statement
	if v := s.settlePortals('B'); v != ourTurn {
		return v
	}
	if len(portal) > 0 {
		s.up.NamePortal()
	}
	s.procedures.bind(portal, statement)
	return s.replacePortal(portal, statement)
}

// replacePortal forgets the unnamed portal of ours when a relayed Bind makes another. One
// with a name cannot be replaced; what is wrong with the statement is said before that.
func (s *proxied) replacePortal(portal, statement []byte) drive.Verdict {
	name := s.known(portal)
	switch {
	case len(name) == 0:
		s.closeUpstream(&s.objects.unnamedPortal)
		s.objects.unnamedPortal.state, s.shadowsPortal = portalAbsent, false
	case s.objects.portals[string(nameKey(name))] != nil:
		if v := s.TurnToAsk(); v != ourTurn {
			return v
		}
		if s.objects.portals[string(nameKey(name))] == nil {
			break // it has ended with its transaction
		}
		s.up.OpenPipeline()
		err := s.conv.Say(upstream.Part{Messages: upstream.Describe(string(statement))})
		return s.failPipeline(cmp.Or(err, errPortalExists(name)))
	}
	return ourTurn
}

// passLong passes on what has arrived of a long message.
func (s *proxied) passLong() drive.Verdict {
	have := s.client.In.Buf[s.client.In.Start:s.client.In.End]
	n := min(s.long, len(have))
	s.up.SendPart(have[:n])
	s.client.In.Drop(n)
	s.long -= n
	s.client.In.Bulk = s.long > 0
	return needInput
}
