package pgwire_test

import (
	"net"
	"testing"

	"go.uber.org/goleak"

	"raisinproxy/pgwire/wiretest"
)

// TestMalformed: what no client should send, and what it is answered. The table has it.
func TestMalformed(t *testing.T) {
	wiretest.RunTable(t, "../docs/malformed.md", "alone", settling(newEmbedded))
}

// TestMalformedThroughProxy is the same with PostgreSQL behind the server.
func TestMalformedThroughProxy(t *testing.T) {
	wiretest.RunTable(t, "../docs/malformed.md", "proxied", settling(newProxied))
}

// settling lets a target say whether its server has goroutines that it had not at first.
func settling(newTarget wiretest.NewTarget) wiretest.NewTarget {
	return func(t *testing.T, options map[string]string) wiretest.Target {
		t.Helper()
		target := newTarget(t, options)
		var dialer net.Dialer
		conn, err := dialer.DialContext(t.Context(), "tcp", target.Addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.Write([]byte("\x00\x00\x00\x08\x04\xd2\x16\x2f")); err != nil { // SSLRequest
			t.Fatal(err)
		}
		if _, err := conn.Read(make([]byte, 1)); err != nil { // now it serves
			t.Fatal(err)
		}
		known := goleak.IgnoreCurrent()
		target.Settled = func() error { return goleak.Find(known) }
		return target
	}
}
