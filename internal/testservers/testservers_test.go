package testservers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// asParent makes the test binary be a process that starts servers and never ends.
const asParent = "RAISIN_TEST_AS_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(asParent) == "" {
		goleak.VerifyTestMain(m)
		return
	}
	server, err := StartPostgres(context.Background(), PostgresOptions{Superuser: "parent", InitArgs: []string{"--no-sync"}})
	if err != nil {
		panic(err)
	}
	child, err := Start(Options{Path: "sleep", Args: []string{"600"}})
	if err != nil {
		panic(err)
	}
	fmt.Println(server.Pid(), child.Pid(), server.dir)
	<-child.Done()
}

// shell runs a script that says "up" at some time, and waits for that.
func shell(t *testing.T, script string) *Process {
	t.Helper()
	p, err := Start(Options{Path: "sh", Args: []string{"-c", script}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	if err := p.Ready(t.Context(), p.hasSaid("up\n")); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *Process) hasSaid(text string) func(context.Context) error {
	return func(context.Context) error {
		if !strings.Contains(p.Log().String(), text) {
			return fmt.Errorf("it has not said %q", text)
		}
		return nil
	}
}

func TestAProgramThatIsNotThere(t *testing.T) {
	if _, err := Start(Options{Path: "/no/such/program"}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func TestAProgramEndsBeforeItIsReady(t *testing.T) {
	p, err := StartReady(t.Context(), Options{Path: "sh", Args: []string{"-c", "echo no room >&2; exit 3"}},
		func(context.Context) error { return errors.New("no answer") })
	if !errors.Is(err, errEnded) || !strings.Contains(err.Error(), "sh is not ready: it has ended (no answer)\nno room") {
		t.Errorf("the error is %v", err)
	}
	if code := p.Wait(); code != 3 {
		t.Errorf("exit %d", code)
	}
}

func TestAProgramThatDoesNotBecomeReadyIsKilled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p, err := StartReady(ctx, Options{Path: "sleep", Args: []string{"600"}}, func(context.Context) error {
		cancel()
		return errors.New("no answer")
	})
	if !errors.Is(err, context.Canceled) || p.Wait() != -1 {
		t.Errorf("%v; exit %d", err, p.Wait())
	}
}

func TestStop(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tt := range map[string]struct {
		script string
		ctx    context.Context
		want   string // what the error ends with
		code   int
	}{
		"by the signal":      {"echo up; exec sleep 600", t.Context(), "", -1},
		"in good order":      {"trap 'exit 0' TERM; echo up; while :; do sleep 0.01; done", t.Context(), "", 0},
		"in disorder":        {"trap 'exit 4' TERM; echo up; while :; do sleep 0.01; done", t.Context(), "exit status 4", 4},
		"not at all: killed": {"trap '' TERM; echo up; exec sleep 600", over, "did not end at terminated", -1},
	} {
		t.Run(name, func(t *testing.T) {
			p := shell(t, tt.script)
			err := p.Stop(tt.ctx)
			if (err == nil) != (tt.want == "") || err != nil && !strings.HasSuffix(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			if code := p.Wait(); code != tt.code {
				t.Errorf("exit %d, want %d", code, tt.code)
			}
			if err := p.Signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
				t.Errorf("a signal to what has ended: %v", err)
			}
		})
	}
}

func TestTheLogIsReadToItsEnd(t *testing.T) {
	p := shell(t, "for i in $(seq 50); do echo line $i; done; echo up; read never; exec sleep 600")
	reader := p.Log().Reader()
	first := make([]byte, len("line 1\n"))
	if _, err := io.ReadFull(reader, first); err != nil || string(first) != "line 1\n" {
		t.Errorf("%q, %v", first, err)
	}
	p.Kill()
	rest, err := io.ReadAll(reader)
	if err != nil || string(first)+string(rest) != p.Log().String() || !strings.HasSuffix(string(rest), "line 50\nup\n") {
		t.Errorf("%q, %v", rest, err)
	}
	if tail := p.Log().Tail(); strings.HasPrefix(tail, "line 1\n") || !strings.HasSuffix(tail, "line 50\nup\n") {
		t.Errorf("the tail is %q", tail)
	}
}

// Another Redis answers on the port that the second one was to have.
func TestAPortThatSomebodyElseTook(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it needs a Redis")
	}
	start := func(port int) (*Redis, error) {
		s, err := StartRedis(t.Context(), RedisOptions{Dir: t.TempDir(), Port: port})
		if err == nil {
			t.Cleanup(s.Kill)
		}
		return s, err
	}
	first, err := start(0)
	if err != nil {
		t.Fatal(err)
	}
	tries := 0
	second, err := OnFreePort(func(port int) (*Redis, error) {
		if tries++; tries == 1 {
			port = first.Port
		}
		return start(port)
	})
	if err != nil || tries != 2 || second.Port == first.Port {
		t.Errorf("%d tries: %v", tries, err)
	}
	tries = 0
	if _, err := OnFreePort(func(int) (*Redis, error) { tries++; return start(first.Port) }); !errors.Is(err, errEnded) || tries != 3 {
		t.Errorf("%d tries: %v", tries, err)
	}
}

func TestPostgresLeavesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it needs a PostgreSQL")
	}
	s, err := StartPostgres(t.Context(), PostgresOptions{Superuser: "somebody", Settings: "fsync = off\n", InitArgs: []string{"--no-sync"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(s.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder: %v", err)
	}
	s, err = StartPostgres(t.Context(), PostgresOptions{Superuser: "somebody", Settings: "no_such_setting = 1\n", InitArgs: []string{"--no-sync"}})
	if !errors.Is(err, errEnded) || !strings.Contains(err.Error(), "no_such_setting") {
		t.Errorf("%v, %v", s, err)
	}
}

func TestServersEndWithAParentThatIsKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it needs a PostgreSQL")
	}
	parent, err := Start(Options{Path: os.Args[0], Env: []string{asParent + "=1"}})
	if err != nil {
		t.Fatal(err)
	}
	var server, child int
	var dir string
	err = parent.Ready(t.Context(), func(context.Context) error {
		_, err := fmt.Sscanln(parent.Log().String(), &server, &child, &dir)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	parent.Kill()
	for _, path := range []string{dir, "/proc/" + strconv.Itoa(server), "/proc/" + strconv.Itoa(child)} {
		if err := Await(t.Context(), func(context.Context) error {
			if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
				return errors.New(path + " is still there")
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
}
