package pgwire

import (
	"slices"

	"github.com/jackc/pgx/v5/pgproto3"

	"raisinproxy/pgwire/wire"
	"raisinproxy/sqlfuncs"
)

// This file adds to the error of a COMMIT what calls of its block took, which stays taken:
// the client has read of it, and may give it back. The COMMIT itself is relayed.

// TellBlock lets the relay know what the calls of the open block took.
func (s *proxied) TellBlock() {
	if len(s.unit.block) == 0 {
		s.up.OnFailedCommit(nil)
		return
	}
	took, up := slices.Clone(s.unit.block), s.up
	tell := func(e *pgproto3.ErrorResponse) {
		e.Detail = withDetail(e.Detail, wire.TranscoderFor(up.Param("client_encoding")).Best(describe("The block took: ", took)))
	}
	up.OnFailedCommit(tell)
}

// mayHaveCommitted says whether a connection was lost while it may have committed a block
// that took something, and what that was.
func (s *proxied) mayHaveCommitted() (took []sqlfuncs.Effect, unknown bool) {
	switch {
	case s.unit.open() && s.unit.deciding:
		return s.unit.effects, true
	case len(s.unit.block) > 0 && s.up.OwesReady():
		return s.unit.block, true
	}
	return nil, false
}
