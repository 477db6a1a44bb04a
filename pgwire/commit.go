package pgwire

import (
	"slices"

	"github.com/jackc/pgx/v5/pgproto3"

	"raisinproxy/pgwire/wire"
	"raisinproxy/sqlfuncs"
)

// This file adds to the error of a COMMIT what calls of its block took, which stays taken:
// the client has read of it, and may give it back. The COMMIT itself is relayed.

// tellBlock lets the relay know what the calls of the open block took.
func (s *session) tellBlock() {
	if s.up == nil {
		return
	}
	if len(s.unit.block) == 0 {
		s.up.onFailedCommit.Store(nil)
		return
	}
	took, up := slices.Clone(s.unit.block), s.up
	tell := func(e *pgproto3.ErrorResponse) {
		e.Detail = withDetail(e.Detail, up.text().Best(describe("The block took: ", took)))
	}
	up.onFailedCommit.Store(&tell)
}

// passOn takes note of what is in b. It returns what can be passed on, and of how much of b
// that is.
func (r *relay) passOn(b []byte, to *captured) (out []byte, used int) {
	used = r.advance(b, to)
	out = b[:used]
	for to == nil && r.left == 0 {
		n, _ := r.failedCommit(b[used:])
		if n == 0 {
			break
		}
		out = append(slices.Clip(out), r.amend(b[used:used+n])...)
		used += n
		more := r.advance(b[used:], to)
		out = append(out, b[used:used+more]...)
		used += more
	}
	return out, used
}

// failedCommit is the length of the frames from an error to the ReadyForQuery after it, if
// the error is that of a COMMIT whose block took something. wait: they have to be there
// as a whole to tell.
func (r *relay) failedCommit(b []byte) (length int, wait bool) {
	if r.onFailedCommit.Load() == nil || len(b) < wire.FrameHeader || b[0] != 'E' || !r.endsBlock() {
		return 0, false
	}
	for {
		frame := b[length:]
		if len(frame) < wire.FrameHeader || wire.FrameLength(frame) > len(frame) {
			return 0, len(b) < relayBytes/2
		}
		frame = frame[:wire.FrameLength(frame)]
		length += len(frame)
		switch {
		case frame[0] == 'E' && wire.EndsSession(frame[wire.FrameHeader:]):
			return 0, false
		case frame[0] == 'Z' && frame[wire.FrameHeader] == wire.StatusIdle:
			return length, false
		case frame[0] == 'Z':
			return 0, false
		}
	}
}

// endsBlock says whether a block is open and ReadyForQuery is to come after an error: one amid
// a series has the upstream drop a Query that ends it, and wait for a Sync.
func (r *relay) endsBlock() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ledger.EndsBlock()
}

// amend takes note of these frames and adds to the error in them.
func (r *relay) amend(b []byte) (out []byte) {
	tell := *r.onFailedCommit.Load()
	for _, frame := range frames(b).split() {
		r.note(nil, frame[0], frame[wire.FrameHeader:])
		e := &pgproto3.ErrorResponse{}
		if frame[0] != 'E' || e.Decode(frame[wire.FrameHeader:]) != nil {
			out = append(out, frame...)
			continue
		}
		tell(e)
		out, _ = e.Encode(out) // decoded, and a little longer
	}
	return out
}

// text converts to the client's encoding.
func (r *relay) text() wire.Transcoder {
	r.mu.Lock()
	defer r.mu.Unlock()
	return wire.TranscoderFor(r.params["client_encoding"])
}

// mayHaveCommitted says whether a connection was lost while it may have committed a block
// that took something, and what that was.
func (s *session) mayHaveCommitted() (took []sqlfuncs.Effect, unknown bool) {
	switch {
	case s.unit.open() && s.unit.deciding:
		return s.unit.effects, true
	case len(s.unit.block) > 0 && s.up != nil && s.up.pendingEnd():
		return s.unit.block, true
	}
	return nil, false
}
