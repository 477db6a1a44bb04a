package frontend

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
	"raisinproxy/planner/plan"
	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// Session is one client's connection. Everything in it belongs to the goroutine
// that serves it, or to the event loop that it is parked with, except for what Client lets others do.
type Session struct {
	Env    *Env
	Client *drive.Client
	ended  func() // called when the session has ended
	Log    *slog.Logger

	admitted bool
	Key      CancelKey // zero: not registered yet
	Caller   sqlfuncs.Caller
	Handler  Handler // what the session does with, or without, a PostgreSQL behind

	View     view
	Tx       transaction
	Unit     unit
	Objects  objects
	deadline time.Time          // of the running statement; zero: none
	notify   func(*pgerr.Error) // sends a notice
	formats  wire.Formats       // scratch: of the parameters of a Bind
	row      []datum.Datum      // scratch: the row that is sent next
	// Skipping: an error was answered in the extended protocol, and everything up
	// to Sync is dropped.
	Skipping bool
	// Over: a FATAL error was answered.
	Over bool
	// Broken is how the client broke the protocol.
	Broken error

	// planned is the plan that the slow path made for the frame at the head of the
	// input, should the cache not keep it.
	planned planned
	// callCtx is the context of calls; blocking says that the frame at the head may
	// wait for something other than the client.
	callCtx  context.Context
	Blocking bool
	Message  wire.Message // scratch: the frame at the head, decoded
	// frameConsumed: the frame that is being answered is no longer in the input.
	frameConsumed bool
}

// NewSession makes a session of a connection, which may be parked with loop. choose chooses its handler, for all its life.
func NewSession(ctx context.Context, env *Env, conn net.Conn, loop *drive.Loop, log *slog.Logger, choose func(*Session) Handler) *Session {
	s := &Session{
		Env:     env,
		Log:     log,
		callCtx: ctx,
		ended:   func() {},
		Objects: objects{Statements: map[string]*plan.Statement{}, Portals: map[string]*Portal{}},
	}
	s.Client = drive.NewClient(ctx, conn, loop, machine{s})
	s.Handler = choose(s)
	s.notify = s.Report
	s.Client.In.Limit = login.MaxPacket
	return s
}

// Serve serves the client from its first byte on. The session may outlive the call, with a loop; ended
// is called at its end.
func (s *Session) Serve(door *login.Door, ended func()) {
	s.ended = ended
	s.Client.Work(func() (parked bool) {
		if err := s.startup(door); err != nil {
			s.refuse(err)
			return false
		}
		s.Log.Debug("session started", "pid", s.Key.PID)
		return s.Client.Run(s.Step())
	})
}

// idleSessionTimeout is a code that the vocabulary lacks.
const idleSessionTimeout codes.Code = "57P05"

// ErrCanceled ends what a cancel request ends.
var (
	ErrCanceled         = pgerr.Newf(codes.QueryCanceled, "canceling statement due to user request")
	errStatementTimeout = pgerr.Newf(codes.QueryCanceled, "canceling statement due to statement timeout")
)

// refuse tells the client why there will be no session.
func (s *Session) refuse(err error) {
	if errors.Is(err, login.ErrNoSession) || errors.Is(err, upstream.ErrClientGone) || errors.Is(err, wire.ErrLength) {
		s.Log.Debug("connection dropped", "reason", err)
		return
	}
	s.Client.Conn().SetWriteDeadline(time.Now().Add(drive.LastWords)) // the time of the start-up may be over
	s.Report(pgerr.From(err))
	s.Farewell()
}

// machine is a session as it is driven.
type machine struct{ *Session }

var _ drive.Machine = machine{}

// Serve does what step may not do: plan, wait for a backend or for the upstream.
func (s machine) Serve(v drive.Verdict) (next drive.Verdict, goOn bool) {
	switch v {
	case NeedPlan:
		s.plan()
	case NeedCall:
		if next := s.call(); next != NeedInput && next != NeedCall {
			return next, true
		}
	default:
		if err := s.Handler.Consult(v); err != nil {
			s.Handler.GiveUp(err)
			return 0, false
		}
	}
	return s.Step(), true
}

// Finish ends a session whose client has said so, or has broken the protocol: after
// everything before that is answered.
func (s machine) Finish() {
	if s.Client.FlushAll() == nil {
		s.Handler.Settle()
	}
	if s.Broken != nil {
		s.refuse(s.Broken)
	}
	s.Farewell()
}

func (s machine) Tell(why drive.Reason) {
	switch why {
	case drive.Lost:
		s.Handler.GiveUp(upstream.ErrLost)
		return
	case drive.Stopping:
		s.Handler.LastStatement()
		s.Report(login.ErrShutdown)
	case drive.Idle:
		s.Report(pgerr.Fatalf(idleSessionTimeout, "terminating connection due to idle-session timeout"))
	}
	s.Farewell()
}

func (s machine) Crashed(cause any, stack []byte) {
	s.Client.Out.Mend()
	s.Log.Error("panic in a session", "panic", fmt.Sprint(cause), "stack", string(stack))
	s.Report(pgerr.Fatalf(codes.Internal, "internal error"))
	s.Farewell()
}

// End gives back everything that the session holds.
func (s machine) End() {
	s.Env.Registry.Unregister(s.Client, s.Key)
	if !s.Unit.Deciding {
		_ = s.UndoUnit() // nobody is there to be told
	}
	if s.admitted {
		s.Env.Registry.Leave()
	}
	s.Client.Conn().Close()
	s.Handler.HangUpUpstream()
	if s.Key.PID != 0 {
		s.Log.Debug("session ended", "pid", s.Key.PID)
	}
	s.ended()
}

func (s machine) Leaving(answers []byte, from int64) { s.Unit.leaving(answers, from) }
func (s machine) Source() drive.Source               { return s.Handler.Source() }

// Farewell writes the last answers of a session. Whether they arrive changes
// nothing any more.
func (s *Session) Farewell() { _ = s.Client.Flush() }

const (
	// MaxPending is how many bytes of answers may wait for a flush.
	MaxPending = 64 << 10
	// maxHeld is how many may wait while they tell of what a failure would give back: as many
	// as PostgreSQL's buffer takes, so that a row that it would send is sent.
	maxHeld = 8 << 10
)

// MostWaiting is how many bytes of answers may wait for a flush now.
func (s *Session) MostWaiting() int {
	if s.Unit.Open() {
		return maxHeld
	}
	return MaxPending
}

// call lets the frame at the head wait for a backend. What else stands between it and its
// answer is returned.
func (s *Session) call() (v drive.Verdict) {
	_ = s.Client.Waiting(func(ctx context.Context) error {
		s.Blocking, s.callCtx = true, ctx
		defer func() { s.Blocking, s.callCtx = false, s.Client.Context() }()
		v = s.once()
		return nil
	})
	return v
}

// Report sends an error or a notice, in the client's encoding.
func (s *Session) Report(e *pgerr.Error) {
	if e.Cause != nil && (e.Code == codes.Internal || e.Code == codes.StatementCompletionUnknown) {
		s.Log.Error("statement failed", "sqlstate", string(e.Code), "error", e.Cause)
	}
	if s.wanted(e) {
		s.Client.Out.Report(s.View.Text.Report(e))
	}
}

// ReportAll sends notices: those about a text when it is read, as PostgreSQL does.
func (s *Session) ReportAll(notices []*pgerr.Error) {
	for _, n := range notices {
		s.Report(n)
	}
}

// wanted says whether client_min_messages lets a notice or a warning through.
func (s *Session) wanted(e *pgerr.Error) bool {
	if s.View.Vars == nil || e.Severity != pgerr.SeverityNotice && e.Severity != pgerr.SeverityWarning {
		return true
	}
	threshold, _ := s.View.Vars.Show("client_min_messages")
	return threshold != "error" && (threshold != "warning" || e.Severity == pgerr.SeverityWarning)
}

// Refresh derives what depends on the settings, if any of them changed.
func (s *Session) Refresh() {
	s.Handler.RefreshSettings()
}

// Ready ends the answer to a Query or a Sync.
func (s *Session) Ready() {
	s.Handler.ReportSettings()
	s.EndUnit(s.inBlock())
	s.Client.Out.ReadyForQuery(s.TxState().Status())
}
