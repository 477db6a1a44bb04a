package pgwire

import (
	"context"
	"errors"
	"strings"

	"raisinproxy/pgwire/wire"

	"github.com/jackc/pgx/v5/pgproto3"
)

// This file closes the portals of ours in the upstream that nobody reads any more. An open
// portal keeps its tables from being truncated or altered, so those go before anything
// that the client wants to run there.

// isOpenUpstream says whether the upstream may have the portal open.
func (p *portal) isOpenUpstream() bool {
	return p.upstream != "" && (p.state == portalOpen || p.state == portalBroken)
}

// closeUpstream has the portal closed in the upstream with the next messages, if it is open.
func (s *session) closeUpstream(p *portal) {
	if p.isOpenUpstream() {
		s.stale = append(s.stale, &pgproto3.Close{ObjectType: 'P', Name: p.upstream})
	}
	p.upstream = ""
}

// takeStale is what closes those that are left.
func (s *session) takeStale() []pgproto3.FrontendMessage {
	messages := s.stale
	s.stale = nil
	return messages
}

// closeFirst makes sure that none is left before a message goes upstream that runs something.
func (s *session) closeFirst(kind byte) verdict {
	if len(s.stale) == 0 || strings.IndexByte("QEF", kind) < 0 || s.up.isCopying() {
		return ourTurn
	}
	settled, failed := s.up.settled()
	switch status, open := s.up.transaction(); {
	case !settled:
		return needTurn
	case failed: // nothing runs there before the next Sync
		return ourTurn
	case !open && status == wire.StatusIdle: // they went with their transaction
		s.stale = nil
		return ourTurn
	}
	return needClose
}

// closeStale closes them before the frame at the head is answered.
func (s *session) closeStale() error {
	err := s.waiting(func(context.Context) error { return s.askToClose() })
	if theirs, ok := errors.AsType[*upstreamError](err); ok && theirs.isOrdinary() {
		s.failHead(theirs)
		return nil
	}
	return err
}

func (s *session) askToClose() error {
	if len(s.stale) == 0 {
		return nil
	}
	ask := s.askAlone
	if s.up.inSeries() {
		ask = s.ask
	}
	fs, err := ask()
	if err != nil {
		return err
	}
	return s.each(fs, func(kind byte, body []byte) error {
		if kind == 'E' {
			return refusal(body)
		}
		return nil
	})
}
