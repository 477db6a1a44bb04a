package pgwire

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/pgwire/drive"
	"raisinproxy/pgwire/login"
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
	env    *Env
	client *drive.Client
	ended  func() // called when the session has ended
	log    *slog.Logger

	visitor  *login.Visitor // until it has logged in
	admitted bool
	key      CancelKey // zero: not registered yet
	caller   sqlfuncs.Caller
	handler  handler // what the session does with, or without, a PostgreSQL behind

	view     view
	tx       transaction
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
	message  wire.Message // scratch: the frame at the head, decoded
	// frameConsumed: the frame that is being answered is no longer in the input.
	frameConsumed bool
}

// newSession makes a session of a connection, which may be parked with loop. choose chooses its handler, for all its life.
func newSession(ctx context.Context, env *Env, conn net.Conn, loop *drive.Loop, log *slog.Logger, choose func(*session) handler) *session {
	s := &session{
		env:     env,
		log:     log,
		callCtx: ctx,
		ended:   func() {},
		objects: newObjects(),
	}
	s.client = drive.NewClient(ctx, conn, loop, machine{s})
	s.handler = choose(s)
	s.notify = s.report
	s.client.In.Limit = login.MaxPacket
	return s
}

// Serve serves the client from its first byte on. The session may outlive the call, with a loop; ended
// is called at its end.
func (s *session) Serve(door *login.Door, ended func()) {
	s.ended = ended
	s.client.Work(func() (parked bool) {
		if err := s.startup(door); err != nil {
			s.refuse(err)
			return false
		}
		s.log.Debug("session started", "pid", s.key.PID)
		return s.client.Run(s.step())
	})
}

// idleSessionTimeout is a code that the vocabulary lacks.
const idleSessionTimeout codes.Code = "57P05"

var (
	errCanceled         = pgerr.Newf(codes.QueryCanceled, "canceling statement due to user request")
	errStatementTimeout = pgerr.Newf(codes.QueryCanceled, "canceling statement due to statement timeout")
)

// refuse tells the client why there will be no session.
func (s *session) refuse(err error) {
	if errors.Is(err, login.ErrNoSession) || errors.Is(err, upstream.ErrClientGone) || errors.Is(err, wire.ErrLength) {
		s.log.Debug("connection dropped", "reason", err)
		return
	}
	s.client.Conn().SetWriteDeadline(time.Now().Add(drive.LastWords)) // the time of the start-up may be over
	s.report(pgerr.From(err))
	s.farewell()
}

// end gives back everything that the session holds.
func (s *session) end() {
	s.env.Registry.Unregister(s.client, s.key)
	if !s.unit.deciding {
		_ = s.undoUnit() // nobody is there to be told
	}
	if s.admitted {
		s.env.Registry.Leave()
	}
	s.client.Conn().Close()
	s.handler.HangUpUpstream()
	if s.key.PID != 0 {
		s.log.Debug("session ended", "pid", s.key.PID)
	}
	s.ended()
}

// machine is a session as it is driven.
type machine struct{ *session }

var _ drive.Machine = machine{}

func (s machine) Step() drive.Verdict { return s.step() }

// Serve does what step may not do: plan, wait for a backend or for the upstream.
func (s machine) Serve(v drive.Verdict) (next drive.Verdict, goOn bool) {
	switch v {
	case needPlan:
		s.plan()
	case needCall:
		if next := s.call(); next != needInput && next != needCall {
			return next, true
		}
	default:
		if !s.handler.Consult(v) {
			return 0, false
		}
	}
	return s.step(), true
}

// Finish ends a session whose client has said so, or has broken the protocol: after
// everything before that is answered.
func (s machine) Finish() {
	if s.client.FlushAll() == nil {
		s.handler.Settle()
	}
	if s.broken != nil {
		s.refuse(s.broken)
	}
	s.farewell()
}

func (s machine) Tell(why drive.Reason) {
	switch why {
	case drive.Lost:
		s.handler.GiveUp(upstream.ErrLost)
		return
	case drive.Stopping:
		s.handler.LastStatement()
		s.report(login.ErrShutdown)
	case drive.Idle:
		s.report(pgerr.Fatalf(idleSessionTimeout, "terminating connection due to idle-session timeout"))
	}
	s.farewell()
}

func (s machine) Crashed(cause any, stack []byte) {
	s.client.Out.Mend()
	s.log.Error("panic in a session", "panic", fmt.Sprint(cause), "stack", string(stack))
	s.report(pgerr.Fatalf(codes.Internal, "internal error"))
	s.farewell()
}

func (s machine) End()                               { s.end() }
func (s machine) MostWaiting() int                   { return s.maxWaiting() }
func (s machine) Leaving(answers []byte, from int64) { s.unit.leaving(answers, from) }
func (s machine) Source() drive.Source               { return s.handler.Source() }

// farewell writes the last answers of a session. Whether they arrive changes
// nothing any more.
func (s *session) farewell() { _ = s.client.Flush() }

const (
	// maxPending is how many bytes of answers may wait for a flush.
	maxPending = 64 << 10
	// maxHeld is how many may wait while they tell of what a failure would give back: as many
	// as PostgreSQL's buffer takes, so that a row that it would send is sent.
	maxHeld = 8 << 10
)

// maxWaiting is how many bytes of answers may wait for a flush now.
func (s *session) maxWaiting() int {
	if s.unit.open() {
		return maxHeld
	}
	return maxPending
}

// call lets the frame at the head wait for a backend. What else stands between it and its
// answer is returned.
func (s *session) call() (v drive.Verdict) {
	_ = s.client.Waiting(func(ctx context.Context) error {
		s.blocking, s.callCtx = true, ctx
		defer func() { s.blocking, s.callCtx = false, s.client.Context() }()
		v = s.once()
		return nil
	})
	return v
}

// report sends an error or a notice, in the client's encoding.
func (s *session) report(e *pgerr.Error) {
	if e.Cause != nil && (e.Code == codes.Internal || e.Code == codes.StatementCompletionUnknown) {
		s.log.Error("statement failed", "sqlstate", string(e.Code), "error", e.Cause)
	}
	if s.wanted(e) {
		s.client.Out.Report(s.view.text.Report(e))
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
	s.handler.RefreshSettings()
}

// ready ends the answer to a Query or a Sync.
func (s *session) ready() {
	s.handler.ReportSettings()
	s.endUnit(s.inBlock())
	s.client.Out.ReadyForQuery(s.txState().Status())
}
