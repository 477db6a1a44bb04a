package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// authority vouches for certificates.
type authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// newAuthority writes the certificate of a new authority to name in dir.
func newAuthority(t *testing.T, dir, name string) *authority {
	t.Helper()
	a := &authority{dir: dir}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.cert, a.key = template, nil
	a.cert, a.key = a.issue(t, name, template)
	return a
}

// issue writes a certificate to name.pem and its key to name-key.pem.
func (a *authority) issue(t *testing.T, name string, template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if template.SerialNumber == nil {
		template.SerialNumber, template.NotAfter = big.NewInt(time.Now().UnixNano()), time.Now().Add(time.Hour)
	}
	template.Subject.Organization = []string{name} // an issuer and what it issues are told apart by their names
	signer := a.key
	if signer == nil {
		signer = key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	a.write(t, name+".pem", "CERTIFICATE", der)
	a.write(t, name+"-key.pem", "PRIVATE KEY", secret)
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

func (a *authority) write(t *testing.T, name, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(a.dir, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

// serveTLS starts the program with a certificate of ca.pem, and says where it listens
// and how psql and pgx connect there.
func serveTLS(t *testing.T, config string, files map[string]string) (p *process, a *authority, address, options string) {
	t.Helper()
	dir := configDir(t, `
[pgwire]
port = 0
tls_cert = "server.pem"
tls_key = "server-key.pem"
`+config)
	a = newAuthority(t, dir, "ca")
	a.issue(t, "server", &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p = start(t, "main", "--config", filepath.Join(dir, "raisin.toml"))
	address = p.await(t, "listening")["address"].(string)
	return p, a, address, "sslmode=verify-full sslrootcert=" + filepath.Join(dir, "ca.pem")
}

// psql asks for the user's name and gives what it prints.
func psql(t *testing.T, address, options string) (string, error) {
	t.Helper()
	host, port, _ := net.SplitHostPort(address)
	out, err := exec.CommandContext(t.Context(), "psql", "-XAtw", "-c", "select current_user",
		fmt.Sprintf("host=%s port=%s dbname=shop %s", host, port, options)).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// TestChannelBinding: a client that insists on it is let in, by libpq and by pgx.
func TestChannelBinding(t *testing.T) {
	_, _, address, options := serveTLS(t, "", nil)
	options += " user=alice password=pencil channel_binding=require"
	if out, err := psql(t, address, options); err != nil || out != "alice" {
		t.Errorf("psql: %v: %s", err, out)
	}
	connect(t, address, options)
	if _, err := dial(t, address, strings.Replace(options, "pencil", "wrong", 1)); sqlState(err) != "28P01" {
		t.Errorf("a wrong password: %v", err)
	}
}

func sqlState(err error) string {
	if told, ok := errors.AsType[*pgconn.PgError](err); ok {
		return told.Code
	}
	return ""
}

// TestCertificates: method "cert" with the common name, and with a map.
func TestCertificates(t *testing.T) {
	spiffe := &url.URL{Scheme: "spiffe", Host: "shop", Path: "/orders"}
	for _, method := range []struct {
		name, config, files string
		want                map[string]string // by certificate and user: the name, or the SQLSTATE
	}{
		{name: "by common name", want: map[string]string{
			"alice alice": "alice", "alice bob": "28000", "orders orders": "28000", "none alice": "28000", "stranger alice": "28000",
		}},
		{name: "by map", config: `cert_map_file = "map.txt"`, want: map[string]string{
			"alice root": "root", "alice alice": "28000", "orders orders": "orders", "orders alice": "28000", "none root": "28000",
		}},
	} {
		t.Run(method.name, func(t *testing.T) {
			p, a, address, options := serveTLS(t, `
tls_client_ca = "ca.pem"
[auth]
method = "cert"
`+method.config, map[string]string{"map.txt": "\"CN=alice\" \"root\"\n\"URI=spiffe://shop/orders\" \"orders\"\n"})
			client := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
			a.issue(t, "alice", &x509.Certificate{Subject: pkix.Name{CommonName: "alice"}, ExtKeyUsage: client})
			a.issue(t, "orders", &x509.Certificate{URIs: []*url.URL{spiffe}, ExtKeyUsage: client})
			newAuthority(t, a.dir, "other").issue(t, "stranger", &x509.Certificate{Subject: pkix.Name{CommonName: "alice"}, ExtKeyUsage: client})
			for who, want := range method.want {
				cert, user, _ := strings.Cut(who, " ")
				o := options + " user=" + user
				if cert != "none" {
					file := filepath.Join(a.dir, cert)
					o += " sslcert=" + file + ".pem sslkey=" + file + "-key.pem"
				}
				_, err := dial(t, address, o)
				out, psqlErr := psql(t, address, o)
				if want == user {
					if err != nil || psqlErr != nil || out != user {
						t.Errorf("%s: %v; psql: %v: %s", who, err, psqlErr, out)
					}
				} else if err == nil || psqlErr == nil || sqlState(err) != want {
					t.Errorf("%s: %v; psql: %s; want %q", who, err, out, want)
				}
			}
			if log := p.stop(t); !strings.Contains(log, "authentication failed") {
				t.Error("the log does not tell of failures")
			}
		})
	}
}

// TestDirectTLS: sslnegotiation=direct, which has to name the protocol.
func TestDirectTLS(t *testing.T) {
	_, a, address, options := serveTLS(t, "", nil)
	connect(t, address, options+" user=alice password=pencil sslnegotiation=direct")
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	for name, protocols := range map[string][]string{"no ALPN": nil, "another protocol": {"h2"}} {
		conn, err := tls.Dial("tcp", address, &tls.Config{RootCAs: roots, NextProtos: protocols})
		if err != nil {
			continue // refused in the hand-shake
		}
		if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if n, err := conn.Read(make([]byte, 1)); n > 0 || !errors.Is(err, io.EOF) {
			t.Errorf("%s: got %d bytes, %v; want the end", name, n, err)
		}
		conn.Close()
	}
}

// TestRenewal: a changed users file and, at SIGHUP, a changed certificate count from
// the next connection on; sessions go on; what is wrong changes nothing.
func TestRenewal(t *testing.T) {
	p, a, address, options := serveTLS(t, "", nil)
	session := connect(t, address, options+" user=alice password=pencil")
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(a.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("users.txt", `"dora" "explorer"`+"\n")
	p.await(t, "users renewed")
	connect(t, address, options+" user=dora password=explorer")
	if _, err := dial(t, address, options+" user=alice password=pencil"); sqlState(err) != "28P01" {
		t.Errorf("a user who is no longer listed: %v", err)
	}
	write("users.txt", `"dora" "md5`+strings.Repeat("0", 32)+`"`+"\n")
	if record := p.await(t, "users were not renewed"); !strings.Contains(record["problem"].(string), "md5") {
		t.Errorf("the log says %v", record)
	}
	connect(t, address, options+" user=dora password=explorer")

	other := newAuthority(t, a.dir, "ca")
	other.issue(t, "server", &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
	if _, err := dial(t, address, options+" user=dora password=explorer"); err == nil {
		t.Error("the new certificate serves before it is read")
	}
	p.Signal(syscall.SIGHUP)
	p.await(t, "certificates renewed")
	connect(t, address, options+" user=dora password=explorer channel_binding=require")
	write("server.pem", "nothing")
	p.Signal(syscall.SIGHUP)
	p.await(t, "certificates were not renewed")
	connect(t, address, options+" user=dora password=explorer channel_binding=require")

	if _, err := session.Exec(t.Context(), "select 1").ReadAll(); err != nil {
		t.Errorf("the session that was open: %v", err)
	}
}
