package proxied

import (
	"raisinproxy/pgwire/frontend"
	"raisinproxy/pgwire/upstream"
	"raisinproxy/pgwire/wire"
	"raisinproxy/planner/plan"
	"raisinproxy/sqlfuncs/datum"
	"slices"
)

// This file asks the upstream within a pipeline of the proxy's, unseen by the client, and first of
// all what a statement means: the types of its parameters and its columns.

// Probe asks the upstream what a statement means. The result is the statement with the
// types of its parameters and its columns.
func (s *session) Probe(st *plan.Statement, declared []datum.Type) (*plan.Statement, error) {
	known, _, err := s.probeFacts(st, declared)
	return known, err
}

// probeFacts is Probe that also says what the facts are that the statement rests on. One
// that does not hold is an error, but after whatever the upstream finds wrong.
func (s *session) probeFacts(st *plan.Statement, declared []datum.Type) (*plan.Statement, *factReader, error) {
	st, err := s.chooseViews(st)
	if err != nil {
		return nil, nil, err
	}
	m := frontend.SplitOf(st)
	sql, err := s.sql(st, m.Probe.SQL)
	if err != nil {
		return nil, nil, err
	}
	s.up.OpenPipeline()
	known := *st
	known.Columns = nil
	facts, questions, err := s.ask(m.Facts, &m.FactQuery)
	if err != nil {
		return nil, nil, err
	}
	probe := upstream.Part{
		Messages: slices.Concat(upstream.Prepare(upstream.Probe, sql, wire.Oids(declared)), upstream.Describe(string(upstream.Probe))),
		Fail:     func(body []byte) error { return failure(body, &m.Probe) },
		Visit: func(kind byte, body []byte) error {
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
	}
	switch err := s.conv.Say(append([]upstream.Part{probe}, questions...)...); {
	case facts.refused == nil && err != nil:
		return nil, nil, err
	case m.Refused != nil:
		return nil, nil, m.Refused
	case facts.refused != nil:
		return nil, nil, facts.refused
	}
	return &known, facts, nil
}
