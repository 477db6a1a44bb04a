//go:build !unix

package upstream

import "net"

// idleReader reads from a connection.
type idleReader struct{ conn net.Conn }

func newIdleReader(conn net.Conn) idleReader { return idleReader{conn} }

// first reads into a buffer of the pool.
func (r idleReader) first() (buf *relayBuffer, n int, err error) {
	buf = takeRelayBuffer()
	n, err = r.conn.Read(buf[:])
	return buf, n, err
}
