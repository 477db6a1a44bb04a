package pgwire

import (
	"encoding/binary"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/planner"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// This file asks the upstream within a series of ours, unseen by the client, and first of
// all what a statement means: the types of its parameters and its columns.

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
