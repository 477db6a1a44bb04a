package wiretest

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/xdg-go/stringprep"
)

// scram is the client's side of SCRAM-SHA-256 (RFC 5802, RFC 7677). It is written
// here so that a script can choose the GS2 header.
type scram struct {
	gs2      string // "n,,", or "y,,": channel binding is known here but was not offered
	password string

	nonce     string // of this side
	firstBare string
	serverKey []byte
	authText  string
}

// first is the client-first-message. PostgreSQL takes the user from the start-up
// packet and ignores the name here.
func (s *scram) first() []byte {
	s.nonce = rand.Text()
	s.firstBare = "n=,r=" + s.nonce
	return []byte(s.gs2 + s.firstBare)
}

// final answers the server-first-message.
func (s *scram) final(serverFirst []byte) ([]byte, error) {
	attributes := map[byte]string{}
	for part := range strings.SplitSeq(string(serverFirst), ",") {
		if len(part) > 1 && part[1] == '=' {
			attributes[part[0]] = part[2:]
		}
	}
	nonce := attributes['r']
	if !strings.HasPrefix(nonce, s.nonce) || nonce == s.nonce {
		return nil, fmt.Errorf("the server's nonce does not extend the client's: %q", serverFirst)
	}
	salt, err := base64.StdEncoding.DecodeString(attributes['s'])
	if err != nil || len(salt) == 0 {
		return nil, fmt.Errorf("bad salt in %q", serverFirst)
	}
	iterations, err := strconv.Atoi(attributes['i'])
	if err != nil || iterations < 1 {
		return nil, fmt.Errorf("bad iteration count in %q", serverFirst)
	}
	password := s.password
	// As libpq: a password that SASLprep refuses is used as it is.
	if prepared, err := stringprep.SASLprep.Prepare(password); err == nil {
		password = prepared
	}
	salted, err := pbkdf2.Key(sha256.New, password, salt, iterations, sha256.Size)
	if err != nil {
		return nil, err
	}
	s.serverKey = mac(salted, "Server Key")
	withoutProof := "c=" + base64.StdEncoding.EncodeToString([]byte(s.gs2)) + ",r=" + nonce
	s.authText = s.firstBare + "," + string(serverFirst) + "," + withoutProof
	proof := mac(salted, "Client Key")
	stored := sha256.Sum256(proof)
	for i, b := range mac(stored[:], s.authText) {
		proof[i] ^= b
	}
	return []byte(withoutProof + ",p=" + base64.StdEncoding.EncodeToString(proof)), nil
}

// verify checks the server-final-message.
func (s *scram) verify(serverFinal []byte) error {
	want := "v=" + base64.StdEncoding.EncodeToString(mac(s.serverKey, s.authText))
	if string(serverFinal) != want {
		return errors.New("the server's signature is wrong")
	}
	return nil
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}
