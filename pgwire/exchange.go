package pgwire

import (
	"cmp"
	"encoding/binary"
	"errors"
	"strings"

	"raisinproxy/pgwire/wire"

	"github.com/jackc/pgx/v5/pgproto3"
)

// This file is how a session talks to its upstream by itself: it sends messages that the
// client knows nothing of, and sees the answers instead of the client.

// captured receives answers instead of the client.
type captured struct {
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

func (c *captured) full() bool { return c.limit > 0 && len(c.frames) >= c.limit }

// capture sends messages of our own. Their answers, up to the one that done recognizes,
// are to be had from take. The relay must be settled.
func (r *relay) capture(messages []byte, done func(kind byte) bool, limit int) (*captured, error) {
	r.mustNotBeOnLoop()
	c := &captured{done: done, limit: limit}
	r.mu.Lock()
	for r.partial && r.lost == nil { // a notification is on its way to the client
		r.cond.Wait()
	}
	r.captured = c
	r.mu.Unlock()
	if _, err := r.conn.Write(messages); err != nil {
		return c, errors.Join(errUpstreamLost, err)
	}
	return c, nil
}

// take waits until all answers are there, or so many that the upstream has to wait, or
// until it asks for the data of a COPY. The last frame may be there in part.
func (r *relay) take(c *captured) (frames []byte, ended bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for !c.ended && !c.full() && !c.urgent && !r.ledger.Copying() && r.lost == nil {
		r.cond.Wait()
	}
	frames, c.frames, c.urgent = c.frames, nil, false
	r.changed()
	if c.ended {
		return frames, true, nil
	}
	return frames, false, r.lost
}

// release lets answers go to the client again.
func (r *relay) release(c *captured) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.captured == c {
		r.captured = nil
		r.changed()
	}
}

// hand gives answers to whom captures them, once there is room.
func (r *relay) hand(b []byte, to *captured, partial bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for to.full() && r.captured == to {
		r.cond.Wait()
	}
	to.frames = append(to.frames, b...)
	to.ended = to.last && !partial
	r.cond.Broadcast()
}

// noteCaptured takes account of a frame that the client does not see as it is.
func (r *relay) noteCaptured(to *captured, kind byte, body []byte) {
	to.last = to.last || to.done(kind)
	wasCopying := r.ledger.Copying()
	ended := r.ledger.Marks().Ended
	r.ledger.ReceivedOwn(kind, body)
	if r.ledger.Marks().Ended != ended {
		r.onFailedCommit.Store(nil)
	}
	switch kind {
	case 'A', 'N':
		to.urgent = to.limit > 0
	case 'E':
		if wire.EndsSession(body) {
			r.fatalFrame = binary.BigEndian.AppendUint32([]byte{kind}, uint32(4+len(body)))
			r.fatalFrame = append(r.fatalFrame, body...)
		}
		if wasCopying {
			r.wake() // nobody waits for the client's data any more
		}
	}
}

// exchange sends messages of our own and returns their answers, up to the one that
// done recognizes. The client sees nothing of it. The relay must be settled.
func (r *relay) exchange(messages []byte, done func(kind byte) bool) ([]byte, error) {
	c, err := r.capture(messages, done, 0)
	defer r.release(c)
	if err != nil {
		return nil, err
	}
	frames, _, err := r.take(c)
	return frames, err
}

func encode(messages ...pgproto3.FrontendMessage) []byte {
	var out []byte
	for _, m := range messages {
		out, _ = m.Encode(out) // too short to fail
	}
	return out
}

// frames are the answers of an exchange.
type frames []byte

// ask sends messages within the open series and returns their answers, up to the first
// error. None of the messages may be a Sync or a Flush.
func (s *session) ask(messages ...pgproto3.FrontendMessage) (frames, error) {
	return s.up.exchange(s.request(messages))
}

// request puts messages into the open series, and recognizes the last of their answers.
func (s *session) request(messages []pgproto3.FrontendMessage) (out []byte, done func(kind byte) bool) {
	messages = append(s.takeStale(), messages...)
	return encode(append(messages, &pgproto3.Flush{})...), answersTo(len(messages))
}

// askAlone is ask as a series of its own, while none is open. What it leaves of a
// transaction is as after any statement: it commits, or its block fails.
func (s *session) askAlone(messages ...pgproto3.FrontendMessage) (frames, error) {
	messages = append(s.takeStale(), messages...)
	return s.up.exchange(encode(append(messages, &pgproto3.Sync{})...), untilReady)
}

func untilReady(kind byte) bool { return kind == 'Z' }

// endsAnswer says whether a message is the last of the answer to a message.
func endsAnswer(kind byte) bool { return strings.IndexByte("12nTCIs3", kind) >= 0 }

// answersTo recognizes the last answer to so many messages, or the error that takes its
// place. Each of Parse, Bind, Describe, Execute and Close has one answer that ends it.
func answersTo(messages int) func(kind byte) bool {
	return func(kind byte) bool {
		if endsAnswer(kind) {
			messages--
		}
		return messages <= 0 || kind == 'E'
	}
}

// statement is messages that run a text of ours and leave nothing behind. Text of ours
// never goes as a simple query, nor without a name: either would destroy the client's
// unnamed statement or portal.
func statement(name, sql string) []pgproto3.FrontendMessage {
	return []pgproto3.FrontendMessage{
		&pgproto3.Close{ObjectType: 'S', Name: name},
		&pgproto3.Close{ObjectType: 'P', Name: name}, // left where it failed, until its block ends
		&pgproto3.Parse{Name: name, Query: sql},
		&pgproto3.Bind{DestinationPortal: name, PreparedStatement: name},
		&pgproto3.Execute{Portal: name},
		&pgproto3.Close{ObjectType: 'P', Name: name},
		&pgproto3.Close{ObjectType: 'S', Name: name},
	}
}

// commandUpstream runs a command that the client knows nothing of, while no series is open.
func (s *session) commandUpstream(sql string) error {
	fs, err := s.askAlone(statement(controlName, sql)...)
	if err != nil {
		return err
	}
	return s.each(fs, func(kind byte, body []byte) error {
		if kind == 'E' {
			return refusal(body)
		}
		return nil
	})
}

// split cuts them; they are whole.
func (fs frames) split() (all [][]byte) {
	for len(fs) >= wire.FrameHeader {
		length := wire.FrameLength(fs)
		all = append(all, fs[:length])
		fs = fs[length:]
	}
	return all
}

// each calls visit for every frame. What is not an answer but news for the client is
// passed on to it.
func (s *session) each(fs frames, visit func(kind byte, body []byte) error) error {
	r := reader{s: s, visit: visit}
	r.read(fs)
	return r.failed
}

// stream sends messages and calls visit for every answer as it comes. The client gets
// what is passed on to it without waiting for the end, and is waited for. Bulk data is
// passed on as it is, and need not be in memory as a whole.
func (s *session) stream(messages []byte, done func(kind byte) bool, visit func(kind byte, body []byte) error) error {
	c, err := s.up.capture(messages, done, s.maxWaiting())
	defer s.up.release(c)
	if err != nil {
		return err
	}
	r := reader{s: s, visit: visit, bulk: true}
	for ended := false; !ended; {
		var fs []byte
		fs, ended, err = s.up.take(c)
		r.read(fs)
		if err != nil {
			return cmp.Or(r.failed, err) // it may have said why
		}
		if s.up.isCopying() {
			err = s.copyIn()
		} else if !ended && (len(s.out.Buf) > s.maxWaiting() || r.urgent) {
			err = s.flush()
		}
		if err != nil {
			// Answers are lost, so nothing that the upstream says can be told from now on.
			s.torn = true
			return err
		}
		r.urgent = false
	}
	return r.failed
}

// reader cuts answers into frames and visits them, up to the first error.
type reader struct {
	s      *session
	visit  func(kind byte, body []byte) error
	bulk   bool   // rows and data are passed on, not visited
	rest   []byte // of a frame that was not whole yet
	owed   int    // bytes of a frame that was passed on in part
	urgent bool   // a notice was passed on
	failed error
}

func (r *reader) read(fs []byte) {
	if r.owed > 0 {
		n := min(r.owed, len(fs))
		r.pass(fs[:n])
		r.owed -= n
		fs = fs[n:]
	}
	if len(r.rest) > 0 {
		fs = append(r.rest, fs...)
		r.rest = nil
	}
	for len(fs) >= wire.FrameHeader {
		length := 1 + int(binary.BigEndian.Uint32(fs[1:]))
		switch {
		case r.bulk && wire.IsBulk(fs[0]):
			n := min(length, len(fs))
			r.pass(fs[:n])
			r.owed = length - n
			fs = fs[n:]
			continue
		case length > len(fs):
			r.rest = append([]byte(nil), fs...)
			return
		}
		r.frame(fs[:length])
		fs = fs[length:]
	}
	r.rest = append([]byte(nil), fs...)
}

func (r *reader) pass(b []byte) {
	if r.failed == nil {
		r.s.out.Buf = append(r.s.out.Buf, b...)
	}
}

func (r *reader) frame(frame []byte) {
	kind, body := frame[0], frame[wire.FrameHeader:]
	switch kind {
	case 'A', 'N', 'S':
		r.s.news(frame)
		r.urgent = true
		return
	case 'E':
		// Even if an error of ours came first: the upstream drops what follows.
		r.s.up.failSeries()
	}
	if r.failed == nil {
		r.failed = r.visit(kind, body)
	}
}

// pass sends a frame of the upstream's to the client.
func (s *session) pass(kind byte, body []byte) {
	if kind == 'C' {
		s.out.Tag = len(s.out.Buf)
	}
	start := s.out.Begin(kind)
	s.out.Buf = append(s.out.Buf, body...)
	s.out.End(start)
}

// copyIn passes on the data of a COPY that runs amid an exchange, until it ends or the
// upstream wants no more of it. The frame at the head of the input counts as answered
// from here on, and what follows it is read here and not by the watcher.
func (s *session) copyIn() error {
	if err := s.flush(); err != nil {
		return err
	}
	s.watching.stop(s)
	defer s.watchAgain()
	s.takeHead()
	for s.up.isCopying() {
		kind, body, ok, bad := s.in.Peek()
		switch {
		case bad != nil:
			s.broken = bad
			return bad
		case ok:
			s.forwardCopy(kind, body)
			if len(s.up.out) <= maxPending {
				continue
			}
		}
		if err := s.up.flush(); err != nil {
			return err
		}
		if ok {
			continue
		}
		if err := s.in.Fill(s.conn); err != nil && s.up.isCopying() {
			return s.whyInterrupted(err)
		}
	}
	// A Flush that was sent before the data has been ignored.
	s.up.out = append(s.up.out, encode(&pgproto3.Flush{})...)
	return s.up.flush()
}

func (s *session) whyInterrupted(err error) error {
	switch {
	case s.up.isLost():
		return errUpstreamLost
	case s.stopping.Load():
		return errShutdown
	}
	return err
}

// forwardCopy sends on a message of the client's while the upstream waits for data.
func (s *session) forwardCopy(kind byte, body []byte) {
	if kind == 'c' || kind == 'f' {
		s.up.endCopy()
	}
	s.up.out = append(s.up.out, kind)
	s.up.out = binary.BigEndian.AppendUint32(s.up.out, uint32(4+len(body)))
	s.up.out = append(s.up.out, body...)
	s.in.Skip(body)
}
