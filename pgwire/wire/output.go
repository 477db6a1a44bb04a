package wire

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5/pgproto3"

	"raisinproxy/planner/plan"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// Output collects messages to the client until they are flushed in one write.
type Output struct {
	Buf []byte
	// Due says that the client waits for what is there: the buffer is written as
	// soon as nothing more can be answered without waiting.
	Due bool
	// torn is where a message begins that is not whole yet, plus 1; 0: there is none.
	torn int
	// Tag is where the last CommandComplete begins.
	Tag int
	// Sent counts the bytes that went to the client before buf.
	Sent int64
}

// TakeTag takes back the last message, which is a CommandComplete: what it tells is not
// done before its transaction is.
func (a *Output) TakeTag() (message []byte) {
	last := a.Buf[min(a.Tag, len(a.Buf)):]
	if len(last) >= FrameHeader && last[0] == 'C' && len(last) == FrameLength(last) {
		message = append(message, last...)
		a.Buf = a.Buf[:a.Tag]
	}
	return message
}

// Mend drops a message that is not whole.
func (a *Output) Mend() {
	if a.torn > 0 {
		a.Buf = a.Buf[:a.torn-1]
		a.torn = 0
	}
}

// Begin starts a message; end writes its length.
func (a *Output) Begin(kind byte) (start int) {
	a.torn = len(a.Buf) + 1
	a.Buf = append(a.Buf, kind, 0, 0, 0, 0)
	return len(a.Buf) - 4
}

// End writes the length of a message that was begun at start.
func (a *Output) End(start int) {
	binary.BigEndian.PutUint32(a.Buf[start:], uint32(len(a.Buf)-start))
	a.torn = 0
}

func (a *Output) empty(kind byte) { a.Buf = append(a.Buf, kind, 0, 0, 0, 4) }

// ParseComplete is the answer to Parse.
func (a *Output) ParseComplete() { a.empty('1') }

// BindComplete is the answer to Bind.
func (a *Output) BindComplete() { a.empty('2') }

// CloseComplete is the answer to Close.
func (a *Output) CloseComplete() { a.empty('3') }

// NoData tells that a statement returns no rows.
func (a *Output) NoData() { a.empty('n') }

// PortalSuspended ends the rows of an Execute that reached its limit.
func (a *Output) PortalSuspended() { a.empty('s') }

// EmptyQueryResponse answers a text without a statement.
func (a *Output) EmptyQueryResponse() { a.empty('I') }

// Message appends a message that has no method of its own here.
func (a *Output) Message(m pgproto3.BackendMessage) {
	// None of the messages sent this way can be too long to encode.
	a.Buf, _ = m.Encode(a.Buf)
}

// ReadyForQuery ends the answer to a Query or a Sync.
func (a *Output) ReadyForQuery(status byte) {
	a.Buf = append(a.Buf, 'Z', 0, 0, 0, 5, status)
	a.Due = true
}

// CommandComplete ends the answer to a statement.
func (a *Output) CommandComplete(tag string) { a.complete([]byte(tag)) }

func (a *Output) complete(tag []byte) {
	a.Tag = len(a.Buf)
	a.Buf = AppendFrame(a.Buf, 'C', append(tag, 0))
}

// Selected is the tag of a query.
func (a *Output) Selected(rows int) {
	var room [32]byte
	a.complete(strconv.AppendInt(append(room[:0], "SELECT "...), int64(rows), 10))
}

// ParameterStatus tells the value of a setting.
func (a *Output) ParameterStatus(name, value string) {
	a.Message(&pgproto3.ParameterStatus{Name: name, Value: value})
}

// ParameterDescription tells the types of the parameters of a statement.
func (a *Output) ParameterDescription(types []datum.Type) {
	a.Message(&pgproto3.ParameterDescription{ParameterOIDs: Oids(types)})
}

// RowDescription describes columns of no table.
func (a *Output) RowDescription(columns []plan.Column, f Formats) {
	start := a.Begin('T')
	a.Buf = binary.BigEndian.AppendUint16(a.Buf, uint16(len(columns)))
	for i := range columns {
		c := &columns[i]
		a.Buf = append(a.Buf, c.Name...)
		a.Buf = append(a.Buf, 0, 0, 0, 0, 0, 0, 0)
		a.Buf = binary.BigEndian.AppendUint32(a.Buf, uint32(c.Type))
		a.Buf = binary.BigEndian.AppendUint16(a.Buf, uint16(c.Type.Len()))
		a.Buf = binary.BigEndian.AppendUint32(a.Buf, uint32(c.Typmod))
		a.Buf = binary.BigEndian.AppendUint16(a.Buf, uint16(f.Of(i)))
	}
	a.End(start)
}

// Value appends one column of a row.
func (a *Output) Value(t datum.Type, d datum.Datum, format int16, form *datum.TimeForm) error {
	if d.Null {
		a.Buf = append(a.Buf, 0xFF, 0xFF, 0xFF, 0xFF)
		return nil
	}
	start := len(a.Buf)
	a.Buf = append(a.Buf, 0, 0, 0, 0)
	if format == BinaryFormat {
		var err error
		if a.Buf, err = datum.AppendBinary(a.Buf, t, d); err != nil {
			return err
		}
	} else {
		a.Buf = datum.AppendText(a.Buf, t, d, form)
	}
	a.CloseValue(start)
	return nil
}

// CloseValue writes the length of a value that begins, with its length, at start.
func (a *Output) CloseValue(start int) {
	binary.BigEndian.PutUint32(a.Buf[start:], uint32(len(a.Buf)-start-4))
}

// Report sends an error or a notice.
func (a *Output) Report(e *pgerr.Error) {
	severity := cmp.Or(e.Severity, pgerr.SeverityError)
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
		a.Message(&notice)
	default:
		a.Message(&fields)
		a.Due = true // as PostgreSQL, which flushes every error at once
	}
}

// Position is where the next answer will stand, in bytes for the client since the session
// began.
func (a *Output) Position() int64 { return a.Sent + int64(len(a.Buf)) }

// at is the index in the buffer of a position, which may have been sent.
func (a *Output) at(position int64) int {
	return int(min(max(position-a.Sent, 0), int64(len(a.Buf))))
}

// HasRows says whether data stands in the buffer from a position on.
func (a *Output) HasRows(from int64) bool { return HasRows(a.Buf[a.at(from):]) }

// DropRows takes the rows between two positions back, none of which has been sent. A query
// that told how many it had tells of none.
func (a *Output) DropRows(from, to int64) {
	start, end := a.at(from), a.at(to)
	rest := a.Buf[start:end]
	kept := slices.Clone(a.Buf[:start])
	for len(rest) >= FrameHeader && FrameLength(rest) <= len(rest) {
		frame := rest[:FrameLength(rest)]
		rest = rest[len(frame):]
		switch {
		case IsBulk(frame[0]):
		case frame[0] == 'C' && bytes.HasPrefix(frame[FrameHeader:], []byte("SELECT ")):
			kept = AppendFrame(kept, 'C', []byte("SELECT 0\x00"))
		default:
			kept = append(kept, frame...)
		}
	}
	kept = append(kept, rest...)
	a.Buf = append(a.Buf[:0], append(kept, a.Buf[end:]...)...)
	a.Tag = len(a.Buf) // whatever was last, it is elsewhere
}

// DescribeAs sends a row description of the upstream's with the client's formats.
func (a *Output) DescribeAs(described []byte, f Formats) {
	var m pgproto3.RowDescription
	_ = m.Decode(described)
	for i := range m.Fields {
		m.Fields[i].Format = f.Of(i)
	}
	a.Message(&m)
}
