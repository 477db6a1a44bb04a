package upstream

import (
	"slices"

	"github.com/jackc/pgx/v5/pgproto3"

	"raisinproxy/pgwire/wire"
)

// passOn takes note of what is in b. It returns what can be passed on, and of how much of b
// that is.
func (c *Conn) passOn(b []byte, to *sink) (out []byte, used int) {
	used = c.advance(b, to)
	out = b[:used]
	for to == nil && c.left == 0 {
		n, _ := c.failedCommit(b[used:])
		if n == 0 {
			break
		}
		out = append(slices.Clip(out), c.amend(b[used:used+n])...)
		used += n
		more := c.advance(b[used:], to)
		out = append(out, b[used:used+more]...)
		used += more
	}
	return out, used
}

// failedCommit is the length of the frames from an error to the ReadyForQuery after it, if
// the error is that of a COMMIT whose block took something. wait: they have to be there
// as a whole to tell.
func (c *Conn) failedCommit(b []byte) (length int, wait bool) {
	if c.onFailedCommit.Load() == nil || len(b) < wire.FrameHeader || b[0] != 'E' || !ask(c, (*Ledger).EndsBlock) {
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

// amend takes note of these frames and adds to the error in them.
func (c *Conn) amend(b []byte) (out []byte) {
	tell := *c.onFailedCommit.Load()
	for _, frame := range wire.Split(b) {
		c.note(nil, frame[0], frame[wire.FrameHeader:])
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
