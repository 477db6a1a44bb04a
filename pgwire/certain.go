package pgwire

import (
	"slices"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/pgwire/wire"
	"raisinproxy/planner"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// This file asks whether what a plan rests on is so. It is asked when a statement is
// prepared, and again before it runs: by then somebody may have made a volatile function,
// or a view, of what was none.

// certainName begins the names of the statements that ask. They stay prepared, since
// planning them costs many times what executing them does.
const certainName = "_raisin_certain_"

// factReader reads whether facts hold.
type factReader struct {
	facts   []planner.Fact
	first   int   // of those that do not hold
	refused error // for that
	foiled  bool
}

func (s *session) factReader(m *planner.Mixed) *factReader {
	return &factReader{facts: m.Facts, first: len(m.Facts)}
}

// sayFacts asks for the facts that a plan rests on, if there are any.
func (s *session) sayFacts(c *conversation, m *planner.Mixed, facts *factReader) error {
	q := &m.FactQuery
	if q.SQL == "" {
		return nil
	}
	values, types := make([]wire.RawValue, len(q.Parameters)), make([]uint32, len(q.Parameters))
	for i, parameter := range q.Parameters {
		encoded, err := s.text.ToClient(parameter)
		if err != nil {
			return err
		}
		values[i], types[i] = wire.RawValue{Value: []byte(encoded)}, uint32(datum.Text)
	}
	s.say(c, certainName+q.Name, q.SQL, values, types, func(row [][]byte) {
		for i, column := range row[:len(m.Facts)] {
			facts.note(i, string(column) == "t")
		}
	})
	return nil
}

// say asks a question of ours that has one row as its answer, by a statement that stays
// prepared.
func (s *session) say(c *conversation, name, sql string, values []wire.RawValue, types []uint32, answer func(row [][]byte)) {
	messages := s.asking.drop(name)
	if !s.asking.isPrepared(name, s.up) {
		messages = append(messages, &pgproto3.Close{ObjectType: 'S', Name: name}, &pgproto3.Parse{Name: name, Query: sql, ParameterOIDs: types})
	}
	c.say(nil, func(kind byte, body []byte) error {
		switch kind {
		case '1':
			s.asking.prepared(name, s.up)
		case 'D':
			answer(wire.ReadRow(body))
		}
		return nil
	}, append(messages,
		&pgproto3.Close{ObjectType: 'P', Name: name},
		wire.BindRaw(name, name, values, nil, nil),
		&pgproto3.Execute{Portal: name},
		&pgproto3.Close{ObjectType: 'P', Name: name})...)
}

func (r *factReader) note(fact int, holds bool) {
	refused := r.facts[fact].Refused
	switch {
	case refused == nil:
		r.foiled = r.foiled || holds
	case !holds && fact < r.first:
		r.first, r.refused = fact, refused
	}
}

// asking are the statements that a session keeps prepared for its own questions.
type asking struct {
	names []string // the newest last
	up    *relay
	drops int64 // how often the upstream had dropped all statements when they were prepared
}

// maxAsking bounds how many are kept. Statements of the same form share one.
const maxAsking = 64

func (a *asking) isPrepared(name string, up *relay) bool {
	return slices.Contains(a.names, name) && a.up == up && a.drops == up.marks().Dropped
}

func (a *asking) prepared(name string, up *relay) {
	if drops := up.marks().Dropped; a.up != up || a.drops != drops {
		*a = asking{up: up, drops: drops}
	}
	a.names = append(a.names, name)
}

// drop makes room for another.
func (a *asking) drop(name string) []pgproto3.FrontendMessage {
	if len(a.names) < maxAsking || slices.Contains(a.names, name) {
		return nil
	}
	oldest := a.names[0]
	a.names = a.names[1:]
	return []pgproto3.FrontendMessage{&pgproto3.Close{ObjectType: 'S', Name: oldest}}
}

// forget is called when one is not there that should be: a function of the client's has
// dropped all statements, for example.
func (a *asking) forget() { a.names = nil }

// runFoiled runs a statement that is certain to fail before PostgreSQL would call
// anything, so that the error is PostgreSQL's own. Nothing was called for it: that it
// succeeds must not be seen.
func (s *session) runFoiled(p *portal, opening []pgproto3.FrontendMessage) error {
	fs, err := s.ask(append(opening, &pgproto3.Execute{Portal: p.upstream, MaxRows: 1})...)
	if err != nil {
		return err
	}
	return s.each(fs, func(kind byte, body []byte) error {
		switch kind {
		case 'E':
			return s.fetchFailure(p, body)
		case 'C', 's', 'I':
			return pgerr.Newf(codes.Internal, "a statement succeeded that was certain to fail, so that its calls were not made")
		}
		return nil
	})
}
