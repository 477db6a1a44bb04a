//go:build unix

package upstream

import (
	"errors"
	"io"
	"net"
	"syscall"
)

// idleReader reads from a connection and holds no buffer while there is nothing to read:
// most sessions of a proxy do nothing most of the time.
type idleReader struct {
	conn net.Conn
	raw  syscall.RawConn // nil: the connection has none (TLS)
}

func newIdleReader(conn net.Conn) idleReader {
	r := idleReader{conn: conn}
	if c, ok := conn.(syscall.Conn); ok {
		if raw, err := c.SyscallConn(); err == nil {
			r.raw = raw
		}
	}
	return r
}

// first reads into a buffer of the pool, which is taken when there is something to read.
func (r idleReader) first() (buf *relayBuffer, n int, err error) {
	if r.raw == nil {
		buf = takeRelayBuffer()
		n, err = r.conn.Read(buf[:])
		return buf, n, err
	}
	waitErr := r.raw.Read(func(fd uintptr) (done bool) {
		if buf == nil {
			buf = takeRelayBuffer()
		}
		n, err = syscall.Read(int(fd), buf[:])
		switch {
		case errors.Is(err, syscall.EINTR):
			n, err = syscall.Read(int(fd), buf[:])
		case errors.Is(err, syscall.EAGAIN):
			buf.giveBack()
			buf = nil
			return false
		}
		return true
	})
	switch {
	case waitErr != nil:
		err = waitErr
	case err == nil && n == 0:
		err = io.EOF
	}
	return buf, max(n, 0), err
}
