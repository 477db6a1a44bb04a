package wire

import (
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/sqlfuncs/pgerr"
)

// FrameHeader is a type byte and a length that counts itself.
const FrameHeader = 5

// readChunk is the room for one read. It is also all the input buffer that an
// idle session keeps.
const readChunk = 4 << 10

// bulkChunk is the room for one read amid a long message.
const bulkChunk = 64 << 10

// maxSmallMessage is PostgreSQL's PQ_SMALL_MESSAGE_LIMIT, for the messages that
// hold little more than a name.
const maxSmallMessage = 10000

var smallTypes = typeSet("CDEHSXcf")

func typeSet(kinds string) (set [256]bool) {
	for _, kind := range []byte(kinds) {
		set[kind] = true
	}
	return set
}

// frontendTypes are the types of the messages that a client may send. The type is
// looked at before the length: when frames are out of step the length is anything.
var frontendTypes = typeSet("BCDEFHPQSXcdfp")

// ErrLength ends a connection whose frames cannot be told apart any more. Nothing
// is answered, as PostgreSQL does.
var ErrLength = errors.New("invalid message length")

// Input holds what was read from the client and not processed yet, and cuts it
// into frames.
type Input struct {
	Buf   []byte // buf[start:end] is unread input
	Start int
	End   int
	Limit int // greatest length of one message, as the protocol counts it
	// Bulk: the middle of a long message is read, in larger parts.
	Bulk bool
}

// Peek returns the first frame if all of it is there. The body lies in the
// buffer and is good until the next call of fill.
func (b *Input) Peek() (kind byte, body []byte, ok bool, err error) {
	have := b.Buf[b.Start:b.End]
	if len(have) > 0 && !frontendTypes[have[0]] {
		return 0, nil, false, pgerr.Fatalf(codes.ProtocolViolation, "invalid frontend message type %d", have[0])
	}
	if len(have) < FrameHeader {
		return 0, nil, false, nil
	}
	length := int(binary.BigEndian.Uint32(have[1:]))
	limit := b.Limit
	if smallTypes[have[0]] {
		limit = min(limit, maxSmallMessage)
	}
	if length < 4 || length > limit {
		return 0, nil, false, ErrLength
	}
	if len(have) < 1+length {
		return 0, nil, false, nil
	}
	return have[0], have[FrameHeader : 1+length], true, nil
}

// Head is the type of the first frame, of which more may be missing.
func (b *Input) Head() (kind byte, ok bool) {
	if b.Start == b.End {
		return 0, false
	}
	return b.Buf[b.Start], true
}

// Skip drops the frame that peek returned, by its body.
func (b *Input) Skip(body []byte) { b.Drop(FrameHeader + len(body)) }

// Drop drops the first n bytes.
func (b *Input) Drop(n int) {
	b.Start += n
	if b.Start == b.End {
		b.Start, b.End = 0, 0
	}
}

// Fill reads once from r. The buffer grows with what has really arrived, never
// with what a length field promises.
func (b *Input) Fill(r io.Reader) error {
	b.makeRoom()
	n, err := r.Read(b.Buf[b.End:])
	b.End += n
	if n > 0 {
		return nil
	}
	return err
}

func (b *Input) makeRoom() {
	unread := b.End - b.Start
	switch {
	case b.Bulk && unread == 0 && cap(b.Buf) < bulkChunk:
		b.Buf = make([]byte, bulkChunk)
	case !b.Bulk && unread == 0 && cap(b.Buf) > readChunk:
		b.Buf, b.Start, b.End = make([]byte, readChunk), 0, 0 // the long message is over
	case b.End < len(b.Buf):
	case b.Start > 0 && unread <= len(b.Buf)/2:
		copy(b.Buf, b.Buf[b.Start:b.End])
		b.Start, b.End = 0, unread
	default:
		grown := make([]byte, max(readChunk, 2*unread))
		copy(grown, b.Buf[b.Start:b.End])
		b.Buf, b.Start, b.End = grown, 0, unread
	}
}

// Append adds bytes that were read elsewhere.
func (b *Input) Append(read []byte) {
	if len(read) > 0 {
		b.Buf = append(b.Buf[b.Start:b.End:b.End], read...)
		b.Start, b.End = 0, len(b.Buf)
	}
}

// LentBytes is the size of these, and with it how much is read from a connection at once.
const LentBytes = 64 << 10

// Own leaves the input with a buffer of its own, or with none.
func (b *Input) Own() {
	if b.Start == b.End {
		b.Buf, b.Start, b.End = nil, 0, 0
	} else if len(b.Buf) == LentBytes {
		b.Buf = slices.Clone(b.Buf[b.Start:b.End])
		b.Start, b.End = 0, len(b.Buf)
	}
}

// FillNow is fill without waiting. An empty input reads into the buffer that it was lent.
func (b *Input) FillNow(conn interface{ TryRead([]byte) (int, error) }) error {
	if b.Start < b.End {
		b.makeRoom()
	}
	n, err := conn.TryRead(b.Buf[b.End:])
	b.End += n
	return err
}
