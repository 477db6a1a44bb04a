package proxied

import (
	"unsafe"

	"raisinproxy/pgwire/frontend"
	"raisinproxy/pgwire/wire"
	"raisinproxy/planner/sqltext"
)

// This file knows which statements and portals of the upstream are CALL or DO. Such a one may
// commit what came before it and fail then, so that its error does not say that this is undone.

// procedures are the statements, and the portals, that are such a one.
type procedures struct {
	statements, portals map[string]bool
}

// maxProcedures bounds how many statements are told apart. Beyond it any may be such a one.
const maxProcedures = 1000

func (p *procedures) statement(name []byte) bool {
	return p.statements[string(frontend.NameKey(name))] || len(p.statements) >= maxProcedures
}

// note takes account of a message that goes upstream.
func (p *procedures) note(m *wire.Message, standard bool) {
	switch m.Kind {
	case 'P':
		p.parse(m.Statement, m.Text, standard)
	case 'B':
		p.bind(m.Portal, m.Statement)
	}
}

// parse: a name that is taken stays what it is, so only the unnamed statement changes.
func (p *procedures) parse(name, text []byte, standard bool) {
	switch {
	case sqltext.MayCommit(unsafe.String(unsafe.SliceData(text), len(text)), standard): // only looked at
		if p.statements == nil {
			p.statements = map[string]bool{}
		}
		if len(p.statements) < maxProcedures {
			p.statements[string(frontend.NameKey(name))] = true
		}
	case len(name) == 0:
		delete(p.statements, "")
	}
}

func (p *procedures) bind(portal, statement []byte) {
	if !p.statement(statement) {
		delete(p.portals, string(frontend.NameKey(portal)))
		return
	}
	if p.portals == nil || len(p.portals) >= maxProcedures {
		p.portals = map[string]bool{}
	}
	p.portals[string(frontend.NameKey(portal))] = true
}

// mayCommit says whether a message runs such a one.
func (p *procedures) mayCommit(m *wire.Message, standard bool) bool {
	switch m.Kind {
	case 'E':
		return p.portals[string(frontend.NameKey(m.Portal))]
	case 'Q':
		return sqltext.MayCommit(string(m.Text), standard)
	}
	return false
}
