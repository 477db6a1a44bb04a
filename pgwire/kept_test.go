package pgwire_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// TestNamesAreBounded: a session cannot fill the memory with what it has given names,
// and goes on when it has dropped some.
func TestNamesAreBounded(t *testing.T) {
	server := startServer(t, map[string]string{"backend": "immediate"})
	hijacked, err := connect(t, server.addr, "alice").Hijack()
	if err != nil {
		t.Fatal(err)
	}
	defer hijacked.Conn.Close()
	long := strings.Repeat("x", 8<<10)
	// ask sends messages and a Sync, and gives the code of the error.
	ask := func(messages ...pgproto3.FrontendMessage) (code string) {
		for _, m := range append(messages, &pgproto3.Sync{}) {
			hijacked.Frontend.Send(m)
		}
		if err := hijacked.Frontend.Flush(); err != nil {
			t.Fatal(err)
		}
		for {
			m, err := hijacked.Frontend.Receive()
			if err != nil {
				t.Fatal(err)
			}
			switch m := m.(type) {
			case *pgproto3.ErrorResponse:
				code = m.Code
			case *pgproto3.ReadyForQuery:
				return code
			}
		}
	}
	run := func(sql string) {
		t.Helper()
		if code := ask(&pgproto3.Parse{Query: sql}, &pgproto3.Bind{}, &pgproto3.Execute{}); code != "" {
			t.Fatalf("%s: %s", sql, code)
		}
	}
	fill := func(what string, most int, one func(name string) pgproto3.FrontendMessage) {
		t.Helper()
		for n := range most {
			code := ask(one(strings.Repeat("n", n%60) + string(rune('a'+n/60%26)) + string(rune('a'+n/1560))))
			switch {
			case code == "54000":
				return
			case code != "":
				t.Fatalf("%s: %s", what, code)
			}
		}
		t.Errorf("%d %s were kept", most, what)
	}
	fill("statements", 5000, func(name string) pgproto3.FrontendMessage {
		return &pgproto3.Parse{Name: name, Query: "select '" + long + "'"}
	})
	run("DEALLOCATE ALL")
	if code := ask(&pgproto3.Parse{Name: "again", Query: "select $1::text"}); code != "" {
		t.Errorf("after DEALLOCATE ALL: %s", code)
	}
	value := []byte(strings.Repeat("x", 1<<20))
	run("BEGIN")
	fill("portals", 100, func(name string) pgproto3.FrontendMessage {
		return &pgproto3.Bind{DestinationPortal: name, PreparedStatement: "again", Parameters: [][]byte{value}}
	})
	run("ROLLBACK")
	if code := ask(&pgproto3.Bind{DestinationPortal: "p", PreparedStatement: "again", Parameters: [][]byte{value}}); code != "" {
		t.Errorf("after ROLLBACK: %s", code)
	}
}
