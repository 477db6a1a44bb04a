package pgwire

import (
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
	*session
	block block
}

// newEmbedded is the handler of a session without one.
func newEmbedded(s *session) handler { return &embedded{session: s, block: block{s: s}} }

// begin applies the client's parameters. The client will be told its names, as UTF-8.
func (s *embedded) Begin(guest *login.Guest) error {
	for _, name := range []string{s.caller.User, s.caller.Scope.Repository} {
		if err := settings.ValidUTF8([]byte(name)); err != nil {
			return fatal(err)
		}
	}
	return s.applyParameters(guest.Parameters)
}

func (s *embedded) ReportGreeting() {
	for _, p := range s.view.vars.Reported() {
		s.client.Out.ParameterStatus(p.Name, p.Value)
	}
}

func (s *embedded) ProcessID() int32 { return 0 }

func (s *embedded) Before() drive.Verdict  { return ourTurn }
func (s *embedded) Partial() drive.Verdict { return needInput }

// dispatch answers one frame. needInput means that it is done.
func (s *embedded) Dispatch(m *wire.Message) drive.Verdict {
	switch m.Kind {
	case 'Q':
		return s.extendedOrSkip(s.query, m)
	case 'P':
		return s.extendedOrSkip(s.parse, m)
	case 'B':
		return s.extendedOrSkip(s.bind, m)
	case 'D':
		return s.extendedOrSkip(s.describe, m)
	case 'E':
		return s.extendedOrSkip(s.execute, m)
	case 'C':
		return s.extendedOrSkip(s.close, m)
	case 'H':
		return s.extendedOrSkip(s.flushRequest, m)
	case 'S':
		s.sync(m.Body)
		return needInput
	case 'X':
		return finished
	case 'd', 'c', 'f':
		return needInput // what is left of a COPY that failed
	case 'F':
		return s.extendedOrSkip(s.functionCall, m)
	}
	s.report(pgerr.Fatalf(codes.ProtocolViolation, "invalid frontend message type %d", m.Kind))
	return finished
}

// applyParameters makes the client's settings the ones that RESET goes back to.
// Those of options come first, so that a parameter of its own wins.
func (s *embedded) applyParameters(parameters []wire.Parameter) error {
	for _, p := range parameters {
		if p.Name != "options" {
			continue
		}
		parsed, err := parseOptions(p.Value)
		if err != nil {
			return err
		}
		for _, o := range parsed {
			if err := s.setStartup(o); err != nil {
				return err
			}
		}
	}
	for _, p := range parameters {
		switch p.Name {
		case "user", "database", "options":
		case "replication":
			if on, ok := datum.ParseBool(p.Value); !ok || on {
				return pgerr.Fatalf(codes.FeatureNotSupported, "a replication connection needs an [upstream]")
			}
		default:
			if err := s.setStartup(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// setStartup gives one setting the client's value, which SHOW must be able to tell.
func (s *embedded) setStartup(p wire.Parameter) error {
	if err := s.view.vars.SetStartup(p.Name, p.Value); err != nil {
		return fatal(err)
	}
	shown, err := s.view.vars.Show(p.Name)
	if err == nil {
		err = settings.ValidUTF8([]byte(shown))
	}
	if err != nil {
		return fatal(err)
	}
	return nil
}

// consult is never asked: nothing but the client and the backend stands between.
func (s *embedded) Consult(v drive.Verdict) bool {
	s.report(pgerr.Fatalf(codes.Internal, "internal error"))
	s.log.Error("an embedded session waits for an upstream", "verdict", int(v))
	s.farewell()
	return false
}

func (s *embedded) TransactionState() wire.TxState { return s.block.state }
func (s *embedded) EnsureTransaction()             { s.block.beginImplicit() }
func (s *embedded) EndImplicit()                   { s.block.endImplicit() }
func (s *embedded) AbortTransaction()              { s.block.abort() }
func (s *embedded) TellBlock()                     {}
func (s *embedded) AnswerFailure(error) bool       { return false }

func (s *embedded) ControlTransaction(_ *plan.Statement, t *plan.Transaction) (tag string, err error) {
	return s.block.control(t)
}

func (s *embedded) RefreshSettings() {
	if s.view.seen == s.view.vars.Version() && s.view.zone != nil {
		return
	}
	s.view.seen = s.view.vars.Version()
	s.view.standard = s.view.vars.StandardConformingStrings()
	s.view.zone = s.view.vars.TimeZone()
	s.caller.Scope.Branch = s.view.vars.Branch()
	s.view.text = wire.TranscoderFor(s.view.vars.ClientEncoding())
}

// BeforeCall: the statement itself may have changed the branch.
func (s *embedded) BeforeCall() { s.refresh() }

func (s *embedded) ReportSettings() {
	for _, r := range s.view.vars.TakeReports() {
		s.client.Out.ParameterStatus(r.Name, r.Value)
	}
}

func (s *embedded) StatementTimeout() time.Duration { return s.view.vars.StatementTimeout() }

// What follows is about an upstream, and there is none: statements that need one are refused by the planner.

func (s *embedded) Refuses(*plan.Statement) error { return nil }
func (s *embedded) TurnToAsk() drive.Verdict      { return ourTurn }
func (s *embedded) Probe(st *plan.Statement, _ []datum.Type) (*plan.Statement, error) {
	return st, errNoUpstream
}
func (s *embedded) OpenExecute(*portal) error         { return nil }
func (s *embedded) RunSplit(*portal, int, bool) error { return errNoUpstream }
func (s *embedded) PrepareSplit(*plan.Statement, *rewrite.PrepareSplit) error {
	return errNoUpstream
}
func (s *embedded) HasStatement(string) (bool, error) { return false, nil }
func (s *embedded) HasPortal(string) (bool, error)    { return false, nil }
func (s *embedded) ShadowStatement()                  {}
func (s *embedded) ShadowPortal()                     {}
func (s *embedded) ClosePortal(*portal)               {}

var errNoUpstream = pgerr.Newf(codes.Internal, "a statement that needs an [upstream] was not refused")

func (s *embedded) ForgetUnnamed() {
	s.objects.unnamed = nil
	if s.block.state != wire.FailedBlock {
		s.objects.unnamedPortal.state = portalAbsent
	}
}

func (s *embedded) Source() drive.Source { return s.client.Direct() }

func (s *embedded) GiveUp(error)    {}
func (s *embedded) Settle()         {}
func (s *embedded) LastStatement()  {}
func (s *embedded) HangUpUpstream() {}
