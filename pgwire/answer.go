package pgwire

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"raisinproxy/planner"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// Output collects messages to the client until they are flushed in one write.
type Output struct {
	buf []byte
	// due says that the client waits for what is there: the buffer is written as
	// soon as nothing more can be answered without waiting.
	due bool
	// torn is where a message begins that is not whole yet, plus 1; 0: there is none.
	torn int
	// tag is where the last CommandComplete begins.
	tag int
	// sent counts the bytes that went to the client before buf.
	sent int64
}

// takeTag takes back the last message, which is a CommandComplete: what it tells is not
// done before its transaction is.
func (a *Output) takeTag() (message []byte) {
	last := a.buf[min(a.tag, len(a.buf)):]
	if len(last) >= frameHeader && last[0] == 'C' && len(last) == 1+int(binary.BigEndian.Uint32(last[1:])) {
		message = append(message, last...)
		a.buf = a.buf[:a.tag]
	}
	return message
}

// mend drops a message that is not whole.
func (a *Output) mend() {
	if a.torn > 0 {
		a.buf = a.buf[:a.torn-1]
		a.torn = 0
	}
}

// begin starts a message; end writes its length.
func (a *Output) begin(kind byte) (start int) {
	a.torn = len(a.buf) + 1
	a.buf = append(a.buf, kind, 0, 0, 0, 0)
	return len(a.buf) - 4
}

func (a *Output) end(start int) {
	binary.BigEndian.PutUint32(a.buf[start:], uint32(len(a.buf)-start))
	a.torn = 0
}

// The messages without content.
func (a *Output) empty(kind byte) { a.buf = append(a.buf, kind, 0, 0, 0, 4) }

func (a *Output) parseComplete()      { a.empty('1') }
func (a *Output) bindComplete()       { a.empty('2') }
func (a *Output) closeComplete()      { a.empty('3') }
func (a *Output) noData()             { a.empty('n') }
func (a *Output) portalSuspended()    { a.empty('s') }
func (a *Output) emptyQueryResponse() { a.empty('I') }
func (a *Output) message(m pgproto3.BackendMessage) {
	// None of the messages sent this way can be too long to encode.
	a.buf, _ = m.Encode(a.buf)
}

func (a *Output) readyForQuery(status byte) {
	a.buf = append(a.buf, 'Z', 0, 0, 0, 5, status)
	a.due = true
}

func (a *Output) commandComplete(tag string) {
	a.tag = len(a.buf)
	start := a.begin('C')
	a.buf = append(a.buf, tag...)
	a.buf = append(a.buf, 0)
	a.end(start)
}

// selected is the tag of a query.
func (a *Output) selected(rows int) {
	a.tag = len(a.buf)
	start := a.begin('C')
	a.buf = append(a.buf, "SELECT "...)
	a.buf = strconv.AppendInt(a.buf, int64(rows), 10)
	a.buf = append(a.buf, 0)
	a.end(start)
}

func (a *Output) parameterStatus(name, value string) {
	a.message(&pgproto3.ParameterStatus{Name: name, Value: value})
}

func (a *Output) parameterDescription(types []datum.Type) {
	start := a.begin('t')
	a.buf = binary.BigEndian.AppendUint16(a.buf, uint16(len(types)))
	for _, t := range types {
		a.buf = binary.BigEndian.AppendUint32(a.buf, uint32(t))
	}
	a.end(start)
}

// rowDescription describes columns of no table.
func (a *Output) rowDescription(columns []planner.Column, f formats) {
	start := a.begin('T')
	a.buf = binary.BigEndian.AppendUint16(a.buf, uint16(len(columns)))
	for i := range columns {
		c := &columns[i]
		a.buf = append(a.buf, c.Name...)
		a.buf = append(a.buf, 0, 0, 0, 0, 0, 0, 0)
		a.buf = binary.BigEndian.AppendUint32(a.buf, uint32(c.Type))
		a.buf = binary.BigEndian.AppendUint16(a.buf, uint16(c.Type.Len()))
		a.buf = binary.BigEndian.AppendUint32(a.buf, uint32(c.Typmod))
		a.buf = binary.BigEndian.AppendUint16(a.buf, uint16(f.of(i)))
	}
	a.end(start)
}

// value appends one column of a row.
func (a *Output) value(t datum.Type, d datum.Datum, format int16, zone *time.Location) error {
	if d.Null {
		a.buf = append(a.buf, 0xFF, 0xFF, 0xFF, 0xFF)
		return nil
	}
	start := len(a.buf)
	a.buf = append(a.buf, 0, 0, 0, 0)
	if format == binaryFormat {
		var err error
		if a.buf, err = datum.AppendBinary(a.buf, t, d); err != nil {
			return err
		}
	} else {
		a.buf = datum.AppendText(a.buf, t, d, zone)
	}
	a.closeValue(start)
	return nil
}

// closeValue writes the length of a value that begins, with its length, at start.
func (a *Output) closeValue(start int) {
	binary.BigEndian.PutUint32(a.buf[start:], uint32(len(a.buf)-start-4))
}

// report sends an error or a notice.
func (a *Output) report(e *pgerr.Error) {
	severity := e.Severity
	if severity == "" {
		severity = pgerr.SeverityError
	}
	fields := pgproto3.ErrorResponse{
		Severity:            severity,
		SeverityUnlocalized: severity,
		Code:                string(e.Code),
		Message:             e.Message,
		Detail:              e.Detail,
		Hint:                e.Hint,
		Position:            int32(e.Position),
		Where:               e.Where,
	}
	switch severity {
	case pgerr.SeverityNotice, pgerr.SeverityWarning:
		notice := pgproto3.NoticeResponse(fields)
		a.message(&notice)
	default:
		a.message(&fields)
		a.due = true // as PostgreSQL, which flushes every error at once
	}
}

// The formats of values.
const (
	textFormat   int16 = 0
	binaryFormat int16 = 1
)

// formats are the format codes of a Bind: none (all text), one for all, or one
// for each.
type formats []int16

func (f formats) of(i int) int16 {
	switch len(f) {
	case 0:
		return textFormat
	case 1:
		return f[0]
	}
	return f[i]
}

// position is where the next answer will stand, in bytes for the client since the session
// began.
func (a *Output) position() int64 { return a.sent + int64(len(a.buf)) }

// at is the index in the buffer of a position, which may have been sent.
func (a *Output) at(position int64) int {
	return int(min(max(position-a.sent, 0), int64(len(a.buf))))
}

// hasRows says whether data stands in the buffer from a position on.
func (a *Output) hasRows(from int64) bool { return hasRows(a.buf[a.at(from):]) }

// dropRows takes the rows between two positions back, none of which has been sent. A query
// that told how many it had tells of none.
func (a *Output) dropRows(from, to int64) {
	start, end := a.at(from), a.at(to)
	rest := a.buf[start:end]
	kept := slices.Clone(a.buf[:start])
	for len(rest) >= frameHeader && frameLength(rest) <= len(rest) {
		frame := rest[:frameLength(rest)]
		rest = rest[len(frame):]
		switch {
		case isBulk(frame[0]):
		case frame[0] == 'C' && bytes.HasPrefix(frame[frameHeader:], []byte("SELECT ")):
			const none = "SELECT 0\x00"
			kept = binary.BigEndian.AppendUint32(append(kept, 'C'), uint32(4+len(none)))
			kept = append(kept, none...)
		default:
			kept = append(kept, frame...)
		}
	}
	kept = append(kept, rest...)
	a.buf = append(a.buf[:0], append(kept, a.buf[end:]...)...)
	a.tag = len(a.buf) // whatever was last, it is elsewhere
}

// describeAs sends a row description of the upstream's with the client's formats.
func (a *Output) describeAs(described []byte, f formats) {
	start := a.begin('T')
	at := len(a.buf)
	a.buf = append(a.buf, described...)
	a.end(start)
	m := Body{rest: a.buf[at:]}
	for i := range m.count() {
		m.text()
		m.bytes(16)
		if format := m.bytes(2); format != nil {
			binary.BigEndian.PutUint16(format, uint16(f.of(i)))
		}
	}
}
