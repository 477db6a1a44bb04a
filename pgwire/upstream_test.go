package pgwire_test

import (
	"context"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"raisinproxy/pgwire/wiretest"
)

// startProxied starts a server in front of PostgreSQL, and connects straight to that.
func startProxied(t *testing.T) (*testServer, *pgconn.PgConn) {
	t.Helper()
	server := startServer(t, map[string]string{"upstream": wiretest.PostgresURL(t), "backend": "immediate"})
	direct, err := pgconn.Connect(t.Context(), wiretest.PostgresURL(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { direct.Close(context.Background()) })
	return server, direct
}

func queryOne(t *testing.T, conn *pgconn.PgConn, sql string) string {
	t.Helper()
	result := conn.ExecParams(t.Context(), sql, nil, nil, nil, nil).Read()
	if result.Err != nil {
		t.Fatalf("%s: %v", sql, result.Err)
	}
	if len(result.Rows) == 0 {
		return ""
	}
	return string(result.Rows[0][0])
}

// eventually asks until the answer is the wanted one. It fails after a minute, which
// is no matter of speed.
func eventually(t *testing.T, conn *pgconn.PgConn, sql, want string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		got := queryOne(t, conn, sql)
		if got == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: got %q for a minute, want %q", sql, got, want)
		}
		runtime.Gosched()
	}
}

// TestLockSessionsOpenNoUpstream: once a client of its kind was greeted, a session that
// only calls locks has no connection of its own to the upstream.
func TestLockSessionsOpenNoUpstream(t *testing.T) {
	server, direct := startProxied(t)
	const mine = "select count(*) from pg_stat_activity where application_name = 'locks only'"
	open := func() *pgconn.PgConn {
		conn, err := pgconn.Connect(t.Context(), "postgres://alice@"+server.addr+"/shop?sslmode=disable&application_name=locks%20only")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close(context.Background()) })
		return conn
	}
	open() // the first of its kind opens one at once
	for i := range 5 {
		conn := open()
		if got := queryOne(t, conn, "select acquired from raisin_lock_acquire('key "+strconv.Itoa(i)+"', 1000)"); got != "t" {
			t.Errorf("acquire: %s", got)
		}
	}
	if got := queryOne(t, direct, mine); got != "1" {
		t.Errorf("%s connections upstream, want 1", got)
	}
	conn := open()
	queryOne(t, conn, "select 1")
	if got := queryOne(t, direct, mine); got != "2" {
		t.Errorf("%s connections upstream after a statement of the upstream's, want 2", got)
	}
}

// TestClientGoneCancelsUpstream: the statement of a client that hangs up is cancelled,
// and its connection closed.
func TestClientGoneCancelsUpstream(t *testing.T) {
	server, direct := startProxied(t)
	conn := connect(t, server.addr, "alice")
	const sleeping = "select count(*) from pg_stat_activity where query = 'select pg_sleep(3600)'"
	hijacked, err := conn.Hijack()
	if err != nil {
		t.Fatal(err)
	}
	hijacked.Frontend.Send(&pgproto3.Query{String: "select pg_sleep(3600)"})
	if err := hijacked.Frontend.Flush(); err != nil {
		t.Fatal(err)
	}
	eventually(t, direct, sleeping, "1")
	if err := hijacked.Conn.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, direct, sleeping, "0")
}

// TestUnreadRowsTakeNoMemory: the rows that a client does not read wait in the
// upstream. 100 million of them would take gigabytes.
func TestUnreadRowsTakeNoMemory(t *testing.T) {
	server, direct := startProxied(t)
	conn := connect(t, server.addr, "alice")
	hijacked, err := conn.Hijack()
	if err != nil {
		t.Fatal(err)
	}
	defer hijacked.Conn.Close()
	hijacked.Frontend.Send(&pgproto3.Query{String: "copy (select generate_series(1, 100000000)) to stdout"})
	if err := hijacked.Frontend.Flush(); err != nil {
		t.Fatal(err)
	}
	// The upstream waits for us to read: nothing flows any more.
	eventually(t, direct, "select count(*) from pg_stat_activity where query like 'copy (select generate_series%' and wait_event = 'ClientWrite'", "1")
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	if m.HeapInuse+m.StackInuse > 64<<20 {
		t.Errorf("%d bytes in use", m.HeapInuse+m.StackInuse)
	}
}

// TestUpstreamGone: a client whose upstream ends is told once, in the upstream's words.
func TestUpstreamGone(t *testing.T) {
	server, direct := startProxied(t)
	conn := connect(t, server.addr, "alice")
	pid := queryOne(t, conn, "select pg_backend_pid()")
	hijacked, err := conn.Hijack()
	if err != nil {
		t.Fatal(err)
	}
	defer hijacked.Conn.Close()
	queryOne(t, direct, "select pg_terminate_backend("+pid+")")
	m, err := hijacked.Frontend.Receive()
	if e, ok := m.(*pgproto3.ErrorResponse); err != nil || !ok || e.Code != "57P01" {
		t.Fatalf("got %v %v, want 57P01", m, err)
	}
	if m, err := hijacked.Frontend.Receive(); err == nil {
		t.Errorf("after the end came %v", m)
	}
}
