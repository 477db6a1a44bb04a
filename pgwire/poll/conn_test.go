//go:build linux && !goroutines

package poll

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/net/nettest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func startLoop(t *testing.T) *Loop {
	t.Helper()
	l, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

// connect returns the two ends of a connection; the loop has the first.
func connect(t testing.TB, l *Loop, network, address string) (*Conn, net.Conn) {
	t.Helper()
	listener, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var dialer net.Dialer
	far, err := dialer.DialContext(t.Context(), network, listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { far.Close() })
	accepted, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	near, err := l.Adopt(accepted)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close() })
	return near, far
}

// TestNetConn: a Conn does what any net.Conn does.
func TestNetConn(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			l := startLoop(t)
			nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
				address := "127.0.0.1:0"
				if network == "unix" {
					address = filepath.Join(t.TempDir(), "s")
				}
				near, far := connect(t, l, network, address)
				other, err := l.Adopt(far)
				return near, other, func() {
					near.Close()
					other.Close()
				}, err
			})
		})
	}
}

// called is a callback and how to wait for it.
func called() (callback func(), calls chan struct{}) {
	calls = make(chan struct{}, 1)
	return func() {
		select {
		case calls <- struct{}{}:
		default: // it has been called already
		}
	}, calls
}

// TestReader: input, the end of it, and a deadline call the reader, again and again until
// it is taken away.
func TestReader(t *testing.T) {
	l := startLoop(t)
	near, far := connect(t, l, "tcp", "127.0.0.1:0")
	read := make(chan error, 10)
	near.OnReadable(func() {
		b := make([]byte, 1)
		n, err := near.TryRead(b)
		if err != nil {
			near.OnReadable(nil)
		}
		if !errors.Is(err, ErrWouldBlock) && (n > 0 || err != nil) {
			read <- err
		}
	})
	if _, err := far.Write([]byte("ab")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := <-read; err != nil {
			t.Fatal(err)
		}
	}
	_ = near.SetReadDeadline(time.Unix(1, 0))
	if err := <-read; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("after the deadline: %v", err)
	}
	_ = near.SetReadDeadline(time.Time{})
	near.OnReadable(func() {
		_, err := near.TryRead(make([]byte, 1))
		near.OnReadable(nil)
		read <- err
	})
	far.Close()
	if err := <-read; !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v", err)
	}
}

// TestReaderOfALateDeadline: a reader that is set after the deadline has passed hears of it.
func TestReaderOfALateDeadline(t *testing.T) {
	near, _ := connect(t, startLoop(t), "tcp", "127.0.0.1:0")
	_ = near.SetReadDeadline(time.Unix(1, 0))
	callback, calls := called()
	near.OnReadable(callback)
	<-calls
}

// TestGone: a peer that hangs up is noticed though there is input that nobody has read,
// but not after that was taken back.
func TestGone(t *testing.T) {
	l := startLoop(t)
	near, far := connect(t, l, "tcp", "127.0.0.1:0")
	if _, err := far.Write([]byte("unread")); err != nil {
		t.Fatal(err)
	}
	callback, calls := called()
	near.OnGone(callback)
	far.Close()
	<-calls
	near.OnGone(callback) // it is gone still
	<-calls

	other, end := connect(t, l, "tcp", "127.0.0.1:0")
	other.OnGone(callback)
	other.OnGone(nil)
	end.Close()
	seen, done := called()
	other.OnReadable(seen)
	<-done
	if len(calls) > 0 {
		t.Error("called after it was taken back")
	}
}

// TestWriter: the writer is called once when there is room again, or the deadline passes.
func TestWriter(t *testing.T) {
	near, far := connect(t, startLoop(t), "tcp", "127.0.0.1:0")
	fill := func() {
		for b := make([]byte, 1<<20); ; {
			if _, err := near.TryWrite(b); errors.Is(err, ErrWouldBlock) {
				return
			} else if err != nil {
				t.Fatal(err)
			}
		}
	}
	fill()
	callback, calls := called()
	near.OnWritable(callback)
	_ = near.SetWriteDeadline(time.Unix(1, 0))
	<-calls
	if _, err := near.TryWrite([]byte("x")); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("after the deadline: %v", err)
	}
	_ = near.SetWriteDeadline(time.Time{})
	fill()
	near.OnWritable(callback)
	go func() { _, _ = io.Copy(io.Discard, far) }()
	<-calls
}

// TestNobodyIsTold: what nobody wants to know of does not keep the loop busy.
func TestNobodyIsTold(t *testing.T) {
	l := startLoop(t)
	near, far := connect(t, l, "tcp", "127.0.0.1:0")
	callback, calls := called()
	near.OnReadable(callback)
	near.OnReadable(nil) // the kernel is still asked for it
	if _, err := far.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	_ = far.(*net.TCPConn).SetLinger(0)
	far.Close() // an error, which the kernel reports unasked
	other, end := connect(t, l, "tcp", "127.0.0.1:0")
	for range 100 { // looks of the loop
		seen, done := called()
		other.OnReadable(func() {
			other.OnReadable(nil)
			seen()
		})
		if _, err := end.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		<-done
		if _, err := other.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	near.mu.Lock()
	defer near.mu.Unlock()
	if near.armed != 0 || len(calls) > 0 {
		t.Errorf("the kernel is still asked for %#x, and %d callbacks came", near.armed, len(calls))
	}
}

// TestAdoptRefuses: what has no descriptor is left as it is.
func TestAdoptRefuses(t *testing.T) {
	a, b := net.Pipe()
	defer b.Close()
	defer a.Close()
	if _, err := startLoop(t).Adopt(a); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("error: %v", err)
	}
}

// TestClosedDescriptor: nothing is done with a descriptor that is closed, whose number another
// may have.
func TestClosedDescriptor(t *testing.T) {
	near, _ := connect(t, startLoop(t), "tcp", "127.0.0.1:0")
	near.Close()
	_, readErr := near.TryRead(make([]byte, 1))
	_, writeErr := near.TryWrite([]byte("x"))
	if !errors.Is(readErr, net.ErrClosed) || !errors.Is(writeErr, net.ErrClosed) || !errors.Is(near.Close(), net.ErrClosed) {
		t.Errorf("errors: %v, %v", readErr, writeErr)
	}
	near.OnReadable(func() {})
	near.happened(syscall.EPOLLIN) // which was reported before
}

// lowWater is how many bytes the kernel wants before it tells of input.
func lowWater(t *testing.T, c *Conn) int {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	n, err := syscall.GetsockoptInt(c.fd, syscall.SOL_SOCKET, syscall.SO_RCVLOWAT)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// onLoop runs do in a callback.
func onLoop(c *Conn, do func()) {
	done := make(chan struct{})
	c.OnReadable(func() {
		c.OnReadable(nil)
		do()
		close(done)
	})
	c.Wake()
	<-done
}

// TestGather: a connection that gathers is told of less when no more comes, of its peer's end, and of
// what a goroutine waits for; and it is as it was afterwards.
func TestGather(t *testing.T) {
	const many = 1 << 15
	for _, c := range []struct {
		name string
		send func(net.Conn) error
		want error
	}{
		{"less than it waits for", func(far net.Conn) error { _, err := far.Write(make([]byte, 10)); return err }, nil},
		{"more", func(far net.Conn) error { _, err := far.Write(make([]byte, 2*many)); return err }, nil},
		{"the end", net.Conn.Close, io.EOF},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := startLoop(t)
			near, far := connect(t, l, "tcp", "127.0.0.1:0")
			wanted := 0
			onLoop(near, func() { // before the loop can end it again
				near.Gather(many)
				wanted = lowWater(t, near)
			})
			if wanted != many {
				t.Errorf("%d bytes are wanted, not %d", wanted, many)
			}
			read := make(chan error, 1)
			near.OnReadable(func() {
				switch _, err := near.TryRead(make([]byte, many)); {
				case errors.Is(err, ErrWouldBlock): // its time was over
				default:
					near.OnReadable(nil)
					read <- err
				}
			})
			if err := c.send(far); err != nil {
				t.Fatal(err)
			}
			if err := <-read; !errors.Is(err, c.want) {
				t.Errorf("read: %v, want %v", err, c.want)
			}
			onLoop(near, func() { near.Gather(1) })
			if n := lowWater(t, near); n != 1 || len(l.gathering) > 0 {
				t.Errorf("%d bytes are wanted afterwards, %d connections gather", n, len(l.gathering))
			}
		})
	}
}

// TestGatherEndsByItself: for a goroutine that waits, for nobody, and for a connection that was closed.
func TestGatherEndsByItself(t *testing.T) {
	l := startLoop(t)
	near, far := connect(t, l, "tcp", "127.0.0.1:0")
	closed, _ := connect(t, l, "tcp", "127.0.0.1:0")
	onLoop(closed, func() { closed.Gather(1 << 10) })
	onLoop(near, func() { near.Gather(1 << 10) })
	closed.Close()
	if _, err := far.Write([]byte("a")); err != nil {
		t.Fatal(err)
	}
	if n, err := near.Read(make([]byte, 10)); n != 1 || err != nil {
		t.Errorf("Read = %d, %v", n, err)
	}
	for gathering := -1; gathering != 0; { // until the loop has looked once more
		onLoop(near, func() { gathering = len(l.gathering) })
	}
	if n := lowWater(t, near); n != 1 {
		t.Errorf("%d bytes are wanted", n)
	}
}

// TestEventsOfAnotherConnection: what the kernel has told of a connection that was closed
// since is not taken for news of the next one with its descriptor.
func TestEventsOfAnotherConnection(t *testing.T) {
	l := startLoop(t)
	c, _ := connect(t, l, "tcp", "127.0.0.1:0")
	events := []syscall.EpollEvent{{Fd: int32(c.fd), Pad: c.birth - 1}, {Fd: int32(c.fd), Pad: c.birth}}
	var found [2]*Conn
	l.find(events, found[:])
	if found[0] != nil || found[1] != c {
		t.Errorf("found %p and %p, want none and %p", found[0], found[1], c)
	}
}
