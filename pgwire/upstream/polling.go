package upstream

import (
	"errors"
	"runtime/debug"

	"raisinproxy/pgwire/poll"
	"raisinproxy/pgwire/wire"
)

// This file is the pump of a Conn whose connections an event loop waits for. It does what
// forward does and never waits: what cannot be passed on yet is kept, and until it has
// gone nothing more is read.

// polling is what the loop needs to forward the answers of an upstream.
type polling struct {
	buf              []byte // the loop's, to read into
	upstream, client *poll.Conn
	crashed          func(cause any, stack []byte)
	again            func() // onAnswer

	rest   []byte // was read, and not passed on: a part of a frame, or all if it is held
	held   bool   // rest has to wait until the session is done with the client
	unsent []byte // was passed on, and not taken by the client yet
	// small counts the reads in a row that were small portions of a long answer.
	small int
	// paused: the Conn waits for the session. The Conn's mutex guards it.
	paused bool
	// inTurn: the loop is answering the session's input, so nothing may wait for the loop.
	inTurn bool
}

// mustNotBeOnLoop ends the session, rather than to stop all sessions of a loop for good, if
// it is about to wait on the loop's thread for what only the loop can bring.
func (c *Conn) mustNotBeOnLoop() {
	if c.polling != nil && c.polling.inTurn {
		panic("the event loop was to wait for an upstream")
	}
}

// Attach lets an event loop that waits for the client forward the answers, if it can wait for the upstream as
// well. buf is the loop's, to read into; crashed is told of a panic.
func (c *Conn) Attach(loop *poll.Loop, client *poll.Conn, buf []byte, crashed func(cause any, stack []byte)) {
	polled, err := loop.Adopt(c.conn)
	if err != nil {
		return
	}
	c.conn, c.opened.Conn = polled, polled
	c.polling = &polling{buf: buf, upstream: polled, client: client, again: c.onAnswer, crashed: crashed}
}

// MayPark says whether an event loop forwards the answers.
func (c *Conn) MayPark() bool { return c.polling != nil }

// Lend has messages collected in a buffer of the loop's while the loop answers the session's input.
func (c *Conn) Lend(buf []byte) {
	if len(c.out) == 0 {
		c.out = buf
	}
	if c.polling != nil {
		c.polling.inTurn = true
	}
}

// TakeBack ends the turn. own keeps what is collected and not sent.
func (c *Conn) TakeBack(own func([]byte) []byte) {
	c.out = own(c.out)
	if c.polling != nil {
		c.polling.inTurn = false
	}
}

// TryFlush is Flush as far as it need not wait. If it says false a goroutine has to do the rest.
func (c *Conn) TryFlush() bool {
	if c.polling == nil {
		return false
	}
	n, err := c.polling.upstream.TryWrite(c.out)
	c.out = c.out[n:]
	return err == nil
}

// onAnswer is what the loop does when the upstream has said something, or when there is
// room again for what it has said before.
func (c *Conn) onAnswer() {
	p := c.polling
	defer func() {
		if cause := recover(); cause != nil {
			p.crashed(cause, debug.Stack())
			c.end(errors.New("panic in the relay"))
		}
	}()
	buf := p.buf
	end, n := copy(buf, p.rest), 0
	if !p.held {
		var err error
		n, err = p.upstream.TryRead(buf[end:])
		switch {
		case errors.Is(err, poll.ErrWouldBlock):
			return
		case err != nil:
			c.end(err)
			return
		}
		end += n
	}
	to, ok := c.beginNow()
	p.held = !ok
	if !ok {
		p.keep(buf[:end])
		return
	}
	out, pass := c.passOn(buf[:end], to)
	if c.outOfStep(buf[pass:end]) {
		c.end(wire.ErrLength)
		return
	}
	c.pace(n)
	p.keep(buf[pass:end])
	if to != nil {
		c.give(out, to, c.left > 0)
		return
	}
	c.send(out)
}

const (
	// PostgreSQL writes 8 KB at a time.
	leastPortion, mostPortion = 4 << 10, 16 << 10
	// enoughPortions in a row are half a megabyte: an answer that is long against the millisecond
	// that its end may have to wait.
	enoughPortions = 64
	// gatherBytes is what is waited for then.
	gatherBytes = 32 << 10
)

// pace takes note of a read of n bytes, and lets a long answer that comes in small portions
// gather on the way: an upstream that need not wake the proxy for each is faster, and so is the proxy.
func (c *Conn) pace(n int) {
	p := c.polling
	switch {
	case p.small == enoughPortions:
		if n < gatherBytes || !c.OwesReady() {
			p.small = 0
			p.upstream.Gather(1)
		}
	case n < leastPortion || n > mostPortion:
		p.small = 0
	default:
		p.small++
		if p.small == enoughPortions {
			p.upstream.Gather(gatherBytes)
		}
	}
}

// keep keeps what was not passed on.
func (p *polling) keep(rest []byte) {
	p.rest = append(p.rest[:0], rest...)
	if len(rest) == 0 {
		p.rest = nil
	}
}

// beginNow is begin without waiting. If it says false, resume will make the loop try
// again.
func (c *Conn) beginNow() (to *sink, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.writing && c.sink == nil || c.sink != nil && c.sink.full() {
		c.polling.paused = true
		c.polling.upstream.OnReadable(nil)
		return nil, false
	}
	c.partial = c.sink == nil
	return c.sink, true
}

// resume lets the loop go on. The Conn's mutex is held.
func (p *polling) resume() {
	if p.paused {
		p.paused = false
		p.upstream.OnReadable(p.again)
		p.upstream.Wake()
	}
}

// send writes to the client what it takes, and the rest when it takes more.
func (c *Conn) send(b []byte) {
	p := c.polling
	n, err := p.client.TryWrite(b)
	switch {
	case errors.Is(err, poll.ErrWouldBlock):
		p.unsent = append(p.unsent[:0], b[n:]...)
		p.upstream.OnReadable(nil)
		p.client.OnWritable(func() { c.send(p.unsent) })
	case err != nil:
		c.end(err) // for nobody is there to have it
	default:
		c.delivered()
		if p.unsent != nil {
			p.unsent = nil
			p.upstream.OnReadable(p.again)
		}
	}
}

// end notes that no answers come any more.
func (c *Conn) end(why error) {
	c.polling.upstream.OnReadable(nil)
	c.lose(errors.Join(ErrLost, why))
}

// TryWriteToClient is WriteToClient as far as it need not wait. After a part of b the rest
// has to be written before anything else.
func (c *Conn) TryWriteToClient(b []byte) (n int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.partial {
		return 0, false
	}
	n, err := c.polling.client.TryWrite(b)
	c.writing = n > 0 && n < len(b)
	return n, err == nil
}
