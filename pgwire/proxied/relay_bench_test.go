package proxied

import (
	"bytes"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"raisinproxy/pgwire/frontend"
	"raisinproxy/pgwire/settings"
	"raisinproxy/pgwire/upstream"
	"raisinproxy/pgwire/wiretest"
	"raisinproxy/planner"
	"raisinproxy/sqlfuncs"
)

// BenchmarkRelayFrames is the way of one statement to the upstream and of its answer to
// the client, without what the system takes for reading and writing.
func BenchmarkRelayFrames(b *testing.B) {
	row := wiretest.Frame('D', "\x00\x01\x00\x00\x00\x011")
	for _, bench := range []struct {
		name             string
		question, answer [][]byte
	}{
		{"query", [][]byte{wiretest.Frame('Q', "SELECT abalance FROM pgbench_accounts WHERE aid = 1\x00")},
			[][]byte{wiretest.Frame('T', "\x00\x01abalance\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x17\x00\x04\xff\xff\xff\xff\x00\x00"), row, wiretest.Frame('C', "SELECT 1\x00"), wiretest.Frame('Z', "I")}},
		{"prepared", [][]byte{wiretest.Frame('B', "\x00theirs\x00\x00\x00\x00\x01\x00\x00\x00\x011\x00\x00"), wiretest.Frame('E', "\x00\x00\x00\x00\x00"), wiretest.Frame('S', "")},
			[][]byte{wiretest.Frame('2', ""), row, wiretest.Frame('C', "SELECT 1\x00"), wiretest.Frame('Z', "I")}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			var behind *session
			s := frontend.NewSession(b.Context(), newEnv(b), deafConn{}, nil, slog.New(slog.DiscardHandler), func(s *frontend.Session) frontend.Handler {
				behind = newSession(s, &Behind{Server: &upstream.Server{}})
				return behind
			})
			s.View.Vars = settings.New(behind.Env.Defaults, "alice")
			s.Client.In.Limit = behind.Env.MaxMessageBytes
			behind.up.Open(&pgconn.HijackedConn{Conn: deafConn{}, TxStatus: 'I', ParameterStatuses: map[string]string{}}, deafConn{})
			question, answer := bytes.Join(bench.question, nil), bytes.Join(bench.answer, nil)
			b.ReportAllocs()
			for b.Loop() {
				s.Client.In.Buf = append(s.Client.In.Buf[:0], question...)
				s.Client.In.Start, s.Client.In.End = 0, len(question)
				if v := s.Step(); v != frontend.NeedInput || behind.up.Unsent() == 0 {
					b.Fatalf("nothing is relayed: %v", v)
				}
				if used, err := behind.up.Receive(answer); err != nil || used != len(answer) || behind.up.Owes() {
					b.Fatalf("the answer is not passed on: %d bytes, %v", used, err)
				}
				if err := behind.up.Flush(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// newEnv is what a session shares with others, of which there are none.
func newEnv(t testing.TB) *frontend.Env {
	t.Helper()
	defaults, err := settings.NewDefaults(settings.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &frontend.Env{
		Functions:       sqlfuncs.NewService(nil, sqlfuncs.Options{}),
		Planner:         planner.New(planner.Config{CacheBytes: 1 << 20, Upstream: true}),
		Defaults:        defaults,
		Now:             time.Now,
		MaxMessageBytes: 1 << 30,
	}
}

// deafConn is a connection from which nothing comes and to which everything goes.
type deafConn struct{ net.Conn }

func (deafConn) Write(b []byte) (int, error) { return len(b), nil }
func (deafConn) RemoteAddr() net.Addr        { return &net.TCPAddr{} }
