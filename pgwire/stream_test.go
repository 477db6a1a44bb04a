package pgwire_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// streaming are queries with a call whose rows are more than anybody buffers.
var streaming = map[string]string{
	"a statement with a call":   "select g, repeat('x', 1000), released from generate_series(1, 3000000) g, raisin_lock_release('k', 1) as released",
	"a statement beside a call": "select raisin_lock_release('k', 1); select g, repeat('x', 1000) from generate_series(1, 3000000) g",
	"COPY beside a call":        "select raisin_lock_release('k', 1); copy (select g, repeat('x', 1000) from generate_series(1, 3000000) g) to stdout",
	"a call for each row":       "select g, repeat('x', 1000), raisin_lock_release('k', g) from generate_series(1, 3000000) g",
}

// begin sends a query on a connection of its own, and gives that with the process that
// serves it upstream.
func begin(t *testing.T, addr, sql string) (conn *pgconn.PgConn, hijacked *pgconn.HijackedConn, pid string) {
	t.Helper()
	conn = connect(t, addr, "alice")
	pid = queryOne(t, conn, "select pg_backend_pid()")
	hijacked, err := conn.Hijack()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { hijacked.Conn.Close() })
	hijacked.Frontend.Send(&pgproto3.Query{String: sql})
	if err := hijacked.Frontend.Flush(); err != nil {
		t.Fatal(err)
	}
	return conn, hijacked, pid
}

// awaitRow reads up to the first row or data.
func awaitRow(t *testing.T, f *pgproto3.Frontend) {
	t.Helper()
	tags := 0
	for {
		m, err := f.Receive()
		if err != nil {
			t.Fatal(err)
		}
		switch m := m.(type) {
		case *pgproto3.CommandComplete:
			tags++
		case *pgproto3.DataRow:
			if len(m.Values) > 1 {
				return
			}
		case *pgproto3.CopyData:
			return
		case *pgproto3.ErrorResponse:
			t.Fatal(m.Message)
		}
	}
}

// TestCancelOfAnUnreadStream: a client that reads nothing until its cancel request has
// been dealt with, as PQcancel does, is not waited for.
func TestCancelOfAnUnreadStream(t *testing.T) {
	server, _ := startProxied(t)
	for name, sql := range streaming {
		t.Run(name, func(t *testing.T) {
			conn, hijacked, _ := begin(t, server.addr, sql)
			awaitRow(t, hijacked.Frontend)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := conn.CancelRequest(ctx); err != nil {
				t.Fatal(err)
			}
			for {
				m, err := hijacked.Frontend.Receive()
				if err != nil {
					t.Fatal(err)
				}
				switch m := m.(type) {
				case *pgproto3.ErrorResponse:
					if m.Code != "57014" {
						t.Errorf("%s: %s", m.Code, m.Message)
					}
				case *pgproto3.ReadyForQuery:
					return
				}
			}
		})
	}
}

// TestClientGoneAmidAStream: the upstream's statement ends with the client, and nothing is
// wrong with the server.
func TestClientGoneAmidAStream(t *testing.T) {
	server, direct := startProxied(t)
	for name, sql := range streaming {
		t.Run(name, func(t *testing.T) {
			_, hijacked, pid := begin(t, server.addr, sql)
			awaitRow(t, hijacked.Frontend)
			if err := hijacked.Conn.(*net.TCPConn).SetLinger(0); err != nil { // a reset
				t.Fatal(err)
			}
			hijacked.Conn.Close()
			eventually(t, direct, "select count(*) from pg_stat_activity where pid = "+pid, "0")
		})
	}
	if n := server.log.errors.Load(); n > 0 {
		t.Errorf("%d errors in the log", n)
	}
}

// TestClientGoneAmidCopy: so does a COPY that waits for data.
func TestClientGoneAmidCopy(t *testing.T) {
	server, direct := startProxied(t)
	_, hijacked, pid := begin(t, server.addr, "create temp table t (a int); copy t from stdin; select raisin_lock_release('k', 1)")
	for {
		m, err := hijacked.Frontend.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := m.(*pgproto3.CopyInResponse); ok {
			break
		}
	}
	hijacked.Conn.Close()
	eventually(t, direct, "select count(*) from pg_stat_activity where pid = "+pid, "0")
	if n := server.log.errors.Load(); n > 0 {
		t.Errorf("%d errors in the log", n)
	}
}

// TestGarbageAmidCopy ends the session, as it does without a call in the query.
func TestGarbageAmidCopy(t *testing.T) {
	server, _ := startProxied(t)
	for name, test := range map[string]struct {
		garbage string
		want    []string
	}{
		"an unknown type":       {"y\x00\x00\x00\x04", []string{"FATAL 08P01"}},
		"an impossible length":  {"d\x00\x00\x00\x02", nil},
		"a query":               {"Q\x00\x00\x00\x0dselect 1\x00", []string{"ERROR 08P01", "FATAL 08P01"}},
		"the end of the client": {"X\x00\x00\x00\x04", []string{"ERROR 08P01", "FATAL 08P01"}},
	} {
		_, hijacked, _ := begin(t, server.addr, "create temp table t (a int); copy t from stdin; select raisin_lock_release('k', 1)")
		var told []string
		for {
			m, err := hijacked.Frontend.Receive()
			if err != nil {
				if !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
					t.Errorf("%s: %v", name, err)
				}
				break
			}
			switch m := m.(type) {
			case *pgproto3.CopyInResponse:
				if _, err := hijacked.Conn.Write([]byte(test.garbage)); err != nil {
					t.Fatal(err)
				}
			case *pgproto3.ErrorResponse:
				told = append(told, m.Severity+" "+m.Code)
			case *pgproto3.ReadyForQuery:
				told = append(told, "ready")
			}
		}
		if len(told) != len(test.want) {
			t.Errorf("%s: told %q, want %q", name, told, test.want)
			continue
		}
		for i := range told {
			if told[i] != test.want[i] {
				t.Errorf("%s: told %q, want %q", name, told, test.want)
			}
		}
	}
}

// TestNoticesAreNotHeldBack: the client sees them while the statement goes on.
func TestNoticesAreNotHeldBack(t *testing.T) {
	server, _ := startProxied(t)
	conn, hijacked, _ := begin(t, server.addr,
		"select raisin_lock_release('k', 1); do $$ begin raise notice 'now'; perform pg_sleep(3600); end $$")
	for {
		m, err := hijacked.Frontend.Receive()
		if err != nil {
			t.Fatal(err)
		}
		switch m := m.(type) {
		case *pgproto3.NoticeResponse:
			if err := conn.CancelRequest(t.Context()); err != nil {
				t.Fatal(err)
			}
		case *pgproto3.ErrorResponse:
			if m.Code != "57014" {
				t.Errorf("%s: %s", m.Code, m.Message)
			}
		case *pgproto3.ReadyForQuery:
			return
		}
	}
}

// TestALongAnswerThatStops: what the upstream has sent of it arrives, also if for efficiency's sake
// it is waited for more, and the rest arrives when it comes.
func TestALongAnswerThatStops(t *testing.T) {
	server, direct := startProxied(t)
	const rows, kept = 300_000, 1000 // PostgreSQL keeps 8 KB
	queryOne(t, direct, "select pg_advisory_lock(42)")
	_, hijacked, _ := begin(t, server.addr, fmt.Sprintf("select g, case g when %d then pg_advisory_lock(42) end from generate_series(1, %[1]d) g", rows))
	if err := hijacked.Conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	for got := 0; got < rows; {
		m, err := hijacked.Frontend.Receive()
		if err != nil {
			t.Fatalf("after %d rows: %v", got, err)
		}
		if _, ok := m.(*pgproto3.DataRow); ok {
			got++
		}
		if got == rows-kept {
			queryOne(t, direct, "select pg_advisory_unlock(42)")
		}
	}
}
