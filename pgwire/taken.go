package pgwire

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/pgwire/wire"
	"raisinproxy/planner"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// This file is about names that are taken: statements and portals of ours and of the
// upstream's share theirs, as those of one PostgreSQL do.

// Where the upstream lists what has a name.
const (
	statementsThere = "pg_catalog.pg_prepared_statements"
	portalsThere    = "pg_catalog.pg_cursors"
)

// upstreamHas says whether the upstream has a prepared statement or a portal of that name.
func (s *session) upstreamHas(name, there string) (found bool, err error) {
	if !s.blocking {
		err = s.waiting(func(context.Context) error {
			found, err = s.askForName(name, there)
			return err
		})
		return found, err
	}
	return s.askForName(name, there)
}

func (s *session) askForName(name, there string) (found bool, err error) {
	encoded, err := s.text.ToClient(name)
	if err != nil {
		return false, err
	}
	ask := s.ask
	if !s.up.inSeries() {
		ask = s.askAlone
	}
	fs, err := ask(
		&pgproto3.Close{ObjectType: 'S', Name: factsName},
		&pgproto3.Parse{Name: factsName, Query: "SELECT 1 FROM " + there + " WHERE name = $1", ParameterOIDs: []uint32{uint32(datum.Text)}},
		&pgproto3.Bind{DestinationPortal: factsName, PreparedStatement: factsName, Parameters: [][]byte{[]byte(encoded)}},
		&pgproto3.Execute{Portal: factsName},
		&pgproto3.Close{ObjectType: 'P', Name: factsName},
		&pgproto3.Close{ObjectType: 'S', Name: factsName})
	if err != nil {
		return false, err
	}
	err = s.each(fs, func(kind byte, body []byte) error {
		found = found || kind == 'D'
		if kind == 'E' {
			return refusal(body)
		}
		return nil
	})
	return found, err
}

// parseTaken is the Parse of a text of the upstream's under a name that is taken here. What
// is wrong with the text is told first.
func (s *session) parseTaken(name string, text []byte, declared []datum.Type) error {
	s.up.openSeries()
	fs, err := s.ask(
		&pgproto3.Close{ObjectType: 'S', Name: probeName},
		&pgproto3.Parse{Name: probeName, Query: string(text), ParameterOIDs: wire.Oids(declared)})
	if err != nil {
		return err
	}
	return s.takenUnless(fs, name, 0)
}

// takenUnless is the error in the answers, whose positions are shift characters before those
// of the client's text; else that the name is taken.
func (s *session) takenUnless(fs frames, name string, shift int) error {
	err := s.each(fs, func(kind byte, body []byte) error {
		if kind != 'E' {
			return nil
		}
		err := refusal(body)
		if f, ok := errors.AsType[*upstreamError](err); ok && f.response.Position > 0 {
			f.response.Position += int32(shift)
		}
		return err
	})
	if err == nil {
		err = errStatementExists(name)
	}
	return err
}

// prepareTaken is the PREPARE of a statement of the upstream's under a name that is taken
// here.
func (s *session) prepareTaken(st *planner.Statement) error {
	sql, shift := st.ExecuteAs(probeName)
	if st.Standard != s.standard {
		sql = planner.Portable(sql, st.Standard)
	}
	sql, err := s.text.ToClient(sql)
	if err != nil {
		return err
	}
	fs, err := s.ask(append([]pgproto3.FrontendMessage{&pgproto3.Close{ObjectType: 'S', Name: probeName}},
		statement(argsName, sql)...)...)
	if err != nil {
		return err
	}
	return s.takenUnless(fs, st.Prepares, st.Start-shift)
}

// routeBind is a Bind of a statement of ours or not, to a portal whose name no other of ours
// has.
func (s *session) routeBind(portal, body []byte, ours bool) verdict {
	switch {
	case len(portal) == 0 || s.up == nil:
	case !ours:
		s.up.namePortal()
	case s.up.marks().Portals && !s.blocking:
		if v := s.turn(true); v != ourTurn {
			return v
		}
		return needCall // the upstream is asked whether it has that name
	}
	return s.routeNamed('B', body, ours, s.bind)
}

func errPortalExists(name []byte) error {
	return pgerr.Newf(codes.DuplicateCursor, "cursor \"%s\" already exists", name)
}
