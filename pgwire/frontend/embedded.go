package frontend

import (
	"context"
	"time"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/pgwire/drive"
	"raisinproxy/pgwire/login"
	"raisinproxy/pgwire/settings"
	"raisinproxy/pgwire/wire"
	"raisinproxy/planner/plan"
	"raisinproxy/planner/rewrite"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// embedded is a session without a PostgreSQL behind it.
type embedded struct {
	*Session
	Block
}

// NewEmbedded is the handler of a session without one.
func NewEmbedded(s *Session) Handler { return &embedded{Session: s, Block: Block{S: s}} }

// Begin applies the client's parameters. The client will be told its names, as UTF-8.
func (s *embedded) Begin(guest *login.Guest) error {
	for _, name := range []string{s.Caller.User, s.Caller.Scope.Repository} {
		if err := settings.ValidUTF8([]byte(name)); err != nil {
			return Fatal(err)
		}
	}
	if guest.Replicates {
		return pgerr.Fatalf(codes.FeatureNotSupported, "a replication connection needs an [upstream]")
	}
	return s.applyParameters(guest.Parameters)
}

func (s *embedded) ReportGreeting() {
	for _, p := range s.View.Vars.Reported() {
		s.Client.Out.ParameterStatus(p.Name, p.Value)
	}
}

func (s *embedded) ProcessID() int32 { return 0 }

func (s *embedded) Before() drive.Verdict  { return OurTurn }
func (s *embedded) Partial() drive.Verdict { return NeedInput }

// Dispatch answers one frame. NeedInput means that it is done.
func (s *embedded) Dispatch(m *wire.Message) drive.Verdict {
	switch {
	case m.Kind == 'S':
		s.Sync(m.Body)
		return NeedInput
	case m.Kind == 'X':
		return Finished
	case m.Kind == 'p': // the log-in is over
		s.Report(pgerr.Fatalf(codes.ProtocolViolation, "invalid frontend message type %d", m.Kind))
		return Finished
	case s.Skipping:
		return NeedInput
	}
	if answer := answers[m.Kind]; answer != nil {
		return answer(s.Session, m)
	}
	return NeedInput // data that is left of a COPY that failed
}

// answers are what answers messages of the kinds that an error amid a pipeline has dropped.
var answers = [256]func(*Session, *wire.Message) drive.Verdict{
	'Q': (*Session).Query,
	'P': (*Session).Parse,
	'B': (*Session).Bind,
	'D': (*Session).Describe,
	'E': (*Session).Execute,
	'C': (*Session).Close,
	'H': (*Session).flushRequest,
	'F': (*Session).functionCall,
}

// applyParameters makes the client's settings the ones that RESET goes back to.
// Those of options come first, so that a parameter of its own wins.
func (s *embedded) applyParameters(parameters []wire.Parameter) error {
	var options, others []wire.Parameter
	for _, p := range parameters {
		switch p.Name {
		case "options":
			parsed, err := parseOptions(p.Value)
			if err != nil {
				return err
			}
			options = append(options, parsed...)
		case "replication":
		default:
			others = append(others, p)
		}
	}
	for _, p := range append(options, others...) {
		if err := s.setStartup(p); err != nil {
			return err
		}
	}
	return nil
}

// setStartup gives one setting the client's value, which SHOW must be able to tell.
func (s *embedded) setStartup(p wire.Parameter) error {
	if err := s.View.Vars.SetStartup(p.Name, p.Value); err != nil {
		return Fatal(err)
	}
	shown, err := s.View.Vars.Show(p.Name)
	if err == nil {
		err = settings.ValidUTF8([]byte(shown))
	}
	if err != nil {
		return Fatal(err)
	}
	return nil
}

// Consult is never asked, and so nothing is given up: only the client and the backend stand between.
func (s *embedded) Consult(drive.Verdict) error { return errNoUpstream }
func (s *embedded) GiveUp(err error) {
	s.Log.Error("an embedded session waits for an upstream", "error", err)
	s.Report(pgerr.Fatalf(codes.Internal, "internal error"))
	s.Farewell()
}

func (s *embedded) TellBlock()               {}
func (s *embedded) AnswerFailure(error) bool { return false }

func (s *embedded) ControlTransaction(_ *plan.Statement, t *plan.Transaction) (tag string, err error) {
	return s.Control(t)
}

func (s *embedded) RefreshSettings() {
	if s.View.Seen == s.View.Vars.Version() && s.View.Times.Zone != nil {
		return
	}
	s.View.Seen = s.View.Vars.Version()
	s.View.Standard = s.View.Vars.StandardConformingStrings()
	style, _ := s.Setting("datestyle")
	s.View.Times = datum.NewTimeForm(s.View.Vars.TimeZone(), style)
	s.Caller.Scope.Branch = s.View.Vars.Branch()
	s.View.Text = wire.TranscoderFor(s.View.Vars.ClientEncoding())
}

// BeforeCall: the statement itself may have changed the branch.
func (s *embedded) BeforeCall(ctx context.Context) (context.Context, func()) {
	s.Refresh()
	return ctx, func() {}
}

func (s *embedded) ReportSettings() {
	for _, r := range s.View.Vars.TakeReports() {
		s.Client.Out.ParameterStatus(r.Name, r.Value)
	}
}

func (s *embedded) StatementTimeout() time.Duration { return s.View.Vars.StatementTimeout() }

// What follows is about an upstream, and there is none: statements that need one are refused by the planner.

func (s *embedded) Refuses(*plan.Statement) error { return nil }
func (s *embedded) Probe(st *plan.Statement, _ []datum.Type) (*plan.Statement, error) {
	return st, errNoUpstream
}
func (s *embedded) OpenExecute(*Portal) error         { return nil }
func (s *embedded) RunSplit(*Portal, int, bool) error { return errNoUpstream }
func (s *embedded) PrepareSplit(*plan.Statement, *rewrite.PrepareSplit) error {
	return errNoUpstream
}
func (s *embedded) CheckStatement(string) error { return nil }
func (s *embedded) CheckPortal(string) error    { return nil }
func (s *embedded) ShadowStatement()            {}
func (s *embedded) ShadowPortal()               {}
func (s *embedded) ClosePortal(*Portal)         {}

var errNoUpstream = pgerr.Newf(codes.Internal, "a statement that needs an [upstream] was not refused")

func (s *embedded) ForgetUnnamed() {
	s.Objects.Unnamed = nil
	if s.State != wire.FailedBlock {
		s.Objects.UnnamedPortal.State = PortalAbsent
	}
}

func (s *embedded) Source() drive.Source { return s.Client.Direct() }

func (s *embedded) Settle()         {}
func (s *embedded) LastStatement()  {}
func (s *embedded) HangUpUpstream() {}
