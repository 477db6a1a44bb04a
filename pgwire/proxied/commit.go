package proxied

import (
	"slices"

	"github.com/jackc/pgx/v5/pgproto3"

	"raisinproxy/pgwire/frontend"
	"raisinproxy/pgwire/wire"
	"raisinproxy/sqlfuncs"
)

// This file adds to the error of a COMMIT what calls of its block took, which stays taken:
// the client has read of it, and may give it back. The COMMIT itself is relayed.

// TellBlock lets the upstream.Conn know what the calls of the open block took.
func (s *session) TellBlock() {
	if len(s.Unit.Block) == 0 {
		s.up.OnFailedCommit(nil)
		return
	}
	took, up := slices.Clone(s.Unit.Block), s.up
	tell := func(e *pgproto3.ErrorResponse) {
		e.Detail = frontend.WithDetail(e.Detail, wire.TranscoderFor(up.Param("client_encoding")).Best(frontend.Describe("The block took: ", took)))
	}
	up.OnFailedCommit(tell)
}

// mayHaveCommitted says whether a connection was lost while it may have committed a block
// that took something, and what that was.
func (s *session) mayHaveCommitted() (took []sqlfuncs.Effect, unknown bool) {
	switch {
	case s.Unit.Open() && s.Unit.Deciding:
		return s.Unit.Effects, true
	case len(s.Unit.Block) > 0 && s.up.OwesReady():
		return s.Unit.Block, true
	}
	return nil, false
}
