package pgwire

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/planner"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// This file is the way of a frame in front of an upstream: what is not ours goes on as
// it is. An answer of ours has to wait for its turn: the upstream settles what it
// owes first, and says in which transaction we are.

// route answers one frame, or sends it on.
func (s *session) route(kind byte, body []byte) verdict {
	switch {
	case s.skipping && kind != 'S' && kind != 'X':
		return needInput
	case s.up != nil && kind != 'X' && s.up.isCopying():
		return s.relay(kind, body)
	}
	if v := s.settlePortals(kind); v != ourTurn {
		return v
	}
	if namesOurs(kind, body) {
		if v := s.turn(false); v != ourTurn {
			return v
		}
		return s.failSeries(errReservedName)
	}
	switch kind {
	case 'd', 'c', 'f':
		if s.up == nil {
			return needInput // left of a COPY that failed
		}
	case 'Q':
		return s.routeQuery(body)
	case 'P':
		return s.routeParse(body)
	case 'B':
		m := message{rest: body}
		portal, statement := m.text(), m.text()
		ours := s.isOurs('S', statement)
		if !ours {
			s.replacePortal(portal)
		}
		return s.routeNamed(kind, body, ours, s.bind)
	case 'E':
		m := message{rest: body}
		return s.routeNamed(kind, body, s.isOurs('P', m.text()), s.execute)
	case 'D':
		m := message{rest: body}
		return s.routeNamed(kind, body, s.isOurs(m.byte(), m.text()), s.describe)
	case 'C':
		m := message{rest: body}
		return s.routeNamed(kind, body, s.isOurs(m.byte(), m.text()), s.close)
	case 'S':
		return s.routeSync(body)
	case 'H':
		s.out.due = true
		if len(body) == 0 {
			return s.routeFlush()
		}
	case 'X':
		return finished
	}
	return s.relay(kind, body)
}

// reservedPrefix begins the names of our own statements and portals in the upstream.
const reservedPrefix = "_raisin_"

var errReservedName = pgerr.Newf(codes.ReservedName, "names of statements and portals that begin with \"%s\" are reserved", reservedPrefix)

// namesOurs says whether a message is about a statement or portal of our own in the
// upstream, which a client may not touch.
func namesOurs(kind byte, body []byte) bool {
	switch kind {
	case 'D', 'C':
		body = body[min(1, len(body)):]
	case 'B':
		m := message{rest: body}
		if bytes.HasPrefix(m.text(), []byte(reservedPrefix)) {
			return true
		}
		body = m.rest
	case 'P', 'E':
	default:
		return false
	}
	return bytes.HasPrefix(body, []byte(reservedPrefix))
}

// settlePortals finds out, before a message about a portal, whether those of ours have
// ended with a transaction that the upstream has not answered for yet.
func (s *session) settlePortals(kind byte) verdict {
	ours := len(s.portals) > 0 || s.unnamedPortal.state != portalAbsent
	if s.up == nil || !ours || strings.IndexByte("BDEC", kind) < 0 {
		return ourTurn
	}
	if s.up.pendingEnd() {
		return needTurn
	}
	if !s.up.inSeries() {
		s.adoptStatus()
	}
	return ourTurn
}

// routeFlush sends a Flush on if there is anything of its series to flush.
func (s *session) routeFlush() verdict {
	if s.up != nil && s.up.inSeries() {
		s.up.out = append(s.up.out, 'H', 0, 0, 0, 4)
	}
	return needInput
}

// isOurs says whether a prepared statement or a portal of that name is kept here.
func (s *session) isOurs(kind byte, name []byte) bool {
	switch {
	case kind == 'S' && len(name) == 0:
		return s.unnamed != nil
	case kind == 'S':
		return s.statements[string(nameKey(name))] != nil
	case len(name) == 0:
		return s.unnamedPortal.state != portalAbsent
	}
	return s.portals[string(nameKey(name))] != nil
}

// routeNamed answers a message about a statement or portal of ours.
func (s *session) routeNamed(kind byte, body []byte, ours bool, answer func([]byte) verdict) verdict {
	if !ours {
		return s.relay(kind, body)
	}
	var v verdict
	if kind == 'E' && s.isMixed(body) {
		v = s.mixedTurn()
	} else {
		v = s.turn(kind == 'E' || kind == 'B')
	}
	if v != ourTurn {
		return v
	}
	return answer(body)
}

// isMixed says whether an Execute runs a statement that the upstream has a part in.
func (s *session) isMixed(body []byte) bool {
	m := message{rest: body}
	p, err := s.portalOf(m.text())
	return err == nil && s.involved(p.bound)
}

// turn makes sure that an answer of ours may be given now. calls says that it may
// depend on what only the upstream knows.
func (s *session) turn(calls bool) verdict {
	if s.up == nil {
		return ourTurn
	}
	settled, seriesFailed := s.up.settled()
	if !settled {
		return needTurn
	}
	if seriesFailed {
		s.skipping = true
		return needInput
	}
	s.adoptStatus()
	if calls && s.up.dirty && s.state != failed {
		return needFacts
	}
	return ourTurn
}

// adoptStatus takes over the transaction that the upstream is in.
func (s *session) adoptStatus() {
	status, open := s.up.transaction()
	switch {
	case status == statusBlock:
		s.state = explicit
	case status == statusFailed:
		s.state = failed
	case open:
		s.state = implicit
	case s.state != implicit:
		s.endTransaction(true) // the upstream's has ended, and with it our portals
	}
}

// relay sends a frame on as it is.
func (s *session) relay(kind byte, body []byte) verdict {
	if s.up == nil {
		return needUpstream
	}
	s.up.expect(kind)
	s.up.out = append(s.up.out, kind)
	s.up.out = binary.BigEndian.AppendUint32(s.up.out, uint32(4+len(body)))
	s.up.out = append(s.up.out, body...)
	s.up.dirty = true
	if len(s.up.out) > maxPending {
		if _, head, ok, _ := s.in.peek(); ok {
			s.in.skip(head) // which need not be body
		}
		return needRoom
	}
	return needInput
}

// relayText sends a Query or a Parse on with another text.
func (s *session) relayText(kind byte, before []byte, text string, after []byte) verdict {
	if encoded, err := s.text.toClient(text); err == nil { // it came from there
		text = encoded
	}
	body := make([]byte, 0, len(before)+len(text)+len(after)+2)
	if kind == 'P' {
		body = append(append(body, before...), 0)
	}
	body = append(append(body, text...), 0)
	return s.relay(kind, append(body, after...))
}

// routeQuery looks whether a simple query is ours.
func (s *session) routeQuery(body []byte) verdict {
	m := message{rest: body}
	raw := m.text()
	if m.done() != nil {
		return s.relay('Q', body) // the upstream knows what is wrong with it
	}
	script, v := s.routeText(raw, planner.Options{Standard: s.standard})
	switch {
	case v != needInput:
		return v
	case script == nil:
		s.unnamed, s.unnamedPortal.state = nil, portalAbsent
		return s.relay('Q', body)
	}
	if branch, ok := script.UseBranch(); ok && branch != "" {
		return s.relayText('Q', nil, useBranch(branch), nil)
	}
	if len(script.Statements) == 1 && s.involved(script.Statements[0]) {
		if v := s.mixedTurn(); v != ourTurn {
			return v
		}
		s.unnamed, s.unnamedPortal.state = nil, portalAbsent
		s.queryMixed(script.Statements[0])
		return needInput
	}
	if len(script.Statements) > 1 {
		if v := s.mixedTurn(); v != ourTurn {
			return v
		}
		s.unnamed, s.unnamedPortal.state = nil, portalAbsent
		s.queryBatch(script)
		return needInput
	}
	if s.up != nil && s.up.inSeries() {
		if v := s.mixedTurn(); v != ourTurn {
			return v
		}
		s.queryInSeries(script)
		return needInput
	}
	if v := s.turn(script.Calls || s.executes(script)); v != ourTurn {
		return v
	}
	return s.query(body)
}

func (s *session) routeParse(body []byte) verdict {
	m := message{rest: body}
	name, raw := m.text(), m.text()
	rest := m.rest
	declared := noTypes
	for range m.count() {
		declared = append(declared, datum.Type(m.int32()))
	}
	if m.done() != nil {
		return s.relay('P', body)
	}
	script, v := s.routeText(raw, planner.Options{Standard: s.standard, Prepared: true, Types: declared})
	switch {
	case v != needInput:
		return v
	case script == nil && len(name) > 0 && s.isOurs('S', name):
		if v := s.turn(false); v != ourTurn {
			return v
		}
		return s.failSeries(s.keep(string(name), emptyStatement)) // it exists
	case script == nil:
		if len(name) == 0 {
			s.unnamed = nil
		}
		return s.relay('P', body)
	}
	if branch, ok := script.UseBranch(); ok && branch != "" {
		return s.relayText('P', name, useBranch(branch), rest)
	}
	if len(script.Statements) == 1 && mixed(script.Statements[0]) != nil && s.state != failed {
		if v := s.mixedTurn(); v != ourTurn {
			return v
		}
	} else if v := s.turn(false); v != ourTurn {
		return v
	}
	return s.parse(body)
}

// routeText finds the plan of a text that is to be answered here; nil if it is the
// upstream's.
func (s *session) routeText(raw []byte, options planner.Options) (*planner.Script, verdict) {
	if s.up != nil && planner.MayConcern(unsafe.String(unsafe.SliceData(raw), len(raw))) {
		// What is under way may change the settings that the text is to be read by.
		settled, failed := s.up.settled()
		switch {
		case !settled:
			return nil, needTurn
		case s.up.dirty && !failed && s.up.inSeries() && s.lastStatus() != statusFailed:
			return nil, needFacts // which the upstream reports at the end of the series only
		}
	}
	s.refresh()
	options.Standard = s.standard
	text, err := s.text.fromClient(raw)
	if err != nil {
		return nil, needInput
	}
	view := unsafe.String(unsafe.SliceData(text), len(text)) // only looked at
	if !planner.Concerns(view, s.standard) && (len(s.statements) == 0 || !planner.UsesPrepared(view, s.standard)) &&
		(s.up != nil || !planner.ControlsTransaction(view, s.standard)) {
		return nil, needInput
	}
	script, ok := s.lookup(text, options)
	if !ok {
		return nil, needPlan
	}
	if s.isForUs(script, options) {
		return script, needInput
	}
	return nil, needInput
}

// isForUs says whether a script is answered here: if it calls our functions, if it
// chooses a branch, or if it names a prepared statement of ours. What the parser
// refuses is the upstream's to judge, but for what the parser was not shown.
func (s *session) isForUs(script *planner.Script, options planner.Options) bool {
	if script.Err != nil {
		return script.Err.Code == codes.StatementTooComplex
	}
	if _, ok := script.UseBranch(); ok {
		return true
	}
	if s.holds(script) {
		return true
	}
	ours := false
	for _, st := range script.Statements {
		switch a := st.Action.(type) {
		case *planner.Execute:
			ours = ours || s.isOurStatement(st)
		case *planner.Deallocate:
			if a.Name == "" && !options.Prepared && s.lastStatus() != statusFailed {
				clear(s.statements)
			}
			ours = ours || s.isOurStatement(st)
		case *planner.Set:
			ours = ours || a.EmptiesBranch()
		case *planner.Discard:
			if a.Tag == "DISCARD ALL" && !options.Prepared && s.lastStatus() == statusIdle {
				clear(s.statements)
			}
		}
		ours = ours || st.Mentions || s.executesWithin(st)
	}
	return ours
}

// executesWithin says whether a statement is a command of the upstream's that executes a
// prepared statement of ours.
func (s *session) executesWithin(st *planner.Statement) bool {
	return st.Within != "" && s.statements[nameKey(st.Within)] != nil
}

// lastStatus is the transaction status that the client was told last.
func (s *session) lastStatus() byte {
	if s.up == nil {
		return s.status()
	}
	status, _ := s.up.transaction()
	return status
}

// useBranch is USE BRANCH in the upstream's words.
func useBranch(branch string) string {
	quoted := strings.ReplaceAll(strings.ReplaceAll(branch, `\`, `\\`), "'", `\'`)
	return "SET app.branch = E'" + quoted + "'"
}

// routeSync ends a series: where it began.
func (s *session) routeSync(body []byte) verdict {
	if s.up != nil && s.up.inSeries() {
		s.skipping, s.pipelined = false, false
		if s.state == implicit {
			// What becomes of our portals is known when the upstream has answered: the
			// series may have begun a transaction.
			s.state = noTransaction
		}
		return s.relay('S', body)
	}
	if s.up != nil {
		if settled, _ := s.up.settled(); !settled {
			return needTurn
		}
		s.adoptStatus()
	}
	s.sync(body)
	return needInput
}

// transaction is the status in the last ReadyForQuery, and whether a series is open.
func (r *relay) transaction() (status byte, open bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status, r.open() != nil
}

// takeTurn waits until the upstream owes nothing.
func (s *session) takeTurn() error {
	if err := s.flush(); err != nil {
		return err
	}
	return s.waiting(func(context.Context) error { return s.up.settle() })
}

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

func encode(messages ...pgproto3.FrontendMessage) []byte {
	var out []byte
	for _, m := range messages {
		out, _ = m.Encode(out) // too short to fail
	}
	return out
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

// abortUpstream makes the upstream's transaction fail as an error of its own would:
// by a text that it cannot parse. Its complaint is swallowed; ours was told.
func (s *session) abortUpstream() error {
	const text = "raisinproxy_aborts_this_transaction"
	messages, last := encode(&pgproto3.Query{String: text}), byte('Z')
	inSeries := s.up.inSeries()
	if s.up.hasFailed() {
		return nil // an error of its own has done so already
	}
	if inSeries {
		messages, last = encode(&pgproto3.Parse{Name: "_raisin_abort", Query: text}, &pgproto3.Flush{}), 'E'
	}
	frames, err := s.up.exchange(messages, func(kind byte) bool { return kind == last })
	if err != nil {
		return err
	}
	if inSeries {
		s.up.failSeries()
	}
	for len(frames) >= frameHeader {
		length := 1 + int(binary.BigEndian.Uint32(frames[1:]))
		if bytes.IndexByte([]byte("ANS"), frames[0]) >= 0 {
			s.out.buf = append(s.out.buf, frames[:length]...)
		}
		frames = frames[length:]
	}
	return nil
}

// failSeries notes that the upstream drops what is left of the open series.
func (r *relay) failSeries() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.open(); s != nil {
		s.failed, s.answers = true, 0
	}
}

// notYet refuses statements with calls that the upstream would have a part in.
func notYet(st *planner.Statement) error {
	if !st.Mentions {
		return nil
	}
	if st.Err != nil && planner.NeedsUpstream(st.Err) {
		return pgerr.Newf(codes.FeatureNotSupported, "a raisin_ function in a statement over tables is not supported yet").
			WithHint("Call it in a statement of its own, and pass what it returns on as parameters.").At(st.Err.Position)
	}
	if m := mixed(st); m != nil {
		return nil
	}
	if query, ok := st.Action.(*planner.Select); st.Err == nil && (!ok || !query.Local()) && !isPrepared(st.Action) {
		return pgerr.Newf(codes.FeatureNotSupported, "a raisin_ function beside this statement is not supported yet").
			WithHint("Send the call in a query of its own.")
	}
	return nil
}

func isPrepared(a planner.Action) bool {
	switch a.(type) {
	case *planner.Prepare, *planner.PrepareMixed, *planner.Execute, *planner.Deallocate:
		return true
	}
	return false
}
