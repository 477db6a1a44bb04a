package redis

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"raisinproxy/backend"
	"raisinproxy/backend/redis/redistest"
)

var scope = backend.Scope{Tenant: "default", Repository: "shop", Branch: "main"}

// logBuffer is a log that a test reads.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logBuffer) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.text.String(), text)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// options are those of tests: a name space and a state file of their own.
func options(t testing.TB, url string) Options {
	t.Helper()
	return Options{
		URL:       url,
		Namespace: "test:" + rand.Text(),
		StateFile: filepath.Join(t.TempDir(), "state.json"),
		Timeout:   3 * time.Second,
		Log:       slog.New(slog.NewTextHandler(&logBuffer{}, nil)),
	}
}

// open opens a store that the test's end closes.
func open(t testing.TB, o Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

// hasty opens a store whose calls have little time. Its first look at Redis has to end in that
// time too, which it may not on a busy machine: it is waited for.
func hasty(t testing.TB, o Options, timeout time.Duration) *Store {
	t.Helper()
	o.Timeout = timeout
	s := open(t, second(t, o))
	for end := time.Now().Add(30 * time.Second); ; {
		_, err := s.Restock(t.Context(), scope, rand.Text(), 1)
		if errors.Is(err, backend.ErrNoPool) {
			return s
		}
		if time.Now().After(end) {
			t.Fatalf("the store has not looked at Redis: %v", err)
		}
	}
}

// second is o for another proxy.
func second(t testing.TB, o Options) Options {
	t.Helper()
	o.StateFile = filepath.Join(t.TempDir(), "state.json")
	return o
}

func mustAcquire(t testing.TB, s *Store, key string, ttl time.Duration) int64 {
	t.Helper()
	g, err := s.Acquire(context.Background(), scope, key, backend.Request{TTL: ttl})
	if err != nil || !g.Acquired {
		t.Fatalf("Acquire(%q) = %+v, %v", key, g, err)
	}
	return g.Token
}

func mustClaim(t testing.TB, s *Store, pool string, n, capacity, remaining int64) {
	t.Helper()
	c, err := s.Claim(context.Background(), scope, pool, n, capacity)
	if want := (backend.Claimed{Claimed: true, Remaining: remaining}); err != nil || c != want {
		t.Fatalf("Claim(%q, %d, %d) = %+v, %v; want %+v", pool, n, capacity, c, err, want)
	}
}

// eventually waits until condition holds, at most for some seconds.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	redistest.Await(t, what, func(context.Context) bool { return condition() })
}
