package pgwire

import (
	"context"
	"errors"
	"strings"

	"raisinproxy/pgwire/drive"
	"raisinproxy/pgwire/upstream"
	"raisinproxy/pgwire/wire"
)

// This file closes the portals of ours in the upstream that nobody reads any more. An open
// portal keeps its tables from being truncated or altered, so those go before anything
// that the client wants to run there.

// isOpenUpstream says whether the upstream may have the portal open.
func (p *portal) isOpenUpstream() bool {
	return p.upstream != "" && (p.state == portalOpen || p.state == portalBroken)
}

// closeUpstream has the portal closed in the upstream with the next messages, if it is open.
func (s *proxied) closeUpstream(p *portal) {
	if p.isOpenUpstream() {
		s.conv.CloseLater(p.upstream)
	}
	p.upstream = ""
}

// closeFirst makes sure that none is left before a message goes upstream that runs something.
func (s *proxied) closeFirst(kind byte) drive.Verdict {
	if !s.conv.MustClose() || strings.IndexByte("QEF", kind) < 0 || s.up.Copying() {
		return ourTurn
	}
	settled, failed := s.up.Settled()
	switch status, open := s.up.Transaction(); {
	case !settled:
		return needTurn
	case failed: // nothing runs there before the next Sync
		return ourTurn
	case !open && status == wire.StatusIdle: // they went with their transaction
		s.conv.Forget()
		return ourTurn
	}
	return needClose
}

// closePending closes them before the frame at the head is answered.
func (s *proxied) closePending() error {
	err := s.client.Waiting(func(context.Context) error { return s.conv.CloseNow() })
	if theirs, ok := errors.AsType[*upstream.Error](err); ok && theirs.IsOrdinary() {
		s.failHead(theirs)
		return nil
	}
	return err
}
