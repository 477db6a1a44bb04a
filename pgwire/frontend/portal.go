package frontend

import (
	"time"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/pgwire/wire"
	"raisinproxy/planner/local"
	"raisinproxy/planner/plan"
	"raisinproxy/planner/rewrite"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// Portal is a statement with its parameters, ready to run or part of the way
// through its rows. A simple query runs in one too.
type Portal struct {
	Name    string
	Bound   *plan.Statement
	running *plan.Statement // bound, or the statement that its EXECUTE names
	Params  []datum.Datum
	Formats wire.Formats
	depth   int // savepoints that were open when it was made
	State   portalState
	frame   local.Frame
	table   [][]datum.Datum // the rows of SHOW that were not sent
	kept    int             // bytes that it takes while it has a name

	// Of a statement that the upstream has a part in:
	Raw      []wire.RawValue // the parameters
	Upstream string          // the portal there
	Tag      string          // of what ran
	Text     *rewrite.Text
	// Known: the facts that the plan rests on were asked for just now, and whether they
	// foil the statement.
	Known, Foiled bool
	// Undescribed: a simple query has to describe its rows before the first.
	Undescribed bool
}

type portalState int

// The states of a portal.
const (
	PortalAbsent portalState = iota // the unnamed portal when there is none
	PortalReady
	PortalOpen // its calls have run; rows are left
	PortalDone
	PortalBroken // an error ended it
)

// Reset makes p a portal of st, keeping its memory.
func (p *Portal) Reset(name string, st *plan.Statement, depth int) {
	p.Name, p.Bound, p.running, p.depth = name, st, nil, depth
	p.State, p.table = PortalReady, nil
	p.Params, p.Formats = p.Params[:0], p.Formats[:0]
	p.frame.Params = nil
	p.Raw, p.Upstream, p.Tag, p.Text, p.Undescribed = nil, "", "", nil, false
	p.Known, p.Foiled = false, false
}

// RunPortal executes a portal: all of it, or up to maxRows rows if that is not 0. The
// calls of a statement are evaluated by its first run alone. describe asks for
// the row description that a simple query gets.
func (s *Session) RunPortal(p *Portal, maxRows int, describe bool) (err error) {
	s.EndUnitStatement()
	s.Unit.begin(s.Client.Out.Position(), p.State == PortalOpen)
	defer func() {
		if err != nil {
			p.State = PortalBroken
			return
		}
		s.EndUnitStatement()
	}()
	if p.State == PortalReady {
		if err := s.Handler.OpenExecute(p); err != nil {
			return err
		}
	}
	if SplitOf(p.Bound) != nil {
		return s.Handler.RunSplit(p, maxRows, describe)
	}
	switch p.State {
	case PortalDone, PortalBroken:
		return s.runAgain(p)
	case PortalReady:
		if err := s.start(p, describe); err != nil || p.State != PortalOpen {
			return err
		}
	}
	return s.sendRows(p, maxRows)
}

// runAgain answers for a portal that has nothing more to give.
func (s *Session) runAgain(p *Portal) error {
	if p.State == PortalBroken || p.running == nil || p.running.Columns == nil {
		return pgerr.Newf(codes.ObjectNotInPrerequisiteState, "portal \"%s\" cannot be run", p.Name)
	}
	s.complete(p, 0)
	return nil
}

// start runs a command, or evaluates the calls of a query.
func (s *Session) start(p *Portal, describe bool) error {
	if err := s.resolve(p); err != nil {
		return err
	}
	s.StartClock()
	if err := p.checkFormats(); err != nil {
		return err
	}
	query, _ := p.running.Action.(*local.Select)
	switch p.running.Action.(type) {
	case *local.Select:
		s.View.Vars.Queried()
		if err := query.Check(&p.frame); err != nil {
			return err
		}
	case *plan.Show, *plan.ShowAll:
		var err error
		if p.table, err = s.show(p.running.Action); err != nil {
			return err
		}
	default:
		return s.runCommand(p)
	}
	if describe {
		s.describeRows(s.columnsOf(p.running), p.Formats)
	}
	if query != nil {
		if err := query.Open(&p.frame); err != nil {
			return err
		}
	}
	p.State = PortalOpen
	return nil
}

func (s *Session) runCommand(p *Portal) error {
	tag, err := s.command(p.running)
	if err != nil {
		return err
	}
	if tag != "" {
		s.Client.Out.CommandComplete(tag)
	}
	if p.State != PortalAbsent { // it may have ended with its transaction
		p.State = PortalDone
	}
	return nil
}

// checkFormats refuses unknown result formats, where PostgreSQL does: when rows
// are about to be sent.
func (p *Portal) checkFormats() error {
	for _, f := range p.Formats {
		if p.running.Columns != nil && f != wire.TextFormat && f != wire.BinaryFormat {
			return pgerr.Newf(codes.InvalidParameterValue, "unsupported format code: %d", f)
		}
	}
	return nil
}

// resolve finds what runs: the statement itself, or the one that EXECUTE names.
func (s *Session) resolve(p *Portal) error {
	p.running = p.Bound
	p.frame.Bind(s, p.Bound, p.Params)
	for range maxExecutes {
		e, ok := p.running.Action.(*local.Execute)
		if !ok {
			return p.checkTarget()
		}
		target, err := s.statement(e.Name)
		if err != nil {
			return err
		}
		if target.Action == nil {
			return pgerr.Newf(codes.FeatureNotSupported, "EXECUTE of an empty statement is not supported")
		}
		if err := s.Authorize(target); err != nil {
			return err
		}
		args, err := e.Arguments(&p.frame, target.Params)
		if err != nil {
			return err
		}
		p.running = target
		p.frame.Bind(s, target, args)
	}
	return errStackDepth
}

// checkTarget refuses a statement that has become another since the portal was bound.
func (p *Portal) checkTarget() error {
	if p.running != p.Bound && len(p.Formats) > 1 && len(p.Formats) != len(p.running.Columns) {
		return pgerr.Newf(codes.FeatureNotSupported, "cached plan must not change result type")
	}
	return nil
}

// Authorize applies the named-user rule to every call of a statement, before any
// value is looked at.
func (s *Session) Authorize(st *plan.Statement) error {
	for _, f := range st.Functions() {
		if err := s.Env.Functions.Authorize(&s.Caller, f); err != nil {
			return err
		}
	}
	return nil
}

// sendRows sends rows up to the limit. A portal is suspended at the limit even if
// that was its last row.
func (s *Session) sendRows(p *Portal, maxRows int) error {
	sent := 0
	for maxRows == 0 || sent < maxRows {
		if len(s.Client.Out.Buf) > maxResult {
			return errTooLarge
		}
		more, err := s.nextRow(p)
		if err != nil {
			return err
		}
		if !more {
			p.State = PortalDone
			s.complete(p, sent)
			return nil
		}
		sent++
	}
	s.Client.Out.PortalSuspended()
	return nil
}

// maxResult bounds the memory of a result that is computed here, which has to be whole
// before it is sent.
const maxResult = 64 << 20

var errTooLarge = pgerr.Newf(codes.ProgramLimitExceeded, "a result of more than %d bytes needs an [upstream]", maxResult)

// complete sends the tag of a statement that returned rows.
func (s *Session) complete(p *Portal, rows int) {
	if _, ok := p.running.Action.(*local.Select); ok {
		if rows == 0 {
			s.WarnOfLoss("SELECT 0")
		}
		s.Client.Out.Selected(rows)
	} else {
		s.Client.Out.CommandComplete("SHOW")
	}
}

// nextRow sends one row. A row that fails half way leaves nothing behind.
func (s *Session) nextRow(p *Portal) (more bool, err error) {
	columns := p.running.Columns
	query, _ := p.running.Action.(*local.Select) // nil: SHOW
	switch {
	case query != nil:
		if more, err = query.Next(&p.frame); more && err == nil {
			err = s.compute(query, &p.frame, len(columns))
		}
	case len(p.table) > 0:
		more = true
		s.row = append(s.row[:0], p.table[0]...)
		p.table = p.table[1:]
	}
	if err != nil || !more {
		return false, err
	}
	start := s.Client.Out.Begin('D')
	s.Client.Out.Buf = append(s.Client.Out.Buf, byte(len(columns)>>8), byte(len(columns)))
	for i := range columns {
		if err := s.sendColumn(query, &p.frame, columns[i].Type, i, p.Formats.Of(i)); err != nil {
			s.Client.Out.Mend()
			return false, err
		}
	}
	s.Client.Out.End(start)
	return true, nil
}

// compute evaluates a row before any of it is sent, since a call may have something to
// say first.
func (s *Session) compute(query *local.Select, f *local.Frame, columns int) error {
	s.row = s.row[:0]
	for i := range columns {
		fn, _, err := query.ScalarCall(f, i)
		v := datum.Null
		if err == nil && (fn == nil || s.View.Text.Converts()) {
			v, err = query.Column(f, i)
		}
		if err != nil {
			return err
		}
		s.row = append(s.row, v)
	}
	return nil
}

func (s *Session) sendColumn(query *local.Select, f *local.Frame, t datum.Type, i int, format int16) error {
	if query == nil || s.View.Text.Converts() {
		return s.sendValue(t, s.row[i], format)
	}
	fn, row, err := query.ScalarCall(f, i)
	if err != nil {
		return err
	}
	if fn != nil {
		start := len(s.Client.Out.Buf)
		s.Client.Out.Buf = append(s.Client.Out.Buf, 0, 0, 0, 0)
		if format == wire.BinaryFormat {
			s.Client.Out.Buf = append(s.Client.Out.Buf, datum.JSONBVersion)
		}
		s.Client.Out.Buf = fn.AppendScalar(s.Client.Out.Buf, row)
		s.Client.Out.CloseValue(start)
		return nil
	}
	return s.sendValue(t, s.row[i], format)
}

func (s *Session) sendValue(t datum.Type, v datum.Datum, format int16) error {
	if len(s.Client.Out.Buf)+len(v.Str) > maxResult {
		return errTooLarge
	}
	v, err := s.View.Text.ValueToClient(v)
	if err != nil {
		return err
	}
	return s.Client.Out.Value(t, v, format, &s.View.Times)
}

func (s *Session) describeRows(columns []plan.Column, f wire.Formats) {
	if s.View.Text.Converts() {
		columns = s.View.Text.Columns(columns)
	}
	s.Client.Out.RowDescription(columns, f)
}

// StartClock notes when the statement must be over.
func (s *Session) StartClock() {
	s.deadline = time.Time{}
	if timeout := s.Handler.StatementTimeout(); timeout > 0 {
		s.deadline = time.Now().Add(timeout)
	}
}
