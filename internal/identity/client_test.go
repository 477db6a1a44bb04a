package identity

import (
	"encoding/binary"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/xdg-go/scram"
)

// parse is ParseUsers for tests that need users.
func parse(t testing.TB, text string) *Users {
	t.Helper()
	users, err := ParseUsers("users.txt", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return users
}

func policy(t testing.TB, method Method, text string, allowAnonymous bool) *Policy {
	t.Helper()
	p, err := NewPolicy(PolicyOptions{Method: method, Users: parse(t, text), AllowAnonymous: allowAnonymous})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// start begins an exchange whose first answer does not matter.
func start(t testing.TB, x *Exchange) {
	t.Helper()
	if _, err := x.Start(); err != nil {
		t.Fatal(err)
	}
}

// initialResponse is the body of SASLInitialResponse.
func initialResponse(mechanism, data string) []byte {
	body := append([]byte(mechanism), 0)
	body = binary.BigEndian.AppendUint32(body, uint32(len(data)))
	return append(body, data...)
}

// logInSCRAM runs an exchange with xdg-go/scram as the client. prepared is the
// password after the client's own SASLprep. PostgreSQL's clients send no user name.
func logInSCRAM(t testing.TB, x *Exchange, prepared string) error {
	t.Helper()
	client, err := scram.SHA256.NewClientUnprepped("", prepared, "")
	if err != nil {
		t.Fatal(err)
	}
	talk := client.NewConversation()
	step, err := x.Start()
	if err != nil {
		return err
	}
	if got := step.Messages[0].(*pgproto3.AuthenticationSASL).AuthMechanisms; len(got) != 1 || got[0] != "SCRAM-SHA-256" {
		t.Fatalf("offered %q", got)
	}
	first, _ := talk.Step("")
	step, err = x.Respond('p', initialResponse("SCRAM-SHA-256", first))
	if err != nil {
		return err
	}
	final, err := talk.Step(string(step.Messages[0].(*pgproto3.AuthenticationSASLContinue).Data))
	if err != nil {
		t.Fatalf("the client refuses our challenge: %v", err)
	}
	step, err = x.Respond('p', []byte(final))
	if err != nil {
		return err
	}
	if _, err := talk.Step(string(step.Messages[0].(*pgproto3.AuthenticationSASLFinal).Data)); err != nil || !talk.Valid() {
		t.Fatalf("the client refuses our signature: %v", err)
	}
	if _, ok := step.Messages[1].(*pgproto3.AuthenticationOk); !ok || !step.Done {
		t.Fatal("no AuthenticationOk at the end")
	}
	return nil
}

func logInPassword(x *Exchange, password string) error {
	if _, err := x.Start(); err != nil {
		return err
	}
	_, err := x.Respond('p', append([]byte(password), 0))
	return err
}
