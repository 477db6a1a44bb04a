package pgwire_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"maps"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"raisinproxy/pgwire/wiretest"
)

// startProxied starts a server in front of PostgreSQL, and connects straight to that.
func startProxied(t *testing.T) (*testServer, *pgconn.PgConn) {
	t.Helper()
	return startProxiedWith(t, nil)
}

func startProxiedWith(t *testing.T, options map[string]string) (*testServer, *pgconn.PgConn) {
	t.Helper()
	all := map[string]string{"upstream": wiretest.PostgresURL(t), "backend": "immediate"}
	maps.Copy(all, options)
	server := startServer(t, all)
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

// TestLockSessionsOpenNoUpstream: with connections that are opened at their first use, and
// once a client of its kind was greeted, a session that only calls locks has none to the
// upstream.
func TestLockSessionsOpenNoUpstream(t *testing.T) {
	server, direct := startProxiedWith(t, map[string]string{"open": "first-use"})
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

// TestClientPasswordIsPassedOn: with user = "$client" an upstream that asks for a password
// gets the one that the users file has in plain.
func TestClientPasswordIsPassedOn(t *testing.T) {
	behind := wiretest.PostgresTarget(t, map[string]string{"auth": "scram"}).Addr
	server := startServer(t, map[string]string{"auth": "scram", "upstream": "postgres://postgres@" + behind + "/?sslmode=disable"})
	for user, password := range wiretest.Passwords {
		cfg, err := pgconn.ParseConfig("postgres://" + server.addr + "/shop?sslmode=disable")
		if err != nil {
			t.Fatal(err)
		}
		cfg.User, cfg.Password = user, strings.ReplaceAll(password, "\u00ad", "") // which pgx does not prepare
		conn, err := pgconn.ConnectConfig(t.Context(), cfg)
		if err != nil {
			t.Errorf("%s: %v", user, err)
			continue
		}
		if got := queryOne(t, conn, "select current_user"); got != user {
			t.Errorf("%s is %s upstream", user, got)
		}
		conn.Close(t.Context())
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
	// The upstream waits for its client to read: nothing flows any more.
	eventually(t, direct, "select count(*) from pg_stat_activity where query like 'copy (select generate_series%' and wait_event = 'ClientWrite'", "1")
	wantLittleMemory(t)
}

func wantLittleMemory(t *testing.T) {
	t.Helper()
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	if m.HeapInuse+m.StackInuse > 64<<20 {
		t.Errorf("%d bytes in use", m.HeapInuse+m.StackInuse)
	}
}

// TestUnreadBatchTakesNoMemory: nor do rows that stand beside a call in one query.
func TestUnreadBatchTakesNoMemory(t *testing.T) {
	server, direct := startProxied(t)
	for name, sql := range map[string]string{
		"a statement beside a call": "select raisin_lock_release('k', 1); copy (select generate_series(1, 100000000)) to stdout",
		"a statement with a call":   "select generate_series(1, 100000000), released from raisin_lock_release('k', 1) as released",
		"a row":                     "select raisin_lock_release('k', 1); select repeat('x', 200000000)",
	} {
		t.Run(name, func(t *testing.T) {
			conn := connect(t, server.addr, "alice")
			pid := queryOne(t, conn, "select pg_backend_pid()")
			hijacked, err := conn.Hijack()
			if err != nil {
				t.Fatal(err)
			}
			defer hijacked.Conn.Close()
			hijacked.Frontend.Send(&pgproto3.Query{String: sql})
			if err := hijacked.Frontend.Flush(); err != nil {
				t.Fatal(err)
			}
			eventually(t, direct, "select count(*) from pg_stat_activity where pid = "+pid+" and state = 'active' and wait_event = 'ClientWrite'", "1")
			wantLittleMemory(t)
		})
	}
}

// TestLongMessagesTakeNoMemory: what a client sends goes on as it arrives.
func TestLongMessagesTakeNoMemory(t *testing.T) {
	server, _ := startProxied(t)
	const size = 100 << 20
	chunk := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	parse := encoded(t, &pgproto3.Parse{Query: "select length($1::text)"})
	copying := encoded(t, &pgproto3.Query{String: "create temp table lines (line text); copy lines from stdin"})
	finish := encoded(t, &pgproto3.Execute{}, &pgproto3.Sync{})
	bind := append([]byte{'B'}, binary.BigEndian.AppendUint32(nil, 4+1+1+2+2+4+size+2)...)
	bind = binary.BigEndian.AppendUint32(append(bind, 0, 0, 0, 0, 0, 1), size)
	for name, test := range map[string]struct{ before, after []byte }{
		"a parameter": {append(parse, bind...), append([]byte{0, 0}, finish...)},
		"data of a COPY": {
			append(append(copying, 'd'), binary.BigEndian.AppendUint32(nil, 4+size)...),
			append(encoded(t, &pgproto3.CopyDone{}), encoded(t, &pgproto3.Query{String: "select length(line) from lines"})...),
		},
	} {
		t.Run(name, func(t *testing.T) {
			hijacked, err := connect(t, server.addr, "alice").Hijack()
			if err != nil {
				t.Fatal(err)
			}
			defer hijacked.Conn.Close()
			write := func(b []byte) {
				if _, err := hijacked.Conn.Write(b); err != nil {
					t.Fatal(err)
				}
			}
			write(test.before)
			for range size / len(chunk) {
				write(chunk)
			}
			wantLittleMemory(t)
			write(test.after)
			for {
				m, err := hijacked.Frontend.Receive()
				if err != nil {
					t.Fatal(err)
				}
				switch m := m.(type) {
				case *pgproto3.DataRow:
					if got, want := string(m.Values[0]), strconv.Itoa(size); got != want {
						t.Errorf("length %s, want %s", got, want)
					}
					return
				case *pgproto3.ErrorResponse:
					t.Fatal(m.Message)
				}
			}
		})
	}
}

func encoded(t *testing.T, messages ...pgproto3.FrontendMessage) (out []byte) {
	t.Helper()
	for _, m := range messages {
		var err error
		if out, err = m.Encode(out); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// TestUpstreamGoneAmidABatch: so is one whose statements the session runs by itself.
func TestUpstreamGoneAmidABatch(t *testing.T) {
	server, direct := startProxied(t)
	for _, sql := range []string{
		"select raisin_lock_release('k', 1); select pg_sleep(3600)",
		"select pg_sleep(3600) from raisin_lock_release('k', 1)",
		"select raisin_lock_release('k', extract(epoch from now())::bigint) from pg_sleep(3600)",
	} {
		conn := connect(t, server.addr, "alice")
		pid := queryOne(t, conn, "select pg_backend_pid()")
		hijacked, err := conn.Hijack()
		if err != nil {
			t.Fatal(err)
		}
		hijacked.Frontend.Send(&pgproto3.Query{String: sql})
		if err := hijacked.Frontend.Flush(); err != nil {
			t.Fatal(err)
		}
		eventually(t, direct, "select wait_event from pg_stat_activity where pid = "+pid, "PgSleep")
		queryOne(t, direct, "select pg_terminate_backend("+pid+")")
		var told []string
		for {
			m, err := hijacked.Frontend.Receive()
			if err != nil {
				break
			}
			if e, ok := m.(*pgproto3.ErrorResponse); ok {
				told = append(told, e.Severity+" "+e.Code)
			}
		}
		if len(told) != 1 || told[0] != "FATAL 57P01" {
			t.Errorf("%s: told %q", sql, told)
		}
		hijacked.Conn.Close()
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

// TestUpstreamGoneAfterACall: what a call took is given back if the upstream goes away before
// the end of the transaction was sent to it, since the transaction is undone then for
// certain. After that nobody knows, so the client is told what it may have.
func TestUpstreamGoneAfterACall(t *testing.T) {
	server, direct := startProxied(t)
	owner := connect(t, server.addr, "alice")
	for _, sql := range []string{
		"DROP SCHEMA IF EXISTS lost CASCADE", "CREATE SCHEMA lost", "CREATE TABLE lost.orders (n bigint)",
		"CREATE FUNCTION lost.wait() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(3600); RETURN NULL; END'",
		"CREATE CONSTRAINT TRIGGER late AFTER INSERT ON lost.orders DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION lost.wait()",
	} {
		queryOne(t, owner, sql)
	}
	t.Cleanup(func() { owner.Exec(context.Background(), "DROP SCHEMA lost CASCADE").Close() })
	claim := func(pool string) string {
		return "INSERT INTO lost.orders SELECT c.remaining FROM raisin_inventory_claim('" + pool + "', 1, 10) c"
	}
	pipeline := func(sql string) []pgproto3.FrontendMessage {
		return []pgproto3.FrontendMessage{&pgproto3.Parse{Query: sql}, &pgproto3.Bind{}, &pgproto3.Execute{}, &pgproto3.Sync{}}
	}
	query := func(sql string) []pgproto3.FrontendMessage {
		return []pgproto3.FrontendMessage{&pgproto3.Query{String: sql}}
	}
	for _, test := range []struct {
		pool     string
		messages []pgproto3.FrontendMessage
		sure     bool
	}{
		{"within", query("SELECT c.remaining, pg_sleep(3600) FROM raisin_inventory_claim('within', 1, 10) c"), true},
		{"behind", append(pipeline(claim("behind"))[:3], pipeline("SELECT pg_sleep(3600)")...), true},
		{"batch", query(claim("batch") + "; SELECT pg_sleep(3600)"), true},
		{"ending", query(claim("ending")), false},
		{"ending a pipeline", pipeline(claim("ending a pipeline")), false},
		{"ending a batch", query("SELECT 1; " + claim("ending a batch")), false},
	} {
		t.Run(test.pool, func(t *testing.T) {
			conn := connect(t, server.addr, "alice")
			pid := queryOne(t, conn, "select pg_backend_pid()")
			hijacked, err := conn.Hijack()
			if err != nil {
				t.Fatal(err)
			}
			defer hijacked.Conn.Close()
			for _, m := range test.messages {
				hijacked.Frontend.Send(m)
			}
			if err := hijacked.Frontend.Flush(); err != nil {
				t.Fatal(err)
			}
			eventually(t, direct, "select wait_event from pg_stat_activity where pid = "+pid, "PgSleep")
			queryOne(t, direct, "select pg_terminate_backend("+pid+")")
			told := lastError(hijacked.Frontend)
			left := queryOne(t, connect(t, server.addr, "alice"), "SELECT remaining FROM raisin_inventory_claim('"+test.pool+"', 1, 10)")
			switch {
			case test.sure && (told.Code != "57P01" || left != "9"):
				t.Errorf("told %s %s, %s, and %s units are left; want 57P01 and 9", told.Code, told.Message, told.Detail, left)
			case !test.sure && (told.Code != "40003" || left != "8" || !strings.Contains(told.Detail, `1 unit of pool "`+test.pool)):
				t.Errorf("told %s %s, %s, and %s units are left; want 40003 with the pool, and 8", told.Code, told.Message, told.Detail, left)
			}
		})
	}
}

// lastError reads up to the end and returns the last error.
func lastError(f *pgproto3.Frontend) (last pgproto3.ErrorResponse) {
	for {
		m, err := f.Receive()
		if err != nil {
			return last
		}
		if e, ok := m.(*pgproto3.ErrorResponse); ok {
			last = *e
		}
	}
}

// TestClientGoneAfterACall: what a call took is given back if the client leaves amid its
// statement, which the upstream then undoes.
func TestClientGoneAfterACall(t *testing.T) {
	server, direct := startProxied(t)
	conn := connect(t, server.addr, "alice")
	pid := queryOne(t, conn, "select pg_backend_pid()")
	hijacked, err := conn.Hijack()
	if err != nil {
		t.Fatal(err)
	}
	hijacked.Frontend.Send(&pgproto3.Query{String: "SELECT c.acquired, pg_sleep(3600) FROM raisin_lock_acquire('gone', 300000) c"})
	if err := hijacked.Frontend.Flush(); err != nil {
		t.Fatal(err)
	}
	eventually(t, direct, "select wait_event from pg_stat_activity where pid = "+pid, "PgSleep")
	hijacked.Conn.Close()
	eventually(t, connect(t, server.addr, "alice"), "SELECT acquired FROM raisin_lock_acquire('gone', 300000)", "t")
}
