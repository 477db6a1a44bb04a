package pgwire

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
// parked with an event loop, which reads, lets step answer, and writes, on its own thread. What step
// may not do, and what would wait, is left to a goroutine, which runs until the session
// waits for its client again.

// eventLoop is a loop and the buffers that its sessions share while they have their turn.
type eventLoop struct {
	*poll.Loop
	in, out, up []byte
	workers     workers
}

type eventLoops struct {
	loops []*eventLoop
	last  atomic.Uint32
}

// startLoops starts n loops; there are none where the system has none.
func startLoops(n int) (*eventLoops, error) {
	all := &eventLoops{}
	for range n {
		loop, err := poll.Start()
		if errors.Is(err, errors.ErrUnsupported) {
			return all, nil
		}
		if err != nil {
			all.close()
			return nil, err
		}
		all.loops = append(all.loops, &eventLoop{
			Loop: loop,
			in:   make([]byte, wire.LentBytes),
			out:  make([]byte, 0, wire.LentBytes),
			up:   make([]byte, 0, wire.LentBytes),

			workers: workers{jobs: make(chan func())},
		})
	}
	return all, nil
}

func (all *eventLoops) close() {
	for _, loop := range all.loops {
		loop.Close()
		loop.workers.stop()
	}
}

// next is the loop of the next session; nil: there are none.
func (all *eventLoops) next() *eventLoop {
	if len(all.loops) == 0 {
		return nil
	}
	return all.loops[int(all.last.Add(1))%len(all.loops)]
}

// adopt gives the client's connection to the loop, if the loop can wait for it: not one
// over TLS.
func (s *session) adopt() {
	if s.loop == nil {
		return
	}
	s.interrupt.mu.Lock()
	defer s.interrupt.mu.Unlock()
	polled, err := s.loop.Adopt(s.conn)
	if err != nil {
		return
	}
	s.polled, s.conn = polled, polled
	if s.stopping.Load() {
		s.conn.SetReadDeadline(longAgo)
		s.conn.SetWriteDeadline(time.Now().Add(lastWords))
	} else {
		s.conn.SetDeadline(s.login.startBy)
	}
}

// park leaves a session that waits for its client to the loop. If it says true, the loop may be
// serving the session already.
func (s *session) park() bool {
	if s.polled == nil || !s.handler.mayPark() || s.handler.isLost() || s.stopping.Load() {
		return false
	}
	s.limitIdling()
	s.in.Own()
	s.polled.OnReadable(s.onInput)
	return true
}

// limitIdling begins the time that a client may be silent.
func (s *session) limitIdling() {
	if idle := s.server.cfg.IdleTimeout; idle > 0 {
		s.conn.SetReadDeadline(time.Now().Add(idle))
		if s.stopping.Load() { // stop may have set a deadline that was just lost
			s.conn.SetReadDeadline(longAgo)
		}
	}
}

// onInput is what the loop does for a parked session when there is input, or its time is over.
func (s *session) onInput() {
	defer func() {
		if cause := recover(); cause != nil {
			stack := debug.Stack()
			s.handOver(func() bool {
				s.crash(cause, stack)
				return false
			})
		}
	}()
	s.borrow()
	switch err := s.in.FillNow(s.polled); {
	case errors.Is(err, poll.ErrWouldBlock):
		s.giveBack()
		return
	case err != nil: // a goroutine finds out what it means
		s.handOver(func() bool { return s.await() && s.run(s.step()) })
		return
	}
	v := s.step()
	for v == needRoom && s.flushNow() {
		v = s.step()
	}
	if v != needInput || !s.flushNow() || !s.handler.mayPark() {
		s.handOver(func() bool { return s.run(v) })
		return
	}
	s.limitIdling()
	s.giveBack()
}

// handOver lets a goroutine go on with a session.
func (s *session) handOver(do func() (parked bool)) {
	s.polled.OnReadable(nil)
	s.giveBack()
	s.loop.workers.do(func() { s.work(do) })
}

// borrow lends a session that holds no buffers those of the loop.
func (s *session) borrow() {
	if s.in.Start == s.in.End {
		s.in.Buf, s.in.Start, s.in.End = s.loop.in, 0, 0
	}
	if len(s.out.Buf) == 0 {
		s.out.Buf = s.loop.out
	}
	s.handler.lend(s.loop.up)
}

// giveBack leaves a session with what it cannot do without.
func (s *session) giveBack() {
	s.in.Own()
	s.out.Buf = own(s.out.Buf, s.loop.out)
	s.handler.takeBack(func(out []byte) []byte { return own(out, s.loop.up) })
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

// flushNow is flushAll as far as it need not wait. If it says false a goroutine has to do
// the rest.
func (s *session) flushNow() bool {
	relaying := s.handler.unsent() > 0
	if relaying && !s.handler.mayPark() {
		return false
	}
	if len(s.out.Buf) > 0 && (s.out.Due || relaying || len(s.out.Buf) > s.maxWaiting()) {
		s.unit.leaving(s.out.Buf, s.out.Sent)
		n, ok := s.writeNow(s.out.Buf)
		s.out.Buf = s.out.Buf[n:]
		s.out.Sent += int64(n)
		if !ok {
			return false
		}
		s.out.Due = false
		s.out.Buf = s.loop.out
	}
	if !relaying {
		return true
	}
	return s.handler.tryFlush()
}

func (s *session) writeNow(b []byte) (n int, ok bool) {
	return s.handler.tryWriteToClient(b)
}
