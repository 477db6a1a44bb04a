package pgwire

import (
	"raisinproxy/planner"
	"raisinproxy/sqlfuncs/datum"

	"raisinproxy/pgwire/wire"

	"github.com/jackc/pgx/v5/pgproto3"
)

// This file asks the upstream within a series of ours, unseen by the client, and first of
// all what a statement means: the types of its parameters and its columns.

// probe asks the upstream what a statement means. The result is the statement with the
// types of its parameters and its columns.
func (s *session) probe(st *planner.Statement, declared []datum.Type) (*planner.Statement, error) {
	known, _, err := s.probeFacts(st, declared)
	return known, err
}

// probeFacts is probe that also says what the facts are that the statement rests on. One
// that does not hold is an error, but after whatever the upstream finds wrong.
func (s *session) probeFacts(st *planner.Statement, declared []datum.Type) (*planner.Statement, *factReader, error) {
	m := mixed(st)
	sql, err := s.sql(st, &m.Probe)
	if err != nil {
		return nil, nil, err
	}
	s.up.openSeries()
	known := *st
	known.Columns = nil
	var c conversation
	c.say(&m.Probe, func(kind byte, body []byte) error {
		switch kind {
		case 't':
			known.Params = wire.ReadTypes(body)
		case 'T':
			if m.Copy { // it returns data, not rows
				return nil
			}
			known.Described = append([]byte(nil), body...)
			known.Columns = wire.ReadColumns(body)
		}
		return nil
	},
		&pgproto3.Close{ObjectType: 'S', Name: probeName},
		&pgproto3.Parse{Name: probeName, Query: sql, ParameterOIDs: wire.Oids(declared)},
		&pgproto3.Describe{ObjectType: 'S', Name: probeName})
	facts := s.factReader(m)
	if err := s.sayFacts(&c, m, facts); err != nil {
		return nil, nil, err
	}
	switch err := s.interview(&c); {
	case facts.refused == nil && err != nil:
		return nil, nil, err
	case m.Refused != nil:
		return nil, nil, m.Refused
	case facts.refused != nil:
		return nil, nil, facts.refused
	}
	return &known, facts, nil
}

// askWhetherFine asks for nothing but what is wrong with messages.
func (s *session) askWhetherFine(messages ...pgproto3.FrontendMessage) error {
	fs, err := s.ask(messages...)
	if err != nil {
		return err
	}
	return s.each(fs, func(kind byte, body []byte) error {
		if kind == 'E' {
			return refusal(body)
		}
		return nil
	})
}
