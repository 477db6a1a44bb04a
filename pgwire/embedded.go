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
func (s *embedded) begin(guest *login.Guest) error {
	for _, name := range []string{s.caller.User, s.caller.Scope.Repository} {
		if err := settings.ValidUTF8([]byte(name)); err != nil {
			return fatal(err)
		}
	}
	return s.applyParameters(guest.Parameters)
}

func (s *embedded) reportGreeting() {
	for _, p := range s.view.vars.Reported() {
		s.client.Out.ParameterStatus(p.Name, p.Value)
	}
}

func (s *embedded) processID() int32 { return 0 }

func (s *embedded) before() drive.Verdict  { return ourTurn }
func (s *embedded) partial() drive.Verdict { return needInput }

// dispatch answers one frame. needInput means that it is done.
func (s *embedded) dispatch(m *wire.Message) drive.Verdict {
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
func (s *embedded) consult(v drive.Verdict) bool {
	s.report(pgerr.Fatalf(codes.Internal, "internal error"))
	s.log.Error("an embedded session waits for an upstream", "verdict", int(v))
	s.farewell()
	return false
}

func (s *embedded) transactionState() wire.TxState { return s.block.state }
func (s *embedded) ensureTransaction()             { s.block.beginImplicit() }
func (s *embedded) endImplicit()                   { s.block.endImplicit() }
func (s *embedded) abortTransaction()              { s.block.abort() }
func (s *embedded) tellBlock()                     {}
func (s *embedded) answerFailure(error) bool       { return false }

func (s *embedded) controlTransaction(_ *plan.Statement, t *plan.Transaction) (tag string, err error) {
	return s.block.control(t)
}

func (s *embedded) refreshSettings() {
	if s.view.seen == s.view.vars.Version() && s.view.zone != nil {
		return
	}
	s.view.seen = s.view.vars.Version()
	s.view.standard = s.view.vars.StandardConformingStrings()
	s.view.zone = s.view.vars.TimeZone()
	s.caller.Scope.Branch = s.view.vars.Branch()
	s.view.text = wire.TranscoderFor(s.view.vars.ClientEncoding())
}

// beforeCall: the statement itself may have changed the branch.
func (s *embedded) beforeCall() { s.refresh() }

func (s *embedded) reportSettings() {
	for _, r := range s.view.vars.TakeReports() {
		s.client.Out.ParameterStatus(r.Name, r.Value)
	}
}

func (s *embedded) statementTimeout() time.Duration { return s.view.vars.StatementTimeout() }

// What follows is about an upstream, and there is none: statements that need one are refused by the planner.

func (s *embedded) refuses(*plan.Statement) error { return nil }
func (s *embedded) turnToAsk() drive.Verdict      { return ourTurn }
func (s *embedded) probe(st *plan.Statement, _ []datum.Type) (*plan.Statement, error) {
	return st, errNoUpstream
}
func (s *embedded) openExecute(*portal) error         { return nil }
func (s *embedded) runSplit(*portal, int, bool) error { return errNoUpstream }
func (s *embedded) prepareSplit(*plan.Statement, *rewrite.PrepareSplit) error {
	return errNoUpstream
}
func (s *embedded) hasStatement(string) (bool, error) { return false, nil }
func (s *embedded) hasPortal(string) (bool, error)    { return false, nil }
func (s *embedded) shadowStatement()                  {}
func (s *embedded) shadowPortal()                     {}
func (s *embedded) closePortal(*portal)               {}

var errNoUpstream = pgerr.Newf(codes.Internal, "a statement that needs an [upstream] was not refused")

func (s *embedded) forgetUnnamed() {
	s.objects.unnamed = nil
	if s.block.state != wire.FailedBlock {
		s.objects.unnamedPortal.state = portalAbsent
	}
}

func (s *embedded) source() drive.Source { return s.client.Direct() }

func (s *embedded) giveUp(error)    {}
func (s *embedded) settle()         {}
func (s *embedded) lastStatement()  {}
func (s *embedded) hangUpUpstream() {}
