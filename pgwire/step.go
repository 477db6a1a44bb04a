package pgwire

import (
	"slices"
	"unsafe"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/pgwire/drive"
	"raisinproxy/pgwire/wire"
	"raisinproxy/planner/plan"
	"raisinproxy/planner/sqltext"
	"raisinproxy/sqlfuncs/pgerr"
)

// What step cannot do itself, beyond what the driver knows.
const (
	needInput = drive.NeedInput
	needRoom  = drive.NeedRoom
	finished  = drive.Finished

	needPlan = drive.Own + iota // a text is not in the cache
	needCall                    // a call would wait for a backend

	// With an upstream:
	needUpstream // it is not open yet
	needTurn     // it owes answers that come before the session's own
	needFacts    // a call depends on what only the upstream knows
	needAbort    // an error of the session's has to abort its transaction
	needClose    // portals of the session's have to be closed there
	ourTurn      // nothing stands in the way of an answer of the session's
)

// step answers the frames that are there. It does no I/O, waits for nothing, and
// for statements whose plans are cached it does not allocate, so that an event
// loop may call it; what would need any of these it leaves at the head of the
// input and says so.
func (s *session) step() drive.Verdict {
	for !s.over {
		if v := s.handler.Before(); v != ourTurn {
			return v
		}
		kind, body, ok, bad := s.client.In.Peek()
		if bad != nil {
			s.broken = bad
			return finished
		}
		if !ok {
			return s.handler.Partial()
		}
		if s.unit.open() && !s.mayWait(true) {
			return needCall // if it fails something is to be given back
		}
		if v := s.dispatch(kind, body); v != needInput {
			return v
		}
		s.answered(body)
		if len(s.client.Out.Buf) > s.maxWaiting() {
			return needRoom
		}
	}
	return finished
}

// once answers the frame at the head alone, or says what stands between.
func (s *session) once() drive.Verdict {
	kind, body, ok, _ := s.client.In.Peek()
	if !ok {
		return needInput
	}
	v := s.dispatch(kind, body)
	if v == needPlan { // the cache does not keep every plan, and the next look would not find it
		s.plan()
		v = s.dispatch(kind, body)
	}
	if v == needInput {
		s.answered(body)
	}
	return v
}

// answered takes the frame at the head from the input, unless its answer has done so.
func (s *session) answered(body []byte) {
	if !s.frameConsumed {
		s.client.In.Skip(body)
	}
	s.frameConsumed = false
}

// consumeFrame takes the frame at the head from the input before its answer is complete.
func (s *session) consumeFrame() {
	if s.frameConsumed {
		return
	}
	if _, body, ok, _ := s.client.In.Peek(); ok {
		s.client.In.Skip(body)
		s.frameConsumed = true
	}
}

// dispatch answers one frame. needInput means that it is done.
func (s *session) dispatch(kind byte, body []byte) drive.Verdict {
	s.message.Decode(kind, body)
	return s.handler.Dispatch(&s.message)
}

var errFormat = pgerr.Newf(codes.ProtocolViolation, "invalid message format")

// flushRequest makes everything so far due.
func (s *session) flushRequest(m *wire.Message) drive.Verdict {
	if len(m.Body) > 0 {
		return s.failPipeline(errFormat)
	}
	s.sendAll()
	return needInput
}

// extendedOrSkip drops a frame if an earlier one of its pipeline failed.
func (s *session) extendedOrSkip(answer func(*wire.Message) drive.Verdict, m *wire.Message) drive.Verdict {
	if s.skipping {
		return needInput
	}
	return answer(m)
}

// functionCall refuses the fast-path call of old clients.
func (s *session) functionCall(message *wire.Message) drive.Verdict {
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
	case s.txState() == wire.FailedBlock:
		err = errAborted
	case err == nil:
		err = pgerr.Newf(codes.FeatureNotSupported, "the function call protocol needs an [upstream]")
	}
	s.fail(err)
	s.ready()
	return needInput
}

// planned is one plan and the text that it is for.
type planned struct {
	text    *sqltext.Text
	options plan.Options
	script  *plan.Script
}

// read is a text to be looked at, good for as long as its bytes are.
func (s *session) read(text []byte) *sqltext.Text {
	return sqltext.New(unsafe.String(unsafe.SliceData(text), len(text)), s.view.standard)
}

// lookup finds the plan of a text without parsing. If there is none it notes
// what to plan.
func (s *session) lookup(text *sqltext.Text, options plan.Options) (*plan.Script, bool) {
	s.refresh()
	defer text.Release()
	if s.planned.script != nil && s.planned.text.Equal(text) && s.planned.options.Equal(options) {
		script := s.planned.script
		s.planned = planned{}
		return script, true
	}
	if script, ok := s.env.Planner.Cached(text, options); ok {
		return script, true
	}
	s.planned = planned{text: text.Keep(), options: options.Clone()}
	return nil, false
}

// plan makes the plan that lookup missed. It may take milliseconds.
func (s *session) plan() {
	s.planned.script = s.env.Planner.Plan(s.planned.text, s.planned.options)
}

// mayWait says whether a statement with calls may run now, or has to be handed to
// where it may wait.
func (s *session) mayWait(calls bool) bool {
	return !calls || s.blocking || s.env.Functions.Immediate()
}

// mayCompute says whether statements may run here and now: queries over the system
// catalogues would keep an event loop for milliseconds.
func (s *session) mayCompute(statements ...*plan.Statement) bool {
	return s.blocking || !slices.ContainsFunc(statements, func(st *plan.Statement) bool {
		target, err := s.target(st)
		return err == nil && target.ReadsCatalogues
	})
}
