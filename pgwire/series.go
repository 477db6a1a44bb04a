package pgwire

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/jackc/pgx/v5/pgproto3"

	"raisinproxy/pgwire/wire"
	"raisinproxy/planner"
)

// This file keeps series of ours, messages up to a Sync that the client did not send, in
// step with the client's own.

// queryInSeries answers a simple query of ours amid a series: it ends the series, as any
// query does, and fails with it.
func (s *session) queryInSeries(script *planner.Script) {
	s.forgetUnnamed()
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
	// What the last statement did is not done before its transaction is.
	tag := s.out.TakeTag()
	if err == nil {
		err = s.closeSeries()
	}
	if theirs, ok := errors.AsType[*upstreamError](err); ok {
		s.fail(theirs)
		tag, err = nil, nil
	}
	s.out.Buf = append(s.out.Buf, tag...)
	s.endQuery(err)
}

// endQuery tells the client in which transaction the upstream is after a query. With an
// error that is not the user's nothing is known of it any more: the session is over.
func (s *session) endQuery(err error) {
	if err != nil {
		s.giveUp(err)
		s.over = true
		return
	}
	s.followTransaction()
	s.endImplicit()
	s.ready()
}

// closeSeries ends the series that we opened for ourselves. The error is an
// upstreamError if its transaction could not be committed.
func (s *session) closeSeries() error {
	if !s.up.inSeries() {
		return nil
	}
	if s.up.isLost() {
		return errUpstreamLost // and nothing has been committed
	}
	status, _ := s.up.transaction()
	s.unit.deciding = status != wire.StatusBlock && !s.up.hasFailed()
	fs, err := s.up.exchange(encode(&pgproto3.Sync{}), untilReady)
	if err != nil {
		return err
	}
	s.unit.deciding = false
	s.up.popSeries()
	return s.each(fs, func(kind byte, body []byte) error {
		if kind == 'E' { // about a constraint that was deferred, for example
			return refusal(body)
		}
		return nil
	})
}

// abortUpstream makes the upstream's transaction fail as an error of its own would:
// by a text that it cannot parse. Its complaint is swallowed; ours was told.
func (s *session) abortUpstream() error {
	const text = "raisinproxy_aborts_this_transaction"
	if s.up.hasFailed() {
		return nil // an error of its own has done so already
	}
	inSeries, ask := s.up.inSeries(), s.askAlone
	if inSeries {
		ask = s.ask
	}
	frames, err := ask(&pgproto3.Parse{Name: "_raisin_abort", Query: text})
	if err != nil {
		return err
	}
	if inSeries {
		s.up.failSeries()
	}
	for len(frames) >= wire.FrameHeader {
		length := 1 + int(binary.BigEndian.Uint32(frames[1:]))
		if bytes.IndexByte([]byte("ANS"), frames[0]) >= 0 {
			s.news(frames[:length])
		}
		frames = frames[length:]
	}
	return nil
}
