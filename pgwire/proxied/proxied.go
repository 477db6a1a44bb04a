package proxied

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"raisinproxy/pgwire/drive"
	"raisinproxy/pgwire/frontend"
	"raisinproxy/pgwire/upstream"
	"raisinproxy/pgwire/wire"
	"raisinproxy/planner/plan"
)

// Behind is the PostgreSQL behind a server, as its sessions share it.
type Behind struct {
	Server         *upstream.Server
	IDs            *upstream.ProcessIDs // that clients were told instead of those of its processes
	StartupTimeout time.Duration        // for opening a connection later than at the start-up; 0: no limit
}

// session is a session with a PostgreSQL behind it.
type session struct {
	*frontend.Session
	behind *Behind
	// unopened is the transaction while the upstream is not open: nothing but this file and deferredbegin.go read it. See
	// TransactionState.
	unopened frontend.Block
	up       *upstream.Conn
	conv     *upstream.Conversation

	held       held
	procedures procedures

	long               int               // bytes that are missing of a message that is passed on as it arrives
	login              upstream.Login    // what the upstream connection is opened with
	startBy            time.Time         // when the start-up has to be over; zero: no limit
	greeted            map[string]string // the settings that the client was told at first
	welcome            []*pgconn.Notice  // what the upstream had to say to a new connection
	upstreamTimeout    time.Duration     // its statement_timeout, when it was last asked
	settingsStale      bool              // something went there since the settings were asked for that calls depend on
	mustAbort          bool              // an error of the proxy's has to abort its transaction
	unreportedSettings bool              // standard and text are those of the open pipeline, and not reported yet
	unreported         *heldParameters   // what a batch has changed; nil: what the upstream reports is passed on at once
	// shadowsStatement and shadowsPortal: one of the proxy's took the place of the upstream's unnamed statement
	// or portal, which is there still and must not come back.
	shadowsStatement, shadowsPortal bool
	seen                            upstream.Marks // of the upstream's session, when they were last looked at
	deferredBegin                   string         // the BEGIN that was held back while the upstream is not open
}

// New is the handler of a session with a PostgreSQL behind it.
func New(s *frontend.Session, behind *Behind) frontend.Handler { return newSession(s, behind) }

func newSession(s *frontend.Session, behind *Behind) *session {
	p := &session{Session: s, behind: behind, up: upstream.NewConn(), unopened: frontend.Block{S: s}}
	p.conv = upstream.NewConversation(p.up, p)
	return p
}

func (s *session) ProcessID() int32 {
	if !s.up.IsOpened() || s.behind.Server.FirstUse {
		return 0
	}
	return int32(s.up.PID())
}

func (s *session) Before() drive.Verdict {
	if s.mustAbort {
		return frontend.NeedAbort
	}
	if s.long > 0 {
		s.passLong()
		if s.long > 0 {
			return frontend.NeedInput
		}
	}
	return frontend.OurTurn
}

// TransactionState has one owner: the upstream as soon as that is open, by what its answers tell, and before what
// ran here. While the upstream owes answers it is not known: see turn.
func (s *session) TransactionState() wire.TxState {
	if !s.up.IsOpened() {
		return s.unopened.State
	}
	state := s.up.TxState()
	if state == wire.InBlock && s.mustAbort {
		return wire.FailedBlock // before anything else happens
	}
	return state
}

func (s *session) EnsureTransaction() {
	if !s.up.IsOpened() {
		s.unopened.EnsureTransaction()
	}
}

func (s *session) EndImplicit() {
	switch {
	case !s.up.IsOpened():
		s.unopened.EndImplicit()
	case !s.up.IsOpen() && s.TxState() == wire.NoTransaction:
		s.EndPortals()
		s.EndUnit(false)
	}
}

func (s *session) AbortTransaction() {
	if !s.up.IsOpened() {
		s.unopened.AbortTransaction()
		return
	}
	inPipeline, state := s.up.IsOpen(), s.up.TxState()
	s.mustAbort = inPipeline || state == wire.InBlock
	if !inPipeline && state == wire.NoTransaction {
		s.EndPortals() // what becomes of them else the upstream tells
	}
}

// AnswerFailure answers an error of the upstream's. What comes after a lost connection ends the session.
func (s *session) AnswerFailure(err error) bool {
	if errors.Is(err, upstream.ErrLost) || errors.Is(err, errPipelineFailed) {
		return true
	}
	theirs, ok := errors.AsType[*upstream.Error](err)
	if !ok || !theirs.IsOrdinary() {
		return ok // its last words, which end the session
	}
	theirs.Response.Detail = frontend.WithDetail(theirs.Response.Detail, s.View.Text.Best(s.UndoUnit()))
	s.Client.Out.Message(&theirs.Response)
	s.Client.Out.Due = true
	s.AbortTransaction()
	s.mustAbort = false // it has done so itself
	return true
}

// BeforeCall: the settings are asked for before a statement with calls, and stay for it. A call that waits ends
// with the upstream: nobody could use what it got.
func (s *session) BeforeCall(ctx context.Context) (context.Context, func()) {
	if !s.Blocking || !s.up.IsOpened() {
		return ctx, func() {}
	}
	return s.up.Bind(ctx)
}

// ReportSettings: the upstream does.
func (s *session) ReportSettings() {}

func (s *session) StatementTimeout() time.Duration {
	if !s.up.IsOpened() {
		return s.View.Vars.StatementTimeout()
	}
	return s.upstreamTimeout
}

func (s *session) Refuses(st *plan.Statement) error {
	switch {
	case s.keeps(st.Within):
		return errExecuteWithin
	case s.keeps(st.Prepares) && !frontend.IsPrepared(st.Action): // one of the proxy's says so when it runs
		return frontend.ErrStatementExists(st.Prepares)
	case frontend.IsEmptyBranch(st):
		return frontend.ErrEmptyBranch
	}
	return nil
}

func (s *session) ShadowStatement() { s.shadowsStatement = true }
func (s *session) ShadowPortal()    { s.shadowsPortal = true }

func (s *session) Source() drive.Source {
	if !s.up.IsOpened() {
		return s.Client.Direct()
	}
	return s.up
}

// Settle lets the upstream answer. Of a pipeline without its Sync PostgreSQL sends nothing either.
func (s *session) Settle() {
	if s.up.Owes() && (s.Broken != nil || !s.up.IsOpen()) {
		_ = s.Client.Waiting(func(context.Context) error { return s.up.Settle() })
	}
}

func (s *session) HangUpUpstream() {
	s.Client.SetOther(nil)
	s.up.Stop()
}
