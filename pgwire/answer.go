package pgwire

import (
	"encoding/binary"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"raisinproxy/planner"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// answers collects messages to the client until they are flushed in one write.
type answers struct {
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
func (a *answers) takeTag() (message []byte) {
	last := a.buf[min(a.tag, len(a.buf)):]
	if len(last) >= frameHeader && last[0] == 'C' && len(last) == 1+int(binary.BigEndian.Uint32(last[1:])) {
		message = append(message, last...)
		a.buf = a.buf[:a.tag]
	}
	return message
}

// mend drops a message that is not whole.
func (a *answers) mend() {
	if a.torn > 0 {
		a.buf = a.buf[:a.torn-1]
		a.torn = 0
	}
}

// begin starts a message; end writes its length.
func (a *answers) begin(kind byte) (start int) {
	a.torn = len(a.buf) + 1
	a.buf = append(a.buf, kind, 0, 0, 0, 0)
	return len(a.buf) - 4
}

func (a *answers) end(start int) {
	binary.BigEndian.PutUint32(a.buf[start:], uint32(len(a.buf)-start))
	a.torn = 0
}

// The messages without content.
func (a *answers) empty(kind byte) { a.buf = append(a.buf, kind, 0, 0, 0, 4) }

func (a *answers) parseComplete()      { a.empty('1') }
func (a *answers) bindComplete()       { a.empty('2') }
func (a *answers) closeComplete()      { a.empty('3') }
func (a *answers) noData()             { a.empty('n') }
func (a *answers) portalSuspended()    { a.empty('s') }
func (a *answers) emptyQueryResponse() { a.empty('I') }
func (a *answers) message(m pgproto3.BackendMessage) {
	// None of the messages sent this way can be too long to encode.
	a.buf, _ = m.Encode(a.buf)
}

func (a *answers) readyForQuery(status byte) {
	a.buf = append(a.buf, 'Z', 0, 0, 0, 5, status)
	a.due = true
}

func (a *answers) commandComplete(tag string) {
	a.tag = len(a.buf)
	start := a.begin('C')
	a.buf = append(a.buf, tag...)
	a.buf = append(a.buf, 0)
	a.end(start)
}

// selected is the tag of a query.
func (a *answers) selected(rows int) {
	a.tag = len(a.buf)
	start := a.begin('C')
	a.buf = append(a.buf, "SELECT "...)
	a.buf = strconv.AppendInt(a.buf, int64(rows), 10)
	a.buf = append(a.buf, 0)
	a.end(start)
}

func (a *answers) parameterStatus(name, value string) {
	a.message(&pgproto3.ParameterStatus{Name: name, Value: value})
}

func (a *answers) parameterDescription(types []datum.Type) {
	start := a.begin('t')
	a.buf = binary.BigEndian.AppendUint16(a.buf, uint16(len(types)))
	for _, t := range types {
		a.buf = binary.BigEndian.AppendUint32(a.buf, uint32(t))
	}
	a.end(start)
}

// rowDescription describes columns of no table.
func (a *answers) rowDescription(columns []planner.Column, f formats) {
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
func (a *answers) value(t datum.Type, d datum.Datum, format int16, zone *time.Location) error {
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
func (a *answers) closeValue(start int) {
	binary.BigEndian.PutUint32(a.buf[start:], uint32(len(a.buf)-start-4))
}

// report sends an error or a notice.
func (a *answers) report(e *pgerr.Error) {
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
