package pgwire

import (
	"slices"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/pgwire/drive"
	"raisinproxy/pgwire/settings"
	"raisinproxy/pgwire/wire"
	"raisinproxy/planner/local"
	"raisinproxy/planner/plan"
	"raisinproxy/planner/rewrite"
	"raisinproxy/sqlfuncs/pgerr"
)

// query answers a simple query: all statements of a text, in one implicit
// transaction unless they say otherwise, up to the first error.
func (s *session) query(m *wire.Message) drive.Verdict {
	s.refresh() // before the text is read, which depends on settings
	if m.Bad != nil {
		s.fail(m.Bad)
		s.ready()
		return needInput
	}
	text, err := s.view.text.FromClient(m.Text)
	if err != nil {
		s.fail(err)
		s.ready()
		return needInput
	}
	script, ok := s.lookup(s.read(text), plan.Options{})
	if !ok {
		return needPlan
	}
	return s.answerQuery(text, script)
}

// answerQuery answers a simple query whose plan is there.
func (s *session) answerQuery(text []byte, script *plan.Script) drive.Verdict {
	if !s.mayWait(script.Calls || s.executes(script)) || !s.mayCompute(script.Statements...) {
		s.planned = planned{text: s.read(text).Keep(), options: plan.Options{}, script: script}
		return needCall
	}
	s.handler.ForgetUnnamed()
	s.runScript(script)
	if !s.over {
		s.ready()
	}
	return needInput
}

func (s *session) runScript(script *plan.Script) {
	if script.Err != nil {
		s.announce(script)
		s.fail(script.Err)
		return
	}
	if len(script.Statements) == 0 {
		s.client.Out.EmptyQueryResponse()
		return
	}
	s.tx.batch = len(script.Statements) > 1
	s.announce(script)
	defer func() { s.tx.batch = false }()
	for _, st := range script.Statements {
		if err := s.runStatement(st); err != nil {
			s.fail(err)
			return
		}
	}
	s.handler.EndImplicit()
}

// runStatement runs one statement of a simple query.
func (s *session) runStatement(st *plan.Statement) error {
	if s.txState() == wire.FailedBlock && !st.EndsTransaction() {
		return errAborted
	}
	s.beginImplicit()
	s.refresh()
	if err := s.wrong(st); err != nil {
		return err
	}
	if err := s.authorize(st); err != nil {
		return err
	}
	s.objects.simple.reset("", st, len(s.tx.savepoints))
	return s.runPortal(&s.objects.simple, 0, true)
}

// wrong is what is wrong with a statement beyond its syntax.
func (s *session) wrong(st *plan.Statement) error {
	if err := s.handler.Refuses(st); err != nil {
		return err
	}
	switch {
	case st.Mentions && s.view.text.Unsafe:
		return wire.ErrEncoding
	case st.Err != nil && st.First != nil && st.Err.Code[:2] == classData && !s.caller.Named():
		// A value was looked at to find this error.
		return s.env.Functions.Authorize(&s.caller, st.First)
	case st.Err != nil:
		return st.Err
	case st.Foreign != nil && st.Database != s.caller.Scope.Repository:
		return st.Foreign
	}
	return nil
}

// isPrepared says whether a statement is about a prepared one that calls our functions.
func isPrepared(a plan.Action) bool {
	switch a.(type) {
	case *plan.Prepare, *rewrite.PrepareSplit, *local.Execute, *plan.Deallocate:
		return true
	}
	return false
}

// errEmptyBranch: an upstream takes any value for a setting that it does not know.
var errEmptyBranch = pgerr.Newf(codes.InvalidParameterValue, "invalid value for parameter \"%s\": \"\"", settings.BranchParameter)

func isEmptyBranch(st *plan.Statement) bool {
	set, ok := st.Action.(*plan.Set)
	return ok && set.EmptiesBranch()
}

// classData is the class of the errors about values.
const classData = "22"

// executes says whether a script runs a prepared statement, which may hold calls.
func (s *session) executes(script *plan.Script) bool {
	return slices.ContainsFunc(script.Statements, s.calls)
}
