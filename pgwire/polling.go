package pgwire

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"raisinproxy/pgwire/poll"
	"raisinproxy/pgwire/wire"
)

// This file is the pump of a relay whose connections an event loop waits for. It does what
// forward does and never waits: what cannot be passed on yet is kept, and until it has
// gone nothing more is read.

// polling is what the loop needs to forward the answers of an upstream.
type polling struct {
	loop             *eventLoop
	upstream, client *poll.Conn
	crashed          func(cause any, stack []byte)
	again            func() // onAnswer

	rest   []byte // was read, and not passed on: a part of a frame, or all if it is held
	held   bool   // rest has to wait until the session is done with the client
	unsent []byte // was passed on, and not taken by the client yet
	// small counts the reads in a row that were small portions of a long answer.
	small int
	// paused: the relay waits for the session. The relay's mutex guards it.
	paused bool
	// inTurn: the loop is answering the session's input, so nothing may wait for the loop.
	inTurn bool
}

// mustNotBeOnLoop ends the session, rather than to stop all sessions of a loop for good, if
// it is about to wait on the loop's thread for what only the loop can bring.
func (r *relay) mustNotBeOnLoop() {
	if r.polling != nil && r.polling.inTurn {
		panic("the event loop was to wait for an upstream")
	}
}

// poll lets the loop of a session forward the answers of an upstream, if it waits for the
// client already and can wait for the upstream as well.
func (s *session) poll(r *relay) {
	if s.polled == nil {
		return
	}
	upstream, err := s.loop.Adopt(r.conn)
	if err != nil {
		return
	}
	r.conn, r.opened.Conn = upstream, upstream
	r.polling = &polling{loop: s.loop, upstream: upstream, client: s.polled, again: r.onAnswer, crashed: func(cause any, stack []byte) {
		s.log.Error("panic in a relay", "panic", fmt.Sprint(cause), "stack", string(stack))
	}}
}

// onAnswer is what the loop does when the upstream has said something, or when there is
// room again for what it has said before.
func (r *relay) onAnswer() {
	p := r.polling
	defer func() {
		if cause := recover(); cause != nil {
			p.crashed(cause, debug.Stack())
			r.end(errors.New("panic in the relay"))
		}
	}()
	buf := p.loop.in
	end, n := copy(buf, p.rest), 0
	if !p.held {
		var err error
		n, err = p.upstream.TryRead(buf[end:])
		switch {
		case errors.Is(err, poll.ErrWouldBlock):
			return
		case err != nil:
			r.end(err)
			return
		}
		end += n
	}
	to, ok := r.beginNow()
	p.held = !ok
	if !ok {
		p.keep(buf[:end])
		return
	}
	out, pass := r.passOn(buf[:end], to)
	if r.outOfStep(buf[pass:end]) {
		r.end(wire.ErrLength)
		return
	}
	r.pace(n)
	p.keep(buf[pass:end])
	if to != nil {
		r.hand(out, to, r.left > 0)
		return
	}
	r.send(out)
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
// gather on the way: an upstream that need not wake us for each is faster, and so are we.
func (r *relay) pace(n int) {
	p := r.polling
	switch {
	case p.small == enoughPortions:
		if n < gatherBytes || !r.pendingEnd() {
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
func (r *relay) beginNow() (to *captured, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.writing && r.captured == nil || r.captured != nil && r.captured.full() {
		r.polling.paused = true
		r.polling.upstream.OnReadable(nil)
		return nil, false
	}
	r.partial = r.captured == nil
	return r.captured, true
}

// resume lets the loop go on. The relay's mutex is held.
func (p *polling) resume() {
	if p.paused {
		p.paused = false
		p.upstream.OnReadable(p.again)
		p.upstream.Wake()
	}
}

// send writes to the client what it takes, and the rest when it takes more.
func (r *relay) send(b []byte) {
	p := r.polling
	n, err := p.client.TryWrite(b)
	switch {
	case errors.Is(err, poll.ErrWouldBlock):
		p.unsent = slices.Clone(b[n:])
		p.upstream.OnReadable(nil)
		p.client.OnWritable(r.sendUnsent)
	case err != nil:
		r.end(err) // for nobody is there to have it
	default:
		r.delivered()
	}
}

func (r *relay) sendUnsent() {
	p := r.polling
	n, err := p.client.TryWrite(p.unsent)
	p.unsent = p.unsent[n:]
	switch {
	case errors.Is(err, poll.ErrWouldBlock):
		p.client.OnWritable(r.sendUnsent)
	case err != nil:
		r.end(err)
	default:
		p.unsent = nil
		r.delivered()
		p.upstream.OnReadable(r.onAnswer)
	}
}

// end notes that no answers come any more.
func (r *relay) end(why error) {
	r.polling.upstream.OnReadable(nil)
	r.lose(errors.Join(errUpstreamLost, why))
}

// writeToClientNow is writeToClient as far as it need not wait. After a part of b the rest
// has to be written before anything else.
func (r *relay) writeToClientNow(client *poll.Conn, b []byte) (n int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.partial {
		return 0, false
	}
	n, err := client.TryWrite(b)
	r.writing = n > 0 && n < len(b)
	return n, err == nil
}
