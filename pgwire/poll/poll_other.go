//go:build !linux || goroutines

package poll

import (
	"errors"
	"net"
)

// Loop is not there on this system.
type Loop struct{}

// Start says that there is no loop.
func Start() (*Loop, error) { return nil, errors.ErrUnsupported }

// Close ends a loop.
func (*Loop) Close() {}

// Adopt says that there is no loop.
func (*Loop) Adopt(net.Conn) (*Conn, error) { return nil, errors.ErrUnsupported }

// Conn is a connection of a Loop.
type Conn struct{ net.Conn }

// ErrWouldBlock is never returned here.
var ErrWouldBlock = errors.New("operation would block")

// OnReadable does nothing.
func (*Conn) OnReadable(func()) {}

// Gather does nothing.
func (*Conn) Gather(int) {}

// OnWritable does nothing.
func (*Conn) OnWritable(func()) {}

// OnGone does nothing.
func (*Conn) OnGone(func()) {}

// TryRead reads.
func (c *Conn) TryRead(b []byte) (int, error) { return c.Read(b) }

// TryWrite writes.
func (c *Conn) TryWrite(b []byte) (int, error) { return c.Write(b) }

// Wake does nothing.
func (*Conn) Wake() {}
