package pgwire

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/planner"
	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// This file runs statements with calls in which the upstream has a part. The upstream
// says what the statement means (the probe), computes the arguments, and executes the
// statement with the results of the calls as hidden parameters. All of it happens in
// exchanges that the client does not see, under names that no client uses, and within
// one series: an error anywhere aborts the whole.

// The names of our statements in the upstream. Each is closed before it is parsed anew.
const (
	probeName = "_raisin_probe"
	argsName  = "_raisin_args"
	mainName  = "_raisin_main"
)

// upstreamError is an error that the upstream reported, and by which it has aborted
// its transaction already.
type upstreamError struct{ response pgproto3.ErrorResponse }

func (f *upstreamError) Error() string { return f.response.Message }

// failure makes the user's error of one about a text of ours.
func failure(body []byte, text *planner.Text) error {
	f := &upstreamError{}
	if err := f.response.Decode(body); err != nil {
		return err
	}
	r := &f.response
	e := text.Translate(&pgerr.Error{Code: codes.Code(r.Code), Message: r.Message, Detail: r.Detail, Hint: r.Hint, Position: int(r.Position)})
	r.Code, r.Message, r.Detail, r.Hint, r.Position = string(e.Code), e.Message, e.Detail, e.Hint, int32(e.Position)
	return f
}

// mixed is the plan of a statement that the upstream has a part in; nil for any other.
func mixed(st *planner.Statement) *planner.Mixed {
	m, _ := st.Action.(*planner.Mixed)
	return m
}

// mixedTurn is turn for what has to talk to the upstream.
func (s *session) mixedTurn() verdict {
	if s.up == nil {
		return needUpstream
	}
	if v := s.turn(true); v != ourTurn {
		return v
	}
	if !s.blocking {
		return needCall
	}
	return ourTurn
}

// frames are the answers of an exchange.
type frames []byte

// each calls visit for every frame. What is not an answer but news for the client is
// passed on to it.
func (s *session) each(fs frames, visit func(kind byte, body []byte) error) (failed error) {
	for len(fs) >= frameHeader {
		length := 1 + int(binary.BigEndian.Uint32(fs[1:]))
		kind, body := fs[0], fs[frameHeader:length]
		switch kind {
		case 'A', 'N', 'S':
			s.out.buf = append(s.out.buf, fs[:length]...)
		case 'E':
			// Even if an error of ours came first: the upstream drops what follows.
			s.up.failSeries()
			if failed == nil {
				failed = visit(kind, body)
			}
		default:
			if failed == nil {
				failed = visit(kind, body)
			}
		}
		fs = fs[length:]
	}
	return failed
}

// dropLater closes a portal of ours with the next messages, since a transaction may go on
// for long after it.
func (s *session) dropLater(name string) {
	s.stale = append(s.stale, &pgproto3.Close{ObjectType: 'P', Name: name})
}

// ask sends messages within the open series and returns the answers up to the last kind
// given, or an error.
func (s *session) ask(last string, messages ...pgproto3.FrontendMessage) (frames, error) {
	out := encode(s.stale...)
	s.stale = s.stale[:0]
	out = append(out, encode(append(messages, &pgproto3.Flush{})...)...)
	return s.up.exchange(out, func(kind byte) bool { return kind == 'E' || strings.IndexByte(last, kind) >= 0 })
}

// errEncoding refuses what would mix two encodings in one text.
var errEncoding = pgerr.Newf(codes.FeatureNotSupported, "a raisin_ function in a statement over tables needs client_encoding UTF8")

// probe asks the upstream what a statement means. The result is the statement with the
// types of its parameters and its columns.
func (s *session) probe(st *planner.Statement, declared []datum.Type) (*planner.Statement, error) {
	m := mixed(st)
	if s.text.converts() {
		return nil, errEncoding
	}
	s.up.openSeries()
	fs, err := s.ask("Tn",
		&pgproto3.Close{ObjectType: 'S', Name: probeName},
		&pgproto3.Parse{Name: probeName, Query: m.Probe.SQL, ParameterOIDs: oids(declared)},
		&pgproto3.Describe{ObjectType: 'S', Name: probeName})
	if err != nil {
		return nil, err
	}
	known := *st
	known.Columns = nil
	err = s.each(fs, func(kind byte, body []byte) error {
		switch kind {
		case 'E':
			return failure(body, &m.Probe)
		case 't':
			known.Params = readTypes(body)
		case 'T':
			if m.Copy { // it returns data, not rows
				return nil
			}
			known.Described = append([]byte(nil), body...)
			known.Columns = readColumns(body)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if m.Refused != nil {
		return nil, m.Refused
	}
	return &known, nil
}

func oids(types []datum.Type) []uint32 {
	out := make([]uint32, len(types))
	for i, t := range types {
		out[i] = uint32(t)
	}
	return out
}

func readTypes(body []byte) []datum.Type {
	m := message{rest: body}
	types := make([]datum.Type, m.count())
	for i := range types {
		types[i] = datum.Type(m.int32())
	}
	return types
}

func readColumns(body []byte) []planner.Column {
	m := message{rest: body}
	columns := make([]planner.Column, m.count())
	for i := range columns {
		columns[i].Name = string(m.text())
		m.bytes(6) // table and column there
		columns[i].Type = datum.Type(m.int32())
		m.bytes(2) // length
		columns[i].Typmod = m.int32()
		m.bytes(2) // format
	}
	return columns
}

// describeAs sends a row description of the upstream's with the client's formats.
func (a *answers) describeAs(described []byte, f formats) {
	start := a.begin('T')
	at := len(a.buf)
	a.buf = append(a.buf, described...)
	a.end(start)
	m := message{rest: a.buf[at:]}
	for i := range m.count() {
		m.text()
		m.bytes(16)
		if format := m.bytes(2); format != nil {
			binary.BigEndian.PutUint16(format, uint16(f.of(i)))
		}
	}
}

// rawValue is a parameter as the client sent it.
type rawValue struct {
	format int16
	value  []byte // nil: NULL
}

// runMixed runs a portal of a statement that the upstream has a part in.
func (s *session) runMixed(p *portal, maxRows int, describe bool) error {
	s.up.openSeries()
	switch p.state {
	case portalDone, portalBroken:
		return s.runMixedAgain(p)
	case portalReady:
		s.startClock()
		values, err := s.callFirst(p)
		if err != nil {
			return err
		}
		if err := s.openMain(p, values); err != nil {
			return err
		}
		p.state = portalOpen
		if describe && p.bound.Columns != nil {
			s.out.describeAs(p.bound.Described, p.formats)
		}
	}
	return s.fetch(p, maxRows)
}

func (s *session) runMixedAgain(p *portal) error {
	if p.state == portalBroken || p.bound.Columns == nil {
		return pgerr.Newf(codes.ObjectNotInPrerequisiteState, "portal \"%s\" cannot be run", p.name)
	}
	verb, _, _ := strings.Cut(p.tag, " ")
	if verb == "INSERT" {
		verb += " 0"
	}
	s.out.commandComplete(verb + " 0")
	return nil
}

// callFirst computes the arguments of the calls that run before the statement, makes
// those calls, and returns the values of the hidden parameters.
func (s *session) callFirst(p *portal) ([]datum.Datum, error) {
	m := mixed(p.bound)
	results := make([]*sqlfuncs.Row, len(m.Calls))
	if m.Args.SQL == "" {
		return m.Values(results, nil), nil
	}
	guards, args, err := s.arguments(p)
	if err != nil {
		return nil, err
	}
	for i, call := range m.Calls {
		if args[i] == nil { // a guard keeps it from running
			continue
		}
		row, err := s.Call(call.Func, args[i])
		if err != nil {
			return nil, err
		}
		results[i] = &row
	}
	return m.Values(results, guards), nil
}

// arguments computes the guards and the arguments of each call, nil for one that a guard
// forbids: here, if that is certain to give what the upstream would, else there.
func (s *session) arguments(p *portal) (guards []bool, args [][]datum.Datum, err error) {
	m := mixed(p.bound)
	if local := m.Local(p.bound.Params); local != nil {
		if params, ok := s.readRaw(p); ok {
			return local.Eval(params)
		}
	}
	row, err := s.askArguments(p)
	if err != nil {
		return nil, nil, err
	}
	guards = make([]bool, m.Guards)
	for i := range guards {
		guards[i] = string(row[i]) == "t"
	}
	args = make([][]datum.Datum, len(m.Calls))
	for i := range m.Calls {
		if args[i], err = readArguments(&m.Calls[i], row, guards); err != nil {
			return nil, nil, err
		}
	}
	return guards, args, nil
}

// readRaw reads the parameters; not ok if one of them is wrong, which the upstream says
// better. Those of types that are not computed with here are left out.
func (s *session) readRaw(p *portal) (params []datum.Datum, ok bool) {
	for i, raw := range p.raw {
		t := p.bound.Params[i]
		if raw.value == nil || !datum.Supported(t) {
			params = append(params, datum.Null)
			continue
		}
		body := binary.BigEndian.AppendUint32(nil, uint32(len(raw.value)))
		v, err := s.parameter(&message{rest: append(body, raw.value...)}, t, raw.format, i+1)
		if err != nil {
			return nil, false
		}
		params = append(params, v)
	}
	return params, true
}

// askArguments has the upstream compute the guards and the arguments.
func (s *session) askArguments(p *portal) (row [][]byte, err error) {
	m := mixed(p.bound)
	fs, err := s.ask("C",
		&pgproto3.Close{ObjectType: 'S', Name: argsName},
		&pgproto3.Parse{Name: argsName, Query: m.Args.SQL, ParameterOIDs: oids(p.bound.Params)},
		bindRaw(argsName, argsName, p.raw, nil, nil),
		&pgproto3.Execute{Portal: argsName})
	if err != nil {
		return nil, err
	}
	s.dropLater(argsName)
	err = s.each(fs, func(kind byte, body []byte) error {
		switch kind {
		case 'E':
			return failure(body, &m.Args)
		case 'D':
			row = readRow(body)
		}
		return nil
	})
	return row, err
}

// readArguments reads the arguments of one call, unless a guard keeps it from running:
// then they are nil.
func readArguments(call *planner.MixedCall, row [][]byte, guards []bool) ([]datum.Datum, error) {
	for _, g := range call.Guards {
		if !guards[g] {
			return nil, nil
		}
	}
	args := make([]datum.Datum, len(call.Args))
	for i, column := range call.Args {
		if row[column] == nil {
			args[i] = datum.Null
			continue
		}
		v, err := datum.Parse(call.Func.Args[i].Type, string(row[column]))
		if err != nil {
			return nil, err
		}
		args[i] = v
	}
	return args, nil
}

func readRow(body []byte) [][]byte {
	m := message{rest: body}
	row := make([][]byte, m.count())
	for i := range row {
		if length := m.int32(); length >= 0 {
			row[i] = m.bytes(int(length))
			if row[i] == nil {
				row[i] = []byte{}
			}
		}
	}
	return row
}

// bindRaw binds the client's parameters as they came, and hidden ones in binary.
func bindRaw(portal, statement string, raw []rawValue, hidden [][]byte, result []int16) *pgproto3.Bind {
	b := &pgproto3.Bind{DestinationPortal: portal, PreparedStatement: statement, ResultFormatCodes: result}
	for _, v := range raw {
		b.ParameterFormatCodes = append(b.ParameterFormatCodes, v.format)
		b.Parameters = append(b.Parameters, v.value)
	}
	for _, v := range hidden {
		b.ParameterFormatCodes = append(b.ParameterFormatCodes, binaryFormat)
		b.Parameters = append(b.Parameters, v)
	}
	return b
}

// openMain opens the portal of the statement itself in the upstream.
func (s *session) openMain(p *portal, values []datum.Datum) error {
	m := mixed(p.bound)
	text, types := &m.Main, oids(p.bound.Params)
	var hidden [][]byte
	raw := p.raw
	if m.Copy {
		copied := m.CopySQL(values)
		text, types, raw = &copied, nil, nil
	} else {
		for i, h := range m.Hidden {
			encoded, err := encodeHidden(h.Type, values[i])
			if err != nil {
				return err
			}
			types = append(types, uint32(h.Type))
			hidden = append(hidden, encoded)
		}
	}
	s.lastPortal++
	p.upstream = "_raisin_p" + strconv.Itoa(s.lastPortal)
	p.tag = ""
	fs, err := s.ask("2",
		&pgproto3.Close{ObjectType: 'S', Name: mainName},
		&pgproto3.Parse{Name: mainName, Query: text.SQL, ParameterOIDs: types},
		bindRaw(p.upstream, mainName, raw, hidden, s.mainFormats(p)))
	if err != nil {
		return err
	}
	return s.each(fs, func(kind byte, body []byte) error {
		if kind == 'E' {
			return failure(body, text)
		}
		return nil
	})
}

func encodeHidden(t datum.Type, v datum.Datum) ([]byte, error) {
	if v.Null {
		return nil, nil
	}
	b, err := datum.AppendBinary([]byte{}, t, v)
	return b, err
}

// mainFormats are the client's result formats, one for each column, and binary for the
// columns that only we see.
func (s *session) mainFormats(p *portal) []int16 {
	m := mixed(p.bound)
	if p.bound.Columns == nil {
		return nil
	}
	result := make([]int16, 0, len(p.bound.Columns))
	for i := range p.bound.Columns {
		result = append(result, p.formats.of(i))
	}
	if m.Rows != nil {
		for range m.Rows.Hidden {
			result = append(result, binaryFormat)
		}
	}
	return result
}

// Rows are fetched in slices: a few at first, so that they arrive soon, then as many as
// fit sliceBytes, since a slice is held in memory.
const (
	firstRows  = 8
	mostRows   = 1024
	sliceBytes = 256 << 10
)

func nextSlice(rows, size int) int {
	if size > sliceBytes {
		return max(1, rows*sliceBytes/size)
	}
	return min(2*rows, mostRows)
}

// fetch passes on rows, up to maxRows if that is not 0, and at the end the tag.
func (s *session) fetch(p *portal, maxRows int) error {
	m := mixed(p.bound)
	if maxRows == 0 {
		maxRows = math.MaxInt
	}
	slice := firstRows
	for sent := 0; ; {
		batch := min(maxRows-sent, slice)
		if p.bound.Columns == nil {
			batch = 0
		}
		fs, err := s.ask("CsI", &pgproto3.Execute{Portal: p.upstream, MaxRows: uint32(batch)})
		if err != nil {
			return err
		}
		suspended := false
		err = s.each(fs, func(kind byte, body []byte) error {
			switch kind {
			case 'E':
				return failure(body, &m.Main)
			case 's':
				suspended = true
			case 'D':
				sent++
				return s.passRow(p, body)
			case 'C':
				return s.passTag(p, body, sent)
			case 'H', 'd', 'c', 'I':
				s.pass(kind, body)
			}
			return nil
		})
		if err != nil {
			return err
		}
		slice = nextSlice(slice, len(fs))
		if !suspended {
			p.state = portalDone
			s.dropLater(p.upstream)
			return nil
		}
		if sent >= maxRows {
			s.out.portalSuspended()
			return nil
		}
		if len(s.out.buf) > maxPending {
			if err := s.flush(); err != nil {
				return err
			}
		}
	}
}

func (s *session) pass(kind byte, body []byte) {
	start := s.out.begin(kind)
	s.out.buf = append(s.out.buf, body...)
	s.out.end(start)
}

func (s *session) passTag(p *portal, body []byte, sent int) error {
	m := mixed(p.bound)
	p.tag = strings.TrimSuffix(string(body), "\x00")
	if i := strings.LastIndexByte(p.tag, ' '); i >= 0 && p.bound.Columns != nil {
		p.tag = p.tag[:i+1] + strconv.Itoa(sent) // the upstream counts the last slice only
	}
	if m.Explain != nil && m.Explain.Text {
		for _, line := range m.Explain.Lines {
			start := s.out.begin('D')
			s.out.buf = append(s.out.buf, 0, 1)
			s.out.buf = binary.BigEndian.AppendUint32(s.out.buf, uint32(len(line)))
			s.out.buf = append(s.out.buf, line...)
			s.out.end(start)
		}
	}
	s.out.commandComplete(p.tag)
	return nil
}

// passRow passes on a row, with the calls that it asks for made.
func (s *session) passRow(p *portal, body []byte) error {
	plan := mixed(p.bound).Rows
	if plan == nil {
		s.pass('D', body)
		return nil
	}
	row := readRow(body)
	visible := len(p.bound.Columns)
	if len(row) != visible+len(plan.Hidden) {
		return fmt.Errorf("a row of %d columns, want %d", len(row), visible+len(plan.Hidden))
	}
	results := make([]sqlfuncs.Row, len(plan.Calls))
	for i, call := range plan.Calls {
		args := make([]datum.Datum, len(call.Args))
		for j, column := range call.Args {
			if raw := row[visible+column]; raw == nil {
				args[j] = datum.Null
			} else if v, err := datum.ParseBinary(plan.Hidden[column], raw, 0); err == nil {
				args[j] = v
			} else {
				return err
			}
		}
		var err error
		if results[i], err = s.Call(call.Func, args); err != nil {
			return err
		}
	}
	for i := range plan.Items {
		item := &plan.Items[i]
		column := item.Column(visible)
		v, err := item.Value(results)
		if err != nil {
			return err
		}
		if row[column], err = s.encodeItem(item.Type, v, p.formats.of(column)); err != nil {
			return err
		}
	}
	s.sendRaw(row[:visible])
	return nil
}

func (s *session) encodeItem(t datum.Type, v datum.Datum, format int16) ([]byte, error) {
	if v.Null {
		return nil, nil
	}
	if format == binaryFormat {
		return datum.AppendBinary([]byte{}, t, v)
	}
	return datum.AppendText([]byte{}, t, v, s.zone), nil
}

func (s *session) sendRaw(row [][]byte) {
	start := s.out.begin('D')
	s.out.buf = binary.BigEndian.AppendUint16(s.out.buf, uint16(len(row)))
	for _, value := range row {
		if value == nil {
			s.out.buf = append(s.out.buf, 0xFF, 0xFF, 0xFF, 0xFF)
			continue
		}
		s.out.buf = binary.BigEndian.AppendUint32(s.out.buf, uint32(len(value)))
		s.out.buf = append(s.out.buf, value...)
	}
	s.out.end(start)
}

// queryMixed answers a simple query of one statement that the upstream has a part in.
// Its series ends with a Sync of ours, whose answer gives the transaction status.
func (s *session) queryMixed(st *planner.Statement) {
	if err := s.runMixedQuery(st); err != nil {
		s.fail(err)
	}
	s.endSeries()
}

func (s *session) runMixedQuery(st *planner.Statement) error {
	if s.state == failed {
		return errAborted
	}
	if s.text.converts() {
		return errEncoding
	}
	s.up.openSeries()
	s.beginImplicit()
	if err := s.wrong(st); err != nil {
		return err
	}
	known, err := s.probe(st, nil)
	if err != nil {
		return err
	}
	if err := s.authorize(st); err != nil {
		return err
	}
	s.ad.reset("", known, 0)
	return s.runMixed(&s.ad, 0, true)
}

// queryInSeries answers a simple query of ours amid a series: it ends the series, as any
// query does, and fails with it.
func (s *session) queryInSeries(script *planner.Script) {
	s.unnamed, s.unnamedPortal.state = nil, portalAbsent
	s.runScript(script)
	s.endSeries()
}

// endSeries ends a query whose messages were part of a series, aborted if an error of
// ours wants it so, and tells the client in which transaction it is then.
func (s *session) endSeries() {
	var err error
	if s.mustAbort {
		s.mustAbort = false
		err = s.abortUpstream()
	}
	if err == nil {
		err = s.closeSeries()
	}
	if err != nil {
		s.giveUp(err)
		s.over = true
		return
	}
	s.state = noTransaction
	s.adoptStatus()
	s.ready()
}

// closeSeries ends the series that we opened for ourselves.
func (s *session) closeSeries() error {
	if !s.up.inSeries() {
		return nil
	}
	fs, err := s.up.exchange(encode(&pgproto3.Sync{}), func(kind byte) bool { return kind == 'Z' })
	if err != nil {
		return err
	}
	s.up.popSeries()
	return s.each(fs, func(kind byte, body []byte) error {
		if kind == 'E' { // a constraint that was deferred, for example
			s.pass(kind, body)
		}
		return nil
	})
}

// openSeries notes that messages of ours are part of a series, if none is open.
func (r *relay) openSeries() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open() == nil {
		r.series = append(r.series, series{})
	}
}

// popSeries notes that the open series has ended with a Sync of ours.
func (r *relay) popSeries() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open() != nil {
		r.series = r.series[:len(r.series)-1]
	}
}
