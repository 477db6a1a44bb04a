package redistest

import (
	"context"
	_ "embed"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

//go:embed clock.c.txt
var clockSource []byte

// Clock moves the clock of a server that StartWithClock has started.
type Clock struct {
	t      testing.TB
	file   *os.File
	server *Server
}

// StartWithClock runs a server whose clock can be stepped. It needs a C compiler, as
// the rest of this module does.
func StartWithClock(t testing.TB, lines ...string) (*Server, *Clock) {
	t.Helper()
	dir := t.TempDir()
	source, library := filepath.Join(dir, "clock.c"), filepath.Join(dir, "clock.so")
	if err := os.WriteFile(source, clockSource, 0o600); err != nil {
		t.Fatal(err)
	}
	compile := exec.Command("cc", "-shared", "-fPIC", "-O1", "-o", library, source)
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, out)
	}
	file, err := os.Create(filepath.Join(dir, "offset"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	clock := &Clock{t: t, file: file}
	clock.Step(0)
	clock.server = StartEnv(t, []string{"LD_PRELOAD=" + library, "RAISIN_CLOCK=" + file.Name()}, lines...)
	return clock.server, clock
}

// Step sets the clock to so far from the machine's, and waits until a server that runs has seen it: Valkey 9 tells the time
// of the last tick, of which there are ten a second.
func (c *Clock) Step(offset time.Duration) {
	c.t.Helper()
	value := binary.NativeEndian.AppendUint64(nil, uint64(offset.Microseconds()))
	if _, err := c.file.WriteAt(value, 0); err != nil {
		c.t.Fatal(err)
	}
	if c.server == nil {
		return
	}
	c.server.Await("the server has seen the step of its clock", func(ctx context.Context) bool {
		micros, err := strconv.ParseInt(c.server.Info(ctx, "server_time_usec"), 10, 64)
		return err != nil || time.Until(time.UnixMicro(micros).Add(-offset)).Abs() < time.Minute // err: it does not tell
	})
}
