package upstream

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"raisinproxy/pgwire/wire"
)

// script is a connection whose other end says what is in it, in parts of at most cut
// bytes, and then is gone. What is written to it is kept.
type script struct {
	net.Conn
	in  io.Reader
	cut int
	out bytes.Buffer
}

func newScript(in []byte, cut int) *script {
	return &script{in: bytes.NewReader(in), cut: max(cut, 1)}
}

func (s *script) Read(b []byte) (int, error)       { return s.in.Read(b[:min(len(b), s.cut)]) }
func (s *script) Write(b []byte) (int, error)      { return s.out.Write(b) }
func (s *script) SetDeadline(time.Time) error      { return nil }
func (s *script) SetReadDeadline(time.Time) error  { return nil }
func (s *script) SetWriteDeadline(time.Time) error { return nil }
func (s *script) Close() error                     { return nil }
func (s *script) RemoteAddr() net.Addr             { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// frame makes one message.
func frame(kind byte, body string) []byte {
	b := binary.BigEndian.AppendUint32([]byte{kind}, uint32(4+len(body)))
	return append(b, body...)
}

// FuzzForward: the client gets from an upstream what that has said, byte for byte up to
// what is not whole, however the network cuts it.
func FuzzForward(f *testing.F) {
	f.Add(append(frame('T', "\x00\x00"), append(frame('D', strings.Repeat("x", 100)), frame('Z', "I")...)...), 3)
	f.Add(append(frame('N', "SNOTICE\x00\x00"), frame('E', "SFATAL\x00VFATAL\x00C57P01\x00\x00")...), 1)
	f.Add(append(frame('S', "client_encoding\x00LATIN1\x00"), frame('A', "\x00\x00\x00\x07c\x00p\x00")...), 5)
	f.Add(append(frame('G', "\x00\x00\x00"), append(frame('C', "COPY 1\x00"), frame('Z', "E")...)...), 2)
	f.Add([]byte("D\x00\x01\x00\x00"+strings.Repeat("y", 70000)), 4096)
	f.Add([]byte{'Z', 0, 0, 0, 0, 'T', 0xFF, 0xFF, 0xFF, 0xFF}, 9)
	f.Fuzz(func(t *testing.T, input []byte, cut int) {
		client := newScript(nil, 1)
		r := openConn(&pgconn.HijackedConn{Conn: newScript(input, cut), ParameterStatuses: map[string]string{}, PID: 7}, client)
		if err := r.forward(); err == nil {
			t.Error("an upstream that is gone is no error")
		}
		if got := client.out.Bytes(); !bytes.HasPrefix(input, got) {
			t.Errorf("the client got %q of %q", got, input)
		}
	})
}

// FuzzReader: answers that the session looks at itself are the same however they are cut,
// and what it passes on is whole.
func FuzzReader(f *testing.F) {
	f.Add(append(frame('T', "\x00\x00"), append(frame('D', "\x00\x01\x00\x00\x00\x01x"), frame('C', "SELECT 1\x00")...)...), uint8(3), true)
	f.Add(append(frame('N', "SNOTICE\x00\x00"), append(frame('d', strings.Repeat("x", 300)), frame('E', "\x00")...)...), uint8(1), true)
	f.Add(append(frame('D', ""), frame('D', strings.Repeat("x", 300))...), uint8(100), false)
	f.Fuzz(func(t *testing.T, input []byte, cut uint8, bulk bool) {
		for at := input; len(at) >= wire.FrameHeader; {
			length := binary.BigEndian.Uint32(at[1:])
			if length < 4 {
				return // the relay has dropped the connection
			}
			at = at[min(uint64(len(at)), 1+uint64(length)):]
		}
		read := func(cut int) (visited, passed string) {
			client := &listener{}
			conversation := NewConversation(openConn(&pgconn.HijackedConn{Conn: newScript(nil, 1)}, newScript(nil, 1)), client)
			var seen strings.Builder
			r := reader{c: conversation, bulk: bulk, visit: func(kind byte, body []byte) error {
				seen.WriteByte(kind)
				seen.Write(body)
				return nil
			}}
			for rest := input; len(rest) > 0; {
				n := min(cut, len(rest))
				r.read(rest[:n])
				rest = rest[n:]
			}
			return seen.String(), client.got.String()
		}
		visited, passed := read(max(len(input), 1))
		if v, p := read(max(int(cut), 1)); v != visited || p != passed {
			t.Errorf("in parts of %d: %q %q, as a whole: %q %q", cut, v, p, visited, passed)
		}
	})
}

// listener is a client that keeps what it gets.
type listener struct{ got bytes.Buffer }

func (l *listener) News(frame []byte) { l.got.Write(frame) }
func (l *listener) Pass(rows []byte)  { l.got.Write(rows) }
func (*listener) Flush(bool) error    { return nil }
func (*listener) MostWaiting() int    { return 0 }
func (*listener) CopyIn() error       { return nil }

func openConn(hijacked *pgconn.HijackedConn, client net.Conn) *Conn {
	c := NewConn()
	c.Open(hijacked, client)
	return c
}
