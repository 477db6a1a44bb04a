package upstream

import (
	"cmp"
	"slices"

	"github.com/jackc/pgx/v5/pgproto3"

	"raisinproxy/pgwire/wire"
)

// StreamQuery runs a text as a simple query, outside of any pipeline, and calls visit for every answer as it
// comes, errors included.
func (c *Conversation) StreamQuery(sql string, visit Visit) error {
	messages := append(c.takeCloses(), &pgproto3.Query{String: sql})
	return c.stream(encode(messages...), untilReady, visit)
}

// Stream says messages within the open pipeline, and calls visit for every answer as it comes, errors included.
func (c *Conversation) Stream(messages Messages, visit Visit) error {
	messages = append(c.takeCloses(), messages...)
	return c.stream(encode(append(messages, &pgproto3.Flush{})...), answersTo(len(messages)), visit)
}

// StreamFrames is Stream for messages of the client's, which will have so many answers.
func (c *Conversation) StreamFrames(frames []byte, answers int, visit Visit) error {
	return c.stream(append(frames, encode(&pgproto3.Flush{})...), answersTo(answers), visit)
}

// StreamEnd is StreamFrames for a message that ends the pipeline.
func (c *Conversation) StreamEnd(frame []byte, visit Visit) error {
	err := c.stream(frame, untilReady, visit)
	c.conn.closePipeline()
	return err
}

// stream hears the answers as they come. The client gets what is passed on to it without waiting for the end,
// and is waited for. Rows are passed on as they are, and need not be in memory as a whole.
func (c *Conversation) stream(messages []byte, done func(kind byte) bool, visit Visit) error {
	sink, err := c.conn.capture(messages, done, c.client.MostWaiting())
	defer c.conn.release(sink)
	if err != nil {
		return err
	}
	r := reader{c: c, visit: visit, bulk: true}
	for ended := false; !ended; {
		var frames []byte
		frames, ended, err = c.conn.take(sink)
		r.read(frames)
		if err != nil {
			return cmp.Or(r.failed, err) // it may have said why
		}
		if c.conn.Copying() {
			err = c.client.CopyIn()
		} else if !ended {
			err = c.client.Flush(r.urgent)
		}
		if err != nil {
			return err
		}
		r.urgent = false
	}
	return r.failed
}

// reader cuts answers into frames and visits them, up to the first error.
type reader struct {
	c      *Conversation
	visit  Visit
	notice func() func(body []byte) // who sees notices now, if not the client; nil: nobody
	bulk   bool                     // rows and data are passed on, not visited
	rest   []byte                   // of a frame that was not whole yet
	owed   int                      // bytes of a frame that was passed on in part
	urgent bool                     // a notice was passed on
	failed error
}

func (r *reader) read(frames []byte) {
	if r.owed > 0 {
		n := min(r.owed, len(frames))
		r.pass(frames[:n])
		r.owed -= n
		frames = frames[n:]
	}
	if len(r.rest) > 0 {
		frames = append(r.rest, frames...)
		r.rest = nil
	}
	for len(frames) >= wire.FrameHeader {
		length := wire.FrameLength(frames)
		n := min(length, len(frames))
		if r.bulk && wire.IsBulk(frames[0]) {
			r.pass(frames[:n])
			r.owed = length - n
		} else if n == length {
			r.frame(frames[:n])
		} else {
			break
		}
		frames = frames[n:]
	}
	r.rest = slices.Clone(frames)
}

func (r *reader) pass(b []byte) {
	if r.failed == nil {
		r.c.client.Pass(b)
	}
}

func (r *reader) frame(frame []byte) {
	kind, body := frame[0], frame[wire.FrameHeader:]
	switch kind {
	case 'A', 'N', 'S':
		if kind == 'N' && r.notice != nil {
			if see := r.notice(); see != nil {
				see(body)
				return
			}
		}
		r.c.client.News(frame)
		r.urgent = true
		return
	case 'E':
		// Even if an error of the proxy's came first: the upstream drops what follows.
		r.c.conn.failPipeline()
	}
	if r.failed == nil {
		r.failed = r.visit(kind, body)
	}
}
