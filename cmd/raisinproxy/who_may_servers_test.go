package main

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"raisinproxy/pgwire/wiretest"
)

// servers are the programs that attempts go to, one for each configuration, started when
// the first comes.
type servers struct {
	dir       string // with their files and those of the clients
	addresses map[string]string
}

func newServers(t *testing.T) *servers {
	t.Helper()
	s := &servers{dir: t.TempDir(), addresses: map[string]string{}}
	a := newAuthority(t, s.dir, "ca")
	a.issue(t, "server", &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
	for _, name := range []string{"alice", "dora", "anonymous"} {
		s.issue(t, a, name, pkix.Name{CommonName: name})
	}
	s.issue(t, a, "two", pkix.Name{ExtraNames: []pkix.AttributeTypeAndValue{
		{Type: []int{2, 5, 4, 3}, Value: "alice"}, {Type: []int{2, 5, 4, 3}, Value: "dora"},
	}})
	s.issue(t, newAuthority(t, s.dir, "other"), "stranger", pkix.Name{CommonName: "alice"})
	s.write(t, "users.txt", "\"alice\" \"pencil\"\n\"bob\" \"\"\n\"anonymous\" \"pencil\"\n")
	s.write(t, "no-anonymous.txt", "\"alice\" \"pencil\"\n") // auth_query has the others
	s.write(t, "map.txt", "\"CN=alice\" \"root\"\n\"CN=dora\" \"anonymous\"\n")
	return s
}

// issue has a certificate for a client; its key, too, in PKCS #8 DER, which is what JDBC reads.
func (s *servers) issue(t *testing.T, a *authority, name string, subject pkix.Name) {
	t.Helper()
	_, key := a.issue(t, name, &x509.Certificate{
		Subject: subject, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	s.write(t, name+"-key.pk8", string(der))
}

func (s *servers) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// address is where the server of an attempt listens.
func (s *servers) address(t *testing.T, a *attempt) string {
	t.Helper()
	key := strings.Trim(a.method+"-"+a.anonymous+"-"+a.with, "-")
	if s.addresses[key] == "" {
		args := []string{"--dev-mode", "--port", "0"}
		if a.method != "--dev-mode" {
			s.write(t, key+".toml", configOf(t, a))
			args = []string{"--config", filepath.Join(s.dir, key+".toml")}
		}
		s.addresses[key] = start(t, "main", args...).await(t, "listening")["address"].(string)
	}
	return s.addresses[key]
}

// configOf is that of an attempt's server.
func configOf(t *testing.T, a *attempt) string {
	t.Helper()
	users, more := "users.txt", ""
	switch a.with {
	case "auth_query":
		users = "no-anonymous.txt"
		more = fmt.Sprintf(`
auth_query = "SELECT * FROM (VALUES ('carol', 'pencil'), ('nora', NULL), ('anonymous', 'stencil')) AS known (name, secret) WHERE name = $1"
allow_anonymous_sql = true
[upstream]
url = %q
auth_user = "bob"`, wiretest.PostgresURL(t))
	case "cert_map_file":
		more = `cert_map_file = "map.txt"`
	}
	return fmt.Sprintf(`
[pgwire]
port = 0
tls_cert = "server.pem"
tls_key = "server-key.pem"
tls_client_ca = "ca.pem"
require_tls = %t
[locks]
enabled = true
[locks.inprocess]
data_dir = ""
[auth]
method = %q
allow_anonymous = %s
users_file = %q
%s
`, a.method == "password", a.method, a.anonymous, users, more)
}
