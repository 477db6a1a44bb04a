package pgwire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/pgwire/poll"
	"raisinproxy/pgwire/upstream"
	"raisinproxy/pgwire/wire"
	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// session is one client's connection. Everything in it belongs to the goroutine
// that serves it, or to the event loop that it is parked with, but for what interrupt guards
// and for stopping.
type session struct {
	server *Server
	conn   net.Conn // others than its owner read it under interrupt.mu
	loop   *eventLoop
	polled *poll.Conn // conn, if the loop can wait for it
	ended  func()     // called when the session has ended
	log    *slog.Logger
	ctx    context.Context // ends when the connection is to be given up

	login   login
	pid     int32
	secret  uint32
	caller  sqlfuncs.Caller
	handler handler // what the session does with, or without, a PostgreSQL behind

	in  wire.Input
	out wire.Output

	view view
	transaction
	unit     unit
	objects  objects
	deadline time.Time          // of the running statement; zero: none
	notify   func(*pgerr.Error) // sends a notice
	codes    wire.Formats       // scratch
	row      []datum.Datum      // scratch: the row that is sent next
	// skipping: an error was answered in the extended protocol, and everything up
	// to Sync is dropped.
	skipping bool
	// over: a FATAL error was answered.
	over bool
	// broken is how the client broke the protocol.
	broken error

	// planned is the plan that the slow path made for the frame at the head of the
	// input, should the cache not keep it.
	planned planned
	// callCtx is the context of calls; blocking says that the frame at the head may
	// wait for something other than the client.
	callCtx  context.Context
	blocking bool
	watching *watcher // reads from the client while something else is waited for
	// torn: the client is gone, maybe in the middle of an exchange. The session is over.
	torn bool
	// headTaken: the frame that is being answered is no longer in the input.
	headTaken bool

	interrupt interrupt
	stopping  atomic.Bool
}

// interrupt is how other goroutines reach what a session waits for.
type interrupt struct {
	mu     sync.Mutex
	cancel context.CancelCauseFunc // of the running call; nil: none is running
	up     *upstream.Conn          // nil: not open
}

// serveConn begins to serve a connection. The session may outlive the call, with a loop; ended
// is called at its end.
func (s *Server) serveConn(ctx context.Context, conn net.Conn, loop *eventLoop, ended func()) {
	ctx, cancel := context.WithCancel(ctx)
	c := s.newSession(ctx, conn)
	c.login.network = networkOf(conn.RemoteAddr())
	c.loop = loop
	s.enter(c)
	c.log = c.log.With("remote", conn.RemoteAddr().String())
	unhook := context.AfterFunc(ctx, c.hurry)
	c.ended = func() {
		unhook()
		cancel()
		ended()
	}
	c.work(func() (parked bool) {
		if err := c.startup(); err != nil {
			c.refuse(err)
			return false
		}
		c.log.Debug("session started", "pid", c.pid)
		return c.run(c.step())
	})
}

// work does something in a goroutine for a session, and ends the session then, unless it is
// parked. A parked session must not be touched any more: its loop may be serving it.
func (s *session) work(do func() (parked bool)) {
	parked := false
	defer func() {
		if !parked {
			s.end()
		}
	}()
	defer s.contain()
	parked = do()
}

func (s *Server) newSession(ctx context.Context, conn net.Conn) *session {
	c := &session{
		server:  s,
		conn:    conn,
		log:     s.cfg.Log,
		ctx:     ctx,
		callCtx: ctx,
		ended:   func() {},
		objects: newObjects(),
	}
	if s.cfg.Upstream != nil {
		c.handler = newProxied(c)
	} else {
		c.handler = &embedded{session: c, block: block{s: c}}
	}
	c.notify = c.report
	c.in.Limit = maxStartupBytes
	return c
}

// refuse tells the client why there will be no session.
func (s *session) refuse(err error) {
	if errors.Is(err, errNoSession) || errors.Is(err, upstream.ErrClientGone) || errors.Is(err, wire.ErrLength) {
		s.log.Debug("connection dropped", "reason", err)
		return
	}
	s.conn.SetWriteDeadline(time.Now().Add(lastWords)) // the time of the start-up may be over
	s.report(pgerr.From(err))
	s.farewell()
}

// end gives back everything that the session holds.
func (s *session) end() {
	s.server.unregister(s)
	if !s.unit.deciding {
		_ = s.undoUnit() // nobody is there to be told
	}
	if s.login.admitted {
		s.server.leave()
	}
	s.conn.Close()
	s.handler.hangUpUpstream()
	if s.pid != 0 {
		s.log.Debug("session ended", "pid", s.pid)
	}
	s.ended()
}

// contain ends this session, and nothing else, when it panics.
func (s *session) contain() {
	if cause := recover(); cause != nil {
		s.crash(cause, debug.Stack())
	}
}

func (s *session) crash(cause any, stack []byte) {
	s.out.Mend()
	s.log.Error("panic in a session", "panic", fmt.Sprint(cause), "stack", string(stack))
	s.report(pgerr.Fatalf(codes.Internal, "internal error"))
	s.farewell()
}

// run drives the fast path: it does what step may not do (plan, wait, write, read), lets
// step answer what is there, and comes back, until the session is over or parked.
func (s *session) run(v verdict) (parked bool) {
	for {
		switch v {
		case needPlan:
			s.plan()
		case needCall:
			if next := s.call(); next != needInput && next != needCall {
				v = next
				continue
			}
		case needRoom:
			if s.flushAll() != nil {
				return false
			}
		case needUpstream, needTurn, needFacts, needClose, needAbort:
			if !s.handler.consult(v) {
				return false
			}
		case needInput:
			if s.flushAll() != nil {
				return false
			}
			if s.park() {
				return true
			}
			if !s.await() {
				return false
			}
		case finished:
			s.finish()
			return false
		}
		v = s.step()
	}
}

// finish ends a session whose client has said so, or has broken the protocol: after
// everything before that is answered.
func (s *session) finish() {
	if s.flushAll() == nil {
		s.handler.settle()
	}
	if s.broken != nil {
		s.refuse(s.broken)
	}
	s.farewell()
}

// await flushes what the client waits for and reads more.
func (s *session) await() bool {
	if s.flushAll() != nil {
		return false
	}
	if s.handler.isLost() {
		s.handler.giveUp(upstream.ErrLost)
		return false
	}
	if s.stopping.Load() {
		s.handler.lastStatement()
		s.report(errShutdown)
		s.farewell()
		return false
	}
	if idle := s.server.cfg.IdleTimeout; idle > 0 {
		s.conn.SetReadDeadline(time.Now().Add(idle))
		if s.stopping.Load() { // stop may have set a deadline that was just lost
			return s.await()
		}
	}
	err := s.in.Fill(s.conn)
	switch {
	case err == nil:
		return true
	case s.stopping.Load(), s.handler.isLost():
		return s.await()
	case errors.Is(err, context.DeadlineExceeded) || isTimeout(err):
		s.report(pgerr.Fatalf(idleSessionTimeout, "terminating connection due to idle-session timeout"))
		s.farewell()
	}
	return false
}

func isTimeout(err error) bool {
	var netErr net.Error
	return errors.As(err, &netErr) && netErr.Timeout()
}

// flush writes all answers in one write.
func (s *session) flush() error {
	if len(s.out.Buf) == 0 {
		return nil
	}
	s.unit.leaving(s.out.Buf, s.out.Sent)
	err := s.write(s.out.Buf)
	s.torn = s.torn || err != nil
	s.out.Due = false
	s.out.Sent += int64(len(s.out.Buf))
	s.out.Buf = s.out.Buf[:0]
	if cap(s.out.Buf) > maxKeptOutput {
		s.out.Buf = nil
	}
	return err
}

// write writes to the client, between two frames of the upstream's.
func (s *session) write(b []byte) error {
	return s.handler.writeToClient(b)
}

// flushAll writes what the client waits for, and then what the upstream is to get: in
// this order, since its answers come after the session's own.
func (s *session) flushAll() error {
	relaying := s.handler.unsent() > 0
	if s.out.Due || relaying || len(s.out.Buf) > s.maxWaiting() {
		if err := s.flush(); err != nil {
			return err
		}
	}
	if !relaying {
		return nil
	}
	return s.handler.flushUpstream()
}

// farewell writes the last answers of a session. Whether they arrive changes
// nothing any more.
func (s *session) farewell() { _ = s.flush() }

const (
	// maxPending is how many bytes of answers may wait for a flush.
	maxPending = 64 << 10
	// maxHeld is how many may wait while they tell of what a failure would give back: as many
	// as PostgreSQL's buffer takes, so that a row that it would send is sent.
	maxHeld = 8 << 10
	// maxKeptOutput is the output buffer that an idle session may keep.
	maxKeptOutput = 4 << 10
)

// maxWaiting is how many bytes of answers may wait for a flush now.
func (s *session) maxWaiting() int {
	if s.unit.open() {
		return maxHeld
	}
	return maxPending
}

// stop ends the session as soon as it waits for its client.
func (s *session) stop() {
	s.stopping.Store(true)
	s.interrupt.mu.Lock()
	defer s.interrupt.mu.Unlock()
	s.conn.SetReadDeadline(longAgo)
}

// crowdOut ends a start-up that the entrance has no room for.
func (s *session) crowdOut() {
	s.cancelStatement(errCrowded)
	s.interrupt.mu.Lock()
	defer s.interrupt.mu.Unlock()
	s.conn.SetReadDeadline(longAgo)
}

// longAgo is a deadline that ends what waits at once.
var longAgo = time.Unix(1, 0)

// setConn goes on with another connection, which is the old one or around it.
func (s *session) setConn(conn net.Conn) {
	s.interrupt.mu.Lock()
	defer s.interrupt.mu.Unlock()
	s.conn = conn
}

// lastWords is how long a client may take to read why its session was ended.
const lastWords = time.Second

// hurry ends the reading of the session, and its writing a moment later.
func (s *session) hurry() {
	s.stopping.Store(true)
	s.interrupt.mu.Lock()
	defer s.interrupt.mu.Unlock()
	s.conn.SetReadDeadline(longAgo)
	s.conn.SetWriteDeadline(time.Now().Add(lastWords))
}

// hangUp ends the session whatever it does.
func (s *session) hangUp() {
	s.cancelStatement(errShutdown)
	s.hurry()
	s.interrupt.abandon()
}

// abandon gives the upstream up, if it is open.
func (i *interrupt) abandon() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.up != nil {
		i.up.Abandon()
	}
}

// cancelStatement ends the running call, if there is one, and returns the upstream, whose
// statement is to be cancelled as well; nil: it is not open. An idle session is not
// touched, and neither is the statement after the one that was meant.
func (s *session) cancelStatement(cause error) (up *upstream.Conn) {
	s.interrupt.mu.Lock()
	defer s.interrupt.mu.Unlock()
	if s.interrupt.cancel != nil {
		s.interrupt.cancel(cause)
	}
	return s.interrupt.up
}

// call lets the frame at the head wait for a backend. What else stands between it and its
// answer is returned.
func (s *session) call() (v verdict) {
	_ = s.waiting(func(ctx context.Context) error {
		s.blocking, s.callCtx = true, ctx
		defer func() { s.blocking, s.callCtx = false, s.ctx }()
		v = s.once()
		return nil
	})
	return v
}

// waiting does what may wait. Meanwhile it can be cancelled, and it is when the
// client goes away.
func (s *session) waiting(do func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(s.ctx)
	s.interrupt.set(cancel)
	s.watching = s.watch(cancel)
	defer func() {
		s.interrupt.set(nil)
		s.watching.stop(s)
		s.watching = nil // its buffer is not for idle sessions
		cancel(nil)
	}()
	return do(ctx)
}

func (i *interrupt) set(cancel context.CancelCauseFunc) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.cancel = cancel
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

func (s *session) watch(gone context.CancelCauseFunc) *watcher {
	w := &watcher{gone: gone}
	if s.polled != nil {
		s.polled.OnGone(func() { w.done.Go(func() { s.lose(io.EOF, gone) }) })
		return w
	}
	w.ahead = make([]byte, 0, readAhead)
	w.done.Go(func() {
		for len(w.ahead) < cap(w.ahead) {
			n, err := s.conn.Read(w.ahead[len(w.ahead):cap(w.ahead)])
			w.ahead = w.ahead[:len(w.ahead)+n]
			if isTimeout(err) {
				return // told to stop
			}
			if err != nil {
				s.lose(err, gone)
				return
			}
		}
	})
	return w
}

// lose ends what a session waits for whose client is gone.
func (s *session) lose(why error, gone context.CancelCauseFunc) {
	gone(why)
	s.interrupt.abandon() // not s.up, which may be opened right now
}

// watchAgain goes on watching after a stop.
func (s *session) watchAgain() {
	s.resumeReading()
	s.watching = s.watch(s.watching.gone)
}

// stop ends the watch and hands what it read to the session. An error of the
// connection will be met again by the next read.
func (w *watcher) stop(s *session) {
	if s.polled != nil {
		s.polled.OnGone(nil)
	} else {
		s.conn.SetReadDeadline(longAgo)
	}
	w.done.Wait()
	s.resumeReading()
	s.in.Append(w.ahead)
}

// resumeReading takes back an interruption of the reading, but not that of a shutdown.
func (s *session) resumeReading() {
	if !s.stopping.Load() && s.ctx.Err() == nil {
		s.conn.SetReadDeadline(time.Time{})
		if s.stopping.Load() {
			s.conn.SetReadDeadline(longAgo)
		}
	}
}

// report sends an error or a notice, in the client's encoding.
func (s *session) report(e *pgerr.Error) {
	if e.Cause != nil && (e.Code == codes.Internal || e.Code == codes.StatementCompletionUnknown) {
		s.log.Error("statement failed", "sqlstate", string(e.Code), "error", e.Cause)
	}
	if s.wanted(e) {
		s.out.Report(s.view.text.Report(e))
	}
}

// wanted says whether client_min_messages lets a notice or a warning through.
func (s *session) wanted(e *pgerr.Error) bool {
	if s.view.vars == nil || e.Severity != pgerr.SeverityNotice && e.Severity != pgerr.SeverityWarning {
		return true
	}
	threshold, _ := s.view.vars.Show("client_min_messages")
	return threshold != "error" && (threshold != "warning" || e.Severity == pgerr.SeverityWarning)
}

// refresh derives what depends on the settings, if any of them changed.
func (s *session) refresh() {
	s.handler.refreshSettings()
}

// ready ends the answer to a Query or a Sync.
func (s *session) ready() {
	s.handler.reportSettings()
	s.endUnit(s.inBlock())
	s.out.ReadyForQuery(s.txState().Status())
}
