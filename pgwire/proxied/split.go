package proxied

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/pgwire/drive"
	"raisinproxy/pgwire/frontend"
	"raisinproxy/pgwire/upstream"
	"raisinproxy/pgwire/wire"
	"raisinproxy/planner/plan"
	"raisinproxy/planner/rewrite"
	"raisinproxy/planner/sqltext"
	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// This file runs statements with calls in which the upstream has a part. The upstream
// says what the statement means (the probe), computes the arguments, and executes the
// statement with the results of the calls as hidden parameters. All of it happens in
// exchanges that the client does not see, under names that no client uses, and within
// one pipeline: an error anywhere aborts the whole.

// failure makes the user's error of one about a text of the proxy's.
func failure(body []byte, text *rewrite.Text) error {
	err := upstream.ReadError(body)
	f, ok := errors.AsType[*upstream.Error](err)
	if !ok {
		return err
	}
	r := &f.Response
	e := text.Translate(&pgerr.Error{Code: codes.Code(r.Code), Message: r.Message, Detail: r.Detail, Hint: r.Hint, Position: int(r.Position)})
	r.Code, r.Message, r.Detail, r.Hint, r.Position = string(e.Code), e.Message, e.Detail, e.Hint, int32(e.Position)
	return f
}

// turnToAsk is turn for what has to talk to the upstream.
func (s *session) turnToAsk() drive.Verdict {
	if !s.up.IsOpened() {
		return frontend.NeedUpstream
	}
	// Out of a pipeline what calls depend on is asked with what else the statement needs.
	if v := s.turn(s.up.IsOpen()); v != frontend.OurTurn {
		return v
	}
	if !s.Blocking {
		return frontend.NeedCall
	}
	return frontend.OurTurn
}

// RunSplit runs a portal of a statement that the upstream has a part in.
func (s *session) RunSplit(p *frontend.Portal, maxRows int, describe bool) error {
	s.up.OpenPipeline()
	switch p.State {
	case frontend.PortalDone, frontend.PortalBroken:
		return s.runSplitAgain(p)
	case frontend.PortalReady:
		if frontend.SplitOf(p.Bound).Whole && maxRows > 0 {
			return errReadInParts
		}
		s.StartClock()
		values, foiled, err := s.callFirst(p)
		if err != nil {
			return err
		}
		opening, err := s.openMain(p, values)
		if err != nil {
			return err
		}
		s.settingsStale = true // it may call functions that set what calls depend on
		if foiled {
			return s.runFoiled(p, opening)
		}
		p.State, p.Undescribed = frontend.PortalOpen, describe && p.Bound.Columns != nil
		return s.fetch(p, maxRows, opening)
	}
	s.settingsStale = true
	return s.fetch(p, maxRows, nil)
}

// errReadInParts refuses to make the calls of rows that may never be read.
var errReadInParts = pgerr.Newf(codes.FeatureNotSupported, "VALUES of several rows with a raisin_ function cannot be read in parts").
	WithHint("Read all of it at once, without a limit of rows.")

func (s *session) runSplitAgain(p *frontend.Portal) error {
	if p.State == frontend.PortalBroken || p.Bound.Columns == nil {
		return pgerr.Newf(codes.ObjectNotInPrerequisiteState, "portal \"%s\" cannot be run", p.Name)
	}
	verb, _, _ := strings.Cut(p.Tag, " ")
	if verb == "INSERT" {
		verb += " 0"
	}
	s.Client.Out.CommandComplete(verb + " 0")
	return nil
}

// callFirst prepares the statement and computes the arguments of the calls that run
// before it, makes those calls, and returns the values of the hidden parameters. A
// statement that is going to fail makes none: foiled says so.
func (s *session) callFirst(p *frontend.Portal) (values []datum.Datum, foiled bool, err error) {
	m := frontend.SplitOf(p.Bound)
	results := make([][]sqlfuncs.Row, len(m.Calls))
	first, err := s.prepareMain(p)
	if err != nil {
		return nil, false, err
	}
	if first.guarded && !first.foiled {
		for i, call := range m.Calls {
			if results[i], err = s.rowsOf(call.Func, first.args[i]); err != nil {
				return nil, false, err
			}
		}
	}
	return m.Values(results, first.guarded), first.foiled, nil
}

// rowsOf makes a call and returns its row, or its rows.
func (s *session) rowsOf(f *sqlfuncs.Function, args []datum.Datum) ([]sqlfuncs.Row, error) {
	if f.Set {
		return s.Rows(f, args)
	}
	rows := make([]sqlfuncs.Row, 1)
	return rows, s.Call(f, args, &rows[0])
}

// beforehand is what is known of a statement before it runs.
type beforehand struct {
	args    [][]datum.Datum // of each call
	guarded bool            // no guard keeps the calls from running
	foiled  bool            // the statement is going to fail, and PostgreSQL would call nothing
}

// prepareMain has the upstream prepare the statement, and computes the guards and the
// arguments of each call: here, if that is certain to give what the upstream would, else
// there. A statement that is not any more what it was when the client prepared it fails
// before any call runs.
func (s *session) prepareMain(p *frontend.Portal) (*beforehand, error) {
	m := frontend.SplitOf(p.Bound)
	first := &beforehand{guarded: true}
	compute := m.Args.SQL != ""
	if evaluator := m.Local(p.Bound.Params); evaluator != nil && compute {
		if params, ok := s.readRaw(p); ok {
			compute = false
			var err error
			if first.args, first.guarded, err = evaluator.Eval(params); err != nil {
				return nil, err
			}
		}
	}
	row, foiled, err := s.askBefore(p, compute)
	if err != nil {
		return nil, err
	}
	first.foiled = foiled
	first.guarded = first.guarded && (row != nil || !compute)
	if !compute || !first.guarded {
		return first, nil
	}
	first.args = make([][]datum.Datum, len(m.Calls))
	for i := range m.Calls {
		if first.args[i], err = s.readArguments(&m.Calls[i], row); err != nil {
			return nil, err
		}
	}
	return first, nil
}

// readRaw reads the parameters; not ok if one of them is wrong, which the upstream says
// better. Those of types that are not computed with here are left out.
func (s *session) readRaw(p *frontend.Portal) (params []datum.Datum, ok bool) {
	for i, raw := range p.Raw {
		t := p.Bound.Params[i]
		if raw.Value == nil || !datum.Supported(t) {
			params = append(params, datum.Null)
			continue
		}
		body := binary.BigEndian.AppendUint32(nil, uint32(len(raw.Value)))
		v, err := s.Parameter(&wire.Body{Rest: append(body, raw.Value...)}, t, raw.Format, i+1)
		if err != nil {
			return nil, false
		}
		params = append(params, v)
	}
	return params, true
}

// askBefore has the upstream prepare the statement, except COPY, whose text is not known
// yet, say whether the facts still hold, and compute the guards and the arguments if that
// is asked for: row has the arguments, and is nil if a guard is not true. All of it is one exchange.
func (s *session) askBefore(p *frontend.Portal, compute bool) (row [][]byte, foiled bool, err error) {
	m := frontend.SplitOf(p.Bound)
	var parts []upstream.Part
	if s.settingsStale {
		parts = append(parts, s.conv.AskFactsAgain(func(f *upstream.Facts) {
			s.learn(f, false)
			s.settingsStale = false
		}))
	}
	if !m.Copy {
		sql, err := s.sql(p.Bound, m.Main.SQL)
		if err != nil {
			return nil, false, err
		}
		types := wire.Oids(p.Bound.Params)
		for _, h := range m.Hidden {
			types = append(types, uint32(h.Type))
		}
		parts = append(parts, upstream.Part{
			Messages: slices.Concat(upstream.Prepare(upstream.Main, sql, types), upstream.Describe(string(upstream.Main))),
			Fail:     func(body []byte) error { return failure(body, &m.Main) },
			Visit:    func(kind byte, body []byte) error { return checkColumns(p, kind, body) },
		})
	}
	facts := &factReader{}
	if !p.Known {
		var questions []upstream.Part
		if facts, questions, err = s.ask(m.Facts, &m.FactQuery); err != nil {
			return nil, false, err
		}
		parts = append(parts, questions...)
	}
	if compute {
		sql, err := s.sql(p.Bound, m.Args.SQL)
		if err != nil {
			return nil, false, err
		}
		parts = append(parts, upstream.Part{
			Messages: slices.Concat(upstream.Prepare(upstream.Arguments, sql, wire.Oids(p.Bound.Params)), upstream.Execute(upstream.Arguments, p.Raw)),
			Fail:     func(body []byte) error { return failure(body, &m.Args) },
			Visit: func(kind byte, body []byte) error {
				if kind == 'D' {
					row = wire.ReadRow(body)
				}
				return facts.refused
			},
		})
	}
	err = s.conv.Say(parts...)
	s.StartClock() // the timeout may be another
	if facts.refused != nil {
		return nil, false, facts.refused
	}
	return row, facts.foiled || p.Foiled, err
}

// checkColumns compares the columns that the statement has with those that the client
// was told.
func checkColumns(p *frontend.Portal, kind byte, body []byte) error {
	var now []plan.Column
	switch kind {
	case 'T':
		now = wire.ReadColumns(body)
	case 'n':
	default:
		return nil
	}
	hidden := 0
	if rows := frontend.SplitOf(p.Bound).Rows; rows != nil {
		hidden = len(rows.Hidden)
	}
	same := len(now) == len(p.Bound.Columns)+hidden
	for i := range p.Bound.Columns {
		same = same && now[i].Type == p.Bound.Columns[i].Type && now[i].Typmod == p.Bound.Columns[i].Typmod
	}
	if !same {
		return pgerr.Newf(codes.FeatureNotSupported, "cached plan must not change result type")
	}
	return nil
}

// readArguments reads the arguments of one call.
func (s *session) readArguments(call *rewrite.SplitCall, row [][]byte) ([]datum.Datum, error) {
	args := make([]datum.Datum, len(call.Args))
	for i, column := range call.Args {
		if column == rewrite.LeftOut {
			args[i] = *call.Func.Args[i].Default
			continue
		}
		var err error
		if args[i], err = s.readText(call.Func.Args[i].Type, row[column]); err != nil {
			return nil, err
		}
	}
	return args, nil
}

// readText reads a value that the upstream tells as text.
func (s *session) readText(t datum.Type, raw []byte) (datum.Datum, error) {
	if raw == nil {
		return datum.Null, nil
	}
	text, err := s.View.Text.FromClient(raw)
	if err != nil {
		return datum.Null, err
	}
	return datum.Parse(t, string(text))
}

// openMain makes the messages that open the portal of the statement in the upstream. They
// go together with the first Execute: between the two a statement_timeout would count.
func (s *session) openMain(p *frontend.Portal, values []datum.Datum) (upstream.Messages, error) {
	m := frontend.SplitOf(p.Bound)
	p.Upstream, p.Tag, p.Text = s.conv.NewPortal(), "", &m.Main
	if m.Copy {
		copied := m.CopySQL(values)
		p.Text = &copied
		sql, err := s.sql(p.Bound, copied.SQL)
		return slices.Concat(upstream.Prepare(upstream.Main, sql, nil), upstream.OpenPortal(p.Upstream, nil, nil, nil)), err
	}
	var hidden []wire.RawValue
	for i, h := range m.Hidden {
		format := wire.BinaryFormat
		if h.Call >= 0 && m.Calls[h.Call].Func.Set {
			format = wire.TextFormat // which an array is kept in
		}
		encoded, err := s.encode(h.Type, values[i], format)
		if err != nil {
			return nil, err
		}
		hidden = append(hidden, wire.RawValue{Format: format, Value: encoded})
	}
	return upstream.OpenPortal(p.Upstream, p.Raw, hidden, s.mainFormats(p)), nil
}

// sql is a text as the upstream is to get it: in the client's encoding, and meaning under
// the settings of now what it meant when it was planned.
func (s *session) sql(st *plan.Statement, sql string) (string, error) {
	if st.Standard != s.View.Standard {
		sql = sqltext.Portable(sql, st.Standard)
	}
	return s.View.Text.ToClient(sql)
}

// querySplit answers a simple query of one statement that the upstream has a part in.
// Its pipeline ends with a Sync of the proxy's, whose answer gives the transaction status.
func (s *session) querySplit(script *plan.Script) {
	if err := s.runSplitQuery(script.Statements[0]); err != nil {
		s.Fail(err)
	}
	if !s.Over {
		s.endPipeline()
	}
}

func (s *session) runSplitQuery(st *plan.Statement) error {
	if s.TxState() == wire.FailedBlock {
		return frontend.ErrAborted
	}
	s.up.OpenPipeline()
	s.BeginImplicit()
	s.Refresh() // another statement of the query may have changed settings
	if s.keeps(st.Prepares) {
		return s.prepareTaken(st)
	}
	if err := s.Wrong(st); err != nil {
		return err
	}
	foiled, probed := false, frontend.SplitOf(st) != nil
	if probed {
		known, facts, err := s.probeFacts(st, nil)
		if err != nil {
			return err
		}
		st, foiled = known, facts.foiled
	}
	if err := s.Authorize(st); err != nil {
		return err
	}
	s.Objects.Simple.Reset("", st, 0)
	s.Objects.Simple.Known, s.Objects.Simple.Foiled = probed, foiled
	return s.RunPortal(&s.Objects.Simple, 0, true)
}
