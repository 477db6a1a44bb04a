package frontend

import (
	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/planner/plan"
	"raisinproxy/sqlfuncs/pgerr"
)

// This file bounds what a session may keep under names: prepared statements and
// portals. Those of the upstream are its own to bound.

const (
	// maxStatementBytes and maxPortalBytes bound what the statements and the portals of
	// one session take, except the newest: one of any size may be kept.
	maxStatementBytes = 16 << 20
	maxPortalBytes    = 64 << 20
	// overhead of a statement or a portal beyond its text or values.
	overhead = 1 << 10
	// planFactor is how much larger a plan is than its text, roughly.
	planFactor = 8
)

func statementBytes(st *plan.Statement) int { return overhead + planFactor*len(st.Text) }

func portalBytes(p *Portal) int {
	n := overhead
	for _, v := range p.Raw {
		n += len(v.Value)
	}
	for i := range p.Params {
		n += len(p.Params[i].Str)
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

func (s *Session) dropStatement(name string) {
	if st := s.Objects.Statements[name]; st != nil {
		s.Objects.statementBytes -= statementBytes(st)
		delete(s.Objects.Statements, name)
	}
}

// DropStatements drops all prepared statements with names.
func (s *Session) DropStatements() {
	clear(s.Objects.Statements)
	s.Objects.statementBytes = 0
}

// DropNamedPortal drops a portal, if there is one of that name.
func (s *Session) DropNamedPortal(name string) {
	if p := s.Objects.Portals[name]; p != nil {
		s.Handler.ClosePortal(p)
		s.Objects.portalBytes -= p.kept
		delete(s.Objects.Portals, name)
	}
}

func (s *Session) dropNamedPortals() {
	clear(s.Objects.Portals)
	s.Objects.portalBytes = 0
}
