package pgwire

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/pgwire/settings"
	"raisinproxy/pgwire/wire"
	"raisinproxy/planner/plan"
	"raisinproxy/planner/rewrite"
	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// This file is what a session tells the plans that it evaluates, and the commands
// that they leave to it.

var _ plan.Env = (*session)(nil)

// Call evaluates one call.
func (s *session) Call(f *sqlfuncs.Function, args []datum.Datum) (sqlfuncs.Row, error) {
	s.handler.BeforeCall()
	if s.view.text.Unsafe { // since the statement was prepared
		return sqlfuncs.Row{}, wire.ErrEncoding
	}
	if s.caller.Scope.Branch == "" { // the upstream takes that for a setting; nothing may be taken for another branch
		return sqlfuncs.Row{}, errEmptyBranch
	}
	ctx := s.callCtx
	if !s.deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, s.deadline, errStatementTimeout)
		defer cancel()
	}
	row, err := s.env.Functions.Call(ctx, &s.caller, f, args, s.notify)
	if err != nil {
		return row, err
	}
	if e, ok := sqlfuncs.EffectOf(&s.caller, f, args, &row); ok {
		s.unit.note(e)
	}
	return row, nil
}

// Info answers the session information functions.
func (s *session) Info(kind plan.InfoKind) datum.Datum {
	switch kind {
	case plan.InfoVersion:
		return datum.OfText(s.version())
	case plan.InfoCurrentUser, plan.InfoSessionUser:
		return datum.OfText(s.caller.User)
	case plan.InfoDatabase:
		return datum.OfText(s.caller.Scope.Repository)
	case plan.InfoSchema:
		return s.schema()
	}
	return datum.OfInt(int64(s.key.PID))
}

// version has the form of PostgreSQL's, which drivers take apart.
func (s *session) version() string {
	number, _ := s.Setting("server_version")
	return fmt.Sprintf("PostgreSQL %s on %s-%s, compiled by %s, 64-bit", number, runtime.GOARCH, runtime.GOOS, runtime.Version())
}

// schema is the first schema of the search path that exists: public is the only
// one here beside the catalogue.
func (s *session) schema() datum.Datum {
	path, _ := s.Setting("search_path")
	for name := range strings.SplitSeq(path, ",") {
		name = strings.Trim(strings.TrimSpace(name), `"`)
		if name == "public" || name == "pg_catalog" {
			return datum.OfText(name)
		}
	}
	return datum.Null
}

// Now answers the time functions. A moment stays what it was when it was first
// asked for, as long as its transaction or statement lasts.
func (s *session) Now(kind plan.TimeKind) time.Time {
	if kind == plan.ClockTime {
		return s.env.Now()
	}
	if s.tx.now.IsZero() {
		s.tx.now = s.env.Now()
	}
	if s.tx.started.IsZero() {
		s.tx.started = s.tx.now
	}
	if kind == plan.TransactionTime {
		return s.tx.started
	}
	return s.tx.now
}

// Setting reads a run-time parameter.
func (s *session) Setting(name string) (string, bool) {
	value, ok, err := s.view.vars.Lookup(name)
	return value, ok && err == nil
}

// Settings are the rows of pg_settings.
func (s *session) Settings() []plan.Setting {
	var all []plan.Setting
	for _, d := range s.view.vars.Describe() {
		all = append(all, plan.Setting{
			Name: d.Name, Setting: d.Setting, Unit: d.Unit, Description: d.Text, Context: d.Context, Type: d.Kind, Min: d.Min, Max: d.Max, Enum: d.Enum,
		})
	}
	return all
}

// SetSetting is set_config.
func (s *session) SetSetting(name, value string, local bool) (string, error) {
	if err := s.view.vars.Set(name, value, local); err != nil {
		return "", err
	}
	s.passNotices()
	return s.view.vars.Show(name)
}

// passNotices sends what a change of a setting has to say.
func (s *session) passNotices() {
	for _, n := range s.view.vars.TakeNotices() {
		s.report(n)
	}
}

// show makes the rows of SHOW.
func (s *session) show(action plan.Action) ([][]datum.Datum, error) {
	if show, ok := action.(*plan.Show); ok {
		value, err := s.view.vars.Show(show.Name)
		if err != nil {
			return nil, err
		}
		return [][]datum.Datum{{datum.OfText(value)}}, nil
	}
	var rows [][]datum.Datum
	for _, r := range s.view.vars.All() {
		rows = append(rows, []datum.Datum{datum.OfText(r.Name), datum.OfText(r.Setting), datum.OfText(r.Description)})
	}
	return rows, nil
}

// command runs what returns no rows, and returns its tag; "" if it was sent already.
func (s *session) command(st *plan.Statement) (tag string, err error) {
	switch a := st.Action.(type) {
	case *plan.Transaction:
		return s.handler.ControlTransaction(st, a)
	case *plan.Set:
		return a.Tag, s.set(a)
	case *plan.ResetAll:
		s.view.vars.ResetAll()
		return "RESET", nil
	case *plan.Prepare:
		return "PREPARE", s.keep(a.Name, a.Statement)
	case *rewrite.PrepareSplit:
		return "PREPARE", s.handler.PrepareSplit(st, a)
	case *plan.Deallocate:
		return s.deallocate(a.Name)
	case *plan.Discard:
		return a.Tag, s.discard(a.Tag)
	case *plan.CloseCursor:
		return s.closeCursor(a.Name)
	case *plan.NoOp:
		return a.Tag, nil
	}
	return "", pgerr.Newf(codes.Internal, "a statement of kind %T cannot be run", st.Action)
}

func (s *session) set(a *plan.Set) error {
	if a.TransactionOnly && s.txState() == wire.ImplicitTransaction && !s.tx.batch {
		s.warn(codes.NoActiveSQLTransaction, a.Warn+" can only be used in transaction blocks")
	}
	for _, m := range a.Modes {
		var err error
		switch {
		case m.Default && a.Tag == "RESET":
			err = s.view.vars.Reset(m.Name)
		case m.Default:
			err = s.view.vars.SetToDefault(m.Name, a.Local)
		default:
			err = s.setMode(m, a.Local)
		}
		if err != nil {
			return err
		}
	}
	s.passNotices()
	return nil
}

// setMode sets one parameter to what SET lists for it.
func (s *session) setMode(m plan.Mode, local bool) error {
	args := make([]settings.Argument, len(m.Values))
	for i, v := range m.Values {
		args[i] = settings.Argument{Text: v.Text, Number: v.Number}
	}
	value, err := s.view.vars.Flatten(m.Name, args)
	if err != nil {
		return err
	}
	return s.view.vars.Set(m.Name, value, local)
}

func (s *session) deallocate(name string) (tag string, err error) {
	if name == "" {
		s.dropStatements()
		return "DEALLOCATE ALL", nil
	}
	if _, err := s.statement(name); err != nil {
		return "", err
	}
	s.dropStatement(nameKey(name))
	return "DEALLOCATE", nil
}

func (s *session) discard(tag string) error {
	if tag != "DISCARD ALL" {
		return nil // there are no plans, sequences or temporary tables of a session here
	}
	if s.txState() == wire.InBlock || s.tx.batch {
		return pgerr.Newf(codes.ActiveSQLTransaction, "DISCARD ALL cannot run inside a transaction block")
	}
	if s.tx.pipelined {
		return pgerr.Newf(codes.ActiveSQLTransaction, "DISCARD ALL cannot be executed within a pipeline")
	}
	s.dropNamedPortals()
	s.dropStatements()
	if err := s.view.vars.Reset("session_authorization"); err != nil {
		return err
	}
	s.view.vars.ResetAll()
	return nil
}

func (s *session) closeCursor(name string) (tag string, err error) {
	if name == "" {
		s.dropNamedPortals()
		return "CLOSE CURSOR ALL", nil
	}
	if s.objects.portals[name] == nil {
		return "", pgerr.Newf(codes.InvalidCursorName, "cursor \"%s\" does not exist", name)
	}
	s.dropNamedPortal(name)
	return "CLOSE CURSOR", nil
}
