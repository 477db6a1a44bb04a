package wiretest

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"time"
)

// Tape is a connection whose other end says what is on it, in parts, and then is gone. What is written to it is
// kept in Written. It is for one goroutine.
type Tape struct {
	net.Conn
	Written bytes.Buffer

	says io.Reader
	cut  int
}

// NewTape makes one of parts of at most cut bytes.
func NewTape(says []byte, cut int) *Tape {
	return &Tape{says: bytes.NewReader(says), cut: max(cut, 1)}
}

// Read reads the next part.
func (t *Tape) Read(b []byte) (int, error) { return t.says.Read(b[:min(len(b), t.cut)]) }

// Write keeps what is written.
func (t *Tape) Write(b []byte) (int, error) { return t.Written.Write(b) }

// SetDeadline does nothing: nothing is waited for.
func (*Tape) SetDeadline(time.Time) error { return nil }

// SetReadDeadline does nothing.
func (*Tape) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing.
func (*Tape) SetWriteDeadline(time.Time) error { return nil }

// Close does nothing.
func (*Tape) Close() error { return nil }

// RemoteAddr is a client on this machine.
func (*Tape) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// Frame makes one message.
func Frame(kind byte, body string) []byte {
	b := binary.BigEndian.AppendUint32([]byte{kind}, uint32(4+len(body)))
	return append(b, body...)
}
