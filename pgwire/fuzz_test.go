package pgwire

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"raisinproxy/pgwire/wire"

	"github.com/jackc/pgx/v5/pgconn"
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

// FuzzStartup: whatever bytes open a connection, it is greeted, refused or dropped.
func FuzzStartup(f *testing.F) {
	packet := func(code uint32, rest string) []byte {
		b := binary.BigEndian.AppendUint32(nil, uint32(8+len(rest)))
		return append(binary.BigEndian.AppendUint32(b, code), rest...)
	}
	f.Add(packet(protocolVersion, "user\x00alice\x00database\x00shop\x00options\x00-c search_path=x --a=b\x00\x00"))
	f.Add(packet(protocolVersion+2, "user\x00alice\x00_pq_.x\x00y\x00replication\x00true\x00client_encoding\x00latin1\x00\x00"))
	f.Add(packet(sslRequest, ""))
	f.Add(append(packet(gssencRequest, ""), packet(cancelRequest, "\x00\x00\x00\x01\x00\x00\x00\x02")...))
	f.Add(packet(2<<16, "user\x00"))
	f.Add([]byte("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, input []byte) {
		s := newSession(t)
		conn := newScript(input, 7)
		s.conn, s.in.Limit = conn, maxStartupBytes
		err := s.startup()
		s.farewell()
		if err == nil && !bytes.HasSuffix(conn.out.Bytes(), []byte("Z\x00\x00\x00\x05I")) {
			t.Errorf("the greeting ends with %q", conn.out.Bytes())
		}
	})
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
		r := newRelay(&pgconn.HijackedConn{Conn: newScript(input, cut), ParameterStatuses: map[string]string{}, PID: 7}, client)
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
			s := newSession(t)
			s.up = newRelay(&pgconn.HijackedConn{Conn: newScript(nil, 1)}, newScript(nil, 1))
			var seen strings.Builder
			r := reader{s: s, bulk: bulk, visit: func(kind byte, body []byte) error {
				seen.WriteByte(kind)
				seen.Write(body)
				return nil
			}}
			for rest := input; len(rest) > 0; {
				n := min(cut, len(rest))
				r.read(rest[:n])
				rest = rest[n:]
			}
			return seen.String(), string(s.out.Buf)
		}
		visited, passed := read(max(len(input), 1))
		if v, p := read(max(int(cut), 1)); v != visited || p != passed {
			t.Errorf("in parts of %d: %q %q, as a whole: %q %q", cut, v, p, visited, passed)
		}
	})
}
