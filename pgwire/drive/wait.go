package drive

import (
	"context"
	"io"
	"sync"
	"time"
)

// Waiting does what may wait. Meanwhile it can be cancelled, and it is when the
// client goes away.
func (c *Client) Waiting(do func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(c.ctx)
	c.guarded(func() { c.cancel = cancel })
	c.watching = c.watch(cancel)
	defer func() {
		c.guarded(func() { c.cancel = nil })
		c.stopWatching()
		c.watching = nil // its buffer is not for idle sessions
		cancel(nil)
	}()
	return do(ctx)
}

// watcher notices that the client is gone while a call waits. Without a loop it reads
// ahead, since only a read tells then.
type watcher struct {
	gone  context.CancelCauseFunc
	done  sync.WaitGroup
	ahead []byte
}

// readAhead bounds what a client may send while its call waits.
const readAhead = 4 << 10

func (c *Client) watch(gone context.CancelCauseFunc) *watcher {
	w := &watcher{gone: gone}
	if c.polled != nil {
		c.polled.OnGone(func() { w.done.Go(func() { c.lose(io.EOF, gone) }) })
		return w
	}
	w.ahead = make([]byte, 0, readAhead)
	w.done.Go(func() {
		for len(w.ahead) < cap(w.ahead) {
			n, err := c.conn.Read(w.ahead[len(w.ahead):cap(w.ahead)])
			w.ahead = w.ahead[:len(w.ahead)+n]
			if isTimeout(err) {
				return // told to stop
			}
			if err != nil {
				c.lose(err, gone)
				return
			}
		}
	})
	return w
}

// lose ends what a session waits for whose client is gone.
func (c *Client) lose(why error, gone context.CancelCauseFunc) {
	gone(why)
	c.abandon()
}

// Reading lets do read from the client amid a Waiting: nobody watches it meanwhile.
func (c *Client) Reading(do func() error) error {
	c.stopWatching()
	defer func() {
		c.resumeReading()
		c.watching = c.watch(c.watching.gone)
	}()
	return do()
}

// stopWatching hands what the watcher has read to the session. An error of the
// connection will be met again by the next read.
func (c *Client) stopWatching() {
	w := c.watching
	if c.polled != nil {
		c.polled.OnGone(nil)
	} else {
		c.conn.SetReadDeadline(longAgo)
	}
	w.done.Wait()
	c.resumeReading()
	c.In.Append(w.ahead)
}

// resumeReading takes back an interruption of the reading, but not that of a shutdown.
func (c *Client) resumeReading() {
	if !c.stopping.Load() && c.ctx.Err() == nil {
		c.conn.SetReadDeadline(time.Time{})
		if c.stopping.Load() {
			c.conn.SetReadDeadline(longAgo)
		}
	}
}
