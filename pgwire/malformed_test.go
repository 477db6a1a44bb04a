package pgwire_test

import (
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
		known := []goleak.Option{
			goleak.IgnoreCurrent(),
			// The server's own, which it starts when it serves and when it needs more.
			goleak.IgnoreAnyFunction("raisinproxy/pgwire/poll.(*Loop).run"),
			goleak.IgnoreTopFunction("raisinproxy/pgwire/drive.(*workers).work"),
		}
		target.Settled = func() error { return goleak.Find(known...) }
		return target
	}
}
