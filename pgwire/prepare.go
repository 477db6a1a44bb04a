package pgwire

import (
	"errors"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/planner"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// This file is SQL's PREPARE and EXECUTE of statements that the upstream has a part in.
// They are kept here, as those of the protocol are, and under the same names.

// executeName is what an EXECUTE runs in the upstream to have its arguments computed.
const executeName = "_raisin_execute"

// involved says whether the upstream has a part in running a statement.
func (s *session) involved(st *planner.Statement) bool {
	if _, ok := st.Action.(*planner.PrepareMixed); ok {
		return true
	}
	target, err := s.target(st)
	return err == nil && mixed(target) != nil
}

// prepareMixed is PREPARE.
func (s *session) prepareMixed(st *planner.Statement, a *planner.PrepareMixed) error {
	s.up.openSeries()
	declared := a.Declared
	if a.Types.SQL != "" {
		found, err := s.askTypes(st, &a.Types)
		if err != nil {
			return err
		}
		declared = a.Declare(found)
	}
	known, err := s.probe(&planner.Statement{Action: a.Mixed, Text: st.Text, Standard: st.Standard, Mentions: true}, declared)
	if err != nil {
		return err
	}
	return s.keep(a.Name, known)
}

// askTypes has the upstream say which types the names in a PREPARE mean.
func (s *session) askTypes(st *planner.Statement, query *planner.Text) (types []datum.Type, err error) {
	sql, err := s.sql(st, query)
	if err != nil {
		return nil, err
	}
	fs, err := s.ask(
		&pgproto3.Close{ObjectType: 'S', Name: probeName},
		&pgproto3.Parse{Name: probeName, Query: sql},
		&pgproto3.Describe{ObjectType: 'S', Name: probeName})
	if err != nil {
		return nil, err
	}
	err = s.each(fs, func(kind byte, body []byte) error {
		switch kind {
		case 'E':
			return failure(body, query)
		case 't':
			types = readTypes(body)
		}
		return nil
	})
	return types, err
}

// openExecute makes a portal of EXECUTE one of the statement that it names, if the
// upstream has a part in that.
func (s *session) openExecute(p *portal) error {
	target, err := s.target(p.bound)
	if target == p.bound || err != nil || mixed(target) == nil {
		return nil // what is wrong is said elsewhere
	}
	last := p.bound
	for next := p.bound; next != target; next = s.statements[nameKey(next.Action.(*planner.Execute).Name)] {
		last = next
	}
	s.up.openSeries()
	if err := s.authorize(target); err != nil {
		return err
	}
	p.raw, err = s.executeArguments(last, target.Params)
	p.bound = target
	return err
}

// executeArguments has the upstream compute the arguments of an EXECUTE: it executes a
// statement that returns its parameters.
func (s *session) executeArguments(st *planner.Statement, types []datum.Type) (values []rawValue, err error) {
	if len(types) == 0 {
		return nil, nil
	}
	if err := st.Action.(*planner.Execute).CheckCount(types); err != nil {
		return nil, err
	}
	parameters := make([]string, len(types))
	for i := range parameters {
		parameters[i] = "$" + strconv.Itoa(i+1)
	}
	sql, shift := st.ExecuteAs(executeName)
	if st.Standard != s.standard {
		sql = planner.Portable(sql, st.Standard)
	}
	if sql, err = s.text.toClient(sql); err != nil {
		return nil, err
	}
	fs, err := s.ask(
		&pgproto3.Close{ObjectType: 'S', Name: executeName},
		&pgproto3.Parse{Name: executeName, Query: "SELECT " + strings.Join(parameters, ", "), ParameterOIDs: oids(types)},
		&pgproto3.Close{ObjectType: 'S', Name: argsName},
		&pgproto3.Parse{Name: argsName, Query: sql},
		&pgproto3.Bind{DestinationPortal: argsName, PreparedStatement: argsName},
		&pgproto3.Execute{Portal: argsName},
		&pgproto3.Close{ObjectType: 'P', Name: argsName})
	if err != nil {
		return nil, err
	}
	err = s.each(fs, func(kind byte, body []byte) error {
		switch kind {
		case 'E':
			err := refusal(body)
			if f, ok := errors.AsType[*upstreamError](err); ok && f.response.Position > 0 {
				f.response.Position += int32(st.Start - shift)
			}
			return err
		case 'D':
			for _, value := range readRow(body) {
				values = append(values, rawValue{format: textFormat, value: value})
			}
		}
		return nil
	})
	return values, err
}

// errExecuteWithin refuses what would run a statement of ours in the upstream.
var errExecuteWithin = pgerr.Newf(codes.FeatureNotSupported, "a prepared statement that calls a raisin_ function cannot be executed within another command").
	WithHint("Write the statement itself instead of EXECUTE.")
