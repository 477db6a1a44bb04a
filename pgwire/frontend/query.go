package frontend

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

// Query answers a simple query: all statements of a text, in one implicit
// transaction unless they say otherwise, up to the first error.
func (s *Session) Query(m *wire.Message) drive.Verdict {
	s.Refresh() // before the text is read, which depends on settings
	text, err := s.View.Text.FromClient(m.Text)
	if m.Bad != nil {
		err = m.Bad
	}
	if err != nil {
		s.Fail(err)
		s.Ready()
		return NeedInput
	}
	script, ok := s.Lookup(s.Read(text), plan.Options{})
	if !ok {
		return NeedPlan
	}
	return s.AnswerQuery(text, script)
}

// AnswerQuery answers a simple query whose plan is there.
func (s *Session) AnswerQuery(text []byte, script *plan.Script) drive.Verdict {
	if !s.mayWait(script.Calls || s.Executes(script), nil, script.Statements...) || !s.mayCompute(script.Statements...) {
		s.planned = planned{text: s.Read(text).Keep(), options: plan.Options{}, script: script}
		return NeedCall
	}
	s.Handler.ForgetUnnamed()
	s.RunScript(script)
	if !s.Over {
		s.Ready()
	}
	return NeedInput
}

// RunScript runs the statements of a simple query, up to the first error, which it answers.
func (s *Session) RunScript(script *plan.Script) {
	if script.Err != nil {
		s.ReportAll(script.Notices)
		s.Fail(script.Err)
		return
	}
	if len(script.Statements) == 0 {
		s.Client.Out.EmptyQueryResponse()
		return
	}
	s.Tx.batch = len(script.Statements) > 1
	s.ReportAll(script.Notices)
	defer func() { s.Tx.batch = false }()
	for _, st := range script.Statements {
		if err := s.RunStatement(st); err != nil {
			s.Fail(err)
			return
		}
	}
	s.Handler.EndImplicit()
}

// RunStatement runs one statement of a simple query.
func (s *Session) RunStatement(st *plan.Statement) error {
	if s.TxState() == wire.FailedBlock && !st.EndsTransaction() {
		return ErrAborted
	}
	s.BeginImplicit()
	s.Refresh()
	if err := s.Wrong(st); err != nil {
		return err
	}
	if err := s.Authorize(st); err != nil {
		return err
	}
	s.Objects.Simple.Reset("", st, len(s.Tx.savepoints))
	return s.RunPortal(&s.Objects.Simple, 0, true)
}

// Wrong is what is wrong with a statement beyond its syntax.
func (s *Session) Wrong(st *plan.Statement) error {
	if err := s.Handler.Refuses(st); err != nil {
		return err
	}
	switch {
	case st.Mentions && s.View.Text.Unsafe:
		return wire.ErrEncoding
	case st.Err != nil && st.First != nil && st.Err.Code[:2] == classData && !s.Caller.Named():
		// A value was looked at to find this error.
		return s.Env.Functions.Authorize(&s.Caller, st.First)
	case st.Err != nil:
		return st.Err
	case st.Foreign != nil && st.Database != s.Caller.Scope.Repository:
		return st.Foreign
	}
	return nil
}

// IsPrepared says whether a statement is about a prepared one that calls raisin_ functions.
func IsPrepared(a plan.Action) bool {
	switch a.(type) {
	case *plan.Prepare, *rewrite.PrepareSplit, *local.Execute, *plan.Deallocate:
		return true
	}
	return false
}

// ErrEmptyBranch refuses a branch without a name. An upstream takes any value for a setting that it does not know.
var ErrEmptyBranch = pgerr.Newf(codes.InvalidParameterValue, "invalid value for parameter \"%s\": \"\"", settings.BranchParameter)

// IsEmptyBranch says whether a statement chooses no branch at all.
func IsEmptyBranch(st *plan.Statement) bool {
	set, ok := st.Action.(*plan.Set)
	return ok && set.EmptiesBranch()
}

// classData is the class of the errors about values.
const classData = "22"

// Executes says whether a script runs a prepared statement, which may hold calls.
func (s *Session) Executes(script *plan.Script) bool {
	return slices.ContainsFunc(script.Statements, s.calls)
}
