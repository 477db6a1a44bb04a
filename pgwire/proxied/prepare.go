package proxied

import (
	"slices"
	"strconv"
	"strings"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/pgwire/frontend"
	"raisinproxy/pgwire/upstream"
	"raisinproxy/pgwire/wire"
	"raisinproxy/planner/local"
	"raisinproxy/planner/plan"
	"raisinproxy/planner/rewrite"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// This file is SQL's PREPARE and EXECUTE of statements that the upstream has a part in.
// They are kept here, as those of the protocol are, and under the same names.

// involved says whether the upstream has a part in running a statement.
func (s *session) involved(st *plan.Statement) bool {
	if _, ok := st.Action.(*rewrite.PrepareSplit); ok {
		return true
	}
	target, by, err := s.Target(st)
	return err == nil && (frontend.SplitOf(target) != nil || computesUpstream(by, target)) || s.keeps(st.Prepares)
}

// computesUpstream says whether the arguments of the EXECUTE by which target runs are the
// upstream's to compute.
func computesUpstream(by, target *plan.Statement) bool {
	return by != nil && by.Action.(*local.Execute).NeedsUpstream(target.Params)
}

// PrepareSplit is PREPARE.
func (s *session) PrepareSplit(st *plan.Statement, a *rewrite.PrepareSplit) error {
	s.up.OpenPipeline()
	declared := a.Declared
	if a.Types.SQL != "" {
		found, err := s.askTypes(st, &a.Types)
		if err != nil {
			return err
		}
		declared = a.Declare(found)
	}
	known, err := s.Probe(&plan.Statement{Action: a.Split, Text: st.Text, Standard: st.Standard, Mentions: true}, declared)
	if err != nil {
		return err
	}
	return s.Keep(a.Name, known)
}

// askTypes has the upstream say which types the names in a PREPARE mean.
func (s *session) askTypes(st *plan.Statement, query *rewrite.Text) (types []datum.Type, err error) {
	sql, err := s.sql(st, query.SQL)
	if err != nil {
		return nil, err
	}
	err = s.conv.Say(upstream.Part{
		Messages: slices.Concat(upstream.Prepare(upstream.Probe, sql, nil), upstream.Describe(string(upstream.Probe))),
		Fail:     func(body []byte) error { return failure(body, query) },
		Visit:    upstream.Each('t', func(body []byte) { types = wire.ReadTypes(body) }),
	})
	return types, err
}

// OpenExecute makes a portal of EXECUTE one of the statement that it names, if the
// upstream has a part in that, or in computing its arguments.
func (s *session) OpenExecute(p *frontend.Portal) error {
	if !s.up.IsOpened() {
		return nil
	}
	target, by, err := s.Target(p.Bound)
	if err != nil || by == nil || frontend.SplitOf(target) == nil && !computesUpstream(by, target) {
		return nil // what is wrong is said elsewhere
	}
	s.up.OpenPipeline()
	if err := s.Authorize(target); err != nil {
		return err
	}
	if p.Raw, err = s.executeArguments(by, target.Params); err != nil {
		return err
	}
	p.Bound = target
	if frontend.SplitOf(target) == nil {
		p.Params, err = s.readValues(p.Raw, target.Params)
	}
	return err
}

// readValues reads parameters of types that are computed with here.
func (s *session) readValues(raw []wire.RawValue, types []datum.Type) ([]datum.Datum, error) {
	values := make([]datum.Datum, len(raw))
	for i, v := range raw {
		var err error
		if values[i], err = s.readText(types[i], v.Value); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// executeArguments has the upstream compute the arguments of an EXECUTE: it executes a
// statement that returns its parameters.
func (s *session) executeArguments(st *plan.Statement, types []datum.Type) (values []wire.RawValue, err error) {
	if len(types) == 0 {
		return nil, nil
	}
	if err := st.Action.(*local.Execute).CheckCount(types); err != nil {
		return nil, err
	}
	parameters := make([]string, len(types))
	for i := range parameters {
		parameters[i] = "$" + strconv.Itoa(i+1)
	}
	execute, shift := st.ExecuteAs(string(upstream.Executed))
	sql, err := s.sql(st, execute)
	if err != nil {
		return nil, err
	}
	err = s.conv.Say(upstream.Part{
		Messages: slices.Concat(
			upstream.Prepare(upstream.Executed, "SELECT "+strings.Join(parameters, ", "), wire.Oids(types)),
			upstream.Prepare(upstream.Arguments, sql, nil),
			upstream.Execute(upstream.Arguments, nil)),
		Fail: func(body []byte) error { return shifted(body, st.Start-shift) },
		Visit: upstream.Each('D', func(row []byte) {
			for _, value := range wire.ReadRow(row) {
				values = append(values, wire.RawValue{Format: wire.TextFormat, Value: value})
			}
		}),
	})
	return values, err
}

// errExecuteWithin refuses what would run a statement of the proxy's in the upstream.
var errExecuteWithin = pgerr.Newf(codes.FeatureNotSupported, "a prepared statement that calls a raisin_ function cannot be executed within another command").
	WithHint("Write the statement itself instead of EXECUTE.")
