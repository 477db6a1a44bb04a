package pgwire

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// This file finds out what a call depends on and only the upstream knows: the branch,
// how long a statement may take, and how a text is to be read.

// readFacts asks the upstream for what a call depends on and no ParameterStatus tells:
// any relayed statement may have changed it.
func (s *session) readFacts() error {
	if s.blocking {
		return s.askFacts()
	}
	return s.waiting(func(context.Context) error { return s.askFacts() })
}

func (s *session) askFacts() error {
	const query = "SELECT pg_catalog.current_setting('app.branch', true), pg_catalog.current_setting('statement_timeout'), " +
		"pg_catalog.current_setting('standard_conforming_strings'), pg_catalog.current_setting('client_encoding')"
	messages, last := factsBySeries(query), byte('3')
	if !s.up.inSeries() {
		messages, last = encode(&pgproto3.Query{String: query}), 'Z'
	}
	frames, err := s.up.exchange(messages, func(kind byte) bool { return kind == last || kind == 'E' && last != 'Z' })
	if err != nil {
		return err
	}
	s.up.dirty = false
	return s.learn(frames)
}

// factsBySeries asks within a series that the client has begun, under a name that no
// client uses, and ends with the answer to Close.
func factsBySeries(query string) []byte {
	const name = "_raisin_facts"
	return encode(
		&pgproto3.Parse{Name: name, Query: query},
		&pgproto3.Bind{DestinationPortal: name, PreparedStatement: name},
		&pgproto3.Execute{Portal: name},
		&pgproto3.Close{ObjectType: 'P', Name: name},
		&pgproto3.Close{ObjectType: 'S', Name: name},
		&pgproto3.Flush{})
}

// learn reads the answer to readFacts, and passes on what was not an answer.
func (s *session) learn(frames []byte) error {
	for len(frames) >= frameHeader {
		length := 1 + int(binary.BigEndian.Uint32(frames[1:]))
		kind, body := frames[0], frames[frameHeader:length]
		switch kind {
		case 'A', 'N', 'S':
			s.out.buf = append(s.out.buf, frames[:length]...)
		case 'E':
			return errors.New("the upstream refused to tell its settings")
		case 'D':
			m := message{rest: body}
			m.count()
			branch := m.bytes(int(m.int32()))
			s.upstreamTimeout = parseTimeout(string(m.bytes(int(m.int32()))))
			if s.up.inSeries() {
				s.standard = string(m.bytes(int(m.int32()))) != "off"
				s.text = transcoderFor(string(m.bytes(int(m.int32()))))
				s.ahead = true
			}
			s.setBranch(branch)
		}
		frames = frames[length:]
	}
	return nil
}

// setBranch takes over the branch, which is in the client's encoding.
func (s *session) setBranch(raw []byte) {
	branch, err := s.text.fromClient(raw)
	if err != nil { // no encoding has two names for it
		branch = raw
	}
	s.caller.Scope.Branch = cmp.Or(string(branch), "main")
}

// parseTimeout reads a time as SHOW prints it: 0, 250ms, 5s, 1min, 2h, 1d.
func parseTimeout(text string) time.Duration {
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0
	}
	units := map[string]time.Duration{"": time.Millisecond, "ms": time.Millisecond, "s": time.Second, "min": time.Minute, "h": time.Hour, "d": 24 * time.Hour}
	return time.Duration(n) * units[text[len(digits):]]
}
