package identity

import (
	"crypto/rand"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"raisinproxy/sqlfuncs/pgerr"
)

// FuzzExchange plays a client that does not know the password: whatever it sends,
// it gets in nowhere, and every end is a FATAL report of a class that clients know.
// $r in a message stands for the server's nonce, so that final messages get far.
func FuzzExchange(f *testing.F) {
	for _, tt := range scramTalks {
		var next string
		if len(tt.next) > 0 {
			next = tt.next[0]
		}
		f.Add(false, byte('p'), tt.first, []byte(next))
	}
	f.Add(true, byte('p'), []byte("secret\x00"), []byte(nil))
	f.Add(true, byte('Q'), []byte("select 1\x00"), []byte(nil))
	password := rand.Text()
	policies := map[bool]*Policy{
		false: policy(f, SCRAM, `"bob" "`+password+`"`, false),
		true:  policy(f, Password, `"bob" "`+password+`"`, false),
	}
	f.Fuzz(func(t *testing.T, cleartext bool, typ byte, first, second []byte) {
		x := policies[cleartext].Begin("bob", Channel{Encrypted: true}, nil)
		step, err := x.Start()
		if err != nil || step.Done {
			t.Fatalf("%v %v", step, err)
		}
		step, err = x.Respond(typ, first)
		if err == nil {
			step, err = x.Respond('p', withNonce(second, step))
		}
		if err == nil {
			step, err = x.Respond('p', withNonce(second, step))
		}
		var e *pgerr.Error
		switch {
		case step.Done || x.Identity() != (Identity{}):
			t.Fatal("got in")
		case err == nil:
			// At most: no first message, then first, then another first as final.
		case !errors.As(err, &e), e.Severity != pgerr.SeverityFatal, !strings.Contains("08P01 28P01 0A000 XX000", string(e.Code)):
			t.Fatalf("%v", err)
		case strings.Contains(err.Error(), password):
			t.Fatal("the error shows the password")
		}
	})
}

func withNonce(message []byte, step Step) []byte {
	challenge, ok := step.Messages[0].(*pgproto3.AuthenticationSASLContinue)
	if !ok {
		return message
	}
	nonce, _, _ := strings.Cut(strings.TrimPrefix(string(challenge.Data), "r="), ",")
	return []byte(strings.ReplaceAll(string(message), "$r", nonce))
}
