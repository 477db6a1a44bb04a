package pgwire

import "raisinproxy/pgwire/wire"

// This file takes account of what passes through a relay: what was sent that is to be
// answered, and what the answers say about the session.

// expect notes what a message that goes upstream will be answered with. (Of Flush only
// a malformed one is sent on by itself; its answer is an error.)
func (r *relay) expect(kind byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.copying && (kind == 'S' || kind == 'H') {
		return // ignored there until the data ends
	}
	end := byte(0)
	switch kind {
	case 'Q', 'F':
		end = 'Q'
	case 'S':
		end = 'S'
	case 'd':
		return
	case 'c', 'f':
		r.copying = false
	}
	if n := len(r.series); end == 0 && (kind == 'c' || kind == 'f') && (n == 0 || r.series[n-1].end == 'Q') {
		// The end of a simple query's data begins no series: without a COPY it is ignored there.
		if n > 0 {
			r.series[n-1].data = true
		}
		return
	}
	s := r.open()
	if s == nil {
		r.series = append(r.series, series{})
		s = r.open()
	}
	switch {
	case kind == 'c' || kind == 'f':
		s.data = true
	case end == 'S' || end == 'Q' && !s.failed:
		s.end = end
	case end == 0 && !s.failed:
		s.answers++
	}
}

// open is the series that still waits for its Sync.
func (r *relay) open() *series {
	if n := len(r.series); n > 0 && r.series[n-1].end == 0 {
		return &r.series[n-1]
	}
	return nil
}

// inSeries says whether something of a series went upstream whose Sync did not.
func (r *relay) inSeries() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.open() != nil
}

// settled says whether everything sent so far has been answered, and whether the open
// series has failed.
func (r *relay) settled() (settled, failed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.isSettled()
}

func (r *relay) isSettled() (settled, failed bool) {
	switch {
	case len(r.out) > 0, r.lost != nil: // what waits for it learns of the loss
		return false, false
	case len(r.series) == 0:
		return !r.partial, false
	case len(r.series) > 1 || r.series[0].end != 0:
		return false, false
	}
	return r.series[0].answers == 0 && !r.partial, r.series[0].failed
}

// pendingEnd says whether a series has been sent whose end is not answered yet.
func (r *relay) pendingEnd() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.series) > 0 && r.series[0].end != 0
}

// hasFailed says whether the open series has failed.
func (r *relay) hasFailed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.open()
	return s != nil && s.failed
}

// note takes account of one frame. body is nil for one that is too long to wait for.
func (r *relay) note(to *captured, kind byte, body []byte) {
	if wire.IsBulk(kind) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case kind == 'Z' && len(body) == 1:
		r.status = body[0]
		if to == nil && r.status == wire.StatusIdle {
			r.endTransaction()
		}
	case kind == 'S':
		m := wire.Body{Rest: body}
		name, value := string(m.Text()), string(m.Text())
		if _, known := r.params[name]; known || len(r.params) < maxParameters {
			r.params[name] = value
		}
		r.version++
	}
	if kind == 'A' && len(body) > 4 && r.ids != nil {
		r.ids.translate(r.address(), body)
	}
	if to != nil {
		r.noteCaptured(to, kind, body)
		return
	}
	if kind == 'C' {
		r.noteTag(body)
	}
	r.told = r.told || kind == 'E' && wire.EndsSession(body)
	r.account(kind)
}

// noteTag takes account of a command that has completed.
func (r *relay) noteTag(body []byte) {
	switch string(body) {
	case "DEALLOCATE ALL\x00", "DISCARD ALL\x00":
		r.dropped.Add(1)
	case "PREPARE\x00":
		r.named.Store(true)
	case "DECLARE CURSOR\x00":
		r.portals.Store(true)
	case "CALL\x00", "DO\x00":
		if r.status != wire.StatusBlock { // in a block they cannot
			r.wentBack.Add(1) // it may have ended the transaction
		}
	case "SAVEPOINT\x00":
		r.savepoints = true
	case "ROLLBACK\x00", "COMMIT\x00", "PREPARE TRANSACTION\x00":
		if body[0] == 'R' && r.savepoints {
			r.wentBack.Add(1)
		} else {
			r.endTransaction()
		}
		if len(r.series) > 0 {
			r.series[0].ended = true
		}
	}
}

// endTransaction notes that a transaction has ended, even if another has begun since.
func (r *relay) endTransaction() {
	r.ended.Add(1)
	r.block.Store(nil)
	r.savepoints = false
}

// copyBegins takes account of a COPY that waits for data. Until the data ends the
// upstream ignores every Sync, so one that the client has sent too early, as it may, is
// not the end of its series.
func (r *relay) copyBegins() {
	r.copying = true
	if len(r.series) == 0 {
		return
	}
	s := &r.series[0]
	if s.data {
		r.copying = false // the data was sent already, and so was its end
	}
	for s.end == 'S' && !s.data {
		s.end = 0
		if len(r.series) == 1 {
			return
		}
		next := r.series[1]
		s.end, s.data, s.answers = next.end, next.data, s.answers+next.answers
		r.series = append(r.series[:1], r.series[2:]...)
		r.copying = !s.data
	}
}

// isCopying says whether the upstream waits for the data of a COPY.
func (r *relay) isCopying() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.copying
}

// fail takes account of an error. In the extended protocol everything up to the next
// Sync is dropped then, a Query too; an error of a Query itself drops nothing.
func (r *relay) fail() {
	s := &r.series[0]
	if s.end == 'Q' && s.answers == 0 {
		return
	}
	s.answers, s.failed = 0, true
	for s.end != 'S' && len(r.series) > 1 {
		s.end = r.series[1].end
		r.series = append(r.series[:1], r.series[2:]...)
	}
	if s.end == 'Q' {
		s.end = 0
	}
}

// account takes an answer off what the upstream owes.
func (r *relay) account(kind byte) {
	switch kind {
	case '1', '2', '3', 'n', 'T', 'C', 'I', 's':
		if len(r.series) > 0 && r.series[0].answers > 0 {
			r.series[0].answers--
		}
	case 'G', 'W':
		r.copyBegins()
	case 'E':
		r.copying = false
		if len(r.series) > 0 {
			r.fail()
		}
	case 'Z':
		r.copying = false
		if len(r.series) > 0 {
			r.series = append(r.series[:0], r.series[1:]...)
		}
	}
}
