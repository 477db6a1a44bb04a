package redis

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"raisinproxy/backend"
	"raisinproxy/backend/redis/redistest"
)

// acl is what a user of Redis needs for one name space. docs/operations.md says the same.
const acl = "~%[1]s:* resetchannels &%[1]s:w:* -@all +publish +subscribe +@connection +info +eval +evalsha +scan +wait +config|get +cluster|slots +cluster|shards +cluster|nodes +command " +
	"+time +hmget +hset +hdel +hincrby +hlen +hexists +hrandfield +pttl +pexpire +persist"

func TestAUserWithFewRightsIsEnough(t *testing.T) {
	server := redistest.Start(t, redistest.AOFAlways)
	o := options(t, fmt.Sprintf("redis://raisin:hunter2@%s/0", server.Addr()))
	fewRights(t, o.Namespace, server)
	s := open(t, o)
	warm(t, s)
	token := mustAcquire(t, s, "k", time.Minute)
	w := standInLine(t, s, "k", time.Minute)
	mustRelease(t, s, token)
	w.mustHave()
	listsWith(t, s, server)
}

func TestAUserWithFewRightsIsEnoughForACluster(t *testing.T) {
	cluster := redistest.StartCluster(t, 2)
	o := options(t, "")
	for _, master := range cluster.Masters {
		fewRights(t, o.Namespace, master)
		o.URLs = append(o.URLs, "redis://raisin:hunter2@"+master.Addr())
	}
	s := open(t, o)
	for i := range 4 {
		mustAcquire(t, s, fmt.Sprint("k", i), time.Minute)
		mustClaim(t, s, fmt.Sprint("k", i), 1, 10, 9)
	}
	listsWith(t, s, cluster.Masters...)
}

// fewRights makes the user whom operators are told to make.
func fewRights(t *testing.T, namespace string, server *redistest.Server) {
	t.Helper()
	args := []any{"ACL", "SETUSER", "raisin", "on", ">hunter2"}
	for word := range strings.FieldsSeq(fmt.Sprintf(acl, namespace)) {
		args = append(args, word)
	}
	server.Do(append(args, "+script|load")...) // script load is for this test
}

// listsWith lists what is there, and sees that the servers have denied nothing so far.
func listsWith(t *testing.T, s *Store, servers ...*redistest.Server) {
	t.Helper()
	if _, err := s.Leases(t.Context(), scope, "", 100); err != nil {
		t.Errorf("Leases: %v", err)
	}
	if _, err := s.Pools(t.Context(), scope, "", 100); err != nil {
		t.Errorf("Pools: %v", err)
	}
	for _, server := range servers {
		if denied := server.Do("ACL", "LOG"); len(denied.([]any)) > 0 {
			t.Errorf("Redis has denied something: %v", denied)
		}
	}
}

// What a script has written stays when it fails after that.
func TestAScriptThatFailsInTheMiddleIsInDoubt(t *testing.T) {
	server := redistest.Start(t)
	o := options(t, server.URL())
	mustClaim(t, open(t, o), "p", 1, 10, 9)
	server.Do("ACL", "SETUSER", "raisin", "on", ">secret", "~*", "+@all", "-persist")
	o.URL = fmt.Sprintf("redis://raisin:secret@%s/0", server.Addr())
	s := open(t, second(t, o))
	if _, err := s.Claim(t.Context(), scope, "p", 1, 10); !errors.Is(err, backend.ErrInDoubt) {
		t.Fatalf("Claim: %v, want ErrInDoubt", err)
	}
}

func TestAUnixSocketServes(t *testing.T) {
	server := redistest.Start(t)
	warm(t, open(t, options(t, "unix://"+server.Socket())))
}

func TestTLSServes(t *testing.T) {
	cert, key := certificate(t)
	t.Setenv("SSL_CERT_FILE", cert)
	server := redistest.Start(t)
	tlsPort := server.EnableTLS(cert, key)
	warm(t, open(t, options(t, fmt.Sprintf("rediss://localhost:%d/0", tlsPort))))
}

// certificate writes one for localhost that signs itself, and its key.
func certificate(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, bytes []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "PRIVATE KEY", private)
}

func TestURLsOfSentinelsSayWhoTheUserOfRedisIs(t *testing.T) {
	o := Options{SentinelMaster: "locks", URLs: []string{
		"rediss://raisin:hunter2@a:26379/3?sentinel_username=watch&sentinel_password=sesame",
		"rediss://raisin:hunter2@b:26379",
	}}
	got, err := o.target()
	if err != nil {
		t.Fatal(err)
	}
	s := got.sentinel
	if s.MasterName != "locks" || s.Username != "raisin" || s.Password != "hunter2" || s.DB != 3 ||
		s.SentinelUsername != "watch" || s.SentinelPassword != "sesame" ||
		strings.Join(s.SentinelAddrs, " ") != "a:26379 b:26379" || s.TLSConfig == nil || s.TLSConfig.ServerName != "" {
		t.Errorf("%+v", s)
	}
}

func TestURLsOfAClusterAreItsSeeds(t *testing.T) {
	o := Options{URLs: []string{"redis://raisin:hunter2@a:1", "redis://raisin:hunter2@b:2"}}
	got, err := o.target()
	if err != nil {
		t.Fatal(err)
	}
	c := got.cluster
	if c.Username != "raisin" || c.Password != "hunter2" || strings.Join(c.Addrs, " ") != "a:1 b:2" {
		t.Errorf("%+v", c)
	}
}

func TestAReplicaIsNotTakenForAMaster(t *testing.T) {
	master := redistest.Start(t)
	replica := redistest.StartReplica(t, master)
	o := options(t, replica.URL())
	o.Timeout = 200 * time.Millisecond
	s := open(t, o)
	if g, err := s.Acquire(t.Context(), scope, "k", backend.Request{TTL: time.Minute}); !errors.Is(err, backend.ErrUnavailable) || g.Acquired {
		t.Fatalf("Acquire = %+v, %v; want ErrUnavailable", g, err)
	}
}

// demoted is a store whose master has become the replica of an empty one, behind a link.
func demoted(t *testing.T, timeout time.Duration) (s *Store, link *redistest.Link, token int64) {
	t.Helper()
	master := redistest.Start(t)
	link = redistest.StartLink(t, master)
	o := options(t, link.URL())
	o.Timeout = timeout
	s = open(t, o)
	warm(t, s)
	token = mustAcquire(t, s, "k", time.Minute)
	mustClaim(t, s, "p", 1, 10, 9)
	other := redistest.Start(t)
	master.Do("REPLICAOF", "127.0.0.1", other.Port)
	return s, link, token
}

// A master that became a replica may show a lock as held that its new master has given away. It
// refuses every copy of a call, so that nothing was done is certain.
func TestADemotedMasterAnswersNothing(t *testing.T) {
	t.Parallel()
	s, _, token := demoted(t, 12*time.Second) // so that no answer is late, not even to the last copy
	var calls sync.WaitGroup
	expectOutageOf := func(name string, call func() error) {
		calls.Go(func() {
			if err := call(); !errors.Is(err, backend.ErrUnavailable) {
				t.Errorf("%s on a replica: %v, want ErrUnavailable", name, err)
			}
		})
	}
	expectOutageOf("Acquire", func() error {
		_, err := s.Acquire(t.Context(), scope, "k", backend.Request{TTL: time.Minute})
		return err
	})
	expectOutageOf("Renew", func() error {
		_, err := s.Renew(t.Context(), scope, "k", backend.Proof{Token: token + 1}, time.Minute)
		return err
	})
	expectOutageOf("Release", func() error {
		_, err := s.Release(t.Context(), scope, "k", backend.Proof{Token: token + 1})
		return err
	})
	expectOutageOf("Evict", func() error {
		_, _, err := s.Evict(t.Context(), scope, "k")
		return err
	})
	expectOutageOf("Leases", func() error {
		_, err := s.Leases(t.Context(), scope, "k", 1)
		return err
	})
	expectOutageOf("Look", func() error {
		_, _, err := s.Look(t.Context(), scope, "k")
		return err
	})
	expectOutageOf("Claim", func() error {
		_, err := s.Claim(t.Context(), scope, "p", 100, 10)
		if errors.Is(err, backend.ErrStateLost) { // the pool is gone with the rest of the old master's data
			return backend.ErrUnavailable
		}
		return err
	})
	calls.Wait()
}

// The answer to one copy comes too late. The others are refused, which says nothing about that one.
func TestADemotedMasterWhoseAnswerIsLateLeavesACallInDoubt(t *testing.T) {
	t.Parallel()
	s, link, token := demoted(t, 2*time.Second)
	link.Next(redistest.Rule{DelayAnswer: 2 * s.opts.attemptTime()})
	ok, err := s.Renew(t.Context(), scope, "k", backend.Proof{Token: token + 1}, time.Minute)
	if ok || !errors.Is(err, backend.ErrInDoubt) {
		t.Fatalf("Renew = %v, %v; want ErrInDoubt", ok, err)
	}
	if link.Pending() > 0 {
		t.Fatal("vacuous: no answer was delayed")
	}
}

func TestNoErrorAndNoLogTellsAPassword(t *testing.T) {
	log := &logBuffer{}
	for _, url := range []string{
		"redis://:hunter2@127.0.0.1:port/0", "http://:hunter2@127.0.0.1/", "redis://a:hunter2@127.0.0.1:1/x", "redis://a:hunter2@127.0.0.1:1/0?x=y",
		"redis://a:hunter2@127.0.0.1:1/0", "rediss://a:hunter2@127.0.0.1:1/0", "unix://a:hunter2@/nowhere", "%zz:hunter2",
	} {
		for _, o := range []Options{{URL: url}, {URLs: []string{url}}, {URLs: []string{url}, SentinelMaster: "m"}} {
			o.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			o.Timeout = 50 * time.Millisecond
			s, err := Open(t.Context(), o)
			if err == nil {
				_, err = s.Acquire(t.Context(), scope, "k", backend.Request{TTL: time.Minute})
				s.Close()
			}
			if err == nil || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error is %v", err)
			}
		}
	}
	if log.has("hunter2") {
		t.Errorf("the log says\n%s", log)
	}
}

func TestNamesGiveKeysThatCannotBeMistaken(t *testing.T) {
	for _, c := range []struct {
		scope backend.Scope
		name  string
		want  string
	}{
		{scope, "seat:14A", "ns:lock:{default:shop:main:seat%3A14A}"},
		{scope, "}{%", "ns:lock:{default:shop:main:%7D%7B%25}"},
		{backend.Scope{}, "a\nb c", "ns:lock:{:::a%0Ab%20c}"},
		{backend.Scope{Tenant: "a:b"}, "é", "ns:lock:{a%3Ab:::é}"},
	} {
		if got := keyOf("ns", lockKind, c.scope, c.name); got != c.want {
			t.Errorf("keyOf(%+v, %q) = %s, want %s", c.scope, c.name, got, c.want)
		}
	}
}
