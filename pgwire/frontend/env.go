package frontend

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/pgwire/settings"
	"raisinproxy/pgwire/upstream"
	"raisinproxy/pgwire/wire"
	"raisinproxy/planner/plan"
	"raisinproxy/planner/rewrite"
	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// This file is what a session tells the plans that it evaluates, and the commands
// that they leave to it.

var _ plan.Env = (*Session)(nil)

// Call evaluates one call.
func (s *Session) Call(f *sqlfuncs.Function, args []datum.Datum, row *sqlfuncs.Row) error {
	ctx, done, err := s.beforeCall()
	if err != nil {
		return err
	}
	defer done()
	if err := s.Env.Functions.CallInto(ctx, row, &s.Caller, f, args, s.notify); err != nil {
		return err
	}
	if e, ok := sqlfuncs.EffectOf(&s.Caller, f, args, row); ok {
		s.Unit.note(e)
	}
	return s.afterWait(ctx, f, args)
}

// afterWait looks again after a call that may have waited: what it got is given back if nobody can use it any more.
// That the client has gone is news that may come after the lock.
func (s *Session) afterWait(ctx context.Context, f *sqlfuncs.Function, args []datum.Datum) error {
	switch {
	case !s.Blocking || !f.MayWait(args):
		return nil
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), upstream.ErrLost):
		return upstream.ErrLost
	case s.Client.HungUp():
		return ErrCanceled
	}
	return nil
}

// Rows evaluates one call of a function that returns a set. It changes nothing that could be
// given back.
func (s *Session) Rows(f *sqlfuncs.Function, args []datum.Datum) ([]sqlfuncs.Row, error) {
	ctx, done, err := s.beforeCall()
	if err != nil {
		return nil, err
	}
	defer done()
	return s.Env.Functions.Rows(ctx, &s.Caller, f, args, s.notify)
}

// beforeCall looks whether a call may be made now, and how long it may take. done must be
// called after it.
func (s *Session) beforeCall() (ctx context.Context, done func(), err error) {
	bound, end := s.Handler.BeforeCall(s.callCtx)
	defer func() {
		if err != nil {
			end()
		}
	}()
	if s.View.Text.Unsafe { // since the statement was prepared
		return nil, nil, wire.ErrEncoding
	}
	if s.Caller.Scope.Branch == "" { // the upstream takes that for a setting; nothing may be taken for another branch
		return nil, nil, ErrEmptyBranch
	}
	if s.deadline.IsZero() {
		return bound, end, nil
	}
	ctx, cancel := context.WithDeadlineCause(bound, s.deadline, errStatementTimeout)
	return ctx, func() { cancel(); end() }, nil
}

// Info answers the session information functions.
func (s *Session) Info(kind plan.InfoKind) datum.Datum {
	switch kind {
	case plan.InfoVersion:
		return datum.OfText(s.version())
	case plan.InfoCurrentUser, plan.InfoSessionUser:
		return datum.OfText(s.Caller.User)
	case plan.InfoDatabase:
		return datum.OfText(s.Caller.Scope.Repository)
	case plan.InfoSchema:
		return s.schema()
	}
	return datum.OfInt(int64(s.Key.PID))
}

// version has the form of PostgreSQL's, which drivers take apart.
func (s *Session) version() string {
	number, _ := s.Setting("server_version")
	return fmt.Sprintf("PostgreSQL %s on %s-%s, compiled by %s, 64-bit", number, runtime.GOARCH, runtime.GOOS, runtime.Version())
}

// schema is the first schema of the search path that exists: public is the only
// one here beside the catalogue.
func (s *Session) schema() datum.Datum {
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
func (s *Session) Now(kind plan.TimeKind) time.Time {
	if kind == plan.ClockTime {
		return s.Env.Now()
	}
	if s.Tx.now.IsZero() {
		s.Tx.now = s.Env.Now()
	}
	if s.Tx.started.IsZero() {
		s.Tx.started = s.Tx.now
	}
	if kind == plan.TransactionTime {
		return s.Tx.started
	}
	return s.Tx.now
}

// Setting reads a run-time parameter.
func (s *Session) Setting(name string) (string, bool) {
	value, ok, err := s.View.Vars.Lookup(name)
	return value, ok && err == nil
}

// Settings are the rows of pg_settings.
func (s *Session) Settings() []plan.Setting {
	var all []plan.Setting
	for _, d := range s.View.Vars.Describe() {
		all = append(all, plan.Setting{
			Name: d.Name, Setting: d.Setting, Unit: d.Unit, Description: d.Text, Context: d.Context, Type: d.Kind, Min: d.Min, Max: d.Max, Enum: d.Enum,
		})
	}
	return all
}

// SetSetting is set_config.
func (s *Session) SetSetting(name, value string, local bool) (string, error) {
	if err := s.View.Vars.Set(name, value, local); err != nil {
		return "", err
	}
	s.ReportAll(s.View.Vars.TakeNotices())
	return s.View.Vars.Show(name)
}

// show makes the rows of SHOW.
func (s *Session) show(action plan.Action) ([][]datum.Datum, error) {
	if show, ok := action.(*plan.Show); ok {
		value, err := s.View.Vars.Show(show.Name)
		if err != nil {
			return nil, err
		}
		return [][]datum.Datum{{datum.OfText(value)}}, nil
	}
	var rows [][]datum.Datum
	for _, r := range s.View.Vars.All() {
		rows = append(rows, []datum.Datum{datum.OfText(r.Name), datum.OfText(r.Setting), datum.OfText(r.Description)})
	}
	return rows, nil
}

// command runs what returns no rows, and returns its tag; "" if it was sent already.
func (s *Session) command(st *plan.Statement) (tag string, err error) {
	switch a := st.Action.(type) {
	case *plan.Transaction:
		return s.Handler.ControlTransaction(st, a)
	case *plan.Set:
		return a.Tag, s.set(a)
	case *plan.ResetAll:
		s.View.Vars.ResetAll()
		return "RESET", nil
	case *plan.Prepare:
		return "PREPARE", s.Keep(a.Name, a.Statement)
	case *rewrite.PrepareSplit:
		return "PREPARE", s.Handler.PrepareSplit(st, a)
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

func (s *Session) set(a *plan.Set) error {
	if a.TransactionOnly && s.TxState() == wire.ImplicitTransaction && !s.Tx.batch {
		s.Warn(codes.NoActiveSQLTransaction, a.Warn+" can only be used in transaction blocks")
	}
	for _, m := range a.Modes {
		var err error
		switch {
		case m.Default && a.Tag == "RESET":
			err = s.View.Vars.Reset(m.Name)
		case m.Default:
			err = s.View.Vars.SetToDefault(m.Name, a.Local)
		default:
			err = s.setMode(m, a.Local)
		}
		if err != nil {
			return err
		}
	}
	s.ReportAll(s.View.Vars.TakeNotices())
	return nil
}

// setMode sets one parameter to what SET lists for it.
func (s *Session) setMode(m plan.Mode, local bool) error {
	args := make([]settings.Argument, len(m.Values))
	for i, v := range m.Values {
		args[i] = settings.Argument{Text: v.Text, Number: v.Number}
	}
	value, err := s.View.Vars.Flatten(m.Name, args)
	if err != nil {
		return err
	}
	return s.View.Vars.Set(m.Name, value, local)
}

func (s *Session) deallocate(name string) (tag string, err error) {
	if name == "" {
		s.DropStatements()
		return "DEALLOCATE ALL", nil
	}
	if _, err := s.statement(name); err != nil {
		return "", err
	}
	s.dropStatement(NameKey(name))
	return "DEALLOCATE", nil
}

func (s *Session) discard(tag string) error {
	if tag != "DISCARD ALL" {
		return nil // there are no plans, sequences or temporary tables of a session here
	}
	if s.TxState() == wire.InBlock || s.Tx.batch {
		return pgerr.Newf(codes.ActiveSQLTransaction, "DISCARD ALL cannot run inside a transaction block")
	}
	if s.Tx.Pipelined {
		return pgerr.Newf(codes.ActiveSQLTransaction, "DISCARD ALL cannot be executed within a pipeline")
	}
	s.dropNamedPortals()
	s.DropStatements()
	if err := s.View.Vars.Reset("session_authorization"); err != nil {
		return err
	}
	s.View.Vars.ResetAll()
	return nil
}

func (s *Session) closeCursor(name string) (tag string, err error) {
	if name == "" {
		s.dropNamedPortals()
		return "CLOSE CURSOR ALL", nil
	}
	if s.Objects.Portals[name] == nil {
		return "", pgerr.Newf(codes.InvalidCursorName, "cursor \"%s\" does not exist", name)
	}
	s.DropNamedPortal(name)
	return "CLOSE CURSOR", nil
}
