package pgwire

import (
	"bytes"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"raisinproxy/pgwire/upstream"
)

// BenchmarkRelayFrames is the way of one statement to the upstream and of its answer to
// the client, without what the system takes for reading and writing.
func BenchmarkRelayFrames(b *testing.B) {
	row := frame('D', "\x00\x01\x00\x00\x00\x011")
	for _, bench := range []struct {
		name             string
		question, answer [][]byte
	}{
		{"query", [][]byte{frame('Q', "SELECT abalance FROM pgbench_accounts WHERE aid = 1\x00")},
			[][]byte{frame('T', "\x00\x01abalance\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x17\x00\x04\xff\xff\xff\xff\x00\x00"), row, frame('C', "SELECT 1\x00"), frame('Z', "I")}},
		{"prepared", [][]byte{frame('B', "\x00theirs\x00\x00\x00\x00\x01\x00\x00\x00\x011\x00\x00"), frame('E', "\x00\x00\x00\x00\x00"), frame('S', "")},
			[][]byte{frame('2', ""), row, frame('C', "SELECT 1\x00"), frame('Z', "I")}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			s := aliceSession(b)
			behind := newProxied(s, &Behind{Server: &upstream.Server{}})
			s.handler = behind
			behind.up.Open(&pgconn.HijackedConn{Conn: deafConn{}, TxStatus: 'I', ParameterStatuses: map[string]string{}}, deafConn{})
			question, answer := bytes.Join(bench.question, nil), bytes.Join(bench.answer, nil)
			b.ReportAllocs()
			for b.Loop() {
				s.client.In.Buf = append(s.client.In.Buf[:0], question...)
				s.client.In.Start, s.client.In.End = 0, len(question)
				if v := s.step(); v != needInput || behind.up.Unsent() == 0 {
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
