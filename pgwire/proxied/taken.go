package proxied

import (
	"errors"
	"slices"

	"github.com/jackc/pgx/v5/pgproto3"

	"raisinproxy/pgwire/drive"
	"raisinproxy/pgwire/frontend"
	"raisinproxy/pgwire/upstream"
	"raisinproxy/pgwire/wire"
	"raisinproxy/planner/plan"
	"raisinproxy/sqlfuncs/datum"
)

// This file is about names that are taken: statements and portals of the proxy's and of the
// upstream's share theirs, as those of one PostgreSQL do.

// CheckStatement refuses a name that a prepared statement of the upstream's has.
func (s *session) CheckStatement(name string) error {
	if !s.up.Marks().Named {
		return nil
	}
	return s.checkName(name, "pg_catalog.pg_prepared_statements", frontend.ErrStatementExists(name))
}

// CheckPortal refuses a name that a portal of the upstream's has.
func (s *session) CheckPortal(name string) error {
	if !s.up.Marks().Portals {
		return nil
	}
	return s.checkName(name, "pg_catalog.pg_cursors", frontend.ErrPortalExists(name))
}

// checkName asks whether a name is taken there: the error then.
func (s *session) checkName(name, there string, taken error) error {
	encoded, err := s.View.Text.ToClient(frontend.NameKey(name))
	if err != nil {
		return err
	}
	sql := "SELECT 1 FROM " + there + " WHERE name = $1"
	found := false
	err = s.conv.Say(upstream.Part{
		Messages: upstream.Run(upstream.Control, sql, []uint32{uint32(datum.Text)}, []wire.RawValue{{Value: []byte(encoded)}}),
		Visit:    upstream.Each('D', func([]byte) { found = true }),
	})
	if err == nil && found {
		err = taken
	}
	return err
}

// takenUnless is the error of messages, whose positions are shift characters before those
// of the client's text; else that the name is taken.
func (s *session) takenUnless(name string, shift int, messages upstream.Messages) error {
	err := s.conv.Say(upstream.Part{Messages: messages, Fail: func(body []byte) error { return shifted(body, shift) }})
	if err == nil {
		err = frontend.ErrStatementExists(name)
	}
	return err
}

// shifted is an error about a part of the client's text, which begins at a character of it.
func shifted(body []byte, by int) error {
	err := upstream.ReadError(body)
	if f, ok := errors.AsType[*upstream.Error](err); ok && f.Response.Position > 0 {
		f.Response.Position += int32(by)
	}
	return err
}

// prepareTaken is the PREPARE of a statement of the upstream's under a name that is taken
// here.
func (s *session) prepareTaken(st *plan.Statement) error {
	prepare, shift := st.ExecuteAs(string(upstream.Probe))
	sql, err := s.sql(st, prepare)
	if err != nil {
		return err
	}
	return s.takenUnless(st.Prepares, st.Start-shift, slices.Concat(
		upstream.Messages{&pgproto3.Close{ObjectType: 'S', Name: string(upstream.Probe)}},
		upstream.Run(upstream.Arguments, sql, nil, nil)))
}

// routeBind is a Bind of a statement that is kept here or not, to a portal whose name no other has.
func (s *session) routeBind(m *wire.Message, ours bool) drive.Verdict {
	switch {
	case len(m.Portal) == 0:
	case !ours:
		s.up.NamePortal()
	case s.up.Marks().Portals && !s.Blocking:
		if v := s.turn(true); v != frontend.OurTurn {
			return v
		}
		return frontend.NeedCall // the upstream is asked whether it has that name
	}
	return s.routeNamed(m, ours, s.Bind)
}
