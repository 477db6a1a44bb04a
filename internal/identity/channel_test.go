package identity

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"math/big"
	"testing"
	"time"
)

const bindingHeader = "p=tls-server-end-point,,"

func bound(data string) string {
	return "c=" + base64.StdEncoding.EncodeToString([]byte(data)) + ",r=$r,p=$p"
}

func plusTalk(name, first, final, want string) talk {
	t := scramTalk(name, first, final, want)
	t.first = initialResponse("SCRAM-SHA-256-PLUS", first)
	return t
}

// boundTalks are about a channel whose end point is "the certificate". The answers are
// those of auth-scram.c of PostgreSQL 15.
var boundTalks = []talk{
	plusTalk("bound", bindingHeader+"n=,r=abc", bound(bindingHeader+"the certificate"), "continue; final; ok"),
	plusTalk("bound to another certificate", bindingHeader+"n=,r=abc", bound(bindingHeader+"another certificate"),
		"continue; FATAL 28000 SCRAM channel binding check failed"),
	plusTalk("bound to nothing", bindingHeader+"n=,r=abc", bound(bindingHeader),
		"continue; FATAL 28000 SCRAM channel binding check failed"),
	plusTalk("bound, but not in the end", bindingHeader+"n=,r=abc", goodFinal,
		"continue; FATAL 28000 SCRAM channel binding check failed"),
	plusTalk("another kind of binding", "p=tls-unique,,n=,r=abc", "",
		`FATAL 08P01 unsupported SCRAM channel-binding type "tls-unique"`),
	plusTalk("a kind that cannot be shown", "p=tls unique\xff and more than thirty characters,,n=,r=abc", "",
		`FATAL 08P01 unsupported SCRAM channel-binding type "tls?unique??and?more?than?thir"`),
	plusTalk("PLUS without binding", "n,,n=,r=abc", "",
		"FATAL 08P01 malformed SCRAM message: The client selected SCRAM-SHA-256-PLUS, but the SCRAM message does not include channel binding data."),
	plusTalk("PLUS by a client that believes it was not offered", "y,,n=,r=abc", "",
		"FATAL 08P01 malformed SCRAM message: The client selected SCRAM-SHA-256-PLUS, but the SCRAM message does not include channel binding data."),
	plusTalk("an authorization identity", "p=tls-server-end-point,a=root,n=,r=abc", "",
		"FATAL 0A000 client uses authorization identity, but it is not supported"),
	scramTalk("a client that cannot bind", "n,,n=,r=abc", goodFinal, "continue; final; ok"),
	scramTalk("a client to whom the offer was hidden", "y,,n=,r=abc", "",
		"FATAL 28000 SCRAM channel binding negotiation error: The client supports SCRAM channel binding but thinks the server does not.  "+
			"However, this server does support channel binding."),
	scramTalk("a binding without PLUS", bindingHeader+"n=,r=abc", "",
		"FATAL 08P01 malformed SCRAM message: The client selected SCRAM-SHA-256 without channel binding, but the SCRAM message includes channel binding data."),
}

func TestBoundSCRAM(t *testing.T) {
	p := policy(t, SCRAM, fmt.Sprintf("%q %q", talkUser, talkPassword), false)
	for _, tt := range boundTalks {
		if got := tt.hold(t, p.Begin(talkUser, Channel{Encrypted: true, EndPoint: []byte("the certificate")}, nil)); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

// TestEndPoint: RFC 5929, section 4.1.
func TestEndPoint(t *testing.T) {
	certificate := func(curve elliptic.Curve) *x509.Certificate {
		key, err := ecdsa.GenerateKey(curve, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return selfSigned(t, key.Public(), key)
	}
	short, long := certificate(elliptic.P256()), certificate(elliptic.P384())
	if got, want := EndPoint(short), sha256.Sum256(short.Raw); !bytes.Equal(got, want[:]) {
		t.Errorf("of a signature with SHA-256: %x, want %x", got, want)
	}
	if got, want := EndPoint(long), sha512.Sum384(long.Raw); !bytes.Equal(got, want[:]) {
		t.Errorf("of a signature with SHA-384: %x, want %x", got, want)
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if got := EndPoint(selfSigned(t, public, private)); got != nil {
		t.Errorf("of a signature without a hash: %x, want none", got)
	}
}

func selfSigned(t *testing.T, public, private any) *x509.Certificate {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}
