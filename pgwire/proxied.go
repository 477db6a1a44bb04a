package pgwire

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"raisinproxy/pgwire/auth"
	"raisinproxy/pgwire/drive"
	"raisinproxy/pgwire/login"
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

// proxied is a session with a PostgreSQL behind it.
type proxied struct {
	*session
	behind *Behind
	// unopened is the transaction while the upstream is not open: nothing but this file and deferredbegin.go read it. See
	// transactionState.
	unopened block
	up       *upstream.Conn
	conv     *upstream.Conversation

	held       held
	procedures procedures

	long               int // bytes that are missing of a message that is passed on as it arrives
	parameters         []wire.Parameter
	password           auth.Secret       // of the client, for an upstream that asks for it
	startBy            time.Time         // when the start-up has to be over; zero: no limit
	identity           string            // what the upstream connection is opened with
	database           string            // that the client has asked for
	replicates         bool              // the connection is for replication
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

func newProxied(s *session, behind *Behind) *proxied {
	p := &proxied{session: s, behind: behind, up: upstream.NewConn(), unopened: block{s: s}}
	p.conv = upstream.NewConversation(p.up, listener{p})
	return p
}

// begin opens the upstream, or finds out how it will greet the client.
func (s *proxied) Begin(guest *login.Guest) error {
	s.password, s.startBy = guest.Identity.Password, guest.StartBy
	return s.prepareUpstream(guest.Parameters)
}

func (s *proxied) ProcessID() int32 {
	if !s.up.IsOpened() || s.behind.Server.FirstUse {
		return 0
	}
	return int32(s.up.PID())
}

func (s *proxied) Before() drive.Verdict {
	if s.mustAbort {
		return needAbort
	}
	if s.long > 0 {
		s.passLong()
		if s.long > 0 {
			return needInput
		}
	}
	return ourTurn
}

func (s *proxied) Partial() drive.Verdict { return s.startLong() }

func (s *proxied) Dispatch(m *wire.Message) drive.Verdict { return s.route(m) }

// consult does what stands between a frame and its answer. An error of it ends the session.
func (s *proxied) Consult(v drive.Verdict) bool {
	err := s.clear(v)
	if err != nil {
		s.GiveUp(err)
	}
	return err == nil
}

// TransactionState has one owner: the upstream as soon as that is open, by what its answers tell, and before what
// ran here. While the upstream owes answers it is not known: see turn.
func (s *proxied) TransactionState() wire.TxState {
	if !s.up.IsOpened() {
		return s.unopened.state
	}
	state := s.up.TxState()
	if state == wire.InBlock && s.mustAbort {
		return wire.FailedBlock // before anything else happens
	}
	return state
}

func (s *proxied) EnsureTransaction() {
	if !s.up.IsOpened() {
		s.unopened.beginImplicit()
	}
}

func (s *proxied) EndImplicit() {
	switch {
	case !s.up.IsOpened():
		s.unopened.endImplicit()
	case !s.up.IsOpen() && s.txState() == wire.NoTransaction:
		s.endPortals()
		s.endUnit(false)
	}
}

func (s *proxied) AbortTransaction() {
	if !s.up.IsOpened() {
		s.unopened.abort()
		return
	}
	inPipeline, state := s.up.IsOpen(), s.up.TxState()
	s.mustAbort = inPipeline || state == wire.InBlock
	if !inPipeline && state == wire.NoTransaction {
		s.endPortals() // what becomes of them else the upstream tells
	}
}

func (s *proxied) ControlTransaction(st *plan.Statement, t *plan.Transaction) (tag string, err error) {
	return s.controlDeferred(st, t)
}

// AnswerFailure answers an error of the upstream's. What comes after a lost connection ends the session.
func (s *proxied) AnswerFailure(err error) bool {
	if errors.Is(err, upstream.ErrLost) || errors.Is(err, errPipelineFailed) {
		return true
	}
	theirs, ok := errors.AsType[*upstream.Error](err)
	if !ok || !theirs.IsOrdinary() {
		return ok // its last words, which end the session
	}
	theirs.Response.Detail = withDetail(theirs.Response.Detail, s.view.text.Best(s.undoUnit()))
	s.client.Out.Message(&theirs.Response)
	s.client.Out.Due = true
	s.AbortTransaction()
	s.mustAbort = false // it has done so itself
	return true
}

func (s *proxied) RefreshSettings() { s.refreshFromUpstream() }

// BeforeCall: the settings are asked for before a statement with calls, and stay for it.
func (s *proxied) BeforeCall() {}

// ReportSettings: the upstream does.
func (s *proxied) ReportSettings() {}

func (s *proxied) StatementTimeout() time.Duration {
	if !s.up.IsOpened() {
		return s.view.vars.StatementTimeout()
	}
	return s.upstreamTimeout
}

func (s *proxied) Refuses(st *plan.Statement) error {
	switch {
	case s.executesWithin(st):
		return errExecuteWithin
	case s.preparesOurs(st) && !isPrepared(st.Action): // one of the proxy's says so when it runs
		return errStatementExists(st.Prepares)
	case isEmptyBranch(st):
		return errEmptyBranch
	}
	return nil
}

func (s *proxied) HasStatement(name string) (bool, error) {
	if !s.up.Marks().Named {
		return false, nil
	}
	return s.upstreamHas(name, statementsThere)
}

func (s *proxied) HasPortal(name string) (bool, error) {
	if !s.up.Marks().Portals {
		return false, nil
	}
	return s.upstreamHas(name, portalsThere)
}

func (s *proxied) ShadowStatement()      { s.shadowsStatement = true }
func (s *proxied) ShadowPortal()         { s.shadowsPortal = true }
func (s *proxied) ClosePortal(p *portal) { s.closeUpstream(p) }

func (s *proxied) Source() drive.Source {
	if !s.up.IsOpened() {
		return s.client.Direct()
	}
	return s.up
}

// settle lets the upstream answer. Of a pipeline without its Sync PostgreSQL sends nothing either.
func (s *proxied) Settle() {
	if s.up.Owes() && (s.broken != nil || !s.up.IsOpen()) {
		_ = s.client.Waiting(func(context.Context) error { return s.up.Settle() })
	}
}

func (s *proxied) HangUpUpstream() {
	s.client.SetOther(nil)
	s.up.Stop()
}
