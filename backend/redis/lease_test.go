package redis

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"raisinproxy/backend"
	"raisinproxy/backend/redis/redistest"
)

// A lock with values that no script of ours writes is neither held nor free.
func TestLeasesThatNobodyOfOursGrantedAreRefused(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := options(t, server.URL())
	o.MaxTTL = time.Minute
	s := open(t, o)
	const day = 24 * 60 * 60 * 1000 // the retention
	for _, c := range []struct {
		name  string
		spoil []any
		value string
	}{
		{"no end", []any{"PERSIST"}, "ttl=-1"},
		{"longer than any lease", []any{"PEXPIRE", day + 61_000}, "lease=6"},
		{"longer than any lease, for want of retention", []any{"HSET", "r", "0"}, "lease=86"},
		{"no retention", []any{"HSET", "r", "x"}, "r=x"},
		{"a negative retention", []any{"HSET", "r", "-1"}, "r=-1"},
		{"no token", []any{"HSET", "t", "1e9"}, "t=1e9"},
		{"a token with a zero before it", []any{"HSET", "t", "07"}, "t=07"},
	} {
		key := keyOf(o.Namespace, lockKind, scope, c.name)
		token := mustAcquire(t, s, c.name, time.Minute)
		server.Do(append([]any{c.spoil[0], key}, c.spoil[1:]...)...)
		before := fmt.Sprint(server.Do("HGET", key, "t"), server.Do("HGET", key, "r"), server.Do("PTTL", key).(int64) > 0)
		refused := func(call string, err error) {
			t.Helper()
			if got, ok := errors.AsType[*backend.LockValueError](err); !ok || got.Key != c.name || !strings.HasPrefix(got.Value, c.value) {
				t.Errorf("%s: %s: %v; want an error with the lock and %q", c.name, call, err, c.value)
			}
		}
		_, err := s.Acquire(t.Context(), scope, c.name, backend.Request{TTL: time.Second})
		refused("Acquire", err)
		_, err = s.Renew(t.Context(), scope, c.name, backend.Proof{Token: token}, time.Second)
		refused("Renew", err)
		_, err = s.Release(t.Context(), scope, c.name, backend.Proof{Token: token})
		refused("Release", err)
		if after := fmt.Sprint(server.Do("HGET", key, "t"), server.Do("HGET", key, "r"), server.Do("PTTL", key).(int64) > 0); after != before {
			t.Errorf("%s: the lock is %s now, it was %s", c.name, after, before)
		}
		server.Do("DEL", key) // what the hint says
		if again := mustAcquire(t, s, c.name, time.Minute); again <= token {
			t.Errorf("%s: token %d after %d", c.name, again, token)
		}
	}
}

// A copy that was refused by name leaves a note, which must not end the lock.
func TestANoteDoesNotEndALockThatIsStrange(t *testing.T) {
	s, server, link, o := patient(t)
	key := keyOf(o.Namespace, lockKind, scope, "k")
	mustAcquire(t, s, "k", time.Minute)
	server.Do("PERSIST", key)
	link.Next(redistest.Rule{Hold: t.Context().Done(), Break: true}) // the first copy, so that the second one notes its answer
	if _, err := s.Acquire(t.Context(), scope, "k", backend.Request{TTL: time.Minute}); err == nil || !strings.Contains(err.Error(), "ttl=-1") {
		t.Fatalf("Acquire: %v, want an error with the value", err)
	}
	if left := server.Do("PTTL", key).(int64); left != -1 {
		t.Errorf("the lock lives for %d ms now, it was to stay as it is", left)
	}
}

// A proxy with a greater max_ttl has come since this one looked last: its leases are good ones. The settings
// may be lowered again later.
func TestTheGreatestLeaseOfAnyProxyIsALease(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := options(t, server.URL())
	o.MaxTTL = time.Second
	s := open(t, o)
	withoutHeartbeat(s)
	longer := second(t, o)
	longer.MaxTTL = time.Hour
	other, err := Open(t.Context(), longer)
	if err != nil {
		t.Fatal(err)
	}
	token := mustAcquire(t, other, "k", time.Hour)
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	for _, proxy := range []*Store{s, open(t, second(t, o))} {
		if g, err := proxy.Acquire(t.Context(), scope, "k", backend.Request{TTL: time.Second}); err != nil || g.Acquired {
			t.Errorf("Acquire of a held lock = %+v, %v; want false", g, err)
		}
	}
	if ok, err := s.Release(t.Context(), scope, "k", backend.Proof{Token: token}); !ok || err != nil {
		t.Errorf("Release = %v, %v", ok, err)
	}
}

// A server that is too old, or a user with too few rights, is told at the start, and not by the call that would fail in
// the middle.
func TestAServerThatLacksACommandIsRefusedAtTheStart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, line, said string }{
		{"too old", `rename-command HRANDFIELD ""`, "nknown"},
		{"not allowed", "user default on nopass ~* &* +@all -hrandfield", ""},
	} {
		server := redistest.Start(t, c.line)
		_, err := Open(t.Context(), options(t, server.URL()))
		if err == nil || !strings.Contains(err.Error(), "HRANDFIELD") || !strings.Contains(err.Error(), c.said) {
			t.Errorf("%s: Open: %v; want an error with the command and %q", c.name, err, c.said)
		}
	}
}
