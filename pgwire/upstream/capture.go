package upstream

import (
	"errors"

	"raisinproxy/pgwire/wire"
)

// sink receives answers instead of the client.
type sink struct {
	frames []byte
	done   func(kind byte) bool // whether a frame is the last
	last   bool                 // it has been seen
	ended  bool                 // and all of it is there
	// limit is how many bytes may wait to be taken before the upstream has to; 0: any
	// number.
	limit int
	// urgent: among them is a notice, which a client gets at once.
	urgent bool
}

func (s *sink) full() bool { return s.limit > 0 && len(s.frames) >= s.limit }

// capture sends messages of the proxy's. Their answers, up to the one that done recognizes,
// are to be had from take. The connection must be settled.
func (c *Conn) capture(messages []byte, done func(kind byte) bool, limit int) (*sink, error) {
	c.mustNotBeOnLoop()
	to := &sink{done: done, limit: limit}
	c.mu.Lock()
	for c.partial && c.lost == nil { // a notification is on its way to the client
		c.cond.Wait()
	}
	c.sink = to
	c.mu.Unlock()
	if _, err := c.conn.Write(messages); err != nil {
		return to, errors.Join(ErrLost, err)
	}
	return to, nil
}

// take waits until all answers are there, or so many that the upstream has to wait, or
// until it asks for the data of a COPY. The last frame may be there in part.
func (c *Conn) take(to *sink) (frames []byte, ended bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !to.ended && !to.full() && !to.urgent && !c.ledger.Copying() && c.lost == nil {
		c.cond.Wait()
	}
	frames, to.frames, to.urgent = to.frames, nil, false
	c.changed()
	if to.ended {
		return frames, true, nil
	}
	return frames, false, c.lost
}

// release lets answers go to the client again.
func (c *Conn) release(to *sink) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sink == to {
		c.sink = nil
		c.changed()
	}
}

// give gives answers to a sink, once there is room.
func (c *Conn) give(b []byte, to *sink, partial bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for to.full() && c.sink == to {
		c.cond.Wait()
	}
	to.frames = append(to.frames, b...)
	to.ended = to.last && !partial
	c.cond.Broadcast()
}

// noteOwn takes account of a frame that the client does not see as it is. The mutex is held.
func (c *Conn) noteOwn(to *sink, kind byte, body []byte) {
	to.last = to.last || to.done(kind)
	wasCopying := c.ledger.Copying()
	c.ledger.ReceivedOwn(kind, body)
	switch kind {
	case 'A', 'N':
		to.urgent = to.limit > 0
	case 'E':
		if wire.EndsSession(body) {
			c.fatalFrame = wire.AppendFrame(nil, kind, body)
		}
		if wasCopying {
			c.wake() // nobody waits for the client's data any more
		}
	}
}

// exchange sends messages of the proxy's and returns their answers, up to the one that
// done recognizes. The client sees nothing of it. The connection must be settled.
func (c *Conn) exchange(messages []byte, done func(kind byte) bool) ([]byte, error) {
	to, err := c.capture(messages, done, 0)
	defer c.release(to)
	if err != nil {
		return nil, err
	}
	frames, _, err := c.take(to)
	return frames, err
}
