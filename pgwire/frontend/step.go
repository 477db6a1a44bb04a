package frontend

import (
	"slices"
	"unsafe"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/pgwire/drive"
	"raisinproxy/pgwire/wire"
	"raisinproxy/planner/plan"
	"raisinproxy/planner/sqltext"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// What step cannot do itself, beyond what the driver knows.
const (
	NeedInput = drive.NeedInput
	NeedRoom  = drive.NeedRoom
	Finished  = drive.Finished

	NeedPlan = drive.Own + iota // a text is not in the cache
	NeedCall                    // a call would wait for a backend

	NeedUpstream // the upstream is not open yet
	NeedTurn     // it owes answers that come before the session's own
	NeedFacts    // a call depends on what only the upstream knows
	NeedAbort    // an error of the session's has to abort its transaction
	NeedClose    // portals of the session's have to be closed there
	OurTurn      // nothing stands in the way of an answer of the session's
)

// Step answers the frames that are there. It does no I/O, waits for nothing, and
// for statements whose plans are cached it does not allocate, so that an event
// loop may call it; what would need any of these it leaves at the head of the
// input and says so.
func (s *Session) Step() drive.Verdict {
	for !s.Over {
		if v := s.Handler.Before(); v != OurTurn {
			return v
		}
		kind, body, ok, bad := s.Client.In.Peek()
		if bad != nil {
			s.Broken = bad
			return Finished
		}
		if !ok {
			return s.Handler.Partial()
		}
		if s.Unit.Open() && !s.mayWait(true, nil) {
			return NeedCall // if it fails something is to be given back
		}
		if v := s.dispatch(kind, body); v != NeedInput {
			return v
		}
		s.Answered(body)
		if len(s.Client.Out.Buf) > s.MostWaiting() {
			return NeedRoom
		}
	}
	return Finished
}

// once answers the frame at the head alone, or says what stands between.
func (s *Session) once() drive.Verdict {
	kind, body, ok, _ := s.Client.In.Peek()
	if !ok {
		return NeedInput
	}
	v := s.dispatch(kind, body)
	if v == NeedPlan { // the cache does not keep every plan, and the next look would not find it
		s.plan()
		v = s.dispatch(kind, body)
	}
	if v == NeedInput {
		s.Answered(body)
	}
	return v
}

// Answered takes the frame at the head from the input, unless its answer has done so.
func (s *Session) Answered(body []byte) {
	if !s.frameConsumed {
		s.Client.In.Skip(body)
	}
	s.frameConsumed = false
}

// ConsumeFrame takes the frame at the head from the input before its answer is complete.
func (s *Session) ConsumeFrame() {
	if s.frameConsumed {
		return
	}
	if _, body, ok, _ := s.Client.In.Peek(); ok {
		s.Client.In.Skip(body)
		s.frameConsumed = true
	}
}

// dispatch answers one frame. NeedInput means that it is done.
func (s *Session) dispatch(kind byte, body []byte) drive.Verdict {
	s.Message.Decode(kind, body)
	return s.Handler.Dispatch(&s.Message)
}

var errFormat = pgerr.Newf(codes.ProtocolViolation, "invalid message format")

// flushRequest makes everything so far due.
func (s *Session) flushRequest(m *wire.Message) drive.Verdict {
	if len(m.Body) > 0 {
		return s.FailPipeline(errFormat)
	}
	s.SendAll()
	return NeedInput
}

// functionCall refuses the fast-path call of old clients.
func (s *Session) functionCall(message *wire.Message) drive.Verdict {
	m := wire.Body{Rest: message.Body}
	m.Int32() // the function
	wire.ReadFormats(&m, nil)
	for range m.Count() {
		if length := m.Int32(); length != -1 {
			m.Bytes(int(length))
		}
	}
	m.Count() // the format of the result
	err := m.Done()
	switch {
	case s.TxState() == wire.FailedBlock:
		err = ErrAborted
	case err == nil:
		err = pgerr.Newf(codes.FeatureNotSupported, "the function call protocol needs an [upstream]")
	}
	s.Fail(err)
	s.Ready()
	return NeedInput
}

// planned is one plan and the text that it is for.
type planned struct {
	text    *sqltext.Text
	options plan.Options
	script  *plan.Script
}

// Read is a text to be looked at, good for as long as its bytes are.
func (s *Session) Read(text []byte) *sqltext.Text {
	return sqltext.New(unsafe.String(unsafe.SliceData(text), len(text)), s.View.Standard)
}

// Lookup finds the plan of a text without parsing. If there is none it notes
// what to plan.
func (s *Session) Lookup(text *sqltext.Text, options plan.Options) (*plan.Script, bool) {
	s.Refresh()
	defer text.Release()
	if s.planned.script != nil && s.planned.text.Equal(text) && s.planned.options.Equal(options) {
		script := s.planned.script
		s.planned = planned{}
		return script, true
	}
	if script, ok := s.Env.Planner.Cached(text, options); ok {
		return script, true
	}
	s.planned = planned{text: text.Keep(), options: options.Clone()}
	return nil, false
}

// plan makes the plan that lookup missed. It may take milliseconds.
func (s *Session) plan() {
	s.planned.script = s.Env.Planner.Plan(s.planned.text, s.planned.options)
}

// mayWait says whether a statement with calls may run now, or has to be handed to
// where it may wait.
func (s *Session) mayWait(calls bool, params []datum.Datum, statements ...*plan.Statement) bool {
	return !calls || s.Blocking || s.Env.Functions.Immediate() && !s.waitInLine(params, statements)
}

// waitInLine says whether a call of the statements, which have these parameters, may wait for its
// turn.
func (s *Session) waitInLine(params []datum.Datum, statements []*plan.Statement) bool {
	return slices.ContainsFunc(statements, func(st *plan.Statement) bool {
		target, _, err := s.Target(st)
		if err != nil || target.Waits == nil {
			return false
		}
		if target != st { // whose parameters are the arguments of EXECUTE
			return target.Waits(nil)
		}
		return target.Waits(params)
	})
}

// mayCompute says whether statements may run here and now: queries over the system
// catalogues would keep an event loop for milliseconds.
func (s *Session) mayCompute(statements ...*plan.Statement) bool {
	return s.Blocking || !slices.ContainsFunc(statements, func(st *plan.Statement) bool {
		target, _, err := s.Target(st)
		return err == nil && target.ReadsCatalogues
	})
}
