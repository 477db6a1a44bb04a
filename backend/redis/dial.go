package redis

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// dialHook gives a connection that fails at its first use for one that cannot be made. To
// go-redis a failed dial is more than an error: after some of them it refuses everything for up to a
// second without trying, in a goroutine that outlives the client, and a call has no time for that.
type dialHook struct{}

// An error within go-redis's handshake says for certain, too, that no request was written.

// DialHook implements goredis.Hook.
func (dialHook) DialHook(next goredis.DialHook) goredis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := next(ctx, network, addr)
		if err != nil {
			here, there := net.Pipe()
			_ = there.Close() // a pipe's never fails
			return &deadConn{Conn: here, err: handshakeError(err)}, nil
		}
		fresh := &freshConn{Conn: conn}
		if raw, ok := conn.(syscall.Conn); ok {
			return &freshRawConn{fresh, raw}, nil
		}
		return fresh, nil
	}
}

// ProcessHook implements goredis.Hook.
func (dialHook) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook { return next }

// ProcessPipelineHook implements goredis.Hook.
func (dialHook) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

// freshConn tells errors of go-redis's handshake, during which no request is written, from those
// that come later. The handshake ends with the INFO of watch.connected.
type freshConn struct {
	net.Conn
	asked bool // that INFO is written
	ready bool // and something after it
}

var infoCommand = []byte("\r\ninfo\r\n")

func (c *freshConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil && !c.ready {
		err = handshakeError(err)
	}
	return n, err
}

func (c *freshConn) Write(p []byte) (int, error) {
	c.ready = c.asked
	if !c.ready {
		c.asked = bytes.Contains(p, infoCommand)
	}
	n, err := c.Conn.Write(p)
	if err != nil && !c.ready {
		err = handshakeError(err)
	}
	return n, err
}

// freshRawConn is one that go-redis can ask whether the other side has closed it.
type freshRawConn struct {
	*freshConn
	raw syscall.Conn
}

func (c *freshRawConn) SyscallConn() (syscall.RawConn, error) { return c.raw.SyscallConn() }

// deadConn is a connection that could not be made.
type deadConn struct {
	net.Conn
	err error
}

func (c *deadConn) Read([]byte) (int, error)  { return 0, c.err }
func (c *deadConn) Write([]byte) (int, error) { return 0, c.err }

func (c *deadConn) SetDeadline(time.Time) error      { return c.err }
func (c *deadConn) SetReadDeadline(time.Time) error  { return c.err }
func (c *deadConn) SetWriteDeadline(time.Time) error { return c.err }

// clientLog takes what go-redis would print to the standard error: causes of errors that
// the calls and the heartbeat report themselves.
type clientLog struct{ log *slog.Logger }

func (l clientLog) Printf(ctx context.Context, format string, v ...any) {
	l.log.DebugContext(ctx, "go-redis: "+format, slog.Any("values", v))
}

// useLog gives go-redis the log of the first Store: it has one for the process.
func useLog(log *slog.Logger) { logOnce.Do(func() { goredis.SetLogger(clientLog{log}) }) }

var logOnce sync.Once
