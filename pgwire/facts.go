package pgwire

import (
	"context"
	"errors"
	"raisinproxy/pgwire/wire"
	"strconv"
	"strings"
	"time"
)

// This file finds out what a call depends on and only the upstream knows: the branch,
// how long a statement may take, and how a text is to be read.

// readFacts asks for the facts before the frame at the head is answered. An error of the
// upstream's, a cancelled statement for example, is the answer to that frame then.
func (s *session) readFacts() error {
	err := s.waiting(func(context.Context) error { return s.askFacts() })
	if theirs, ok := errors.AsType[*upstreamError](err); ok && theirs.isOrdinary() {
		s.failHead(theirs)
		return nil
	}
	return err
}

// failHead answers the frame at the head of the input with an error.
func (s *session) failHead(err error) {
	kind, body, ok, _ := s.in.Peek()
	if !ok {
		kind = s.in.Buf[s.in.Start] // of a long message, which is dropped as it arrives
	}
	s.fail(err)
	if kind != 'Q' {
		s.skipping = true
		return
	}
	s.answered(body)
	s.forgetUnnamed()
	if s.up == nil {
		s.ready()
	} else {
		s.endSeries()
	}
}

// askFacts asks the upstream for what a call depends on and no ParameterStatus tells:
// any relayed statement may have changed it.
func (s *session) askFacts() error {
	inSeries := s.up.inSeries()
	ask := s.askAlone
	if inSeries {
		ask = s.ask
	}
	fs, err := ask(statement(factsName, factsQuery)...)
	if err != nil {
		return err
	}
	return s.each(fs, func(kind byte, body []byte) error {
		switch kind {
		case 'E':
			return refusal(body)
		case 'D':
			s.learn(wire.ReadRow(body), inSeries)
			s.settingsStale = false
		}
		return nil
	})
}

// saySettings asks for them among other questions, while the series is our own.
func (s *session) saySettings(c *conversation) {
	s.say(c, settingsName, factsQuery, nil, nil, func(row [][]byte) {
		s.learn(row, false)
		s.settingsStale = false
	})
}

// Where the facts stand in the answer to factsQuery.
const (
	factBranch = iota
	factTimeout
	factStandard
	factEncoding
	factDatabase
)

// factsQuery asks for them all.
const factsQuery = "SELECT pg_catalog.current_setting('app.branch', true), pg_catalog.current_setting('statement_timeout'), " +
	"pg_catalog.current_setting('standard_conforming_strings'), pg_catalog.current_setting('client_encoding'), pg_catalog.current_database()"

// factsName is the statement that asks.
const factsName = "_raisin_facts"

// settingsName is the same statement as it stays prepared.
const settingsName = "_raisin_settings"

// learn takes over what the upstream has told. What a series has set is reported at its
// end, and counts for its texts before.
func (s *session) learn(f facts, inSeries bool) {
	s.upstreamTimeout = parseTimeout(string(f[factTimeout]))
	if inSeries {
		s.standard = string(f[factStandard]) != "off"
		s.text = wire.TranscoderFor(string(f[factEncoding]))
		s.ahead = true
	}
	s.caller.Scope.Branch = defaultBranch
	if f[factBranch] != nil {
		s.caller.Scope.Branch = s.decoded(f[factBranch])
	}
}

// decoded is a name that the upstream tells, in the client's encoding.
func (s *session) decoded(raw []byte) string {
	name, err := s.text.FromClient(raw)
	if err != nil { // no encoding has two names for it
		name = raw
	}
	return string(name)
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
