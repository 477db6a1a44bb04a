package pgwire

import (
	"raisinproxy/pgwire/upstream"
	"raisinproxy/pgwire/wire"
)

// This file takes account of what passes through a relay: what was sent that is to be
// answered, and what the answers say about the session.

// expect notes a message of the client's that goes upstream.
func (r *relay) expect(kind byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ledger.Sent(kind)
}

// inSeries says whether something of a pipeline went upstream whose end did not.
func (r *relay) inSeries() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ledger.IsOpen()
}

// settled says whether everything sent so far has been answered, and whether the open
// pipeline has failed.
func (r *relay) settled() (settled, failed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.isSettled()
}

func (r *relay) isSettled() (settled, failed bool) {
	if len(r.out) > 0 || r.lost != nil { // what waits for it learns of the loss
		return false, false
	}
	settled, failed = r.ledger.Settled()
	return settled && !r.partial, failed
}

// pendingEnd says whether ReadyForQuery is to come for something that was sent.
func (r *relay) pendingEnd() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ledger.OwesReady()
}

// hasFailed says whether the open pipeline has failed.
func (r *relay) hasFailed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ledger.HasFailed()
}

// isCopying says whether the upstream waits for the data of a COPY.
func (r *relay) isCopying() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ledger.Copying()
}

// marks are what has happened in the upstream's session.
func (r *relay) marks() upstream.Marks {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ledger.Marks()
}

// nameStatement notes that a statement with a name is sent, namePortal that a portal is.
func (r *relay) nameStatement() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ledger.NameStatement()
}

func (r *relay) namePortal() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ledger.NamePortal()
}

// txState is the state that the answers tell of.
func (r *relay) txState() wire.TxState {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ledger.Transaction()
}

// transaction is the status in the last ReadyForQuery, and whether a pipeline is open.
func (r *relay) transaction() (status byte, open bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ledger.Status(), r.ledger.IsOpen()
}

// openSeries notes that messages of ours are part of a pipeline.
func (r *relay) openSeries() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ledger.Open()
}

// popSeries notes that the open pipeline has ended with a Sync of ours.
func (r *relay) popSeries() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ledger.Close()
}

// failSeries notes that the upstream drops what is left of the open pipeline.
func (r *relay) failSeries() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ledger.Fail()
}

func (r *relay) endCopy() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ledger.EndCopy()
}

// note takes account of one frame. body is nil for one that is too long to wait for.
func (r *relay) note(to *captured, kind byte, body []byte) {
	if wire.IsBulk(kind) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case kind == 'S':
		m := wire.Body{Rest: body}
		name, value := string(m.Text()), string(m.Text())
		if _, known := r.params[name]; known || len(r.params) < maxParameters {
			r.params[name] = value
		}
		r.version++
	case kind == 'A' && len(body) > 4 && r.ids != nil:
		r.ids.translate(r.address(), body)
	}
	if to != nil {
		r.noteCaptured(to, kind, body)
		return
	}
	r.told = r.told || kind == 'E' && wire.EndsSession(body)
	ended := r.ledger.Marks().Ended
	r.ledger.Received(kind, body)
	if r.ledger.Marks().Ended != ended {
		r.onFailedCommit.Store(nil)
	}
}
