package identity

import (
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/sqlfuncs/pgerr"
)

// talk is a scripted client: the body of its first message and the texts of the
// next ones. In these, $r stands for the server's nonce and $p for the right proof
// over what stands before it.
type talk struct {
	name  string
	first []byte
	next  []string
	want  string // the server's answers
}

const talkUser, talkPassword = askedRole, "pencil"

func scramTalk(name, first, final, want string) talk {
	t := talk{name: name, first: initialResponse("SCRAM-SHA-256", first), want: want}
	if final != "" {
		t.next = []string{final}
	}
	return t
}

const goodFinal = "c=biws,r=$r,p=$p"

// scramTalks were all held with PostgreSQL 15.18; TestSameAsPostgres holds them
// again with the server at hand.
var scramTalks = []talk{
	scramTalk("as libpq", "n,,n=,r=abc", goodFinal, "continue; final; ok"),
	scramTalk("a name is ignored", "n,,n=mallory,r=abc", goodFinal, "continue; final; ok"),
	scramTalk("a badly encoded name too", "n,,n=a=b=2c,r=abc", goodFinal, "continue; final; ok"),
	scramTalk("y: no channel binding offered", "y,,n=,r=abc", "c=eSws,r=$r,p=$p", "continue; final; ok"),
	scramTalk("optional extensions", "n,,n=,r=abc,x=1,Y=", "c=biws,r=$r,z=1,A=b,p=$p", "continue; final; ok"),
	scramTalk("a comma at the end", "n,,n=,r=abc", goodFinal+",", "continue; final; ok"),
	scramTalk("an empty nonce", "n,,n=,r=", goodFinal, "continue; final; ok"),
	scramTalk("wrong password", "n,,n=,r=abc", "c=biws,r=$r,p="+key32,
		`continue; FATAL 28P01 password authentication failed for user "carol"`),

	{name: "another mechanism", first: initialResponse("SCRAM-SHA-1", "n,,n=,r=abc"),
		want: "FATAL 08P01 client selected an invalid SASL authentication mechanism"},
	{name: "PLUS, which was not offered", first: initialResponse("SCRAM-SHA-256-PLUS", "p=tls-server-end-point,,n=,r=abc"),
		want: "FATAL 08P01 client selected an invalid SASL authentication mechanism"},
	{name: "an empty message", first: nil, want: "FATAL 08P01 invalid string in message"},
	{name: "a password message", first: []byte("pencil\x00"),
		want: "FATAL 08P01 client selected an invalid SASL authentication mechanism"},
	{name: "no end of the mechanism", first: []byte("SCRAM-SHA-256"), want: "FATAL 08P01 invalid string in message"},
	{name: "no length", first: []byte("SCRAM-SHA-256\x00\x00\x00"), want: "FATAL 08P01 insufficient data left in message"},
	{name: "too long a length", first: []byte("SCRAM-SHA-256\x00\x00\x00\x00\x05n,,"), want: "FATAL 08P01 insufficient data left in message"},
	{name: "too short a length", first: []byte("SCRAM-SHA-256\x00\x00\x00\x00\x01n,,"), want: "FATAL 08P01 invalid message format"},
	{name: "a negative length", first: []byte("SCRAM-SHA-256\x00\xff\xff\xff\xfen,,"), want: "FATAL 08P01 insufficient data left in message"},
	{name: "length -1 with data", first: []byte("SCRAM-SHA-256\x00\xff\xff\xff\xffn,,"), want: "FATAL 08P01 invalid message format"},
	{name: "length -1", first: []byte("SCRAM-SHA-256\x00\xff\xff\xff\xff"), next: []string{"n,,n=,r=abc", goodFinal}, want: "continue; continue; final; ok"},
	{name: "length -1, then nothing", first: []byte("SCRAM-SHA-256\x00\xff\xff\xff\xff"), next: []string{""},
		want: "continue; FATAL 08P01 malformed SCRAM message: The message is empty."},

	scramTalk("no data", "", "", "FATAL 08P01 malformed SCRAM message: The message is empty."),
	scramTalk("NUL in the text", "n,,n=,r=a\x00c", "", "FATAL 08P01 malformed SCRAM message: Message length does not match input length."),
	scramTalk("another flag", "x,,n=,r=abc", "", "FATAL 08P01 malformed SCRAM message: Unexpected channel-binding flag \"'x'\"."),
	scramTalk("a flag that is no character", "\xff,,n=,r=abc", "", "FATAL 08P01 malformed SCRAM message: Unexpected channel-binding flag \"0xff\"."),
	scramTalk("channel binding", "p=tls-server-end-point,,n=,r=abc", "", "FATAL 08P01 malformed SCRAM message: The client selected "+
		"SCRAM-SHA-256 without channel binding, but the SCRAM message includes channel binding data."),
	scramTalk("nothing after n", "n", "", "FATAL 08P01 malformed SCRAM message: Comma expected, but found character \"0x00\"."),
	scramTalk("no comma after y", "yes", "", "FATAL 08P01 malformed SCRAM message: Comma expected, but found character \"'e'\"."),
	scramTalk("authorization identity", "n,a=root,n=,r=abc", "", "FATAL 0A000 client uses authorization identity, but it is not supported"),
	scramTalk("something in its place", "n,b=root,n=,r=abc", "", "FATAL 08P01 malformed SCRAM message: Unexpected attribute \"'b'\" in client-first-message."),
	scramTalk("mandatory extension", "n,,m=1,n=,r=abc", "", "FATAL 0A000 client requires an unsupported SCRAM extension"),
	scramTalk("no name", "n,,r=abc", "", "FATAL 08P01 malformed SCRAM message: Expected attribute \"n\" but found \"'r'\"."),
	scramTalk("no = after n", "n,,name,r=abc", "", "FATAL 08P01 malformed SCRAM message: Expected character \"=\" for attribute \"n\"."),
	scramTalk("no nonce", "n,,n=", "", "FATAL 08P01 malformed SCRAM message: Expected attribute \"r\" but found \"0x00\"."),
	scramTalk("a space in the nonce", "n,,n=,r=a c", "", "FATAL 08P01 non-printable characters in SCRAM nonce"),
	scramTalk("é in the nonce", "n,,n=,r=é", "", "FATAL 08P01 non-printable characters in SCRAM nonce"),
	scramTalk("an extension without a name", "n,,n=,r=abc,=1", "", "FATAL 08P01 malformed SCRAM message: Attribute expected, but found invalid character \"'='\"."),
	scramTalk("an extension without =", "n,,n=,r=abc,x", "", "FATAL 08P01 malformed SCRAM message: Expected character \"=\" for attribute \"x\"."),

	scramTalk("no c", "n,,n=,r=abc", "r=$r,p=$p", "continue; FATAL 08P01 malformed SCRAM message: Expected attribute \"c\" but found \"'r'\"."),
	scramTalk("c does not repeat the flag", "n,,n=,r=abc", "c=eSws,r=$r,p=$p", "continue; FATAL 08P01 unexpected SCRAM channel-binding attribute in client-final-message"),
	scramTalk("c of another header", "n,,n=,r=abc", "c=cD0sLA==,r=$r,p=$p", "continue; FATAL 08P01 unexpected SCRAM channel-binding attribute in client-final-message"),
	scramTalk("no final nonce", "n,,n=,r=abc", "c=biws,p=$p", "continue; FATAL 08P01 malformed SCRAM message: Expected attribute \"r\" but found \"'p'\"."),
	scramTalk("only the client's nonce", "n,,n=,r=abc", "c=biws,r=abc,p=$p", "continue; FATAL 08P01 invalid SCRAM response: Nonce does not match."),
	scramTalk("a longer nonce", "n,,n=,r=abc", "c=biws,r=$rx,p=$p", "continue; FATAL 08P01 invalid SCRAM response: Nonce does not match."),
	scramTalk("no proof", "n,,n=,r=abc", "c=biws,r=$r", "continue; FATAL 08P01 malformed SCRAM message: Attribute expected, but found end of string."),
	scramTalk("an empty proof", "n,,n=,r=abc", "c=biws,r=$r,p=", "continue; FATAL 08P01 malformed SCRAM message: Malformed proof in client-final-message."),
	scramTalk("a short proof", "n,,n=,r=abc", "c=biws,r=$r,p=AAAA", "continue; FATAL 08P01 malformed SCRAM message: Malformed proof in client-final-message."),
	scramTalk("a long proof", "n,,n=,r=abc", "c=biws,r=$r,p="+key32[:40]+key32, "continue; FATAL 08P01 malformed SCRAM message: Malformed proof in client-final-message."),
	scramTalk("a proof that is not base64", "n,,n=,r=abc", "c=biws,r=$r,p="+key32[:43]+"?", "continue; FATAL 08P01 malformed SCRAM message: Malformed proof in client-final-message."),
	scramTalk("a line break in the proof", "n,,n=,r=abc", "c=biws,r=$r,p="+key32[:20]+"\n"+key32[20:], "continue; FATAL 08P01 malformed SCRAM message: Malformed proof in client-final-message."),
	scramTalk("something after the proof", "n,,n=,r=abc", "c=biws,r=$r,p=$p,x=1", "continue; FATAL 08P01 malformed SCRAM message: Garbage found at the end of client-final-message."),
	scramTalk("nothing as the final message", "n,,n=,r=abc", "\x00", "continue; FATAL 08P01 malformed SCRAM message: Message length does not match input length."),
}

func TestSCRAMMessages(t *testing.T) {
	p := policy(t, SCRAM, fmt.Sprintf("%q %q", talkUser, talkPassword), false)
	for _, tt := range scramTalks {
		if got := tt.hold(t, p.Begin(talkUser, Channel{}, nil)); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

// A PostgreSQL that is at hand answers every talk as the proxy does.
func TestSameAsPostgres(t *testing.T) {
	u, conn := postgres(t)
	setPassword(t, conn, talkPassword)
	for _, tt := range scramTalks {
		if got := tt.hold(t, dialServer(t, u, talkUser)); got != tt.want {
			t.Errorf("%s:\nPostgreSQL says %s\n       we say %s", tt.name, got, tt.want)
		}
	}
}

func TestTooLongSASLMessages(t *testing.T) {
	p := policy(t, SCRAM, fmt.Sprintf("%q %q", talkUser, talkPassword), false)
	long := strings.Repeat("x", maxSASLBytes)
	refused := fmt.Sprintf("FATAL 28P01 password authentication failed for user %q", talkUser)
	for _, tt := range []talk{
		scramTalk("first", "n,,n=,r="+long, "", refused),
		scramTalk("final", "n,,n=,r=abc", "c=biws,r="+long, "continue; "+refused),
	} {
		if got := tt.hold(t, p.Begin(talkUser, Channel{}, nil)); got != tt.want {
			t.Errorf("%s: %s", tt.name, got)
		}
	}
}

// server is either side of the comparison: an Exchange or a real PostgreSQL.
type server interface {
	Start() (Step, error)
	Respond(typ byte, body []byte) (Step, error)
}

// hold plays the client and renders the answers.
func (tt talk) hold(t *testing.T, s server) string {
	t.Helper()
	if step, err := s.Start(); err != nil || step.Done {
		t.Fatalf("%s: not asked for a password: %v", tt.name, err)
	}
	var seen []string
	step, err := s.Respond('p', tt.first)
	_, gs2, _ := strings.Cut(string(tt.first), "\x00")
	clientFirst := gs2[min(4, len(gs2)):]
	for _, text := range tt.next {
		if err != nil {
			break
		}
		seen = append(seen, render(step)...)
		challenge := string(step.Messages[0].(*pgproto3.AuthenticationSASLContinue).Data)
		if challenge == "" {
			clientFirst = text
		}
		step, err = s.Respond('p', []byte(fill(text, clientFirst, challenge)))
	}
	var e *pgerr.Error
	switch {
	case errors.As(err, &e):
		seen = append(seen, strings.TrimSuffix(fmt.Sprintf("%s %s %s: %s", e.Severity, e.Code, e.Message, e.Detail), ": "))
	case err != nil:
		t.Fatal(err)
	default:
		seen = append(seen, render(step)...)
	}
	return strings.Join(seen, "; ")
}

func render(step Step) (seen []string) {
	for _, m := range step.Messages {
		name := strings.TrimPrefix(fmt.Sprintf("%T", m), "*pgproto3.Authentication")
		seen = append(seen, strings.ToLower(strings.TrimPrefix(name, "SASL")))
	}
	return seen
}

// fill computes $r and $p of a text, as a client would.
func fill(text, clientFirst, challenge string) string {
	if !strings.Contains(text, "$") {
		return text
	}
	fields := strings.Split(challenge, ",")
	nonce := strings.TrimPrefix(fields[0], "r=")
	text = strings.ReplaceAll(text, "$r", nonce)
	withoutProof, _, _ := strings.Cut(text, ",p=$p")
	bare := strings.SplitN(clientFirst, ",", 3)[2]
	salt, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(fields[1], "s="))
	count, _ := strconv.Atoi(strings.TrimPrefix(fields[2], "i="))
	salted, _ := pbkdf2.Key(sha256.New, talkPassword, salt, count, sha256.Size)
	clientKey := mac(salted, "Client Key")
	stored := sha256.Sum256(clientKey)
	for i, b := range mac(stored[:], bare+","+challenge+","+withoutProof) {
		clientKey[i] ^= b
	}
	return strings.ReplaceAll(text, "$p", encode64(clientKey))
}

// remote is a PostgreSQL, seen as an Exchange.
type remote struct {
	conn net.Conn
	fe   *pgproto3.Frontend
	user string
}

func dialServer(t *testing.T, u *url.URL, user string) *remote {
	t.Helper()
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	return &remote{conn: conn, fe: pgproto3.NewFrontend(conn, conn), user: user}
}

func (r *remote) Start() (Step, error) {
	r.fe.Send(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30,
		Parameters: map[string]string{"user": r.user, "database": "postgres"}})
	if err := r.fe.Flush(); err != nil {
		return Step{}, err
	}
	return r.step()
}

func (r *remote) Respond(typ byte, body []byte) (Step, error) {
	if _, err := r.conn.Write(frame(typ, body)); err != nil {
		return Step{}, err
	}
	return r.step()
}

// step reads what the server sends until it waits for its client.
func (r *remote) step() (step Step, err error) {
	for {
		m, err := r.fe.Receive()
		if err != nil {
			return Step{}, err
		}
		switch m := m.(type) {
		case *pgproto3.ErrorResponse:
			return Step{}, &pgerr.Error{Severity: m.Severity, Code: codes.Code(m.Code), Message: m.Message, Detail: m.Detail}
		case *pgproto3.AuthenticationSASLFinal:
			step.Messages = append(step.Messages, m)
		case *pgproto3.AuthenticationOk:
			return Step{Messages: append(step.Messages, m), Done: true}, nil
		default:
			return Step{Messages: []pgproto3.BackendMessage{m}}, nil
		}
	}
}

func frame(typ byte, body []byte) []byte {
	out := binary.BigEndian.AppendUint32([]byte{typ}, uint32(len(body)+4))
	return append(out, body...)
}
