package proxied

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/pgwire/frontend"
	"raisinproxy/pgwire/upstream"
	"raisinproxy/pgwire/wire"
	"raisinproxy/planner/rewrite"
	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/datum"
)

// This file passes on the rows of a statement that both have a part in: in slices, and
// with the results of calls that run for each row put in.

// mainFormats are the client's result formats, one for each column, and binary for the
// columns that only the proxy sees.
func (s *session) mainFormats(p *frontend.Portal) []int16 {
	m := frontend.SplitOf(p.Bound)
	if p.Bound.Columns == nil {
		return nil
	}
	result := make([]int16, 0, len(p.Bound.Columns))
	for i := range p.Bound.Columns {
		result = append(result, p.Formats.Of(i))
	}
	if m.Rows != nil {
		result = append(result, slices.Repeat([]int16{wire.BinaryFormat}, len(m.Rows.Hidden))...)
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

// fetch passes on rows, up to maxRows if that is not 0, and at the end the tag. The
// messages of opening go first.
func (s *session) fetch(p *frontend.Portal, maxRows int, opening upstream.Messages) error {
	if frontend.SplitOf(p.Bound).Rows != nil {
		return s.fetchSlices(p, maxRows, opening)
	}
	messages := slices.Concat(opening, upstream.Fetch(p.Upstream, maxRows))
	if maxRows == 0 { // it runs to its end
		messages = append(messages, upstream.ClosePortal(p.Upstream)...)
	}
	suspended := false
	err := s.conv.Stream(messages, func(kind byte, body []byte) error {
		switch kind {
		case '1', '3':
		case '2':
			s.describeOnce(p)
		case 'E':
			return s.fetchFailure(p, body)
		case 's':
			suspended = true
		case 'C':
			s.explainCalls(p)
			s.complete(p, strings.TrimSuffix(string(body), "\x00"))
		default:
			s.pass(kind, body)
		}
		return nil
	})
	if err == nil && maxRows == 0 {
		p.Upstream = "" // closed
	}
	if err == nil {
		s.fetched(p, suspended)
	}
	return err
}

// describeOnce describes the rows that are about to come.
func (s *session) describeOnce(p *frontend.Portal) {
	if p.Undescribed {
		p.Undescribed = false
		s.Client.Out.DescribeAs(p.Bound.Described, p.Formats)
	}
}

// fetchFailure is an error of the portal upstream. One that the client has closed there,
// by CLOSE ALL, has another name for it.
func (s *session) fetchFailure(p *frontend.Portal, body []byte) error {
	err := failure(body, p.Text)
	f, ok := errors.AsType[*upstream.Error](err)
	if ok && codes.Code(f.Response.Code) == codes.InvalidCursorName {
		f.Response.Message = fmt.Sprintf("portal \"%s\" does not exist", p.Name)
	}
	return err
}

func (s *session) fetched(p *frontend.Portal, suspended bool) {
	if suspended {
		s.Client.Out.PortalSuspended()
		return
	}
	s.ClosePortal(p)
	p.State = frontend.PortalDone
}

// fetchSlices is fetch for a statement with calls that run for each row.
func (s *session) fetchSlices(p *frontend.Portal, maxRows int, opening upstream.Messages) error {
	if maxRows == 0 {
		maxRows = math.MaxInt
	}
	slice := firstRows
	var row pgproto3.DataRow // its room is used again
	for sent := 0; ; {
		suspended, size := false, 0
		err := s.conv.Say(upstream.Part{
			Messages: append(opening, upstream.Fetch(p.Upstream, min(maxRows-sent, slice))...),
			Fail:     func(body []byte) error { return s.fetchFailure(p, body) },
			Visit: func(kind byte, body []byte) error {
				size += len(body)
				switch kind {
				case '2':
					s.describeOnce(p)
				case 's':
					suspended = true
				case 'D':
					sent++
					_ = row.Decode(body)
					return s.passRow(p, &row)
				case 'C':
					s.passTag(p, body, sent)
				}
				return nil
			},
		})
		if err != nil {
			return err
		}
		opening = nil
		slice = nextSlice(slice, size)
		if !suspended || sent >= maxRows {
			s.fetched(p, suspended)
			return nil
		}
		if err := s.Flush(false); err != nil {
			return err
		}
	}
}

// passTag tells how many rows there were: the upstream counts the last slice only.
func (s *session) passTag(p *frontend.Portal, body []byte, sent int) {
	tag := strings.TrimSuffix(string(body), "\x00")
	if i := strings.LastIndexByte(tag, ' '); i >= 0 {
		tag = tag[:i+1] + strconv.Itoa(sent)
	}
	s.complete(p, tag)
}

func (s *session) complete(p *frontend.Portal, tag string) {
	p.Tag = tag
	s.WarnOfLoss(tag)
	s.Client.Out.CommandComplete(tag)
}

// explainCalls adds what EXPLAIN says of the calls.
func (s *session) explainCalls(p *frontend.Portal) {
	explain := frontend.SplitOf(p.Bound).Explain
	if explain == nil || !explain.Text {
		return
	}
	for _, line := range explain.Lines {
		s.Client.Out.Message(&pgproto3.DataRow{Values: [][]byte{[]byte(line)}})
	}
}

// passRow passes on a row, with the calls that it asks for made.
func (s *session) passRow(p *frontend.Portal, m *pgproto3.DataRow) error {
	plan := frontend.SplitOf(p.Bound).Rows
	row := m.Values
	visible := len(p.Bound.Columns)
	if len(row) != visible+len(plan.Hidden) {
		return fmt.Errorf("a row of %d columns, want %d", len(row), visible+len(plan.Hidden))
	}
	results := make([]sqlfuncs.Row, len(plan.Calls))
	for i, call := range plan.Calls {
		args := make([]datum.Datum, len(call.Args))
		for j, column := range call.Args {
			if column == rewrite.LeftOut {
				args[j] = *call.Func.Args[j].Default
				continue
			}
			var err error
			if args[j], err = s.readHidden(plan.Hidden[column], row[visible+column]); err != nil {
				return err
			}
		}
		if err := s.Call(call.Func, args, &results[i]); err != nil {
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
		if row[column], err = s.encode(item.Type, v, p.Formats.Of(column)); err != nil {
			return err
		}
	}
	m.Values = row[:visible]
	out, err := m.Encode(s.Client.Out.Buf)
	if err == nil {
		s.Client.Out.Buf = out
	}
	return err
}

// readHidden reads a column that only the proxy sees.
func (s *session) readHidden(t datum.Type, raw []byte) (datum.Datum, error) {
	if raw == nil {
		return datum.Null, nil
	}
	v, err := datum.ParseBinary(t, raw, 0)
	if err != nil || !s.View.Text.Converts() {
		return v, err
	}
	text, err := s.View.Text.FromClient([]byte(v.Str))
	v.Str = string(text)
	return v, err
}

func (s *session) encode(t datum.Type, v datum.Datum, format int16) ([]byte, error) {
	v, err := s.View.Text.ValueToClient(v)
	if v.Null || err != nil {
		return nil, err
	}
	if format == wire.BinaryFormat {
		return datum.AppendBinary([]byte{}, t, v)
	}
	return datum.AppendText([]byte{}, t, v, &s.View.Times), nil
}
