package pgwire

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"

	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/datum"
)

// This file passes on the rows of a statement that both have a part in: in slices, and
// with the results of calls that run for each row put in.

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
