package identity

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/xdg-go/scram"

	"raisinproxy/sqlfuncs/pgerr"
)

// Made by PostgreSQL 15.18: CREATE ROLE alice PASSWORD 'se@cret/#%'.
const aliceVerifier = `SCRAM-SHA-256$4096:jRRecLD8NPnM3ypwedy4PA==$CV8kmMkzCtnPcEPk6Q/C0IuoFwKBNrc0U3eTCWebvi4=:wFTvcdimY9cd2yjXc8q4+A4XN5jC82HDGwranW930+k=`

const someUsers = `
"alice" "` + aliceVerifier + `" "acme"
"bob" "bob's secret"
"nopass" ""
"anonymous" "let me in"
`

// report is what a client sees of a failure: it must be FATAL.
func report(t testing.TB, err error) *pgerr.Error {
	t.Helper()
	var e *pgerr.Error
	if !errors.As(err, &e) {
		t.Fatalf("not a report for the client: %v", err)
	}
	if e.Severity != pgerr.SeverityFatal {
		t.Fatalf("severity %q", e.Severity)
	}
	return e
}

func TestWhoGetsIn(t *testing.T) {
	const wrong = `28P01 password authentication failed for user `
	tests := []struct {
		name           string
		method         Method
		user, password string
		allowAnonymous bool
		plain          bool // not over TLS
		want           string
	}{
		{"verifier", SCRAM, "alice", "se@cret/#%", false, true, "alice acme scram-sha-256"},
		{"verifier, wrong password", SCRAM, "alice", "secret", false, true, wrong + `"alice"`},
		{"plaintext", SCRAM, "bob", "bob's secret", false, true, "bob default scram-sha-256"},
		{"plaintext, wrong password", SCRAM, "bob", "bob's", false, true, wrong + `"bob"`},
		{"unknown", SCRAM, "mallory", "x", false, true, wrong + `"mallory"`},
		{"names are exact", SCRAM, "Alice", "se@cret/#%", false, true, wrong + `"Alice"`},
		{"listed without a password", SCRAM, "nopass", "", false, true, wrong + `"nopass"`},
		{"anonymous with its password", SCRAM, "anonymous", "let me in", false, true, "anonymous default scram-sha-256"},
		{"anonymous, wrong password", SCRAM, "anonymous", "x", false, true, wrong + `"anonymous"`},
		{"anonymous without a password", SCRAM, "anonymous", "", true, true, "anonymous default anonymous"},
		{"only anonymous is anonymous", SCRAM, "mallory", "", true, true, wrong + `"mallory"`},

		{"cleartext, verifier", Password, "alice", "se@cret/#%", false, false, "alice acme password"},
		{"cleartext, wrong password", Password, "alice", "secret", false, false, wrong + `"alice"`},
		{"cleartext, plaintext", Password, "bob", "bob's secret", false, false, "bob default password"},
		{"cleartext, plaintext, wrong", Password, "bob", "bob's secret ", false, false, wrong + `"bob"`},
		{"cleartext, unknown", Password, "mallory", "x", false, false, wrong + `"mallory"`},
		{"cleartext, listed without a password", Password, "nopass", "x", false, false, wrong + `"nopass"`},
		{"cleartext, empty", Password, "bob", "", false, false, "28P01 empty password returned by client"},
		{"cleartext without TLS", Password, "bob", "bob's secret", false, true, "28000 cleartext password authentication is offered over TLS only"},
		{"cleartext without TLS, anonymous", Password, "anonymous", "", true, true, "anonymous default anonymous"},

		{"trust", Trust, "carol", "", false, true, "carol default trust"},
		{"trust, listed", Trust, "alice", "", false, true, "alice acme trust"},
		{"trust, anonymous", Trust, "anonymous", "", false, true, "anonymous default trust"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			x := policy(t, tt.method, someUsers, tt.allowAnonymous).Begin(tt.user, Channel{Encrypted: !tt.plain}, nil)
			if got := logIn(t, x, tt.password); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// logIn answers whatever is asked and tells how it ended.
func logIn(t *testing.T, x *Exchange, password string) string {
	t.Helper()
	peek := *x
	step, err := peek.Start()
	switch {
	case err != nil || step.Done:
		_, err = x.Start()
	case x.id.Method == Password:
		err = logInPassword(x, password)
	default:
		err = logInSCRAM(t, x, saslprep(password))
	}
	if err != nil {
		e := report(t, err)
		if x.Identity() != (Identity{}) {
			t.Error("an identity without success")
		}
		return string(e.Code) + " " + e.Message
	}
	id := x.Identity()
	return id.User + " " + id.Tenant + " " + string(id.Method)
}

func TestFailureTellsOnlyTheLogWhy(t *testing.T) {
	p := policy(t, SCRAM, someUsers, false)
	for user, why := range map[string]error{"bob": errWrongPassword, "mallory": errUnknownUser, "nopass": errNoSecret} {
		e := report(t, logInSCRAM(t, p.Begin(user, Channel{}, nil), "x"))
		if !errors.Is(e, why) {
			t.Errorf("%s: cause %v, want %v", user, e.Cause, why)
		}
		if e.Detail != "" || e.Hint != "" {
			t.Errorf("%s: the client is told %q %q", user, e.Detail, e.Hint)
		}
	}
}

// challenge is what a client is shown before it has proved anything.
func challenge(t *testing.T, p *Policy, user string) string {
	t.Helper()
	x := p.Begin(user, Channel{}, nil)
	if _, err := x.Start(); err != nil {
		t.Fatal(err)
	}
	step, err := x.Respond('p', initialResponse("SCRAM-SHA-256", "n,,n=,r=abc"))
	if err != nil {
		t.Fatal(err)
	}
	_, salted, _ := strings.Cut(string(step.Messages[0].(*pgproto3.AuthenticationSASLContinue).Data), ",")
	return salted
}

func TestUnknownUsersLookLikeUsers(t *testing.T) {
	p := policy(t, SCRAM, someUsers, false)
	one := challenge(t, p, "mallory")
	if again := challenge(t, p, "mallory"); again != one {
		t.Error("the salt of an unknown user changes between attempts")
	}
	if other := challenge(t, p, "trudy"); other == one {
		t.Error("two unknown users have one salt")
	}
	bob := challenge(t, p, "bob")
	p.SetUsers(parse(t, someUsers+"\"new\" \"x\"\n"))
	if challenge(t, p, "mallory") != one || challenge(t, p, "bob") != bob {
		t.Error("a salt changes when the file is read again")
	}
	if len(one) != len(challenge(t, p, "alice")) || len(one) != len(bob) {
		t.Error("the salt or the count of an unknown user has another form than a user's")
	}
}

func TestUnknownUsersGetTheCommonIterationCount(t *testing.T) {
	p := policy(t, SCRAM, `
"a" "SCRAM-SHA-256$10000:AAAA$`+key32+`:`+key32+`"
"b" "SCRAM-SHA-256$10000:AAAA$`+key32+`:`+key32+`"
"c" "plain"`, false)
	if got := challenge(t, p, "mallory"); !strings.HasSuffix(got, ",i=10000") {
		t.Error(got)
	}
}

func TestReload(t *testing.T) {
	p := policy(t, SCRAM, `"bob" "old"`, false)
	begun := p.Begin("bob", Channel{}, nil)
	p.SetUsers(parse(t, `"bob" "new"`))
	if err := logInSCRAM(t, begun, "old"); err != nil {
		t.Errorf("an exchange that had begun sees the new users: %v", err)
	}
	if err := logInSCRAM(t, p.Begin("bob", Channel{}, nil), "new"); err != nil {
		t.Error(err)
	}
	p.SetUsers(nil)
	if e := report(t, logInSCRAM(t, p.Begin("bob", Channel{}, nil), "new")); e.Code != "28P01" {
		t.Errorf("a user who was taken away: %v", e)
	}
}

func TestClientThatKeepsTheFirstMessageBack(t *testing.T) {
	x := policy(t, SCRAM, `"bob" "pw"`, false).Begin("bob", Channel{}, nil)
	start(t, x)
	step, err := x.Respond('p', append([]byte("SCRAM-SHA-256\x00"), 0xff, 0xff, 0xff, 0xff))
	if err != nil {
		t.Fatal(err)
	}
	if data := step.Messages[0].(*pgproto3.AuthenticationSASLContinue).Data; len(data) != 0 {
		t.Fatalf("challenge %q, want an empty one", data)
	}
	client, _ := scram.SHA256.NewClientUnprepped("whoever", "pw", "")
	talk := client.NewConversation()
	first, _ := talk.Step("")
	step, err = x.Respond('p', []byte(first))
	if err != nil {
		t.Fatal(err)
	}
	final, _ := talk.Step(string(step.Messages[0].(*pgproto3.AuthenticationSASLContinue).Data))
	if step, err = x.Respond('p', []byte(final)); err != nil || !step.Done {
		t.Fatal(err)
	}
	if got := x.Identity().User; got != "bob" {
		t.Errorf("the name in the SASL message counts: %q", got)
	}
}

func TestOutOfTurn(t *testing.T) {
	p := policy(t, Trust, "", false)
	x := p.Begin("a", Channel{}, nil)
	if _, err := x.Respond('p', nil); report(t, err).Code != "XX000" {
		t.Error(err)
	}
	start(t, x)
	if _, err := x.Start(); report(t, err).Code != "XX000" {
		t.Error(err)
	}
	if _, err := x.Respond('p', nil); report(t, err).Code != "XX000" {
		t.Error(err)
	}
	x = policy(t, SCRAM, `"bob" "pw"`, false).Begin("bob", Channel{}, nil)
	start(t, x)
	if _, err := x.Respond('p', initialResponse("nonsense", "")); err == nil {
		t.Error("no error for an unknown mechanism")
	}
	if _, err := x.Respond('p', initialResponse("SCRAM-SHA-256", "n,,n=,r=abc")); report(t, err).Code != "XX000" {
		t.Error("a second attempt on one exchange")
	}
}

func TestPasswordMessages(t *testing.T) {
	p := policy(t, Password, someUsers, false)
	tests := []struct {
		typ  byte
		body string
		want string
	}{
		{'p', "", "08P01 invalid password packet size"},
		{'p', "bob's secret", "08P01 invalid password packet size"},
		{'p', "bob's secret\x00\x00", "08P01 invalid password packet size"},
		{'p', "a\x00b\x00", "08P01 invalid password packet size"},
		{'p', "\x00", "28P01 empty password returned by client"},
		{'p', strings.Repeat("x", MaxResponseBytes) + "\x00", "08P01 invalid message length"},
		{'Q', "select 1\x00", "08P01 expected password response, got message type 81"},
		{'p', "\xff\xfe\x00", `28P01 password authentication failed for user "bob"`},
	}
	for _, tt := range tests {
		x := p.Begin("bob", Channel{Encrypted: true}, nil)
		start(t, x)
		_, err := x.Respond(tt.typ, []byte(tt.body))
		if e := report(t, err); string(e.Code)+" "+e.Message != tt.want {
			t.Errorf("%c %.20q: %v, want %s", tt.typ, tt.body, e, tt.want)
		}
	}
}

func TestNoPartOfTheBodyIsKept(t *testing.T) {
	x := policy(t, SCRAM, `"bob" "pw"`, false).Begin("bob", Channel{}, nil)
	start(t, x)
	client, _ := scram.SHA256.NewClientUnprepped("", "pw", "")
	talk := client.NewConversation()
	first, _ := talk.Step("")
	body := initialResponse("SCRAM-SHA-256", first)
	step, err := x.Respond('p', body)
	if err != nil {
		t.Fatal(err)
	}
	copy(body, bytes.Repeat([]byte("x"), len(body)))
	final, _ := talk.Step(string(step.Messages[0].(*pgproto3.AuthenticationSASLContinue).Data))
	if _, err := x.Respond('p', []byte(final)); err != nil {
		t.Error(err)
	}
}
