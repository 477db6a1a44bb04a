package drive

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"raisinproxy/pgwire/poll"
	"raisinproxy/pgwire/wire"
)

// Client is the connection to one client. Everything in it belongs to the goroutine that serves it, or to the
// event loop that it is parked with, except for what other goroutines end it by: Stop, Hurry, HangUp, Cancel.
type Client struct {
	In  wire.Input
	Out wire.Output
	// IsGone: nobody reads any more. The session is over.
	IsGone bool
	// IdleTimeout is how long it may be silent between messages; 0: for any time.
	IdleTimeout time.Duration

	machine  Machine
	conn     net.Conn // others than the owner read it under mu
	loop     *Loop
	polled   *poll.Conn // conn, if the loop can wait for it
	ctx      context.Context
	watching *watcher // reads from the client while something else is waited for

	// How other goroutines reach what a session waits for.
	stopping atomic.Bool
	mu       sync.Mutex
	cancel   context.CancelCauseFunc // of what is waited for; nil: nothing is
	other    Other                   // nil: there is none
}

// guarded does something that other goroutines may do at the same time.
func (c *Client) guarded(do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	do()
}

// NewClient is a connection that ctx ends, and may be parked with loop; nil: there is none.
func NewClient(ctx context.Context, conn net.Conn, loop *Loop, machine Machine) *Client {
	return &Client{ctx: ctx, conn: conn, loop: loop, machine: machine}
}

// Conn is the connection as it is now: over TLS, or polled.
func (c *Client) Conn() net.Conn { return c.conn }

// HungUp asks whether the client has gone, before anything has told so. It does not wait.
func (c *Client) HungUp() bool { return poll.HungUp(c.conn) }

// Context ends when the connection is to be given up.
func (c *Client) Context() context.Context { return c.ctx }

// Polled is the connection if an event loop waits for it, and that loop; nil: none does.
func (c *Client) Polled() (*poll.Conn, *Loop) { return c.polled, c.loop }

// Secure goes on with another connection, which is the old one or around it.
func (c *Client) Secure(conn net.Conn) {
	c.guarded(func() { c.conn = conn })
}

// IsStopping says whether the session is to end as soon as it waits for its client.
func (c *Client) IsStopping() bool { return c.stopping.Load() }

// longAgo is a deadline that ends what waits at once.
var longAgo = time.Unix(1, 0)

// LastWords is how long a client may take to read why its session was ended.
const LastWords = time.Second

// Wake ends the reading from the client, which is taken up again after a look around.
func (c *Client) Wake() {
	c.guarded(func() { c.conn.SetReadDeadline(longAgo) })
}

// Stop ends the session as soon as it waits for its client.
func (c *Client) Stop() {
	c.stopping.Store(true)
	c.Wake()
}

// Hurry ends the reading of the session, and its writing a moment later.
func (c *Client) Hurry() {
	c.Stop()
	c.guarded(func() { c.conn.SetWriteDeadline(time.Now().Add(LastWords)) })
}

// HangUp ends the session whatever it does, for this cause.
func (c *Client) HangUp(cause error) {
	c.Cancel(cause)
	c.Hurry()
	c.abandon()
}

// SetOther says what else the session waits for; nil: nothing.
func (c *Client) SetOther(other Other) {
	c.guarded(func() { c.other = other })
}

// Cancel ends what the session waits for, if it waits for something, and returns what else is to be
// cancelled; nil: nothing. An idle session is not touched, and neither is the statement after the one that was meant.
func (c *Client) Cancel(cause error) Other {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel != nil {
		c.cancel(cause)
	}
	return c.other
}

// abandon gives the other side up, if there is one.
func (c *Client) abandon() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.other != nil {
		c.other.Abandon()
	}
}

// Flush writes all answers in one write.
func (c *Client) Flush() error {
	if len(c.Out.Buf) == 0 {
		return nil
	}
	c.machine.Leaving(c.Out.Buf, c.Out.Sent)
	err := c.machine.Source().WriteToClient(c.Out.Buf)
	c.IsGone = c.IsGone || err != nil
	c.Out.Due = false
	c.Out.Sent += int64(len(c.Out.Buf))
	c.Out.Buf = c.Out.Buf[:0]
	if cap(c.Out.Buf) > maxKept {
		c.Out.Buf = nil
	}
	return err
}

// maxKept is the output buffer that an idle session may keep.
const maxKept = 4 << 10

// FlushAll writes what the client waits for, and then what the source is to get: in this order, since
// its answers come after the session's own.
func (c *Client) FlushAll() error {
	source := c.machine.Source()
	relaying := source.Unsent() > 0
	if c.Out.Due || relaying || len(c.Out.Buf) > c.machine.MostWaiting() {
		if err := c.Flush(); err != nil {
			return err
		}
	}
	if !relaying {
		return nil
	}
	return source.Flush()
}

// Waker is Wake for a goroutine that may not wait for anybody. The connection must not be replaced any more.
func (c *Client) Waker() func() {
	conn := c.conn
	return func() { conn.SetReadDeadline(longAgo) }
}

// Direct is the Source of a session that has none.
func (c *Client) Direct() Source { return direct{c} }

type direct struct{ c *Client }

func (direct) Unsent() int    { return 0 }
func (direct) Flush() error   { return nil }
func (direct) TryFlush() bool { return true }

func (d direct) WriteToClient(b []byte) error {
	_, err := d.c.conn.Write(b)
	return err
}

func (d direct) TryWriteToClient(b []byte) (n int, ok bool) {
	n, err := d.c.polled.TryWrite(b)
	return n, err == nil
}

func (direct) MayPark() bool                { return true }
func (direct) Lend([]byte)                  {}
func (direct) TakeBack(func([]byte) []byte) {}
func (direct) IsLost() bool                 { return false }
