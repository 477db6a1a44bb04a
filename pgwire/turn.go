package pgwire

import (
	"context"
	"errors"
	"strings"

	"raisinproxy/pgwire/drive"
	"raisinproxy/pgwire/upstream"
	"raisinproxy/pgwire/wire"
)

// This file is about when an answer of ours may be given in front of an upstream: when
// that has answered what came before, and it is known in which transaction we are.

// turn makes sure that an answer of ours may be given now. calls says that it may
// depend on what only the upstream knows.
func (s *proxied) turn(calls bool) drive.Verdict {
	if !s.up.IsOpened() {
		return ourTurn
	}
	settled, pipelineFailed := s.up.Settled()
	if !settled || len(s.held.messages) > 0 {
		return needTurn
	}
	if pipelineFailed {
		s.skipping = true
		return needInput
	}
	s.followTransaction()
	if calls && s.settingsStale && s.txState() != wire.FailedBlock {
		return needFacts
	}
	return ourTurn
}

// takeTurn waits until the upstream owes nothing.
func (s *proxied) takeTurn() error {
	if s.holding() {
		err := s.client.Waiting(func(context.Context) error { return s.drainHeld() })
		if _, theirs := errors.AsType[*upstream.Error](err); theirs || errors.Is(err, errPipelineFailed) {
			_ = s.failPipeline(err)
			return nil
		}
		return err
	}
	if err := s.client.Flush(); err != nil {
		return err
	}
	return s.client.Waiting(func(context.Context) error { return s.up.Settle() })
}

// settlePortals finds out, before a message about a portal, whether those of ours have
// ended with a transaction that the upstream has not answered for yet.
func (s *proxied) settlePortals(kind byte) drive.Verdict {
	ours := len(s.objects.portals) > 0 || s.objects.unnamedPortal.state != portalAbsent
	if !s.up.IsOpened() || !ours || strings.IndexByte("BDEC", kind) < 0 {
		return ourTurn
	}
	if s.up.OwesReady() {
		return needTurn
	}
	s.followTransaction()
	return ourTurn
}

// followTransaction drops the portals of transactions that have ended upstream. Where one has
// gone back, maybe to a savepoint only, those go of which nobody but us could say whether
// they still exist: their calls must not be made if they do not.
func (s *proxied) followTransaction() {
	now := s.up.Marks()
	switch {
	case now.Ended != s.seen.Ended:
		s.endPortals()
		s.unit.block = nil
		s.TellBlock()
	case now.WentBack != s.seen.WentBack:
		s.endUnopened()
	}
	s.seen.Ended, s.seen.WentBack = now.Ended, now.WentBack
}

// endUnopened drops the portals that the upstream has no part of yet.
func (s *proxied) endUnopened() {
	for name, p := range s.objects.portals {
		if !p.isOpenUpstream() {
			s.dropNamedPortal(name)
		}
	}
	if !s.objects.unnamedPortal.isOpenUpstream() {
		s.objects.unnamedPortal.state = portalAbsent
	}
}
