package pgwire

import (
	"context"
	"errors"
	"strings"
)

// This file is about when an answer of ours may be given in front of an upstream: when
// that has answered what came before, and it is known in which transaction we are.

// turn makes sure that an answer of ours may be given now. calls says that it may
// depend on what only the upstream knows.
func (s *session) turn(calls bool) verdict {
	if s.up == nil {
		return ourTurn
	}
	settled, seriesFailed := s.up.settled()
	if !settled || len(s.held.messages) > 0 {
		return needTurn
	}
	if seriesFailed {
		s.skipping = true
		return needInput
	}
	s.adoptStatus()
	if calls && s.up.dirty && s.state != failed {
		return needFacts
	}
	return ourTurn
}

// takeTurn waits until the upstream owes nothing.
func (s *session) takeTurn() error {
	if s.holding() {
		err := s.waiting(func(context.Context) error { return s.drainHeld() })
		if _, theirs := errors.AsType[*upstreamError](err); theirs || errors.Is(err, errSeriesFailed) {
			_ = s.failSeries(err)
			return nil
		}
		return err
	}
	if err := s.flush(); err != nil {
		return err
	}
	return s.waiting(func(context.Context) error { return s.up.settle() })
}

// settlePortals finds out, before a message about a portal, whether those of ours have
// ended with a transaction that the upstream has not answered for yet.
func (s *session) settlePortals(kind byte) verdict {
	ours := len(s.portals) > 0 || s.unnamedPortal.state != portalAbsent
	if s.up == nil || !ours || strings.IndexByte("BDEC", kind) < 0 {
		return ourTurn
	}
	if s.up.pendingEnd() {
		return needTurn
	}
	if !s.up.inSeries() {
		s.adoptStatus()
	}
	return ourTurn
}

// adoptStatus takes over the transaction that the upstream is in.
func (s *session) adoptStatus() {
	status, open := s.up.transaction()
	switch {
	case open && s.up.hasEnded():
		// What the last ReadyForQuery told is over. Whatever is there now, a transaction
		// or a block, it fails as a whole.
		s.state = implicit
	case status == statusBlock:
		s.state = explicit
	case status == statusFailed:
		s.state = failed
	case open:
		s.state = implicit
	case s.state != implicit:
		s.endTransaction(true) // the upstream's has ended, and with it our portals
	}
}

// hasEnded says whether a transaction has ended in the open series, or gone back.
func (r *relay) hasEnded() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.open()
	return s != nil && s.ended
}

// transaction is the status in the last ReadyForQuery, and whether a series is open.
func (r *relay) transaction() (status byte, open bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status, r.open() != nil
}
