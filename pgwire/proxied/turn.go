package proxied

import (
	"context"
	"errors"
	"strings"

	"raisinproxy/pgwire/drive"
	"raisinproxy/pgwire/frontend"
	"raisinproxy/pgwire/upstream"
	"raisinproxy/pgwire/wire"
)

// This file is about when an answer of the proxy's may be given in front of an upstream: when
// that has answered what came before, and it is known in which transaction the session is.

// turn makes sure that an answer of the proxy's may be given now. calls says that it may
// depend on what only the upstream knows.
func (s *session) turn(calls bool) drive.Verdict {
	if !s.up.IsOpened() {
		return frontend.OurTurn
	}
	settled, pipelineFailed := s.up.Settled()
	if !settled || len(s.held.messages) > 0 {
		return frontend.NeedTurn
	}
	if pipelineFailed {
		s.Skipping = true
		return frontend.NeedInput
	}
	s.followTransaction()
	if calls && s.settingsStale && s.TxState() != wire.FailedBlock {
		return frontend.NeedFacts
	}
	return frontend.OurTurn
}

// takeTurn waits until the upstream owes nothing.
func (s *session) takeTurn() error {
	if s.holding() {
		err := s.Client.Waiting(func(context.Context) error { return s.drainHeld() })
		if _, theirs := errors.AsType[*upstream.Error](err); theirs || errors.Is(err, errPipelineFailed) {
			_ = s.FailPipeline(err)
			return nil
		}
		return err
	}
	if err := s.Client.Flush(); err != nil {
		return err
	}
	return s.Client.Waiting(func(context.Context) error { return s.up.Settle() })
}

// settlePortals finds out, before a message about a portal, whether those that are kept here have
// ended with a transaction that the upstream has not answered for yet.
func (s *session) settlePortals(kind byte) drive.Verdict {
	ours := len(s.Objects.Portals) > 0 || s.Objects.UnnamedPortal.State != frontend.PortalAbsent
	if !s.up.IsOpened() || !ours || strings.IndexByte("BDEC", kind) < 0 {
		return frontend.OurTurn
	}
	if s.up.OwesReady() {
		return frontend.NeedTurn
	}
	s.followTransaction()
	return frontend.OurTurn
}

// followTransaction drops the portals of transactions that have ended upstream. Where one has
// gone back, maybe to a savepoint only, those go of which only the proxy could say whether
// they still exist: their calls must not be made if they do not.
func (s *session) followTransaction() {
	now := s.up.Marks()
	switch {
	case now.Ended != s.seen.Ended:
		s.EndPortals()
		s.Unit.Block = nil
		s.TellBlock()
	case now.WentBack != s.seen.WentBack:
		s.endUnopened()
	}
	s.seen.Ended, s.seen.WentBack = now.Ended, now.WentBack
}

// endUnopened drops the portals that the upstream has no part of yet.
func (s *session) endUnopened() {
	for name, p := range s.Objects.Portals {
		if !isOpenUpstream(p) {
			s.DropNamedPortal(name)
		}
	}
	if !isOpenUpstream(&s.Objects.UnnamedPortal) {
		s.Objects.UnnamedPortal.State = frontend.PortalAbsent
	}
}
