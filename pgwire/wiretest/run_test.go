package wiretest

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// greeting is a start-up answer without authentication.
const greeting = "R\x00\x00\x00\x08\x00\x00\x00\x00" + "K\x00\x00\x00\x0c\x00\x00\x00\x01abcd" + ready

const (
	ready    = "Z\x00\x00\x00\x05I"
	complete = "C\x00\x00\x00\x0aBEGIN\x00"
)

// serve takes one connection.
func serve(t *testing.T, handle func(net.Conn)) *Target {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer func() { _ = c.Close() }()
		handle(c)
	})
	t.Cleanup(func() {
		_ = l.Close()
		serving.Wait()
	})
	return &Target{Addr: l.Addr().String()}
}

// liar is a server that answers whatever it is told to: one text for each of the
// client's writes, and then it waits for the client to leave.
func liar(t *testing.T, answers ...string) *Target {
	t.Helper()
	return serve(t, func(c net.Conn) {
		buffer := make([]byte, 1<<16)
		for _, answer := range answers {
			if _, err := c.Read(buffer); err != nil {
				return
			}
			if _, err := io.WriteString(c, answer); err != nil {
				return
			}
		}
		_, _ = c.Read(buffer)
	})
}

// play runs commands such as "query select 1" until one fails. After "hurry" it does
// not wait long for answers.
func play(t *testing.T, target *Target, commands ...string) error {
	t.Helper()
	s := &script{target: target, conns: map[string]*conn{}, variables: map[string]string{}}
	defer s.abandon()
	for _, command := range commands {
		if command == "hurry" {
			s.conns["a"].patience = 50 * time.Millisecond
			continue
		}
		name, input, _ := strings.Cut(command, " ")
		args, err := parseArgs(nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.run(name, args, input); err != nil {
			return err
		}
	}
	return s.end()
}

// A server that breaks the protocol fails the test, and the failure shows what came
// before.
func TestRunnerNoticesFaults(t *testing.T) {
	tests := map[string]struct {
		answers []string
		want    string
	}{
		"nothing":            {[]string{greeting, ""}, "no answer within"},
		"no ReadyForQuery":   {[]string{greeting, complete}, "no answer within 50ms\nmessages so far:"},
		"shows the rest":     {[]string{greeting, complete + "1\x00\x00\x00\x04"}, "messages so far:\nC BEGIN\n1"},
		"second Ready":       {[]string{greeting, complete + ready + ready}, "nothing was owed"},
		"out of place":       {[]string{greeting, "1\x00\x00\x00\x04"}, "'1' out of place"},
		"length below four":  {[]string{greeting, "C\x00\x00\x00\x03"}, "length 3"},
		"length huge":        {[]string{greeting, "C\x7f\xff\xff\xff"}, "length 2147483647"},
		"too long":           {[]string{greeting, "Z\x00\x00\x00\x06IZ"}, "1 bytes too many"},
		"too short":          {[]string{greeting, "Z\x00\x00\x00\x04"}, "too short"},
		"status":             {[]string{greeting, complete + "Z\x00\x00\x00\x05X"}, "status 'X'"},
		"unknown type":       {[]string{greeting, "y\x00\x00\x00\x04"}, "unknown message type"},
		"start-up, no key":   {[]string{"R\x00\x00\x00\x08\x00\x00\x00\x00" + ready}, "out of place at start-up"},
		"start-up, no R":     {[]string{"K\x00\x00\x00\x0c\x00\x00\x00\x01abcd" + ready}, "out of place at start-up"},
		"start-up, long key": {[]string{"R\x00\x00\x00\x08\x00\x00\x00\x00" + "K\x00\x00\x00\x0d\x00\x00\x00\x01abcde"}, "cancel key of 5 bytes"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			commands := []string{"connect", "query begin"}
			if strings.Contains(test.want, "no answer") {
				commands = []string{"connect", "hurry", "query begin"}
			}
			err := play(t, liar(t, test.answers...), commands...)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestRunnerAcceptsTheRightAnswer(t *testing.T) {
	if err := play(t, liar(t, greeting, complete+ready), "connect", "query begin"); err != nil {
		t.Error(err)
	}
}

// Scripts that ask for what cannot be are told so.
func TestRunnerNoticesBadScripts(t *testing.T) {
	tests := map[string]struct {
		commands []string
		want     string
	}{
		"no connection":     {[]string{"query select 1"}, `no connection "a"`},
		"connected twice":   {[]string{"connect", "connect"}, `connection "a" is open`},
		"unknown command":   {[]string{"connect", "sleep 1s"}, "no such command"},
		"no clock":          {[]string{"advance"}, "give one duration"},
		"no faults":         {[]string{"fault"}, "no faults"},
		"server too late":   {[]string{"server"}, "already running"},
		"an answer is owed": {[]string{"connect", "async begin"}, "await it first"},
		"by hand":           {[]string{"raw", "query select 1"}, "use send"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := play(t, liar(t, greeting, ""), test.commands...)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestConnectWithTLS(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: private}}}
	target := serve(t, func(c net.Conn) {
		buffer := make([]byte, 1<<16)
		_, _ = io.ReadFull(c, buffer[:8])
		_, _ = io.WriteString(c, "S")
		secured := tls.Server(c, config)
		_, _ = secured.Read(buffer)
		_, _ = io.WriteString(secured, greeting)
		_, _ = secured.Read(buffer)
	})
	s := &script{target: target, conns: map[string]*conn{}, variables: map[string]string{}}
	defer s.abandon()
	args, err := parseArgs([]datadriven.CmdArg{{Key: "tls"}})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.run("connect", args, ""); err != nil || got != "byte S\nR Ok\nK\nZ I\n" {
		t.Errorf("got %q, %v", got, err)
	}
	if err := s.end(); err != nil {
		t.Error(err)
	}
}

func TestScramRefusesAFalseServer(t *testing.T) {
	s := &scram{gs2: "n,,", password: "pencil"}
	s.first()
	nonce := s.nonce
	for _, first := range []string{"r=other,s=AAAA,i=4096", "r=" + nonce + ",s=AAAA,i=4096", "r=" + nonce + "x,s=,i=4096", "r=" + nonce + "x,s=AAAA,i=0"} {
		if _, err := s.final([]byte(first)); err == nil {
			t.Errorf("accepted %q", first)
		}
	}
	if _, err := s.final([]byte("r=" + nonce + "x,s=AAAA,i=4096")); err != nil {
		t.Error(err)
	}
	if err := s.verify([]byte("v=AAAA")); err == nil {
		t.Error("accepted a wrong signature")
	}
}

// The example of RFC 7677.
func TestScramVector(t *testing.T) {
	s := &scram{gs2: "n,,", password: "pencil", nonce: "rOprNGfwEbeRWgbNEkqO", firstBare: "n=user,r=rOprNGfwEbeRWgbNEkqO"}
	const serverFirst = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
	final, err := s.final([]byte(serverFirst))
	if err != nil {
		t.Fatal(err)
	}
	if want := "p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="; !strings.HasSuffix(string(final), want) {
		t.Errorf("got %s, want %s", final, want)
	}
	if err := s.verify([]byte("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")); err != nil {
		t.Error(err)
	}
}

func TestMasksAndVariables(t *testing.T) {
	got := showVariables("D ['12345678' 123456789 12345678 short]", map[string]string{"v": "12345678", "w": "short"})
	if want := "D ['$v' 123456789 $v short]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	expanded, err := expand(`$x $y $1 $$ $a$ $repeat(2, "a\tb")`, map[string]string{"x": "1"})
	if want := "1 $y $1 $$ $a$ a\tba\tb"; expanded != want || err != nil {
		t.Errorf("got %q, %v, want %q", expanded, err, want)
	}
	if _, err := parseMasks([]datadriven.CmdArg{{Key: "nosuch"}}); err == nil {
		t.Error("accepted an unknown mask")
	}
}
