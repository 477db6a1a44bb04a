package pgwire_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// waits starts a call that waits in line, and gives its answer: whether it got the lock.
func waits(t *testing.T, conn *pgconn.PgConn, sql string) <-chan string {
	t.Helper()
	answer := make(chan string, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		result := conn.ExecParams(ctx, sql, nil, nil, nil, nil).Read()
		if result.Err != nil {
			answer <- result.Err.Error()
			return
		}
		answer <- string(result.Rows[0][0])
	}()
	return answer
}

// TestWhoIsGoneIsNotServed: the lock does not go to a client that has hung up just before, whose end nobody has noticed
// yet, or to none of its like behind it.
func TestWhoIsGoneIsNotServed(t *testing.T) {
	const acquire = "SELECT acquired FROM raisin_lock_acquire('k', 60000, 60000)"
	for range 10 {
		server := startServer(t, map[string]string{"backend": "immediate"})
		holder, last := connect(t, server.addr, "alice"), connect(t, server.addr, "carol")
		mustExec(t, holder, acquire)
		var leaving []*pgconn.HijackedConn
		for i := range 5 {
			conn, err := connect(t, server.addr, "bob").Hijack()
			if err != nil {
				t.Fatal(err)
			}
			conn.Frontend.Send(&pgproto3.Query{String: acquire})
			if err := conn.Frontend.Flush(); err != nil {
				t.Fatal(err)
			}
			if _, err := server.faulty.awaitLine(string(rune('1' + i))); err != nil {
				t.Fatal(err)
			}
			leaving = append(leaving, conn)
		}
		answer := waits(t, last, acquire)
		if _, err := server.faulty.awaitLine("6"); err != nil {
			t.Fatal(err)
		}
		for _, conn := range leaving {
			if err := conn.Conn.Close(); err != nil {
				t.Fatal(err)
			}
		}
		mustExec(t, holder, "SELECT raisin_lock_release('k', token) FROM raisin_lock_get('k')")
		if got := <-answer; got != "t" {
			t.Fatalf("who is there still is answered %q, want t", got)
		}
	}
}

// TestAWaitEndsWithItsUpstream: nobody could use the lock that the session would get.
func TestAWaitEndsWithItsUpstream(t *testing.T) {
	server, direct := startProxied(t)
	holder, waiting := connect(t, server.addr, "alice"), connect(t, server.addr, "bob")
	mustExec(t, holder, "SELECT acquired FROM raisin_lock_acquire('k', 60000)")
	mustExec(t, waiting, "BEGIN")
	pid := queryOne(t, waiting, "SELECT pg_backend_pid()")
	stays, err := waiting.Hijack() // a client that does not hang up when it is told the end
	if err != nil {
		t.Fatal(err)
	}
	defer stays.Conn.Close()
	stays.Frontend.Send(&pgproto3.Query{String: "SELECT acquired FROM raisin_lock_acquire('k', 60000, 60000)"})
	if err := stays.Frontend.Flush(); err != nil {
		t.Fatal(err)
	}
	if _, err := server.faulty.awaitLine("1"); err != nil {
		t.Fatal(err)
	}
	queryOne(t, direct, "SELECT pg_terminate_backend("+pid+")")
	if _, err := server.faulty.awaitLine("0"); err != nil {
		t.Error(err)
	}
}
