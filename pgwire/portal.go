package pgwire

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

// portal is a statement with its parameters, ready to run or part of the way
// through its rows. A simple query runs in one too.
type portal struct {
	name    string
	bound   *plan.Statement
	running *plan.Statement // bound, or the statement that its EXECUTE names
	params  []datum.Datum
	formats wire.Formats
	depth   int // savepoints that were open when it was made
	state   portalState
	frame   local.Frame
	table   [][]datum.Datum // the rows of SHOW
	read    int             // how many of them were sent
	kept    int             // bytes that it takes while it has a name

	// Of a statement that the upstream has a part in:
	raw      []wire.RawValue // the parameters
	upstream string          // the portal there
	tag      string          // of what ran
	text     *rewrite.Text
	// known: the facts that the plan rests on were asked for just now, and whether they
	// foil the statement.
	known, foiled bool
	// undescribed: a simple query has to describe its rows before the first.
	undescribed bool
}

type portalState int

const (
	portalAbsent portalState = iota // the unnamed portal when there is none
	portalReady
	portalOpen // its calls have run; rows are left
	portalDone
	portalBroken // an error ended it
)

// reset makes p a portal of st, keeping its memory.
func (p *portal) reset(name string, st *plan.Statement, depth int) {
	p.name, p.bound, p.running, p.depth = name, st, nil, depth
	p.state, p.table, p.read = portalReady, nil, 0
	p.params, p.formats = p.params[:0], p.formats[:0]
	p.frame.Params = nil
	p.raw, p.upstream, p.tag, p.text, p.undescribed = nil, "", "", nil, false
	p.known, p.foiled = false, false
}

// runPortal executes a portal: all of it, or up to maxRows rows if that is not 0. The
// calls of a statement are evaluated by its first run alone. describe asks for
// the row description that a simple query gets.
func (s *session) runPortal(p *portal, maxRows int, describe bool) (err error) {
	s.beginUnitStatement(p)
	defer func() {
		if err != nil {
			p.state = portalBroken
			return
		}
		s.endUnitStatement()
	}()
	if p.state == portalReady {
		if err := s.handler.OpenExecute(p); err != nil {
			return err
		}
	}
	if splitOf(p.bound) != nil {
		return s.handler.RunSplit(p, maxRows, describe)
	}
	switch p.state {
	case portalDone, portalBroken:
		return s.runAgain(p)
	case portalReady:
		if err := s.start(p, describe); err != nil || p.state != portalOpen {
			return err
		}
	}
	return s.sendRows(p, maxRows)
}

// runAgain answers for a portal that has nothing more to give.
func (s *session) runAgain(p *portal) error {
	if p.state == portalBroken || p.running == nil || p.running.Columns == nil {
		return pgerr.Newf(codes.ObjectNotInPrerequisiteState, "portal \"%s\" cannot be run", p.name)
	}
	s.complete(p, 0)
	return nil
}

// start runs a command, or evaluates the calls of a query.
func (s *session) start(p *portal, describe bool) error {
	if err := s.resolve(p); err != nil {
		return err
	}
	s.startClock()
	if err := p.checkFormats(); err != nil {
		return err
	}
	switch action := p.running.Action.(type) {
	case *local.Select:
		s.view.vars.Queried()
		if err := action.Check(&p.frame); err != nil {
			return err
		}
		if describe {
			s.describeRows(s.columnsOf(p.running), p.formats)
		}
		if err := action.Open(&p.frame); err != nil {
			return err
		}
	case *plan.Show, *plan.ShowAll:
		table, err := s.show(action)
		if err != nil {
			return err
		}
		p.table = table
		if describe {
			s.describeRows(s.columnsOf(p.running), p.formats)
		}
	default:
		tag, err := s.command(p.running)
		if err != nil {
			return err
		}
		if tag != "" {
			s.client.Out.CommandComplete(tag)
		}
		if p.state != portalAbsent { // it may have ended with its transaction
			p.state = portalDone
		}
		return nil
	}
	p.state = portalOpen
	return nil
}

// checkFormats refuses unknown result formats, where PostgreSQL does: when rows
// are about to be sent.
func (p *portal) checkFormats() error {
	for _, f := range p.formats {
		if p.running.Columns != nil && f != wire.TextFormat && f != wire.BinaryFormat {
			return pgerr.Newf(codes.InvalidParameterValue, "unsupported format code: %d", f)
		}
	}
	return nil
}

// resolve finds what runs: the statement itself, or the one that EXECUTE names.
func (s *session) resolve(p *portal) error {
	p.running = p.bound
	p.frame.Bind(s, p.bound, p.params)
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
		if err := s.authorize(target); err != nil {
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
func (p *portal) checkTarget() error {
	if p.running != p.bound && len(p.formats) > 1 && len(p.formats) != len(p.running.Columns) {
		return pgerr.Newf(codes.FeatureNotSupported, "cached plan must not change result type")
	}
	return nil
}

// authorize applies the named-user rule to every call of a statement, before any
// value is looked at.
func (s *session) authorize(st *plan.Statement) error {
	for _, f := range st.Functions() {
		if err := s.env.Functions.Authorize(&s.caller, f); err != nil {
			return err
		}
	}
	return nil
}

// sendRows sends rows up to the limit. A portal is suspended at the limit even if
// that was its last row.
func (s *session) sendRows(p *portal, maxRows int) error {
	sent := 0
	for maxRows == 0 || sent < maxRows {
		if len(s.client.Out.Buf) > maxResult {
			return errTooLarge
		}
		more, err := s.nextRow(p)
		if err != nil {
			return err
		}
		if !more {
			p.state = portalDone
			s.complete(p, sent)
			return nil
		}
		sent++
	}
	s.client.Out.PortalSuspended()
	return nil
}

// maxResult bounds the memory of a result that is computed here, which has to be whole
// before it is sent.
const maxResult = 64 << 20

var errTooLarge = pgerr.Newf(codes.ProgramLimitExceeded, "a result of more than %d bytes needs an [upstream]", maxResult)

// complete sends the tag of a statement that returned rows.
func (s *session) complete(p *portal, rows int) {
	if _, ok := p.running.Action.(*local.Select); ok {
		if rows == 0 {
			s.warnOfLoss("SELECT 0")
		}
		s.client.Out.Selected(rows)
	} else {
		s.client.Out.CommandComplete("SHOW")
	}
}

// nextRow sends one row. A row that fails half way leaves nothing behind.
func (s *session) nextRow(p *portal) (more bool, err error) {
	query, ok := p.running.Action.(*local.Select)
	if ok {
		more, err = query.Next(&p.frame)
	} else {
		p.read++
		more = p.read <= len(p.table)
	}
	if err != nil || !more {
		return false, err
	}
	columns := p.running.Columns
	if ok {
		err = s.compute(query, &p.frame, len(columns))
	} else {
		s.row = append(s.row[:0], p.table[p.read-1]...)
	}
	if err != nil {
		return false, err
	}
	start := s.client.Out.Begin('D')
	s.client.Out.Buf = append(s.client.Out.Buf, byte(len(columns)>>8), byte(len(columns)))
	for i := range columns {
		if ok {
			err = s.sendColumn(query, &p.frame, columns[i].Type, i, p.formats.Of(i))
		} else {
			err = s.sendValue(columns[i].Type, s.row[i], p.formats.Of(i))
		}
		if err != nil {
			s.client.Out.Mend()
			return false, err
		}
	}
	s.client.Out.End(start)
	return true, nil
}

// compute evaluates a row before any of it is sent, since a call may have something to
// say first.
func (s *session) compute(query *local.Select, f *local.Frame, columns int) error {
	s.row = s.row[:0]
	for i := range columns {
		fn, _, err := query.ScalarCall(f, i)
		v := datum.Null
		if err == nil && (fn == nil || s.view.text.Converts()) {
			v, err = query.Column(f, i)
		}
		if err != nil {
			return err
		}
		s.row = append(s.row, v)
	}
	return nil
}

func (s *session) sendColumn(query *local.Select, f *local.Frame, t datum.Type, i int, format int16) error {
	fn, row, err := query.ScalarCall(f, i)
	if err != nil {
		return err
	}
	if fn != nil && !s.view.text.Converts() {
		start := len(s.client.Out.Buf)
		s.client.Out.Buf = append(s.client.Out.Buf, 0, 0, 0, 0)
		if format == wire.BinaryFormat {
			s.client.Out.Buf = append(s.client.Out.Buf, datum.JSONBVersion)
		}
		s.client.Out.Buf = fn.AppendScalar(s.client.Out.Buf, row)
		s.client.Out.CloseValue(start)
		return nil
	}
	return s.sendValue(t, s.row[i], format)
}

func (s *session) sendValue(t datum.Type, v datum.Datum, format int16) error {
	if len(s.client.Out.Buf)+len(v.Str) > maxResult {
		return errTooLarge
	}
	if s.view.text.Converts() && !v.Null && v.Str != "" {
		converted, err := s.view.text.ToClient(v.Str)
		if err != nil {
			return err
		}
		v.Str = converted
	}
	return s.client.Out.Value(t, v, format, s.view.zone)
}

func (s *session) describeRows(columns []plan.Column, f wire.Formats) {
	if s.view.text.Converts() {
		columns = s.view.text.Columns(columns)
	}
	s.client.Out.RowDescription(columns, f)
}

// startClock notes when the statement must be over.
func (s *session) startClock() {
	s.deadline = time.Time{}
	if timeout := s.handler.StatementTimeout(); timeout > 0 {
		s.deadline = time.Now().Add(timeout)
	}
}
