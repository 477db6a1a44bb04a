package wiretest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
)

// message is a decoded backend message. Only the parts that its type has are set.
type message struct {
	typ     byte
	columns []column     // T
	row     [][]byte     // D; nil is NULL
	diag    []diagnostic // E, N
	oids    []uint32     // t
	texts   []string     // C: tag; S: name, value; A: channel, payload; v: options; R: mechanisms
	number  uint32       // R: kind; K, A: process; v: version
	formats []int16      // G, H, W
	data    []byte       // K: secret; R: SASL data; d
	status  byte         // Z
}

// column is one field of a RowDescription.
type column struct {
	name   string
	table  uint32
	attnum int16
	oid    uint32
	length int16
	typmod int32
	format int16
}

// diagnostic is one field of an ErrorResponse or a NoticeResponse.
type diagnostic struct {
	code  byte
	value string
}

func (m *message) field(code byte) string {
	for _, f := range m.diag {
		if f.code == code {
			return f.value
		}
	}
	return ""
}

// cursor reads a body and remembers that it ran over the end.
type cursor struct {
	rest []byte
	over bool
}

func (c *cursor) take(n int) []byte {
	if n < 0 || n > len(c.rest) {
		c.over = true
		c.rest = nil
		return nil
	}
	b := c.rest[:n:n]
	c.rest = c.rest[n:]
	return b
}

func (c *cursor) byte() byte {
	if b := c.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (c *cursor) int16() int16 {
	if b := c.take(2); b != nil {
		return int16(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (c *cursor) uint32() uint32 {
	if b := c.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (c *cursor) cstring() string {
	end := bytes.IndexByte(c.rest, 0)
	if end < 0 {
		c.over = true
		return ""
	}
	return string(c.take(end + 1)[:end])
}

// decode is strict, unlike pgproto3: the body must have exactly the bytes that
// its type asks for.
// See https://www.postgresql.org/docs/15/protocol-message-formats.html.
func decode(typ byte, body []byte) (message, error) {
	m := message{typ: typ}
	c := &cursor{rest: slices.Clone(body)}
	switch typ {
	case '1', '2', '3', 'I', 'n', 's', 'c':
	case 'A':
		m.number = c.uint32()
		m.texts = []string{c.cstring(), c.cstring()}
	case 'C':
		m.texts = []string{c.cstring()}
	case 'd':
		m.data = c.take(len(c.rest))
	case 'D':
		for range uint16(c.int16()) {
			m.row = append(m.row, c.value())
		}
	case 'E', 'N':
		m.diag = c.diagnostics()
	case 'G', 'H', 'W':
		m.status = c.byte()
		for range uint16(c.int16()) {
			m.formats = append(m.formats, c.int16())
		}
	case 'K':
		m.number = c.uint32()
		m.data = c.take(len(c.rest))
	case 'R':
		c.authentication(&m)
	case 'S':
		m.texts = []string{c.cstring(), c.cstring()}
	case 't':
		for range uint16(c.int16()) {
			m.oids = append(m.oids, c.uint32())
		}
	case 'T':
		for range uint16(c.int16()) {
			m.columns = append(m.columns, column{
				name: c.cstring(), table: c.uint32(), attnum: c.int16(), oid: c.uint32(),
				length: c.int16(), typmod: int32(c.uint32()), format: c.int16(),
			})
		}
	case 'v':
		m.number = c.uint32()
		for range c.uint32() {
			if c.over {
				break
			}
			m.texts = append(m.texts, c.cstring())
		}
	case 'V':
		m.row = [][]byte{c.value()}
	case 'Z':
		m.status = c.byte()
	default:
		return m, fmt.Errorf("unknown message type %q", typ)
	}
	if c.over {
		return m, fmt.Errorf("message %q is too short for what it says: %x", typ, body)
	}
	if len(c.rest) > 0 {
		return m, fmt.Errorf("message %q has %d bytes too many: %x", typ, len(c.rest), body)
	}
	return m, m.check()
}

// value reads a length and that many bytes; nil is NULL.
func (c *cursor) value() []byte {
	n := int32(c.uint32())
	if n == -1 {
		return nil
	}
	if b := c.take(int(n)); b != nil {
		return b
	}
	return []byte{}
}

func (c *cursor) diagnostics() []diagnostic {
	var fields []diagnostic
	for !c.over {
		code := c.byte()
		if code == 0 {
			break
		}
		fields = append(fields, diagnostic{code, c.cstring()})
	}
	return fields
}

func (c *cursor) authentication(m *message) {
	m.number = c.uint32()
	switch m.number {
	case authMD5:
		m.data = c.take(4)
	case authSASL:
		for !c.over {
			mechanism := c.cstring()
			if mechanism == "" {
				break
			}
			m.texts = append(m.texts, mechanism)
		}
	case authSASLContinue, authSASLFinal:
		m.data = c.take(len(c.rest))
	}
}

// check looks for contents that no server may send.
func (m *message) check() error {
	switch m.typ {
	case 'E', 'N':
		for _, code := range []byte("SVCM") {
			// A message may be empty: RAISE can do that.
			if !slices.ContainsFunc(m.diag, func(f diagnostic) bool { return f.code == code && (f.value != "" || code == 'M') }) {
				return fmt.Errorf("message %q lacks the field %q: %v", m.typ, code, m.diag)
			}
		}
		if len(m.field('C')) != 5 {
			return fmt.Errorf("message %q has the SQLSTATE %q", m.typ, m.field('C'))
		}
	case 'Z':
		if !bytes.ContainsRune([]byte("ITE"), rune(m.status)) {
			return fmt.Errorf("ReadyForQuery with the status %q", m.status)
		}
	case 'C':
		if m.texts[0] == "" {
			return fmt.Errorf("CommandComplete without a tag")
		}
	}
	return nil
}
