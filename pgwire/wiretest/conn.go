package wiretest

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"
)

// maxBody bounds an answer's length, as a defence against a bad frame.
const maxBody = 64 << 20

// conn is a client's connection. It is used by one goroutine.
type conn struct {
	name   string
	net    net.Conn
	in     *bufio.Reader
	ledger *ledger

	patience time.Duration

	process uint32 // of BackendKeyData
	secret  []byte
	closed  bool // the server hung up
}

func dial(name string, target *Target) (*conn, error) {
	raw, err := net.DialTimeout("tcp", target.Addr, target.patience())
	if err != nil {
		return nil, err
	}
	return &conn{
		name: name, net: raw, in: bufio.NewReader(raw), ledger: newLedger(), patience: target.patience(),
	}, nil
}

// write sends b in one write, or in pieces of the given size.
func (c *conn) write(b []byte, chunk int) error {
	if err := c.net.SetWriteDeadline(time.Now().Add(c.patience)); err != nil {
		return err
	}
	if chunk <= 0 {
		chunk = max(len(b), 1)
	}
	for len(b) > 0 {
		n := min(chunk, len(b))
		if _, err := c.net.Write(b[:n]); err != nil {
			// The server may have said why before it hung up: let the reader see that.
			if hungUp(err) {
				return nil
			}
			return err
		}
		b = b[n:]
	}
	return nil
}

// receive returns the next message; io.EOF when the server hung up between messages.
func (c *conn) receive() (message, error) {
	if err := c.net.SetReadDeadline(time.Now().Add(c.patience)); err != nil {
		return message{}, err
	}
	var header [5]byte
	if _, err := io.ReadFull(c.in, header[:]); err != nil {
		if hungUp(err) {
			c.closed = true
			return message{}, io.EOF
		}
		return message{}, c.readError(err)
	}
	length := int32(binary.BigEndian.Uint32(header[1:]))
	if length < 4 || length > maxBody {
		return message{}, fmt.Errorf("message %q with the length %d", header[0], length)
	}
	body := make([]byte, length-4)
	if _, err := io.ReadFull(c.in, body); err != nil {
		return message{}, fmt.Errorf("message %q of length %d is cut: %w", header[0], length, c.readError(err))
	}
	return decode(header[0], body)
}

// receiveByte returns the one byte that answers an SSLRequest or a GSSENCRequest.
func (c *conn) receiveByte() (byte, error) {
	if err := c.net.SetReadDeadline(time.Now().Add(c.patience)); err != nil {
		return 0, err
	}
	b, err := c.in.ReadByte()
	if hungUp(err) {
		c.closed = true
		return 0, io.EOF
	}
	return b, c.readError(err)
}

// receiveAll returns whatever comes until the server hangs up.
func (c *conn) receiveAll() ([]byte, error) {
	if err := c.net.SetReadDeadline(time.Now().Add(c.patience)); err != nil {
		return nil, err
	}
	all, err := io.ReadAll(c.in)
	if err == nil || hungUp(err) {
		c.closed = true
		return all, nil
	}
	return all, c.readError(err)
}

// waiting tells whether an answer arrives within d.
func (c *conn) waiting(d time.Duration) (bool, error) {
	if err := c.net.SetReadDeadline(time.Now().Add(d)); err != nil {
		return false, err
	}
	_, err := c.in.Peek(1)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return false, nil
	}
	return true, nil
}

func (c *conn) readError(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("no answer within %v", c.patience)
	}
	return err
}

// hungUp is true for the ways in which a server ends a connection. Linux resets
// one that the server closes with unread data.
func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// answer is what a command got from the server.
type answer struct {
	lines []string
	rows  []row
	last  byte // the type of the last message
}

type row struct {
	columns []column
	values  [][]byte
}

// fault is an error with what had come before it.
func (a *answer) fault(err error) error {
	return fmt.Errorf("%w\nmessages so far:\n%s", err, strings.Join(a.lines, "\n"))
}

// collect reads messages until done says so or the server hangs up.
func (c *conn) collect(a *answer, v view, done func() bool) error {
	for !c.closed && (c.ledger.ending || !done()) {
		m, err := c.receive()
		if errors.Is(err, io.EOF) {
			a.lines = append(a.lines, "closed")
			return nil
		}
		if err != nil {
			return a.fault(err)
		}
		if err := c.take(a, &m, v); err != nil {
			return a.fault(err)
		}
	}
	return nil
}

// take checks and renders one message.
func (c *conn) take(a *answer, m *message, v view) error {
	columns, err := c.ledger.received(m)
	if m.typ == 'T' {
		columns = m.columns
	}
	if err != nil || strings.IndexByte(v.hide, m.typ) < 0 {
		a.lines = append(a.lines, m.render(v, columns, c.process))
	}
	a.last = m.typ
	if m.typ == 'D' {
		a.rows = append(a.rows, row{columns, m.row})
	}
	return err
}

// settled is true when at most the last keep messages are unanswered.
func (c *conn) settled(keep int) func() bool {
	return func() bool { return len(c.ledger.owed) <= keep }
}
