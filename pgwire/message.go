package pgwire

import (
	"encoding/binary"
	"raisinproxy/planner"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jeroenrinzema/psql-wire/codes"
)

// Body reads the fields of one Body body. A field beyond the end is noted,
// and every later one is empty: callers read all of them, then ask err.
type Body struct {
	rest []byte
	bad  *pgerr.Error
}

func (m *Body) fail(text string) {
	if m.bad == nil {
		m.bad = pgerr.Newf(codes.ProtocolViolation, "%s", text)
	}
	m.rest = nil
}

func (m *Body) bytes(n int) []byte {
	if n < 0 || n > len(m.rest) {
		m.fail("insufficient data left in message")
		return nil
	}
	b := m.rest[:n:n]
	m.rest = m.rest[n:]
	return b
}

func (m *Body) byte() byte {
	if len(m.rest) == 0 {
		m.fail("no data left in message")
		return 0
	}
	return m.bytes(1)[0]
}

// count reads a 16 bit number, which is unsigned wherever it counts something.
func (m *Body) count() int {
	if b := m.bytes(2); b != nil {
		return int(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (m *Body) int32() int32 {
	if b := m.bytes(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

// text reads up to the terminating zero byte.
func (m *Body) text() []byte {
	for i, c := range m.rest {
		if c == 0 {
			s := m.rest[:i]
			m.rest = m.rest[i+1:]
			return s
		}
	}
	m.fail("invalid string in message")
	return nil
}

// done returns what was wrong, or that something is left over.
func (m *Body) done() *pgerr.Error {
	if m.bad == nil && len(m.rest) > 0 {
		m.fail("invalid message format")
	}
	return m.bad
}

// frameLength is that of a frame with its type, as its header tells.
func frameLength(frame []byte) int { return 1 + int(binary.BigEndian.Uint32(frame[1:])) }

// isBulk says whether a frame is data, about which nothing is to be noted.
func isBulk(kind byte) bool { return kind == 'D' || kind == 'd' }

// endsSession says whether an error is one after which the connection is closed.
func endsSession(body []byte) bool {
	const severity = 'V' // not translated, unlike S
	m := Body{rest: body}
	for field := m.byte(); field != 0; field = m.byte() {
		value := m.text()
		if field == severity {
			return string(value) == pgerr.SeverityFatal || string(value) == pgerr.SeverityPanic
		}
	}
	return false
}

// hasRows says whether data is among these frames, the last of which may be cut.
func hasRows(frames []byte) bool {
	for len(frames) > 0 {
		if isBulk(frames[0]) {
			return true
		}
		if len(frames) < frameHeader || frameLength(frames) > len(frames) {
			return false
		}
		frames = frames[frameLength(frames):]
	}
	return false
}

func readTypes(body []byte) []datum.Type {
	m := Body{rest: body}
	types := make([]datum.Type, m.count())
	for i := range types {
		types[i] = datum.Type(m.int32())
	}
	return types
}

func readColumns(body []byte) []planner.Column {
	m := Body{rest: body}
	columns := make([]planner.Column, m.count())
	for i := range columns {
		columns[i].Name = string(m.text())
		m.bytes(6) // table and column there
		columns[i].Type = datum.Type(m.int32())
		m.bytes(2) // length
		columns[i].Typmod = m.int32()
		m.bytes(2) // format
	}
	return columns
}

func oids(types []datum.Type) []uint32 {
	out := make([]uint32, len(types))
	for i, t := range types {
		out[i] = uint32(t)
	}
	return out
}

func readRow(body []byte) [][]byte {
	m := Body{rest: body}
	row := make([][]byte, m.count())
	for i := range row {
		if length := m.int32(); length >= 0 {
			row[i] = m.bytes(int(length))
			if row[i] == nil {
				row[i] = []byte{}
			}
		}
	}
	return row
}

func ReadFormats(m *Body, into formats) formats {
	for range m.count() {
		into = append(into, int16(m.count()))
	}
	return into
}

// bindRaw binds the client's parameters as they came, and hidden ones in binary.
func bindRaw(portal, statement string, raw []rawValue, hidden [][]byte, result []int16) *pgproto3.Bind {
	b := &pgproto3.Bind{DestinationPortal: portal, PreparedStatement: statement, ResultFormatCodes: result}
	for _, v := range raw {
		b.ParameterFormatCodes = append(b.ParameterFormatCodes, v.format)
		b.Parameters = append(b.Parameters, v.value)
	}
	for _, v := range hidden {
		b.ParameterFormatCodes = append(b.ParameterFormatCodes, binaryFormat)
		b.Parameters = append(b.Parameters, v)
	}
	return b
}

// rawValue is a parameter as the client sent it.
type rawValue struct {
	format int16
	value  []byte // nil: NULL
}

// The transaction status in ReadyForQuery.
const (
	statusIdle   = 'I'
	statusBlock  = 'T'
	statusFailed = 'E'
)
