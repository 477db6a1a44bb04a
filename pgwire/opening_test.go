package pgwire_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"raisinproxy/pgwire/wiretest"
)

// open connects with start-up parameters of one's choice.
func open(t *testing.T, addr string, parameters map[string]string) (*pgconn.PgConn, error) {
	t.Helper()
	config, err := pgconn.ParseConfig("postgres://" + addr + "/?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	config.User, config.Database = "alice", "shop"
	for name, value := range parameters {
		switch name {
		case "user":
			config.User = value
		case "database":
			config.Database = value
		default:
			config.RuntimeParams[name] = value
		}
	}
	conn, err := pgconn.ConnectConfig(t.Context(), config)
	if err == nil {
		t.Cleanup(func() { conn.Close(context.Background()) })
	}
	return conn, err
}

func mustOpen(t *testing.T, addr string, parameters map[string]string) *pgconn.PgConn {
	t.Helper()
	conn, err := open(t, addr, parameters)
	if err != nil {
		t.Fatalf("%v: %v", parameters, err)
	}
	return conn
}

// TestProcessIDIsTheUpstreams: what a driver was told is what PostgreSQL calls the session.
func TestProcessIDIsTheUpstreams(t *testing.T) {
	server, direct := startProxied(t)
	conn, other := connect(t, server.addr, "alice"), connect(t, server.addr, "bob")
	told := strconv.Itoa(int(conn.PID()))
	for _, sql := range []string{
		"select pg_backend_pid()",
		"select pg_backend_pid() from raisin_lock_release('k', 1)",
		"select pid from pg_stat_activity where pid = " + told,
	} {
		if got := queryOne(t, conn, sql); got != told {
			t.Errorf("%s: %s, told %s", sql, got, told)
		}
	}
	queryOne(t, conn, "select pg_advisory_lock(72501)")
	waiting := make(chan error, 1)
	go func() {
		_, err := other.Exec(context.Background(), "select pg_advisory_lock(72501)").ReadAll()
		waiting <- err
	}()
	eventually(t, direct, "select pg_blocking_pids("+strconv.Itoa(int(other.PID()))+")::text", "{"+told+"}")
	queryOne(t, conn, "select pg_advisory_unlock(72501)")
	if err := <-waiting; err != nil {
		t.Error(err)
	}
}

// TestTerminatedAmongLocks: a session that only calls locks ends with its upstream process,
// as the administrator who ends that wants.
func TestTerminatedAmongLocks(t *testing.T) {
	server, direct := startProxied(t)
	conn := connect(t, server.addr, "alice")
	queryOne(t, conn, "select raisin_lock_acquire('k', 1000)")
	hijacked, err := conn.Hijack()
	if err != nil {
		t.Fatal(err)
	}
	defer hijacked.Conn.Close()
	if got := queryOne(t, direct, "select pg_terminate_backend("+strconv.Itoa(int(hijacked.PID))+")"); got != "t" {
		t.Fatalf("pg_terminate_backend: %s", got)
	}
	m, err := hijacked.Frontend.Receive()
	if e, ok := m.(*pgproto3.ErrorResponse); err != nil || !ok || e.Code != "57P01" {
		t.Errorf("got %v %v, want 57P01", m, err)
	}
	if m, err := hijacked.Frontend.Receive(); err == nil {
		t.Errorf("after the end came %v", m)
	}
}

// TestLockSessionsSayNothingUpstream: a session that only calls locks has its connection from
// the start, and is answered here all the same.
func TestLockSessionsSayNothingUpstream(t *testing.T) {
	server, direct := startProxied(t)
	conn := connect(t, server.addr, "alice")
	const spoken = "select state_change::text || query from pg_stat_activity where pid = "
	before := queryOne(t, direct, spoken+strconv.Itoa(int(conn.PID())))
	if got := queryOne(t, conn, "select acquired from raisin_lock_acquire('k', 1000)"); got != "t" {
		t.Errorf("acquired: %s", got)
	}
	if after := queryOne(t, direct, spoken+strconv.Itoa(int(conn.PID()))); after != before {
		t.Errorf("%s, before the call %s", after, before)
	}
}

// TestNotificationsNameDrivers: where ids are made up, a notification names the one that the
// sender's driver was told, though the sender may be gone by the time it comes.
func TestNotificationsNameDrivers(t *testing.T) {
	for _, mode := range []string{"login", "first-use"} {
		t.Run(mode, func(t *testing.T) {
			server, direct := startProxiedWith(t, map[string]string{"open": mode})
			listener, err := connect(t, server.addr, "alice").Hijack()
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Conn.Close()
			exchange(t, listener.Frontend, 1, &pgproto3.Query{String: "listen drivers"})
			for _, addr := range []string{server.addr, server.addr, direct.Conn().RemoteAddr().String()} {
				sender := connect(t, addr, "bob")
				told := sender.PID()
				execute(t, sender, "notify drivers")
				if err := sender.Close(t.Context()); err != nil {
					t.Error(err)
				}
				m, err := listener.Frontend.Receive()
				if got, ok := m.(*pgproto3.NotificationResponse); err != nil || !ok || got.PID != told {
					t.Errorf("got %+v %v, want process %d", m, err, told)
				}
			}
		})
	}
}

func execute(t *testing.T, conn *pgconn.PgConn, sql string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql).ReadAll(); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// mute is an upstream that accepts connections and never answers.
type mute struct {
	net.Listener
	accepted chan net.Conn
}

func startMute(t *testing.T) *mute {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := &mute{Listener: l, accepted: make(chan net.Conn, 10)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { conn.Close() })
			m.accepted <- conn
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return m
}

func (m *mute) url() string { return "postgres://service@" + m.Addr().String() + "/?sslmode=disable" }

// TestLogInEndsThoughTheUpstreamIsMute: within the time of a start-up, with the cause, which
// is logged once.
func TestLogInEndsThoughTheUpstreamIsMute(t *testing.T) {
	for _, mode := range []string{"login", "first-use"} {
		t.Run(mode, func(t *testing.T) {
			server := startServer(t, map[string]string{"upstream": startMute(t).url(), "startup": "50ms", "open": mode})
			for range 2 {
				_, err := open(t, server.addr, nil)
				var told *pgconn.PgError
				if !errors.As(err, &told) || told.Code != "08001" || !strings.Contains(told.Detail, "startup_timeout_secs") {
					t.Errorf("the client is told %v %+v", err, told)
				}
			}
			if n := server.log.errors.Load(); n != 1 {
				t.Errorf("logged %d times", n)
			}
		})
	}
}

// TestLogInTellsWhy: where nobody listens, too.
func TestLogInTellsWhy(t *testing.T) {
	m := startMute(t)
	m.Close()
	server := startServer(t, map[string]string{"upstream": m.url()})
	_, err := open(t, server.addr, nil)
	var told *pgconn.PgError
	if !errors.As(err, &told) || told.Code != "08001" || !strings.Contains(told.Detail, "refused") {
		t.Errorf("the client is told %v %+v", err, told)
	}
}

// TestLeavingAMuteUpstreamFreesThePlace: a client that gives up does not keep others out.
func TestLeavingAMuteUpstreamFreesThePlace(t *testing.T) {
	m := startMute(t)
	server := startServer(t, map[string]string{"upstream": m.url(), "connections": "1"})
	hello := encoded(t, &pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30, Parameters: map[string]string{"user": "alice", "database": "shop"}})
	for range 3 {
		client, upstream := enter(t, m, server.addr, hello)
		if err := client.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, upstream); err != nil { // until it is given up
			t.Error(err)
		}
	}
}

// enter logs in until there is a place, which the last client may be about to leave.
func enter(t *testing.T, m *mute, addr string, hello []byte) (client, upstream net.Conn) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		var dialer net.Dialer
		client, err := dialer.DialContext(t.Context(), "tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Write(hello); err != nil {
			t.Fatal(err)
		}
		refused := make(chan struct{})
		go func() {
			_, _ = client.Read(make([]byte, 1<<10))
			close(refused)
		}()
		select {
		case upstream := <-m.accepted:
			return client, upstream
		case <-refused:
			client.Close()
		}
	}
	t.Fatal("there was no place for a minute")
	return nil, nil
}

// options that this server reads otherwise than PostgreSQL, or not at all, and others.
var branchOptions = []string{
	"-c app.branch=rel9",
	"-c app.branch=rel9 -e",
	"-S 4096 -c app.branch=rel9",
	"-s -c app.branch=rel9",
	"-fh -c app.branch=rel9",
	"-fhc app.branch=rel9",
	"-capp.branch=rel9",
	"--app.branch=rel9",
	"--app.Branch=rel9",
	"-c APP.BRANCH=rel9",
	`-c app.branch=rel9 \`,
	`-c app.branch=re\l9`,
	"-c app.branch=rel9 --",
	"-- -c app.branch=rel9",
	"-c app.branch=main --app.branch=rel9",
	"-c app.branch",
	"-c",
	"-e",
	"-c app.branch=",
}

// TestScopeIsWhatTheUpstreamSays: from the first call on, whatever the start-up options look
// like, and however the connection is opened.
func TestScopeIsWhatTheUpstreamSays(t *testing.T) {
	for _, mode := range []string{"login", "first-use"} {
		server, direct := startProxiedWith(t, map[string]string{"open": mode})
		directly := strings.TrimPrefix(direct.Conn().RemoteAddr().String(), "tcp:")
		for i, options := range branchOptions {
			t.Run(fmt.Sprintf("%s/%s", mode, options), func(t *testing.T) {
				want := ""
				there, wantErr := open(t, directly, map[string]string{"options": options})
				if wantErr == nil {
					want = queryOne(t, there, "select current_setting('app.branch', true)")
				}
				if want == "" && !strings.Contains(options, "app.branch=") {
					want = "main"
				}
				for n := range 2 { // the second time it is known, with first-use
					wantScope(t, server.addr, map[string]string{"options": options}, want, wantErr, fmt.Sprintf("key %d %d", i, n))
				}
			})
		}
	}
}

// wantScope takes a lock in a branch, and looks for it there with a session of these
// parameters: before and after it has asked the upstream for something.
func wantScope(t *testing.T, addr string, parameters map[string]string, branch string, wantErr error, key string) {
	t.Helper()
	conn, err := open(t, addr, parameters)
	var want, got *pgconn.PgError
	if errors.As(wantErr, &want) {
		if !errors.As(err, &got) || got.Code != want.Code || got.Message != want.Message {
			t.Errorf("error %v, want %v", err, want)
		}
		return
	}
	if branch == "" {
		if !errors.As(err, &got) || got.Code != "22023" {
			t.Errorf("error %v, want 22023", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	holder := mustOpen(t, addr, nil)
	execute(t, holder, "set app.branch = '"+branch+"'")
	acquire := "select acquired from raisin_lock_acquire('" + key + "', 60000)"
	if got := queryOne(t, holder, acquire); got != "t" {
		t.Fatalf("the holder's lock: %s", got)
	}
	for _, when := range []string{"at first", "later"} {
		if got := queryOne(t, conn, acquire); got != "f" {
			t.Errorf("%s it works in another branch than %s", when, branch)
		}
		shown := queryOne(t, conn, "show app.branch")
		if parameters["client_encoding"] == "LATIN1" {
			shown = strings.ReplaceAll(shown, "\xe9", "é")
		}
		if shown != branch {
			t.Errorf("%s SHOW says %s, want %s", when, shown, branch)
		}
	}
}

// TestBranchInAnotherEncoding: PostgreSQL takes options as they are, whatever
// client_encoding among them says.
func TestBranchInAnotherEncoding(t *testing.T) {
	server, _ := startProxied(t)
	wantScope(t, server.addr, map[string]string{"client_encoding": "LATIN1", "options": "-c app.branch=café -e"}, "café", nil, "encoded")
}

// TestNoNameIsNoBranch: a setting of PostgreSQL's may be empty, a branch may not, and is not
// taken for another.
func TestNoNameIsNoBranch(t *testing.T) {
	server, _ := startProxied(t)
	conn := connect(t, server.addr, "alice")
	execute(t, conn, "select set_config('app.branch', '', false)")
	_, err := conn.Exec(t.Context(), "select raisin_lock_acquire('k', 1000)").ReadAll()
	var told *pgconn.PgError
	if !errors.As(err, &told) || told.Code != "22023" {
		t.Errorf("error %v, want 22023", err)
	}
}

// TestRepositoryIsWhereTheUpstreamIs: whatever a client calls the database.
func TestRepositoryIsWhereTheUpstreamIs(t *testing.T) {
	long := strings.Repeat("n", 63)
	for _, mode := range []string{"login", "first-use"} {
		server, direct := startProxiedWith(t, map[string]string{"open": mode})
		execute(t, direct, "create role "+long+" login")
		execute(t, direct, "create database "+long)
		for name, parameters := range map[string]map[string]string{
			"a name that is cut":        {"database": long + "and more"},
			"no name":                   {"user": long, "database": ""},
			"no name, of a long user's": {"user": long + "and more", "database": ""},
		} {
			acquire := "select acquired from raisin_lock_acquire($$" + name + "$$, 60000)"
			if got := queryOne(t, mustOpen(t, server.addr, map[string]string{"database": long}), acquire); got != "t" {
				t.Errorf("%s, %s: the first is refused", mode, name)
			}
			for n := range 2 {
				if got := queryOne(t, mustOpen(t, server.addr, parameters), acquire); got != "f" {
					t.Errorf("%s, %s: the lock is held twice (%d)", mode, name, n)
				}
			}
		}
		execute(t, direct, "drop database "+long+" with (force)")
		execute(t, direct, "drop role "+long)
	}
}

// TestURLsDatabaseIsTheRepository: where the configuration names the database, all clients
// work in that.
func TestURLsDatabaseIsTheRepository(t *testing.T) {
	server := startServer(t, map[string]string{"upstream": wiretest.PostgresURL(t), "database": "shop"})
	acquire := "select acquired from raisin_lock_acquire('k', 60000)"
	if got := queryOne(t, mustOpen(t, server.addr, map[string]string{"database": "one"}), acquire); got != "t" {
		t.Errorf("the first: %s", got)
	}
	other := mustOpen(t, server.addr, map[string]string{"database": "two"})
	if got := queryOne(t, other, acquire); got != "f" {
		t.Error("two hold the lock in one database")
	}
	if got := queryOne(t, other, "select current_database() from raisin_lock_release('k', 1)"); got != "shop" {
		t.Errorf("current_database: %s", got)
	}
}

// TestCancelsEndNoSession: wherever a cancel request meets a session, amid what it asks by
// itself too, it ends a statement at most.
func TestCancelsEndNoSession(t *testing.T) {
	server, _ := startProxied(t)
	conn := connect(t, server.addr, "alice")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	canceled := make(chan struct{})
	go func() {
		defer close(canceled)
		for ctx.Err() == nil {
			_ = conn.CancelRequest(ctx) // it comes when it comes
		}
	}()
	for range 200 {
		for _, sql := range []string{"select 1", "select raisin_lock_release('k', 1)", "select a, raisin_lock_release('k', 1) from generate_series(1, 3) a"} {
			_, err := conn.Exec(t.Context(), sql).ReadAll()
			var told *pgconn.PgError
			if err != nil && (!errors.As(err, &told) || told.Code != "57014") {
				t.Fatalf("%s: %v", sql, err)
			}
		}
	}
	cancel()
	<-canceled
}

// TestShutdownWithAMuteUpstream: who logs in is not waited for longer than statements are.
func TestShutdownWithAMuteUpstream(t *testing.T) {
	m := startMute(t)
	server := startServer(t, map[string]string{"upstream": m.url(), "grace": "10ms"})
	hello := encoded(t, &pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30, Parameters: map[string]string{"user": "alice"}})
	client, _ := enter(t, m, server.addr, hello)
	defer client.Close()
	server.shutdown(t)
}

// TestLogInOverTLS: there a goroutine reads ahead while the upstream is opened, and what it
// reads is not lost.
func TestLogInOverTLS(t *testing.T) {
	server := startServer(t, map[string]string{"upstream": wiretest.PostgresURL(t), "tls": "on"})
	config, err := pgconn.ParseConfig("postgres://alice@" + server.addr + "/shop?sslmode=require")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgconn.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if got := queryOne(t, conn, "select pg_backend_pid()"); got != strconv.Itoa(int(conn.PID())) {
		t.Errorf("process id %s, told %d", got, conn.PID())
	}
	if got := queryOne(t, conn, "select acquired from raisin_lock_acquire('k', 1000)"); got != "t" {
		t.Errorf("acquired: %s", got)
	}
}
