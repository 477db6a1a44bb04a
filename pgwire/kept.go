package pgwire

import (
	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/planner/plan"
	"raisinproxy/sqlfuncs/pgerr"
)

// This file bounds what a session may keep under names: prepared statements and
// portals. Those of the upstream are its own to bound.

const (
	// maxStatementBytes and maxPortalBytes bound what the statements and the portals of
	// one session take, but for the newest: one of any size may be kept.
	maxStatementBytes = 16 << 20
	maxPortalBytes    = 64 << 20
	// overhead of a statement or a portal beyond its text or values.
	overhead = 1 << 10
	// planFactor is how much larger a plan is than its text, roughly.
	planFactor = 8
)

func statementBytes(st *plan.Statement) int { return overhead + planFactor*len(st.Text) }

func portalBytes(p *portal) int {
	n := overhead
	for _, v := range p.raw {
		n += len(v.Value)
	}
	for i := range p.params {
		n += len(p.params[i].Str)
	}
	return n
}

// room says whether another may be kept beside what takes so many bytes.
func room(kept, limit int, what, hint string) error {
	if kept <= limit {
		return nil
	}
	return pgerr.Newf(codes.ProgramLimitExceeded, "the %s of this session take more than %d bytes", what, limit).WithHint("%s", hint)
}

func (s *session) roomForStatement() error {
	return room(s.objects.statementBytes, maxStatementBytes, "prepared statements", "DEALLOCATE those that are not needed.")
}

func (s *session) roomForPortal() error {
	return room(s.objects.portalBytes, maxPortalBytes, "portals", "Close those that are not needed, or end the transaction.")
}

func (s *session) dropStatement(name string) {
	if st := s.objects.statements[name]; st != nil {
		s.objects.statementBytes -= statementBytes(st)
		delete(s.objects.statements, name)
	}
}

func (s *session) dropStatements() {
	clear(s.objects.statements)
	s.objects.statementBytes = 0
}

func (s *session) dropNamedPortal(name string) {
	if p := s.objects.portals[name]; p != nil {
		s.handler.ClosePortal(p)
		s.objects.portalBytes -= p.kept
		delete(s.objects.portals, name)
	}
}

func (s *session) dropNamedPortals() {
	clear(s.objects.portals)
	s.objects.portalBytes = 0
}
