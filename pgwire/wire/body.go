package wire

import (
	"bytes"
	"encoding/binary"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/sqlfuncs/pgerr"
)

// Body reads the fields of the body of one message. What it returns lies in the message. A field
// beyond the end is noted in Bad, and every later one is empty: callers read all of them, then ask
// Done.
type Body struct {
	Rest []byte
	Bad  *pgerr.Error
}

func (m *Body) fail(text string) {
	if m.Bad == nil {
		m.Bad = pgerr.Newf(codes.ProtocolViolation, "%s", text)
	}
	m.Rest = nil
}

// Bytes reads n bytes; nil if there are fewer.
func (m *Body) Bytes(n int) []byte {
	if n < 0 || n > len(m.Rest) {
		m.fail("insufficient data left in message")
		return nil
	}
	b := m.Rest[:n:n]
	m.Rest = m.Rest[n:]
	return b
}

// Byte reads one byte; 0 if there is none.
func (m *Body) Byte() byte {
	if len(m.Rest) == 0 {
		m.fail("no data left in message")
		return 0
	}
	return m.Bytes(1)[0]
}

// Count reads a 16 bit number, which is unsigned wherever it counts something.
func (m *Body) Count() int {
	if b := m.Bytes(2); b != nil {
		return int(binary.BigEndian.Uint16(b))
	}
	return 0
}

// Int32 reads a 32 bit number; 0 if there is none.
func (m *Body) Int32() int32 {
	if b := m.Bytes(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

// Text reads up to the terminating zero byte.
func (m *Body) Text() []byte {
	text, rest, ok := bytes.Cut(m.Rest, []byte{0})
	if !ok {
		m.fail("invalid string in message")
		return nil
	}
	m.Rest = rest
	return text
}

// Done returns what was wrong, or that something is left over.
func (m *Body) Done() *pgerr.Error {
	if m.Bad == nil && len(m.Rest) > 0 {
		m.fail("invalid message format")
	}
	return m.Bad
}

// ReadFormats reads a list of format codes, as Bind and FunctionCall have it.
func ReadFormats(m *Body, into Formats) Formats {
	for range m.Count() {
		into = append(into, int16(m.Count()))
	}
	return into
}
