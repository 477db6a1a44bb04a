package redis

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"raisinproxy/backend"
	"raisinproxy/backend/redis/redistest"
)

// asItIs gives o with a copy of the state file as it is now: that of a proxy which is killed
// at this moment and started again.
func asItIs(t *testing.T, o Options) Options {
	t.Helper()
	text, err := os.ReadFile(o.StateFile)
	if err != nil {
		t.Fatal(err)
	}
	o.StateFile = filepath.Join(t.TempDir(), "state.json")
	if err := os.WriteFile(o.StateFile, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return o
}

func expectPause(t *testing.T, s *Store, when string) {
	t.Helper()
	if g, err := s.Acquire(t.Context(), scope, "k", backend.Request{TTL: time.Minute}); !errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), "until unknown leases are over") {
		t.Errorf("%s: Acquire = %+v, %v; want ErrUnavailable for leases that may run", when, g, err)
	}
}

// The proxy is killed right after the first call that it refused because of a loss.
func TestThePauseOutlivesTheProxy(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.RDBOnly)
	o := options(t, server.URL())
	s := open(t, o)
	mustClaim(t, s, "p", 1, 2, 1)
	server.Do("SAVE")
	mustAcquire(t, s, "k", time.Minute)
	withoutHeartbeat(s)
	server.Kill()
	server.Restart()
	_ = s.beat(t.Context()) // the loss is noticed, and nobody has saved anything since
	expectPause(t, s, "the proxy that noticed it")
	again := open(t, asItIs(t, o))
	expectPause(t, again, "the same proxy after kill -9")
	expectStopped(t, again)
}

// Other proxies may have been granted tokens just before a restart of Redis that this one does not know of. One that
// is started again right after must wait for the clock to pass them all the same.
func TestThatNothingIsGrantedYetOutlivesTheProxy(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.AOFAlways)
	o := options(t, server.URL())
	o.MaxClockSkew = time.Hour
	s := open(t, o)
	mustAcquire(t, s, "before", time.Minute)
	withoutHeartbeat(s)
	server.Kill()
	server.Restart()
	if err := s.beat(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := open(t, asItIs(t, o))
	if g, err := again.Acquire(t.Context(), scope, "k", backend.Request{TTL: time.Minute}); !errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), "past every token") {
		t.Fatalf("the same proxy after kill -9: Acquire = %+v, %v; want ErrUnavailable until the clock is past every token", g, err)
	}
}

// What a call notices is saved before it is told.
func TestALossThatACallNoticesIsSavedBeforeItIsTold(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := options(t, server.URL())
	s := open(t, o)
	mustClaim(t, s, "p", 1, 2, 1)
	withoutHeartbeat(s)
	server.Do("DEL", keyOf(o.Namespace, poolKind, scope, "p"))
	expectStopped(t, s)
	again := open(t, asItIs(t, o))
	expectStopped(t, again)
	expectPause(t, again, "the same proxy after kill -9")
}

// Locks go on when the pause is over, adopted or not. The next loss pauses them again.
func TestASecondLossBeforeAdoptPausesAgain(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.RDBOnly)
	o := options(t, server.URL())
	o.MaxTTL = 2 * time.Second
	s := open(t, o)
	mustClaim(t, s, "p", 1, 2, 1)
	server.Do("SAVE")
	for _, loss := range []string{"first", "second", "third"} {
		eventually(t, "locks are granted", func() bool {
			g, err := s.Acquire(t.Context(), scope, "k", backend.Request{TTL: time.Second})
			return err == nil && g.Acquired
		})
		server.Kill()
		server.Restart()
		eventually(t, "the "+loss+" loss pauses locks", func() bool {
			_, err := s.watch.grants(s.servers.single.Options().Addr)
			return judge(err) == stopped
		})
	}
	expectStopped(t, s)
}

// A wiped Redis has no id record. It is watched nevertheless.
func TestASecondFlushBeforeAdoptPausesAgain(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := options(t, server.URL())
	o.MaxTTL = 2 * time.Second
	s := open(t, o)
	mustClaim(t, s, "p", 1, 2, 1)
	for _, loss := range []string{"first", "second"} {
		server.Do("FLUSHALL")
		eventually(t, "the "+loss+" loss pauses locks", func() bool {
			_, err := s.watch.grants(s.servers.single.Options().Addr)
			return judge(err) == stopped
		})
		eventually(t, "locks are granted", func() bool {
			g, err := s.Acquire(t.Context(), scope, "k", backend.Request{TTL: time.Second})
			return err == nil && g.Acquired
		})
	}
}

// After adopt another loss is one more.
func TestALossAfterAdoptIsNoticed(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.RDBOnly)
	o := options(t, server.URL())
	s := open(t, o)
	mustClaim(t, s, "p", 1, 2, 1)
	for range 2 {
		server.Do("SAVE")
		server.Kill()
		server.Restart()
		eventually(t, "the loss is noticed", isLost(s))
		reachable(t, s)
		expectPause(t, s, "after the loss")
		if _, err := Adopt(t.Context(), o, AdoptOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "inventory goes on", func() bool { return !isLost(s)() })
	}
	mustClaim(t, s, "p", 1, 2, 0)
}

func TestAStateFileIsOfOneProxyOnly(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := options(t, server.URL())
	s := open(t, o)
	if other, err := Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("process %d", os.Getpid())) {
		if err == nil {
			other.Close()
		}
		t.Fatalf("a second proxy with this state file: %v; want an error that names the first", err)
	}
	mustClaim(t, s, "p", 1, 2, 1)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	mustClaim(t, open(t, o), "p", 1, 2, 0)
}

// Another proxy knows other things than what a copy of its state says.
func TestADamagedStateFileSaysWhatToDo(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := options(t, server.URL())
	if err := open(t, o).Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(o.StateFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, cut := range []int{0, 1, len(whole) / 2, len(whole) - 3} {
		if err := os.WriteFile(o.StateFile, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(t.Context(), o)
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "move the file away") || !strings.Contains(err.Error(), o.StateFile) {
			t.Errorf("cut off after %d bytes: %v; want what to do", cut, err)
		}
	}
}

// A floor that a clock far in the future has left behind is not believed.
func TestAStateFileWithAFloorBeyondAllTokensIsUsable(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := options(t, server.URL())
	old := state{Namespace: o.Namespace, Proxy: "p", Floor: backend.MaxToken + 1}
	if err := old.write(o.StateFile); err != nil {
		t.Fatal(err)
	}
	mustAcquire(t, open(t, o), "k", time.Minute)
}
