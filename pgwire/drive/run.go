package drive

import (
	"context"
	"errors"
	"net"
	"runtime/debug"
	"time"
)

// Work does something in this goroutine for the session, and ends the session then, unless it is
// parked. A parked session must not be touched any more: its loop may be serving it.
func (c *Client) Work(do func() (parked bool)) {
	parked := false
	defer func() {
		if !parked {
			c.machine.End()
		}
	}()
	defer c.contain()
	parked = do()
}

// contain ends this session, and nothing else, when it panics.
func (c *Client) contain() {
	if cause := recover(); cause != nil {
		c.machine.Crashed(cause, debug.Stack())
	}
}

// Run does what Step may not do (plan, wait, write, read), lets Step answer what is there, and comes back, until the
// session is over or parked.
func (c *Client) Run(v Verdict) (parked bool) {
	for {
		switch v {
		case NeedRoom:
			if c.FlushAll() != nil {
				return false
			}
		case NeedInput:
			if c.FlushAll() != nil {
				return false
			}
			if c.park() {
				return true
			}
			if !c.await() {
				return false
			}
		case Finished:
			c.machine.Finish()
			return false
		default:
			next, goOn := c.machine.Serve(v)
			if !goOn {
				return false
			}
			v = next
			continue
		}
		v = c.machine.Step()
	}
}

// await flushes what the client waits for and reads more.
func (c *Client) await() bool {
	for {
		if c.FlushAll() != nil {
			return false
		}
		switch {
		case c.machine.Source().IsLost():
			c.machine.Tell(Lost)
			return false
		case c.stopping.Load():
			c.machine.Tell(Stopping)
			return false
		}
		c.limitIdling()
		err := c.In.Fill(c.conn)
		switch {
		case err == nil:
			return true
		case c.stopping.Load(), c.machine.Source().IsLost():
			continue
		case errors.Is(err, context.DeadlineExceeded) || isTimeout(err):
			c.machine.Tell(Idle)
		}
		return false
	}
}

func isTimeout(err error) bool {
	var netErr net.Error
	return errors.As(err, &netErr) && netErr.Timeout()
}

// limitIdling begins the time that a client may be silent.
func (c *Client) limitIdling() {
	if c.IdleTimeout > 0 {
		c.conn.SetReadDeadline(time.Now().Add(c.IdleTimeout))
		if c.stopping.Load() { // Stop may have set a deadline that was just lost
			c.conn.SetReadDeadline(longAgo)
		}
	}
}
