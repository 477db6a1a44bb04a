package proxied

import (
	"bytes"
	"slices"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/pgwire/drive"
	"raisinproxy/pgwire/frontend"
	"raisinproxy/pgwire/upstream"
	"raisinproxy/pgwire/wire"
	"raisinproxy/planner/local"
	"raisinproxy/planner/plan"
	"raisinproxy/sqlfuncs/pgerr"
)

// This file is the way of a frame in front of an upstream: what is the upstream's goes on
// as it is. An answer of the proxy's has to wait for its turn: the upstream settles what it
// owes first, and says in which transaction the session is.

// Dispatch answers one frame, or sends it on.
func (s *session) Dispatch(m *wire.Message) drive.Verdict {
	switch {
	case s.Skipping && m.Kind != 'S' && m.Kind != 'X':
		return frontend.NeedInput
	case m.Kind != 'X' && (s.login.Replicates || s.up.Copying()):
		return s.relay(m.Kind, m.Body)
	}
	if v := s.settlePortals(m.Kind); v != frontend.OurTurn {
		return v
	}
	s.takeOverDropped()
	if isReserved(m.Portal) || isReserved(m.Statement) {
		if v := s.turn(false); v != frontend.OurTurn {
			return v
		}
		return s.FailPipeline(errReservedName)
	}
	switch m.Kind {
	case 'd', 'c', 'f':
		if !s.up.IsOpened() {
			return frontend.NeedInput // left of a COPY that failed
		}
	case 'Q':
		return s.routeQuery(m)
	case 'P':
		return s.routeParse(m)
	case 'B':
		ours := s.hasStatementOf(m)
		if !ours {
			if v := s.replacePortal(m.Portal, m.Statement); v != frontend.OurTurn {
				return v
			}
		}
		return s.routeBind(m, ours)
	case 'E':
		return s.routeNamed(m, s.hasPortalOf(m), s.Execute)
	case 'D':
		return s.routeNamed(m, s.hasObjectOf(m), s.Describe)
	case 'C':
		return s.routeNamed(m, s.hasObjectOf(m), s.Close)
	case 'S':
		return s.routeSync(m.Body)
	case 'H':
		s.SendAll()
		if len(m.Body) == 0 {
			return s.routeFlush()
		}
	case 'X':
		return frontend.Finished
	}
	return s.relay(m.Kind, m.Body)
}

// takeOverDropped drops the statements that are kept here if the upstream has dropped all of them.
func (s *session) takeOverDropped() {
	if n := s.up.Marks().Dropped; n != s.seen.Dropped {
		s.seen.Dropped = n
		s.DropStatements()
	}
}

var errReservedName = pgerr.Newf(codes.ReservedName, "names of statements and portals that begin with \"%s\" are reserved", upstream.Reserved)

// isReserved says whether a name is one of the proxy's own in the upstream, which a client may not touch.
func isReserved(name []byte) bool { return bytes.HasPrefix(name, []byte(upstream.Reserved)) }

// routeFlush sends a Flush on if there is anything of its pipeline to flush.
func (s *session) routeFlush() drive.Verdict {
	switch {
	case len(s.held.messages) > 0:
		return frontend.NeedTurn
	case s.up.IsOpen():
		s.up.Send('H', nil)
	}
	return frontend.NeedInput
}

// hasStatementOf says whether the prepared statement that a message names is kept here, hasPortalOf whether its portal is.
func (s *session) hasStatementOf(m *wire.Message) bool {
	if len(m.Statement) == 0 {
		return s.Objects.Unnamed != nil || s.shadowsStatement
	}
	return s.Objects.Statements[string(frontend.NameKey(s.known(m.Statement)))] != nil
}

func (s *session) hasPortalOf(m *wire.Message) bool {
	if len(m.Portal) == 0 {
		return s.Objects.UnnamedPortal.State != frontend.PortalAbsent || s.shadowsPortal
	}
	return s.Objects.Portals[string(frontend.NameKey(s.known(m.Portal)))] != nil
}

// hasObjectOf is one of them, for a message that names either.
func (s *session) hasObjectOf(m *wire.Message) bool {
	if m.Object == 'S' {
		return s.hasStatementOf(m)
	}
	return s.hasPortalOf(m)
}

// known is a name as names are kept here, in UTF-8.
func (s *session) known(raw []byte) []byte {
	if name, err := s.InUTF8(raw); err == nil {
		return name
	}
	return raw
}

// routeNamed answers a message about a statement or portal, if it is kept here.
func (s *session) routeNamed(m *wire.Message, ours bool, answer func(*wire.Message) drive.Verdict) drive.Verdict {
	if !ours {
		return s.relay(m.Kind, m.Body)
	}
	var v drive.Verdict
	if m.Kind == 'E' && s.asksUpstream(m) {
		v = s.turnToAsk()
	} else {
		v = s.turn(m.Kind == 'E' || m.Kind == 'B')
	}
	if v != frontend.OurTurn {
		return v
	}
	return answer(m)
}

// asksUpstream says whether an Execute runs a statement that the upstream has a part in, or
// that may have to ask it: anything but a query that is answered here.
func (s *session) asksUpstream(m *wire.Message) bool {
	p, err := s.PortalOf(s.known(m.Portal))
	return err == nil && (s.up.IsOpened() && mayAsk(p.Bound) || s.involved(p.Bound))
}

// relay sends a frame on as it is.
func (s *session) relay(kind byte, body []byte) drive.Verdict {
	if !s.up.IsOpened() {
		return frontend.NeedUpstream
	}
	s.procedures.note(&s.Message, s.View.Standard)
	if s.holding() {
		return s.hold(kind, body)
	}
	if v := s.closeFirst(kind); v != frontend.OurTurn {
		return v
	}
	s.up.Expect(kind)
	s.up.Send(kind, body)
	s.settingsStale = true
	if s.up.Unsent() > frontend.MaxPending {
		if _, head, ok, _ := s.Client.In.Peek(); ok {
			s.Client.In.Skip(head) // which need not be body
		}
		return frontend.NeedRoom
	}
	return frontend.NeedInput
}

// relayText sends a Query or a Parse on with another text between what stands before and after it.
func (s *session) relayText(kind byte, before []byte, text string, after []byte) drive.Verdict {
	if encoded, err := s.View.Text.ToClient(text); err == nil { // it came from there
		text = encoded
	}
	return s.relay(kind, slices.Concat(before, []byte(text), []byte{0}, after))
}

// routeQuery looks whether a simple query is answered here.
func (s *session) routeQuery(m *wire.Message) drive.Verdict {
	raw := m.Text
	if m.Bad != nil {
		return s.relay('Q', m.Body) // the upstream knows what is wrong with it
	}
	script, v := s.routeText(raw, plan.Options{})
	switch {
	case v != frontend.NeedInput:
		return v
	case script == nil:
		s.ForgetUnnamed()
		s.shadowsStatement, s.shadowsPortal = false, false // it drops the upstream's itself
		return s.relay('Q', m.Body)
	}
	if branch, ok := script.UseBranch(); ok && branch != "" {
		return s.relayText('Q', nil, useBranch(branch), nil)
	}
	if answer := s.answerByAsking(script); answer != nil {
		if v := s.turnToAsk(); v != frontend.OurTurn {
			return v
		}
		s.ForgetUnnamed()
		answer(script)
		return frontend.NeedInput
	}
	if v := s.turn(script.Calls || s.Executes(script)); v != frontend.OurTurn {
		return v
	}
	if !s.Blocking && s.up.IsOpened() && slices.ContainsFunc(script.Statements, mayAsk) {
		return frontend.NeedCall
	}
	if s.View.Text.Converts() {
		return s.Query(m)
	}
	return s.AnswerQuery(raw, script)
}

// answerByAsking is what answers a query that cannot be answered without the upstream; nil for any other.
func (s *session) answerByAsking(script *plan.Script) func(*plan.Script) {
	switch {
	case len(script.Statements) == 1 && s.involved(script.Statements[0]):
		return s.querySplit
	case len(script.Statements) > 1:
		return s.queryBatch
	case s.up.IsOpen():
		return s.queryInPipeline
	}
	return nil
}

// mayAsk says whether a statement that is answered here may have to ask the upstream: anything but a query.
func mayAsk(st *plan.Statement) bool {
	_, isSelect := st.Action.(*local.Select)
	return !isSelect
}

// ForgetUnnamed drops the unnamed statement and portal, as every simple query does, but the
// portal of a failed transaction. Those of the upstream, which gets no query, are there
// still.
func (s *session) ForgetUnnamed() {
	s.Objects.Unnamed, s.shadowsStatement = nil, s.up.IsOpened()
	if s.TxState() == wire.FailedBlock {
		return
	}
	s.ClosePortal(&s.Objects.UnnamedPortal)
	s.Objects.UnnamedPortal.State, s.shadowsPortal = frontend.PortalAbsent, s.up.IsOpened()
}

func (s *session) routeParse(m *wire.Message) drive.Verdict {
	if m.Bad != nil {
		return s.relay('P', m.Body)
	}
	name, raw, declared := m.Statement, m.Text, m.Types
	script, v := s.routeText(raw, plan.Options{Prepared: true, Types: declared})
	switch {
	case v != frontend.NeedInput:
		return v
	case script == nil && len(name) > 0 && s.hasStatementOf(m):
		if v := s.turnToAsk(); v != frontend.OurTurn {
			return v
		}
		// What is wrong with the text is told before the name.
		s.up.OpenPipeline()
		return s.FailPipeline(s.takenUnless(string(name), 0, upstream.Prepare(upstream.Probe, string(raw), wire.Oids(declared))))
	case script == nil:
		if len(name) == 0 {
			s.Objects.Unnamed, s.shadowsStatement = nil, false
		} else {
			s.up.NameStatement()
		}
		return s.relay('P', m.Body)
	}
	if branch, ok := script.UseBranch(); ok && branch != "" {
		return s.relayText('P', slices.Concat(name, []byte{0}), useBranch(branch), m.Rest)
	}
	if len(script.Statements) == 1 && frontend.SplitOf(script.Statements[0]) != nil && s.TxState() != wire.FailedBlock {
		if v := s.turnToAsk(); v != frontend.OurTurn {
			return v
		}
	} else if v := s.turn(false); v != frontend.OurTurn {
		return v
	}
	if len(name) > 0 && !s.Blocking && s.up.Marks().Named {
		return frontend.NeedCall // it is asked whether it has that name
	}
	return s.Parse(m)
}

// routeSync ends a pipeline: where it began.
func (s *session) routeSync(body []byte) drive.Verdict {
	if s.up.IsOpen() {
		if s.holding() {
			return s.hold('S', body)
		}
		// What becomes of the portals that are kept here is known when the upstream has answered: the pipeline
		// may have begun a transaction.
		s.Skipping, s.Tx.Pipelined = false, false
		return s.relay('S', body)
	}
	if s.up.IsOpened() {
		if settled, _ := s.up.Settled(); !settled {
			return frontend.NeedTurn
		}
		s.followTransaction()
	}
	s.Sync(body)
	return frontend.NeedInput
}
