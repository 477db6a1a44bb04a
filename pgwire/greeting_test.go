package pgwire_test

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// talkative is an upstream that says something to every connection, without waiting for
// more than the start-up packet, and then nothing. sent has what it could send each time.
func talkative(t *testing.T, say func(io.Writer)) (addr string, sent <-chan int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	all, done := make(chan int, 10), make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			var head [4]byte
			if _, err := io.ReadFull(conn, head[:]); err == nil {
				_, _ = io.CopyN(io.Discard, conn, int64(binary.BigEndian.Uint32(head[:]))-4)
			}
			counted := &countingWriter{Writer: conn}
			say(counted)
			all <- counted.n
			conn.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String(), all
}

type countingWriter struct {
	io.Writer

	n int
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.n += n
	return n, err
}

// TestGreetingIsBounded: an upstream that says without end what PostgreSQL says in a
// kilobyte is given up, and little of it is read.
func TestGreetingIsBounded(t *testing.T) {
	const much = 100 << 20
	for name, say := range map[string]func(io.Writer){
		"a long parameter": func(w io.Writer) {
			head := binary.BigEndian.AppendUint32([]byte{'S'}, much+4+2)
			_, _ = w.Write(append(head, "a\x00"...))
			_, _ = io.CopyN(w, endless('x'), much)
		},
		"many parameters": func(w io.Writer) {
			one, err := (&pgproto3.ParameterStatus{Name: "a", Value: strings.Repeat("x", 1000)}).Encode(nil)
			for n := 0; err == nil && n < much; n += len(one) {
				_, err = w.Write(one)
			}
		},
		"many notices": func(w io.Writer) {
			one, err := (&pgproto3.NoticeResponse{Severity: "NOTICE", Message: strings.Repeat("x", 1000)}).Encode(nil)
			for n := 0; err == nil && n < much; n += len(one) {
				_, err = w.Write(one)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			addr, sent := talkative(t, func(w io.Writer) {
				ok, err := (&pgproto3.AuthenticationOk{}).Encode(nil)
				if err == nil {
					_, err = w.Write(ok)
				}
				if err == nil {
					say(w)
				}
			})
			server := startServer(t, map[string]string{"upstream": "postgres://service@" + addr + "/?sslmode=disable"})
			_, err := pgconn.Connect(t.Context(), "postgres://alice@"+server.addr+"/shop?sslmode=disable")
			told, ok := errors.AsType[*pgconn.PgError](err)
			if !ok || told.Code != "08001" || !strings.Contains(told.Detail, "256 KiB") {
				t.Errorf("the client is told %v", err)
			}
			if n := <-sent; n > much/2 {
				t.Errorf("%d bytes were taken", n)
			}
		})
	}
}

// endless reads as one byte again and again.
type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}
