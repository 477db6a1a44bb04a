package identity

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/sqlfuncs/pgerr"
)

// scramServer is the server side of one SCRAM-SHA-256 exchange (RFC 5802, RFC
// 7677) as PostgreSQL holds it: the user name in the client's message is ignored,
// an authorization identity is refused, and a failed proof is reported by the
// caller as a wrong password, not by the mechanism.
type scramServer struct {
	// plus: the client chose SCRAM-SHA-256-PLUS, which binds the exchange to channel.
	plus    bool
	channel *Channel

	gs2Header       string // what the client said of channel binding
	clientFirstBare string
	serverFirst     string
	nonce           string // the client's part and the proxy's
}

// first takes client-first-message and makes server-first-message.
//
//	n,,n=user,r=fyko+d2lbbFgONRv9qkxdawL
//	r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,s=QSXCR+Q6sek8bf92,i=4096
func (s *scramServer) first(message string, cred *credential) (string, error) {
	p := attributes(message)
	if err := s.readBinding(&p); err != nil {
		return "", err
	}
	s.gs2Header = message[:len(message)-len(p)] + ","
	switch c := p.peek(); c {
	case ',':
		p = p[1:]
	case 'a':
		return "", pgerr.Fatalf(codes.FeatureNotSupported, "client uses authorization identity, but it is not supported")
	default:
		return "", malformed("Unexpected attribute \"%s\" in client-first-message.", printable(c))
	}
	s.clientFirstBare = string(p)
	if p.peek() == 'm' {
		return "", pgerr.Fatalf(codes.FeatureNotSupported, "client requires an unsupported SCRAM extension")
	}
	if _, err := p.read('n'); err != nil {
		return "", err
	}
	clientNonce, err := p.read('r')
	if err != nil {
		return "", err
	}
	if !isPrintable(clientNonce) {
		return "", fatalProtocol("non-printable characters in SCRAM nonce")
	}
	for p != "" { // extensions, all of them optional
		if _, _, err := p.readAny(); err != nil {
			return "", err
		}
	}
	s.nonce = clientNonce + newNonce()
	s.serverFirst = fmt.Sprintf("r=%s,s=%s,i=%d", s.nonce, encode64(cred.salt), cred.iterations)
	return s.serverFirst, nil
}

// readBinding reads the start of the GS2 header, up to its first comma. 'y', a client
// that could bind but believes that the server cannot, is right unless SCRAM-SHA-256-PLUS was
// offered: then somebody has changed the offer.
func (s *scramServer) readBinding(p *attributes) error {
	c := p.peek()
	switch {
	case (c == 'n' || c == 'y') && s.plus:
		return malformed("The client selected SCRAM-SHA-256-PLUS, but the SCRAM message does not include channel binding data.")
	case c == 'y' && s.channel.EndPoint != nil:
		return pgerr.Fatalf(codes.InvalidAuthorizationSpecification, "SCRAM channel binding negotiation error").
			WithDetail("The client supports SCRAM channel binding but thinks the server does not.  " +
				"However, this server does support channel binding.")
	case c == 'n' || c == 'y':
		*p = (*p)[1:]
		if c := p.peek(); c != ',' {
			return malformed("Comma expected, but found character \"%s\".", printable(c))
		}
		*p = (*p)[1:]
		return nil
	case c == 'p' && s.plus:
		kind, err := p.read('p')
		if err == nil && kind != endPointBinding {
			err = fatalProtocol("unsupported SCRAM channel-binding type \"%s\"", printableText(kind))
		}
		return err
	case c == 'p':
		return malformed("The client selected SCRAM-SHA-256 without channel binding, " +
			"but the SCRAM message includes channel binding data.")
	}
	return malformed("Unexpected channel-binding flag \"%s\".", printable(c))
}

// endPointBinding is the one kind of channel binding that PostgreSQL knows.
const endPointBinding = "tls-server-end-point"

// final takes client-final-message, says whether its proof is right, and makes
// server-final-message. The work is the same whether it is right or not.
//
//	c=biws,r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=
//	v=rmF9pqV8S7suAoZWja4dJRkFsKQ=
func (s *scramServer) final(message string, cred *credential) (signature string, right bool, err error) {
	p := attributes(message)
	binding, err := p.read('c')
	if err != nil {
		return "", false, err
	}
	if err := s.checkBinding(binding); err != nil {
		return "", false, err
	}
	nonce, err := p.read('r')
	if err != nil {
		return "", false, err
	}
	proof, withoutProof, err := readProof(message, p)
	if err != nil {
		return "", false, err
	}
	if nonce != s.nonce {
		return "", false, fatalProtocol("invalid SCRAM response").WithDetail("Nonce does not match.")
	}
	keys := cred.keys()
	signed := s.clientFirstBare + "," + s.serverFirst + "," + withoutProof
	right = keys.provedBy(proof, signed)
	return "v=" + encode64(mac(keys.server[:], signed)), right, nil
}

// checkBinding compares what the client is bound to with the channel that it is on.
func (s *scramServer) checkBinding(binding string) error {
	want := []byte(s.gs2Header)
	if s.plus {
		want = append(want, s.channel.EndPoint...)
	}
	switch {
	case binding == encode64(want):
		return nil
	case s.plus:
		return pgerr.Fatalf(codes.InvalidAuthorizationSpecification, "SCRAM channel binding check failed")
	}
	return fatalProtocol("unexpected SCRAM channel-binding attribute in client-final-message")
}

// readProof skips extensions up to the proof, which must be the last attribute. It
// gives also the message up to the comma before the proof.
func readProof(message string, p attributes) (proof []byte, withoutProof string, err error) {
	for {
		// Without a comma before it there is no attribute here: readAny says so.
		before := max(0, len(message)-len(p)-1)
		name, value, err := p.readAny()
		if err != nil {
			return nil, "", err
		}
		if name != 'p' {
			continue
		}
		proof, ok := decode64(value)
		if !ok || len(proof) != sha256.Size {
			return nil, "", malformed("Malformed proof in client-final-message.")
		}
		if p != "" {
			return nil, "", malformed("Garbage found at the end of client-final-message.")
		}
		return proof, message[:before], nil
	}
}

// provedBy tells whether proof shows knowledge of the password behind the keys:
// proof is ClientKey XOR HMAC(StoredKey, signed), and StoredKey is H(ClientKey).
func (k *keys) provedBy(proof []byte, signed string) bool {
	clientKey := mac(k.stored[:], signed)
	for i := range clientKey {
		clientKey[i] ^= proof[i]
	}
	stored := sha256.Sum256(clientKey)
	return hmac.Equal(stored[:], k.stored[:])
}

// newNonce has 18 random bytes, as PostgreSQL's.
func newNonce() string {
	var raw [18]byte
	rand.Read(raw[:]) // never fails: see crypto/rand
	return encode64(raw[:])
}

// attributes is what is left to read of a message of the form a=value,b=value.
type attributes string

// peek gives 0 at the end; a message has no NUL.
func (p attributes) peek() byte {
	if p == "" {
		return 0
	}
	return p[0]
}

// read takes the attribute that must come next.
func (p *attributes) read(name byte) (string, error) {
	if c := p.peek(); c != name {
		return "", malformed("Expected attribute \"%c\" but found \"%s\".", name, printable(c))
	}
	return p.value(name)
}

// readAny takes the next attribute, whichever it is.
func (p *attributes) readAny() (name byte, value string, err error) {
	name = p.peek()
	switch {
	case name == 0:
		return 0, "", malformed("Attribute expected, but found end of string.")
	case name < 'A' || 'Z' < name && name < 'a' || 'z' < name:
		return 0, "", malformed("Attribute expected, but found invalid character \"%s\".", printable(name))
	}
	value, err = p.value(name)
	return name, value, err
}

func (p *attributes) value(name byte) (string, error) {
	*p = (*p)[1:]
	if p.peek() != '=' {
		return "", malformed("Expected character \"=\" for attribute \"%c\".", name)
	}
	value, rest, _ := strings.Cut(string((*p)[1:]), ",")
	*p = attributes(rest)
	return value, nil
}

func malformed(format string, args ...any) *pgerr.Error {
	return fatalProtocol("malformed SCRAM message").WithDetail(format, args...)
}

// printable shows one byte in an error, as PostgreSQL's sanitize_char.
func printable(c byte) string {
	if 0x21 <= c && c <= 0x7E {
		return fmt.Sprintf("'%c'", c)
	}
	return fmt.Sprintf("0x%02x", c)
}

// printableText shows the beginning of a text, as PostgreSQL's sanitize_str.
func printableText(s string) string {
	shown := []byte(s[:min(len(s), 30)])
	for i, c := range shown {
		if c < 0x21 || c > 0x7E {
			shown[i] = '?'
		}
	}
	return string(shown)
}

// isPrintable: %x21-2B / %x2D-7E, the characters of a nonce.
func isPrintable(s string) bool {
	for i := range len(s) {
		if s[i] < 0x21 || s[i] > 0x7E || s[i] == ',' {
			return false
		}
	}
	return true
}

func mac(key []byte, message string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(message))
	return h.Sum(nil)
}

func encode64(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

// decode64 takes no line breaks, which encoding/base64 skips.
func decode64(s string) ([]byte, bool) {
	if strings.ContainsAny(s, "\r\n") {
		return nil, false
	}
	b, err := base64.StdEncoding.DecodeString(s)
	return b, err == nil
}
