package upstream

import (
	"bytes"
	"encoding/binary"
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"raisinproxy/pgwire/wire"
	"raisinproxy/pgwire/wiretest"
)

// FuzzForward: the client gets from an upstream what that has said, byte for byte up to
// what is not whole, however the network cuts it.
func FuzzForward(f *testing.F) {
	f.Add(append(wiretest.Frame('T', "\x00\x00"), append(wiretest.Frame('D', strings.Repeat("x", 100)), wiretest.Frame('Z', "I")...)...), 3)
	f.Add(append(wiretest.Frame('N', "SNOTICE\x00\x00"), wiretest.Frame('E', "SFATAL\x00VFATAL\x00C57P01\x00\x00")...), 1)
	f.Add(append(wiretest.Frame('S', "client_encoding\x00LATIN1\x00"), wiretest.Frame('A', "\x00\x00\x00\x07c\x00p\x00")...), 5)
	f.Add(append(wiretest.Frame('G', "\x00\x00\x00"), append(wiretest.Frame('C', "COPY 1\x00"), wiretest.Frame('Z', "E")...)...), 2)
	f.Add([]byte("D\x00\x01\x00\x00"+strings.Repeat("y", 70000)), 4096)
	f.Add([]byte{'Z', 0, 0, 0, 0, 'T', 0xFF, 0xFF, 0xFF, 0xFF}, 9)
	f.Fuzz(func(t *testing.T, input []byte, cut int) {
		client := wiretest.NewTape(nil, 1)
		r := openConn(&pgconn.HijackedConn{Conn: wiretest.NewTape(input, cut), ParameterStatuses: map[string]string{}, PID: 7}, client)
		if err := r.forward(); err == nil {
			t.Error("an upstream that is gone is no error")
		}
		if got := client.Written.Bytes(); !bytes.HasPrefix(input, got) {
			t.Errorf("the client got %q of %q", got, input)
		}
	})
}

// FuzzReader: answers that the session looks at itself are the same however they are cut,
// and what it passes on is whole.
func FuzzReader(f *testing.F) {
	f.Add(append(wiretest.Frame('T', "\x00\x00"), append(wiretest.Frame('D', "\x00\x01\x00\x00\x00\x01x"), wiretest.Frame('C', "SELECT 1\x00")...)...), uint8(3), true)
	f.Add(append(wiretest.Frame('N', "SNOTICE\x00\x00"), append(wiretest.Frame('d', strings.Repeat("x", 300)), wiretest.Frame('E', "\x00")...)...), uint8(1), true)
	f.Add(append(wiretest.Frame('D', ""), wiretest.Frame('D', strings.Repeat("x", 300))...), uint8(100), false)
	f.Fuzz(func(t *testing.T, input []byte, cut uint8, bulk bool) {
		for at := input; len(at) >= wire.FrameHeader; {
			length := binary.BigEndian.Uint32(at[1:])
			if length < 4 {
				return // the Conn has dropped the connection
			}
			at = at[min(uint64(len(at)), 1+uint64(length)):]
		}
		read := func(cut int) (visited, passed string) {
			client := &listener{}
			conversation := NewConversation(openConn(&pgconn.HijackedConn{Conn: wiretest.NewTape(nil, 1)}, wiretest.NewTape(nil, 1)), client)
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
