package identity

import (
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"raisinproxy/sqlfuncs/pgerr"
)

// passwords whose bytes and whose SASLprep differ, or would for another reading of
// the RFC than PostgreSQL's.
var passwords = []struct{ name, password, prepared string }{
	{"ascii", "se@cret/#%", "se@cret/#%"},
	{"ascii control characters are kept", "a\tb\x7f", "a\tb\x7f"},
	{"no-break space", "a\u00A0b", "a b"},
	{"soft hyphen", "pass\u00ADword", "password"},
	{"soft hyphen only", "\u00AD", "\u00AD"},
	{"zero width space is a space", "a\u200Bb", "a b"},
	{"zero width joiner is nothing", "a\u200Db", "ab"},
	{"ideographic space", "a\u3000b", "a b"},
	{"compatibility characters", "\uFB01\u2168\u00AA", "fiIXa"},
	{"combining characters compose", "e\u0301", "é"},
	{"fullwidth", "ＡＢＣ", "ABC"},
	{"emoji: not assigned in Unicode 3.2", "pw\U0001F511\u00A0", "pw\U0001F511\u00A0"},
	{"prohibited before normalization", "e\u0341\u00A0", "e\u0341\u00A0"},
	{"control character beside others", "é\u00A0\x07", "é\u00A0\x07"},
	{"private use", "\uE000\u00A0", "\uE000\u00A0"},
	{"right to left", "\u0627\u00AD\u0628", "\u0627\u0628"},
	{"right to left that ends otherwise", "\u0627\u00AD1", "\u0627\u00AD1"},
	{"mixed directions", "\u0627\u00ADa\u0628", "\u0627\u00ADa\u0628"},
	{"not UTF-8", "a\u00A0\xff", "a\u00A0\xff"},
}

func TestSASLprep(t *testing.T) {
	for _, tt := range passwords {
		if got := saslprep(tt.password); got != tt.prepared {
			t.Errorf("%s: %+q, want %+q", tt.name, got, tt.prepared)
		}
	}
}

func TestVerifierRoundTrip(t *testing.T) {
	for _, tt := range passwords {
		verifier, err := Verifier(tt.password)
		if err != nil {
			t.Fatal(err)
		}
		cred, err := parseVerifier(verifier)
		if err != nil || !strings.HasPrefix(verifier, "SCRAM-SHA-256$4096:") || len(cred.salt) != 16 {
			t.Fatalf("%s: %s: %v", tt.name, verifier, err)
		}
		if !cred.verify(tt.password) || !cred.verify(tt.prepared) {
			t.Errorf("%s: does not verify", tt.name)
		}
		if cred.verify(tt.password + "x") {
			t.Errorf("%s: verifies another password", tt.name)
		}
	}
	if a, _ := Verifier("x"); a != "" {
		if b, _ := Verifier("x"); a == b {
			t.Error("the salt is not random")
		}
	}
	for _, password := range []string{"", "a\x00b"} {
		if _, err := Verifier(password); err == nil {
			t.Errorf("made a verifier of %q", password)
		}
	}
}

// A verifier that PostgreSQL made lets the same passwords in here, and psql, with
// libpq's own SASLprep, logs in to PostgreSQL with the proxy's.
func TestVerifiersOfPostgres(t *testing.T) {
	u, conn := postgres(t)
	for _, tt := range passwords {
		if tt.name == "not UTF-8" {
			continue // CREATE ROLE takes none
		}
		theirs := setPassword(t, conn, tt.password)
		cred, err := parseVerifier(theirs)
		if err != nil {
			t.Fatalf("%s: %s: %v", tt.name, theirs, err)
		}
		if !cred.verify(tt.password) || cred.verify(tt.password+"x") {
			t.Errorf("%s: PostgreSQL prepares %+q in another way", tt.name, tt.password)
		}

		ours, err := Verifier(tt.password)
		if err != nil {
			t.Fatal(err)
		}
		if stored := setPassword(t, conn, ours); stored != ours {
			t.Fatalf("PostgreSQL does not take our verifier as one: %s", stored)
		}
		if out, err := psql(t, u, askedRole, tt.password); err != nil {
			t.Errorf("%s: psql to PostgreSQL: %v\n%s", tt.name, err, out)
		}
		if _, err := psql(t, u, askedRole, tt.password+"x"); err == nil {
			t.Fatalf("PostgreSQL does not ask %s for a password", askedRole)
		}
	}
}

// psql logs in to an Exchange, whether the file has a verifier or the password.
func TestLibpqLogsIn(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it needs psql")
	}
	for _, tt := range passwords {
		verifier, err := Verifier(tt.password)
		if err != nil {
			t.Fatal(err)
		}
		hashed, err1 := Line("hashed", verifier)
		plain, err2 := Line("plain", tt.password)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		u := serve(t, policy(t, SCRAM, hashed+"\n"+plain, false))
		for _, user := range []string{"hashed", "plain"} {
			if out, err := psql(t, u, user, tt.password); err != nil {
				t.Errorf("%s, %s: %v\n%s", tt.name, user, err, out)
			}
		}
	}
}

func TestLibpqIsRefused(t *testing.T) {
	u := serve(t, policy(t, SCRAM, someUsers, false))
	for _, user := range []string{"alice", "bob", "nopass", "mallory"} {
		out, err := psql(t, u, user, "wrong")
		if err == nil || !strings.Contains(out, `FATAL:  password authentication failed for user "`+user+`"`) {
			t.Errorf("%s: %v\n%s", user, err, out)
		}
	}
}

// serve is the least front end that psql logs in to, one connection at a time.
func serve(t *testing.T, p *Policy) *url.URL {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serveOne(conn, p)
			conn.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return &url.URL{Host: l.Addr().String()}
}

func serveOne(conn net.Conn, p *Policy) {
	startup := pgproto3.StartupMessage{}
	header := make([]byte, 4)
	if _, err := io.ReadFull(conn, header); err != nil {
		return
	}
	body := make([]byte, binary.BigEndian.Uint32(header)-4)
	if _, err := io.ReadFull(conn, body); err != nil || startup.Decode(body) != nil {
		return
	}
	x := p.Begin(startup.Parameters["user"], Channel{}, nil)
	step, err := x.Start()
	for err == nil && !step.Done {
		send(conn, step.Messages...)
		typ, body, gone := receive(conn)
		if gone != nil {
			return
		}
		step, err = x.Respond(typ, body)
	}
	if err != nil {
		e := pgerr.From(err)
		send(conn, &pgproto3.ErrorResponse{Severity: e.Severity, SeverityUnlocalized: e.Severity, Code: string(e.Code), Message: e.Message})
		return
	}
	ready := &pgproto3.ReadyForQuery{TxStatus: 'I'}
	send(conn, append(step.Messages, ready)...)
	for typ, _, err := receive(conn); err == nil && typ == 'Q'; typ, _, err = receive(conn) {
		send(conn, &pgproto3.EmptyQueryResponse{}, ready)
	}
}

func receive(conn net.Conn) (typ byte, body []byte, err error) {
	header := make([]byte, 5)
	if _, err := io.ReadFull(conn, header); err != nil {
		return 0, nil, err
	}
	body = make([]byte, binary.BigEndian.Uint32(header[1:])-4)
	_, err = io.ReadFull(conn, body)
	return header[0], body, err
}

func send(conn net.Conn, messages ...pgproto3.BackendMessage) {
	var out []byte
	for _, m := range messages {
		out, _ = m.Encode(out)
	}
	_, _ = conn.Write(out) // a client that is gone is the test's to notice
}
