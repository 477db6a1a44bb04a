package pgwire_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"raisinproxy/pgwire/wiretest"
)

// randomSeeds is how many sessions are made up; more show more.
const randomSeeds = 50

// TestRandomSessions: sessions of made-up messages, with and without calls, are answered as
// PostgreSQL answers them, which has stand-ins for the functions: statements, portals and
// transactions in any order, in pipeline and queries.
func TestRandomSessions(t *testing.T) {
	wiretest.Exclusive(t)
	for _, mode := range []string{"login", "first-use"} {
		server, direct := startProxiedWith(t, map[string]string{"open": mode})
		directly := direct.Conn().RemoteAddr().String()
		for seed := range randomSeeds {
			s := randomSession{rand: rand.New(rand.NewPCG(uint64(seed), 1))}
			s.run(t, fmt.Sprintf("%s, seed %d", mode, seed), dialRandom(t, directly, "postgres"), dialRandom(t, server.addr, "proxy"))
		}
		if n := server.log.errors.Load(); n > 0 {
			t.Errorf("%s: %d errors in the log", mode, n)
		}
		server.shutdown(t)
	}
}

// dialRandom connects to one of the two, which has a table of its own.
func dialRandom(t *testing.T, addr, schema string) *pgconn.HijackedConn {
	t.Helper()
	schema = "random_sessions_" + schema
	conn := mustOpen(t, addr, map[string]string{"options": "-c search_path=" + schema + ",public"})
	execute(t, conn, "drop schema if exists "+schema+" cascade; create schema "+schema+"; "+
		"create table rt (id int, a text); insert into rt select g, 'row ' || g from generate_series(1, 5) g")
	hijacked, err := conn.Hijack()
	if err != nil {
		t.Fatal(err)
	}
	return hijacked
}

// randomTexts are what is sent. Those twice are twice as likely.
var randomTexts = []string{
	"select 1",
	"select id from rt order by id",
	"select 1/0",
	"nonsense",
	"begin", "begin", "begin",
	"commit", "commit",
	"rollback", "rollback",
	"savepoint a",
	"release a",
	"select claimed from raisin_inventory_claim('p', 1, 1000000000)", "select claimed from raisin_inventory_claim('p', 1, 1000000000)",
	"select claimed, id from raisin_inventory_claim('p', 1, 1000000000), rt order by id", "select claimed, id from raisin_inventory_claim('p', 1, 1000000000), rt order by id",
	"select id, (raisin_inventory_claim('p', 1, 1000000000)).claimed from rt order by id",
	"insert into rt select 6, 'new' from raisin_inventory_claim('p', 1, 1000000000) c",
	"select claimed, 1/0 from raisin_inventory_claim('p', 1, 1000000000)",
	"select claimed from raisin_inventory_claim('p', 'x', 10)",
	"prepare sql as select claimed from raisin_inventory_claim('p', 1, 1000000000)",
	"execute sql",
	"deallocate all",
}

type randomSession struct {
	rand   *rand.Rand
	sent   []string
	failed bool // the transaction has
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// run sends the same to both, a query or a pipeline at a time, and compares.
func (s *randomSession) run(t *testing.T, name string, postgres, proxy *pgconn.HijackedConn) {
	t.Helper()
	defer postgres.Conn.Close()
	defer proxy.Conn.Close()
	for range 15 {
		messages := s.messages()
		want, got := answersTo(t, postgres, messages), answersTo(t, proxy, messages)
		if slices.ContainsFunc(want, func(answer string) bool { return strings.HasPrefix(answer, "E:") }) {
			// Rows that tell of what was given back are not sent.
			want, got = withoutRows(want), withoutRows(got)
		}
		if slices.Contains(want, "E:42P03") {
			return // names of the upstream's portals are not known here
		}
		if !slices.Equal(want, got) {
			t.Errorf("%s:\n%s\nPostgreSQL: %s\nproxy:      %s", name, strings.Join(s.sent, "\n"), strings.Join(want, " "), strings.Join(got, " "))
			return
		}
		s.failed = want[len(want)-1] == "Z:E"
		s.sent = append(s.sent, "\t"+strings.Join(want, " "))
	}
}

func (s *randomSession) messages() []pgproto3.FrontendMessage {
	if s.rand.IntN(3) == 0 {
		text := pick(s.rand, randomTexts...)
		if s.rand.IntN(4) == 0 {
			text += "; " + pick(s.rand, randomTexts...)
		}
		s.sent = append(s.sent, "Q "+text)
		return []pgproto3.FrontendMessage{&pgproto3.Query{String: text}}
	}
	var messages []pgproto3.FrontendMessage
	var sent []string
	for range 1 + s.rand.IntN(7) {
		m, text := s.message()
		messages, sent = append(messages, m), append(sent, text)
		if p, ok := m.(*pgproto3.Parse); ok && s.rand.IntN(4) > 0 { // what is parsed is mostly run
			portal := pick(s.rand, "", "", "p1")
			rows := pick(s.rand, uint32(0), 0, 2)
			messages = append(messages, &pgproto3.Bind{DestinationPortal: portal, PreparedStatement: p.Name}, &pgproto3.Execute{Portal: portal, MaxRows: rows})
			sent = append(sent, fmt.Sprintf("B %q %q", portal, p.Name), fmt.Sprintf("E %q %d", portal, rows))
		}
	}
	s.sent = append(s.sent, strings.Join(sent, "; ")+"; S")
	return append(messages, &pgproto3.Sync{})
}

func (s *randomSession) message() (pgproto3.FrontendMessage, string) {
	statement, portal := pick(s.rand, "", "", "s1", "s2"), pick(s.rand, "", "p1", "p2")
	switch s.rand.IntN(9) {
	case 0, 1, 2, 3:
		text := pick(s.rand, randomTexts...)
		return &pgproto3.Parse{Name: statement, Query: text}, fmt.Sprintf("P %q %q", statement, text)
	case 4:
		return &pgproto3.Bind{DestinationPortal: portal, PreparedStatement: statement}, fmt.Sprintf("B %q %q", portal, statement)
	case 5, 6:
		if s.failed {
			break // what is left of portals then is nobody's to rely on; PostgreSQL 15 crashes at some
		}
		rows := pick(s.rand, uint32(0), 1)
		return &pgproto3.Execute{Portal: portal, MaxRows: rows}, fmt.Sprintf("E %q %d", portal, rows)
	case 7:
		kind, name := byte('P'), portal
		if s.rand.IntN(2) == 0 {
			kind, name = 'S', statement
		}
		return &pgproto3.Close{ObjectType: kind, Name: name}, fmt.Sprintf("C %c %q", kind, name)
	}
	return &pgproto3.Flush{}, "H"
}

func withoutRows(answers []string) (left []string) {
	for _, answer := range answers {
		switch {
		case strings.HasPrefix(answer, "C:SELECT"):
			left = append(left, "C:SELECT")
		case !strings.HasPrefix(answer, "D:"):
			left = append(left, answer)
		}
	}
	return left
}

// answersTo reads up to ReadyForQuery: the types, and what matters of each message.
func answersTo(t *testing.T, conn *pgconn.HijackedConn, messages []pgproto3.FrontendMessage) (answers []string) {
	t.Helper()
	if _, err := conn.Conn.Write(encoded(t, messages...)); err != nil {
		return []string{"closed"}
	}
	for {
		m, err := conn.Frontend.Receive()
		if err != nil {
			return append(answers, "closed")
		}
		switch m := m.(type) {
		case *pgproto3.ErrorResponse:
			answers = append(answers, "E:"+m.Code)
		case *pgproto3.NoticeResponse:
			answers = append(answers, "N:"+m.Code)
		case *pgproto3.DataRow:
			answers = append(answers, fmt.Sprintf("D:%s", m.Values))
		case *pgproto3.CommandComplete:
			answers = append(answers, "C:"+string(m.CommandTag))
		case *pgproto3.ReadyForQuery:
			return append(answers, "Z:"+string(m.TxStatus))
		default:
			answers = append(answers, strings.TrimPrefix(fmt.Sprintf("%T", m), "*pgproto3."))
		}
	}
}
