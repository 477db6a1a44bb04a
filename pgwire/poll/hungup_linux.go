package poll

import (
	"crypto/tls"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// HungUp asks the kernel whether the peer of a connection has gone, or has sent the last that it will. It reads nothing,
// and does not wait. false: it has not, or nobody can tell.
func HungUp(conn net.Conn) (gone bool) {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	ask := func(fd uintptr) {
		asked := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		n, err := unix.Poll(asked, 0)
		gone = err == nil && n > 0
	}
	switch c := conn.(type) {
	case interface{ withDescriptor(ask func(fd uintptr)) }:
		c.withDescriptor(ask)
	case syscall.Conn:
		if raw, err := c.SyscallConn(); err == nil {
			_ = raw.Control(ask) // of a connection that is closed nothing is asked
		}
	}
	return gone
}
