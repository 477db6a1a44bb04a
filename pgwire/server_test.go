package pgwire_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"raisinproxy/pgwire/wiretest"
)

func connect(t testing.TB, addr, user string) *pgconn.PgConn {
	t.Helper()
	conn, err := pgconn.Connect(t.Context(), "postgres://"+user+"@"+addr+"/shop?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// exchange sends messages in one write and reads up to as many ReadyForQuery.
func exchange(t *testing.T, f *pgproto3.Frontend, ready int, messages ...pgproto3.FrontendMessage) {
	t.Helper()
	for _, m := range messages {
		f.Send(m)
	}
	if err := f.Flush(); err != nil {
		t.Fatal(err)
	}
	for ready > 0 {
		m, err := f.Receive()
		if err != nil {
			t.Fatal(err)
		}
		switch m := m.(type) {
		case *pgproto3.ErrorResponse:
			t.Fatalf("%s: %s", m.Code, m.Message)
		case *pgproto3.ReadyForQuery:
			ready--
		}
	}
}

// TestAnswersOfABatchLeaveInOneWrite counts the writes on the server's side.
func TestAnswersOfABatchLeaveInOneWrite(t *testing.T) {
	server := startServer(t, map[string]string{"backend": "immediate", "writes": "counted"})
	conn := connect(t, server.addr, "alice")
	hijacked, err := conn.Hijack()
	if err != nil {
		t.Fatal(err)
	}
	defer hijacked.Conn.Close()
	f := hijacked.Frontend
	pipeline := func() (messages []pgproto3.FrontendMessage) {
		for range 5 {
			messages = append(messages,
				&pgproto3.Parse{Query: "select * from raisin_inventory_claim($1, 1, 1000)"},
				&pgproto3.Bind{Parameters: [][]byte{[]byte("p")}},
				&pgproto3.Describe{ObjectType: 'P'},
				&pgproto3.Execute{})
		}
		return append(messages, &pgproto3.Sync{})
	}
	for _, test := range []struct {
		name     string
		ready    int
		messages []pgproto3.FrontendMessage
	}{
		{"a simple query", 1, []pgproto3.FrontendMessage{&pgproto3.Query{String: "select 1"}}},
		{"three statements in a simple query", 1, []pgproto3.FrontendMessage{&pgproto3.Query{String: "begin; select raisin_lock_acquire('k', 1000); commit"}}},
		{"five calls in a pipeline", 1, pipeline()},
		{"two pipelines in one write", 2, append(pipeline(), pipeline()...)},
	} {
		t.Run(test.name, func(t *testing.T) {
			exchange(t, f, test.ready, test.messages...) // the first time the text is planned
			before := server.listen.count()
			exchange(t, f, test.ready, test.messages...)
			if n := server.listen.count() - before; n != 1 {
				t.Errorf("%d writes, want 1", n)
			}
		})
	}
}

// TestFiveHundredClaimers: 500 clients at once on a pool of 180.
func TestFiveHundredClaimers(t *testing.T) {
	const clients, capacity = 500, 180
	server := startServer(t, map[string]string{"backend": "immediate"})
	conns := make([]*pgconn.PgConn, clients)
	for i := range conns {
		conns[i] = connect(t, server.addr, "alice")
	}
	var sold atomic.Int64
	var left sync.Map
	var group sync.WaitGroup
	start := make(chan struct{})
	for _, conn := range conns {
		group.Go(func() {
			<-start
			result := conn.ExecParams(t.Context(), "select * from raisin_inventory_claim('flight', 1, 180)", nil, nil, nil, nil).Read()
			if result.Err != nil {
				t.Error(result.Err)
				return
			}
			remaining := string(result.Rows[0][1])
			if string(result.Rows[0][0]) != "t" {
				if remaining != "0" {
					t.Errorf("refused with %s units left", remaining)
				}
				return
			}
			sold.Add(1)
			if _, twice := left.LoadOrStore(remaining, true); twice {
				t.Errorf("two claims left %s units", remaining)
			}
		})
	}
	close(start)
	group.Wait()
	if n := sold.Load(); n != capacity {
		t.Errorf("sold %d of %d", n, capacity)
	}
}

// startCall has the backend delay a call that conn makes, and returns when the call
// waits there. Its error arrives in the channel.
func (s *testServer) startCall(t *testing.T, conn *pgconn.PgConn, fault string) <-chan error {
	t.Helper()
	s.faulty.arm(t, fault)
	done := make(chan error, 1)
	go func() {
		_, err := conn.Exec(t.Context(), "select raisin_lock_acquire('k', 1000)").ReadAll()
		done <- err
	}()
	<-s.faulty.waiting
	return done
}

// TestClientGoneEndsItsCall: a call that waits is cancelled when its client hangs
// up, and the session ends. (goleak and the server's end would show otherwise.)
func TestClientGoneEndsItsCall(t *testing.T) {
	server := startServer(t, nil)
	conn := connect(t, server.addr, "alice")
	done := server.startCall(t, conn, "stall")
	conn.Conn().Close()
	if err := <-done; err == nil {
		t.Error("the call of a client that hung up succeeded")
	}
	// The lock was not taken by the dead client's call.
	other := connect(t, server.addr, "bob")
	result := other.ExecParams(t.Context(), "select acquired from raisin_lock_acquire('k', 1000)", nil, nil, nil, nil).Read()
	if result.Err != nil || string(result.Rows[0][0]) != "t" {
		t.Errorf("acquire after the client left: %v %q", result.Err, result.Rows)
	}
}

// TestShutdown: idle clients are told at once; a running call may finish; one that
// does not is cut off when the time of grace is over.
func TestShutdown(t *testing.T) {
	t.Run("idle", func(t *testing.T) {
		server := startServer(t, nil)
		conn := connect(t, server.addr, "alice")
		server.shutdown(t)
		wantShutdown(t, drainUntilError(conn))
	})
	t.Run("running", func(t *testing.T) {
		server := startServer(t, map[string]string{"grace": "10ms"})
		conn := connect(t, server.addr, "alice")
		done := server.startCall(t, conn, "stall")
		server.shutdown(t)
		wantShutdown(t, <-done)
	})
	t.Run("finishing", func(t *testing.T) {
		server := startServer(t, nil)
		conn := connect(t, server.addr, "alice")
		done := server.startCall(t, conn, "slow")
		ended := make(chan struct{})
		go func() {
			server.shutdown(t)
			close(ended)
		}()
		server.faulty.step <- struct{}{}
		if err := <-done; err != nil {
			t.Errorf("the running call was cut off: %v", err)
		}
		<-ended
	})
	t.Run("in line, cut off", func(t *testing.T) {
		for _, backend := range []string{"", "immediate"} {
			server := startServer(t, map[string]string{"grace": "1ms", "backend": backend})
			done := server.startWait(t)
			server.shutdown(t)
			wantShutdown(t, <-done)
			if _, err := server.faulty.awaitLine("0"); err != nil {
				t.Error(err)
			}
		}
	})
	t.Run("in line, finishing", func(t *testing.T) {
		server := startServer(t, nil)
		done := server.startWait(t)
		ended := make(chan struct{})
		go func() {
			server.shutdown(t)
			close(ended)
		}()
		server.clock.Advance(time.Minute) // the lease ends
		if err := <-done; err != nil {
			t.Errorf("the waiting call was cut off: %v", err)
		}
		<-ended
	})
}

// startWait starts a call that waits in line for a lock of another session's.
func (s *testServer) startWait(t *testing.T) <-chan error {
	t.Helper()
	holder, waiter := connect(t, s.addr, "alice"), connect(t, s.addr, "bob")
	mustExec(t, holder, "SELECT raisin_lock_acquire('k', 60000)")
	done := make(chan error, 1)
	go func() {
		_, err := waiter.Exec(context.Background(), "SELECT raisin_lock_acquire('k', 60000, 300000)").ReadAll()
		done <- err
	}()
	if _, err := s.faulty.awaitLine("1"); err != nil {
		t.Fatal(err)
	}
	return done
}

func drainUntilError(conn *pgconn.PgConn) error {
	_, err := conn.Exec(context.Background(), "select 1").ReadAll()
	return err
}

func wantShutdown(t *testing.T, err error) {
	t.Helper()
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) || pgErr.Code != "57P01" {
		t.Errorf("got %v, want 57P01", err)
	}
}

// TestStartupTimeout: a client that connects and says nothing is dropped, and so
// is one that sends its start-up packet a byte at a time.
func TestStartupTimeout(t *testing.T) {
	server := startServer(t, map[string]string{"startup": "50ms"})
	conn, err := net.Dial("tcp", server.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.ReadAll(conn); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Errorf("reading: %v", err)
	}
}

// TestStartupTimeoutOfALookup: a client whose password is looked up where nobody answers
// is refused when its time is over.
func TestStartupTimeoutOfALookup(t *testing.T) {
	server := startServer(t, map[string]string{"startup": "50ms", "auth": "scram", "lookup": "stalls"})
	_, err := pgconn.Connect(t.Context(), "postgres://nobody:x@"+server.addr+"/shop?sslmode=disable")
	if err == nil {
		t.Error("a user that nobody knows logged in")
	}
}

// halfWay begins a log-in and leaves it at that.
func halfWay(t *testing.T, addr string) *pgproto3.Frontend {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	f := pgproto3.NewFrontend(conn, conn)
	f.Send(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30, Parameters: map[string]string{"user": "carol"}})
	if err := f.Flush(); err != nil {
		t.Fatal(err)
	}
	if m, err := f.Receive(); err != nil {
		t.Fatalf("%v %v", m, err)
	}
	return f
}

// TestHalfWayLoginsKeepNobodyOut: who has not logged in takes no connection from those who
// can, and with too many of them the first has to go, who is told so.
func TestHalfWayLoginsKeepNobodyOut(t *testing.T) {
	server := startServer(t, map[string]string{"auth": "scram", "connections": "1"})
	const room = 100 // for log-ins at once
	first := halfWay(t, server.addr)
	for range room - 1 {
		halfWay(t, server.addr)
	}
	carol := "postgres://carol:" + wiretest.Passwords["carol"] + "@" + server.addr + "/shop?sslmode=disable"
	conn, err := pgconn.Connect(t.Context(), carol)
	if err != nil {
		t.Fatalf("half-way log-ins keep a client out: %v", err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	m, err := first.Receive()
	if e, ok := m.(*pgproto3.ErrorResponse); err != nil || !ok || e.Code != "53300" || e.Severity != "FATAL" {
		t.Errorf("who was there first got %v %v, want FATAL 53300", m, err)
	}
	if _, err := first.Receive(); err == nil {
		t.Error("its connection goes on")
	}
	var refused *pgconn.PgError
	if _, err := pgconn.Connect(t.Context(), carol); !errors.As(err, &refused) || refused.Code != "53300" {
		t.Errorf("a second client beyond max_connections: %v, want 53300", err)
	}
}

// TestIdleTimeout: a session that sends nothing is ended with its own code.
func TestIdleTimeout(t *testing.T) {
	server := startServer(t, map[string]string{"idle": "50ms"})
	conn := connect(t, server.addr, "alice")
	hijacked, err := conn.Hijack()
	if err != nil {
		t.Fatal(err)
	}
	defer hijacked.Conn.Close()
	m, err := hijacked.Frontend.Receive()
	if e, ok := m.(*pgproto3.ErrorResponse); err != nil || !ok || e.Code != "57P05" {
		t.Errorf("got %v %v, want 57P05", m, err)
	}
}
