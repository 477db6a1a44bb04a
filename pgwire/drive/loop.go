package drive

import (
	"errors"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"raisinproxy/pgwire/poll"
	"raisinproxy/pgwire/wire"
)

// This file lets sessions wait without a goroutine. A session that waits for its client is
// parked with an event loop, which reads, lets Step answer, and writes, on its own thread. What Step
// may not do, and what would wait, is left to a goroutine, which runs until the session
// waits for its client again.

// Loop is an event loop and the buffers that its sessions share while they have their turn.
type Loop struct {
	*poll.Loop
	in, out, source []byte
	workers         workers
}

// Buffer is what the loop reads into while a session has its turn.
func (l *Loop) Buffer() []byte { return l.in }

// Pool are loops.
type Pool struct {
	loops []*Loop
	last  atomic.Uint32
}

// StartLoops starts n loops; there are none where the system has none.
func StartLoops(n int) (*Pool, error) {
	all := &Pool{}
	for range n {
		loop, err := poll.Start()
		if errors.Is(err, errors.ErrUnsupported) {
			return all, nil
		}
		if err != nil {
			all.Close()
			return nil, err
		}
		all.loops = append(all.loops, &Loop{
			Loop:   loop,
			in:     make([]byte, wire.LentBytes),
			out:    make([]byte, 0, wire.LentBytes),
			source: make([]byte, 0, wire.LentBytes),

			workers: workers{jobs: make(chan func())},
		})
	}
	return all, nil
}

// Close ends the loops, whose sessions are over, and waits for their workers.
func (all *Pool) Close() {
	for _, loop := range all.loops {
		loop.Close()
		loop.workers.stop()
	}
}

// Next is the loop of the next session; nil: there are none.
func (all *Pool) Next() *Loop {
	if len(all.loops) == 0 {
		return nil
	}
	return all.loops[int(all.last.Add(1))%len(all.loops)]
}

// Adopt gives the connection to the loop, if the loop can wait for it: not one over TLS. The deadline goes on;
// zero: there is none.
func (c *Client) Adopt(deadline time.Time) {
	if c.loop == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	polled, err := c.loop.Adopt(c.conn)
	if err != nil {
		return
	}
	c.polled, c.conn = polled, polled
	if c.stopping.Load() {
		c.conn.SetReadDeadline(longAgo)
		c.conn.SetWriteDeadline(time.Now().Add(LastWords))
	} else {
		c.conn.SetDeadline(deadline)
	}
}

// park leaves a session that waits for its client to the loop. If it says true, the loop may be
// serving the session already.
func (c *Client) park() bool {
	source := c.machine.Source()
	if c.polled == nil || !source.MayPark() || source.IsLost() || c.stopping.Load() {
		return false
	}
	c.limitIdling()
	c.In.Own()
	c.polled.OnReadable(c.onInput)
	return true
}

// onInput is what the loop does for a parked session when there is input, or its time is over.
func (c *Client) onInput() {
	defer func() {
		if cause := recover(); cause != nil {
			stack := debug.Stack()
			c.handOver(func() bool {
				c.machine.Crashed(cause, stack)
				return false
			})
		}
	}()
	c.borrow()
	switch err := c.In.FillNow(c.polled); {
	case errors.Is(err, poll.ErrWouldBlock):
		c.giveBack()
		return
	case err != nil: // a goroutine finds out what it means
		c.handOver(func() bool { return c.await() && c.Run(c.machine.Step()) })
		return
	}
	v := c.machine.Step()
	for v == NeedRoom && c.flushNow() {
		v = c.machine.Step()
	}
	if v != NeedInput || !c.flushNow() || !c.machine.Source().MayPark() {
		c.handOver(func() bool { return c.Run(v) })
		return
	}
	c.limitIdling()
	c.giveBack()
}

// handOver lets a goroutine go on with a session.
func (c *Client) handOver(do func() (parked bool)) {
	c.polled.OnReadable(nil)
	c.giveBack()
	c.loop.workers.do(func() { c.Work(do) })
}

// borrow lends a session that holds no buffers those of the loop.
func (c *Client) borrow() {
	if c.In.Start == c.In.End {
		c.In.Buf, c.In.Start, c.In.End = c.loop.in, 0, 0
	}
	if len(c.Out.Buf) == 0 {
		c.Out.Buf = c.loop.out
	}
	c.machine.Source().Lend(c.loop.source)
}

// giveBack leaves a session with what it cannot do without.
func (c *Client) giveBack() {
	c.In.Own()
	c.Out.Buf = own(c.Out.Buf, c.loop.out)
	c.machine.Source().TakeBack(func(out []byte) []byte { return own(out, c.loop.source) })
}

// own is a copy of b, if b is in a buffer of the loop's; nil if b is empty.
func own(b, lent []byte) []byte {
	switch {
	case len(b) == 0:
		return nil
	case &b[:cap(b)][cap(b)-1] == &lent[:cap(lent)][cap(lent)-1]:
		return slices.Clone(b)
	}
	return b
}

// flushNow is FlushAll as far as it need not wait. If it says false a goroutine has to do
// the rest.
func (c *Client) flushNow() bool {
	source := c.machine.Source()
	relaying := source.Unsent() > 0
	if relaying && !source.MayPark() {
		return false
	}
	if len(c.Out.Buf) > 0 && (c.Out.Due || relaying || len(c.Out.Buf) > c.machine.MostWaiting()) {
		c.machine.Leaving(c.Out.Buf, c.Out.Sent)
		n, ok := source.TryWriteToClient(c.Out.Buf)
		c.Out.Buf = c.Out.Buf[n:]
		c.Out.Sent += int64(n)
		if !ok {
			return false
		}
		c.Out.Due = false
		c.Out.Buf = c.loop.out
	}
	return !relaying || source.TryFlush()
}
