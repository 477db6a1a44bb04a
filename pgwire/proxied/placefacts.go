package proxied

import (
	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/pgwire/frontend"
	"raisinproxy/pgwire/upstream"
	"raisinproxy/pgwire/wire"
	"raisinproxy/planner/place"
	"raisinproxy/planner/plan"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// This file asks whether what a plan rests on, its place.Facts, is so. (What is true of the session
// and calls depend on is in callsettings.go.) It is asked when a statement is
// prepared, and again before it runs: by then somebody may have made a volatile function,
// or a view, of what was none.

// factReader reads whether facts hold.
type factReader struct {
	facts   []place.Fact
	first   int   // of those that do not hold
	refused error // for that
	foiled  bool
}

// ask asks for the facts that a plan rests on, if there are any.
func (s *session) ask(asked []place.Fact, q *place.FactQuery) (*factReader, []upstream.Part, error) {
	facts := &factReader{facts: asked, first: len(asked)}
	if q.SQL == "" {
		return facts, nil, nil
	}
	values, types := make([]wire.RawValue, len(q.Parameters)), make([]uint32, len(q.Parameters))
	for i, parameter := range q.Parameters {
		encoded, err := s.View.Text.ToClient(parameter)
		if err != nil {
			return nil, nil, err
		}
		values[i], types[i] = wire.RawValue{Value: []byte(encoded)}, uint32(datum.Text)
	}
	return facts, []upstream.Part{s.conv.Ask("certain_"+q.Name, q.SQL, values, types, func(row [][]byte) {
		for i, column := range row[:len(asked)] {
			facts.note(i, string(column) == "t")
		}
	})}, nil
}

// chooseViews is a statement of which it is known what the relations are that it reads by the
// names of the proxy's functions: the plan that is right for these.
func (s *session) chooseViews(st *plan.Statement) (*plan.Statement, error) {
	views := frontend.SplitOf(st).Views
	if views == nil {
		return st, nil
	}
	s.up.OpenPipeline()
	facts, questions, err := s.ask(views.Facts, &views.FactQuery)
	if err == nil {
		err = s.conv.Say(questions...)
	}
	if err != nil {
		return nil, err
	}
	split, refused := views.Plan(facts.refused == nil)
	if refused != nil {
		return nil, refused
	}
	chosen := *st
	chosen.Action = split
	return &chosen, nil
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

// runFoiled runs a statement that is certain to fail before PostgreSQL would call
// anything, so that the error is PostgreSQL's own. Nothing was called for it: that it
// succeeds must not be seen.
func (s *session) runFoiled(p *frontend.Portal, opening upstream.Messages) error {
	return s.conv.Say(upstream.Part{
		Messages: append(opening, upstream.Fetch(p.Upstream, 1)...),
		Fail:     func(body []byte) error { return s.fetchFailure(p, body) },
		Visit: func(kind byte, _ []byte) error {
			switch kind {
			case 'C', 's', 'I':
				return pgerr.Newf(codes.Internal, "a statement succeeded that was certain to fail, so that its calls were not made")
			}
			return nil
		},
	})
}
