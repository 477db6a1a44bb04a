package pgwire

import (
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/sqlfuncs/pgerr"
)

// frameHeader is a type byte and a length that counts itself.
const frameHeader = 5

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

// errLength ends a connection whose frames cannot be told apart any more. Nothing
// is answered, as PostgreSQL does.
var errLength = errors.New("invalid message length")

// Input holds what was read from the client and not processed yet, and cuts it
// into frames.
type Input struct {
	buf   []byte // buf[start:end] is unread input
	start int
	end   int
	limit int // greatest length of one message, as the protocol counts it
	// bulk: the middle of a long message is read, in larger parts.
	bulk bool
}

// peek returns the first frame if all of it is there. The body lies in the
// buffer and is good until the next call of fill.
func (b *Input) peek() (kind byte, body []byte, ok bool, err error) {
	have := b.buf[b.start:b.end]
	if len(have) > 0 && !frontendTypes[have[0]] {
		return 0, nil, false, pgerr.Fatalf(codes.ProtocolViolation, "invalid frontend message type %d", have[0])
	}
	if len(have) < frameHeader {
		return 0, nil, false, nil
	}
	length := int(binary.BigEndian.Uint32(have[1:]))
	limit := b.limit
	if smallTypes[have[0]] {
		limit = min(limit, maxSmallMessage)
	}
	if length < 4 || length > limit {
		return 0, nil, false, errLength
	}
	if len(have) < 1+length {
		return 0, nil, false, nil
	}
	return have[0], have[frameHeader : 1+length], true, nil
}

// head is the type of the first frame, of which more may be missing.
func (b *Input) head() (kind byte, ok bool) {
	if b.start == b.end {
		return 0, false
	}
	return b.buf[b.start], true
}

// skip drops the frame that peek returned, by its body.
func (b *Input) skip(body []byte) { b.drop(frameHeader + len(body)) }

// drop drops the first n bytes.
func (b *Input) drop(n int) {
	b.start += n
	if b.start == b.end {
		b.start, b.end = 0, 0
	}
}

// fill reads once from r. The buffer grows with what has really arrived, never
// with what a length field promises.
func (b *Input) fill(r io.Reader) error {
	b.makeRoom()
	n, err := r.Read(b.buf[b.end:])
	b.end += n
	if n > 0 {
		return nil
	}
	return err
}

func (b *Input) makeRoom() {
	unread := b.end - b.start
	switch {
	case b.bulk && unread == 0 && cap(b.buf) < bulkChunk:
		b.buf = make([]byte, bulkChunk)
	case !b.bulk && unread == 0 && cap(b.buf) > readChunk:
		b.buf, b.start, b.end = make([]byte, readChunk), 0, 0 // the long message is over
	case b.end < len(b.buf):
	case b.start > 0 && unread <= len(b.buf)/2:
		copy(b.buf, b.buf[b.start:b.end])
		b.start, b.end = 0, unread
	default:
		grown := make([]byte, max(readChunk, 2*unread))
		copy(grown, b.buf[b.start:b.end])
		b.buf, b.start, b.end = grown, 0, unread
	}
}

// append adds bytes that were read elsewhere.
func (b *Input) append(read []byte) {
	if len(read) > 0 {
		b.buf = append(b.buf[b.start:b.end:b.end], read...)
		b.start, b.end = 0, len(b.buf)
	}
}

// lentBytes is the size of these, and with it how much is read from a connection at once.
const lentBytes = 64 << 10

// own leaves the input with a buffer of its own, or with none.
func (b *Input) own() {
	if b.start == b.end {
		b.buf, b.start, b.end = nil, 0, 0
	} else if len(b.buf) == lentBytes {
		b.buf = slices.Clone(b.buf[b.start:b.end])
		b.start, b.end = 0, len(b.buf)
	}
}

// fillNow is fill without waiting. An empty input reads into the buffer that it was lent.
func (b *Input) fillNow(conn interface{ TryRead([]byte) (int, error) }) error {
	if b.start < b.end {
		b.makeRoom()
	}
	n, err := conn.TryRead(b.buf[b.end:])
	b.end += n
	return err
}
