package pgwire

import (
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/planner"
	"raisinproxy/sqlfuncs/pgerr"
)

// This file asks whether what a plan rests on is so. It is asked when a statement is
// prepared, and again before it runs: by then somebody may have made a volatile function,
// or a view, of what was none.

// certainName is the statement that asks.
const certainName = "_raisin_certain"

// textArray is the type of its parameters.
const textArray = 1009

// factReader reads whether facts hold, in their order.
type factReader struct {
	facts   []planner.Fact
	next    int
	refused error // of the first that does not hold
	foiled  bool
}

func (s *session) factReader(m *planner.Mixed) *factReader { return &factReader{facts: m.Facts} }

// sayFacts asks for the facts that a plan rests on, if there are any.
func (s *session) sayFacts(c *conversation, m *planner.Mixed, facts *factReader) error {
	if len(m.Facts) == 0 {
		return nil
	}
	var values []rawValue
	for _, parameter := range planner.FactParameters(m.Facts) {
		encoded, err := s.text.toClient(parameter)
		if err != nil {
			return err
		}
		values = append(values, rawValue{value: []byte(encoded)})
	}
	c.say(nil, facts.read,
		&pgproto3.Close{ObjectType: 'S', Name: certainName},
		&pgproto3.Close{ObjectType: 'P', Name: certainName},
		&pgproto3.Parse{Name: certainName, Query: planner.FactsSQL, ParameterOIDs: []uint32{textArray, textArray, textArray}},
		bindRaw(certainName, certainName, values, nil, nil),
		&pgproto3.Execute{Portal: certainName},
		&pgproto3.Close{ObjectType: 'P', Name: certainName})
	return nil
}

func (r *factReader) read(kind byte, body []byte) error {
	if kind != 'D' || r.next >= len(r.facts) {
		return nil
	}
	holds := string(readRow(body)[0]) == "t"
	refused := r.facts[r.next].Refused
	r.next++
	switch {
	case refused == nil:
		r.foiled = r.foiled || holds
	case !holds && r.refused == nil:
		r.refused = refused
	}
	return nil
}

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
