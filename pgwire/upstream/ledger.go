package upstream

import (
	"bytes"
	"strings"

	"raisinproxy/pgwire/wire"
)

// Ledger is what an upstream owes for what it was sent, and what its answers tell of the session there:
// the transaction status, a COPY that waits for data. It is a value without a connection or a mutex;
// who has it guards it.
//
// Messages of the extended protocol make a pipeline, up to the Sync that ends it; a simple query is one of
// its own, or ends the one that is open. Each pipeline is answered by one ReadyForQuery.
// https://www.postgresql.org/docs/current/protocol-flow.html
type Ledger struct {
	// pending are the types of the messages that are not answered to their end, oldest first. Data of a
	// COPY and Flush have no answer.
	pending []byte
	// isOpen: something of a pipeline was sent, and its end was not.
	isOpen bool
	// failed: everything is dropped there up to the Sync that is to be sent.
	failed bool
	// ended: in the first pipeline a transaction has ended, or gone back, so that the status in the last
	// ReadyForQuery tells nothing.
	ended   bool
	copying bool // data of a COPY is waited for, and nothing else is taken
	status  byte // in the last ReadyForQuery
	// savepoints: the transaction may have some. Without any, ROLLBACK ends it.
	savepoints bool
	marks      Marks
}

// Marks are what has happened in the session of an upstream. Who compares them with those of
// before sees what has happened since.
type Marks struct {
	// Ended counts the transactions that have ended, WentBack those that have, or have gone back to a
	// savepoint: the answer to both commands is the same.
	Ended, WentBack int64
	// Dropped counts how often all prepared statements were dropped.
	Dropped int64
	// Named and Portals: there may be prepared statements, or portals (cursors too), with names.
	Named, Portals bool
}

// NewLedger is that of a connection which owes nothing.
func NewLedger(status byte) Ledger { return Ledger{status: status} }

// Sent notes a message of the client's that goes upstream. (Of Flush only a malformed one is sent on by
// itself; its answer is an error.)
func (l *Ledger) Sent(kind byte) {
	switch kind {
	case 'd':
	case 'c', 'f':
		if n := len(l.pending); n > 0 && !l.copying { // for a COPY that is still to begin, or ignored there
			l.isOpen = l.isOpen || l.pending[n-1] == 'S' // which was sent too early then
			l.pending = append(l.pending, kind)
		}
		l.copying = false
	case 'S':
		if l.copying {
			return // ignored there until the data ends
		}
		l.pending = append(l.pending, 'S')
		l.isOpen, l.failed = false, false
	case 'Q', 'F':
		if l.failed {
			return
		}
		l.pending = append(l.pending, 'Q')
		l.isOpen = false
	default:
		if l.copying && kind == 'H' || l.failed {
			return
		}
		l.pending = append(l.pending, kind)
		l.isOpen = true
	}
}

// isEnd says whether a message ends its pipeline.
func isEnd(kind byte) bool { return kind == 'S' || kind == 'Q' }

// Open notes that messages of the proxy's, whose answers it sees itself, are part of a pipeline: the open
// one, or a new one.
func (l *Ledger) Open() { l.isOpen = true }

// Close notes that the open pipeline has ended with a Sync, or a Query, of the proxy's. Nothing else may be
// owed.
func (l *Ledger) Close() { l.isOpen, l.failed, l.ended = false, false, false }

// Fail notes that the upstream drops what is left of the open pipeline.
func (l *Ledger) Fail() {
	if !l.isOpen {
		return
	}
	l.failed = true
	for n := len(l.pending); n > 0 && !isEnd(l.pending[n-1]); n-- {
		l.pending = l.pending[:n-1]
	}
}

// Received takes an answer to the client off what is owed.
func (l *Ledger) Received(kind byte, body []byte) {
	switch kind {
	case '1', '2', '3', 'n', 'T', 'I', 's':
		l.answered()
	case 'C':
		l.completed(body)
		l.answered()
	case 'G', 'W':
		l.copyBegins()
	case 'E':
		l.copying = false
		l.drop()
	case 'Z':
		l.ready(body)
		if l.status == wire.StatusIdle {
			l.endTransaction()
		}
		l.copying, l.ended = false, false
		if len(l.pending) > 0 {
			l.pop()
		}
	}
}

// ReceivedOwn notes an answer to a message of the proxy's.
func (l *Ledger) ReceivedOwn(kind byte, body []byte) {
	switch kind {
	case 'C':
		l.completed(body)
	case 'G':
		l.copying = true
	case 'E':
		l.copying = false
	case 'Z':
		l.ready(body)
	}
}

func (l *Ledger) ready(body []byte) {
	if len(body) == 1 {
		l.status = body[0]
	}
}

// answered takes off the message that an answer ends. A query ends with ReadyForQuery.
func (l *Ledger) answered() {
	if len(l.pending) > 0 && !isEnd(l.pending[0]) {
		l.pop()
	}
}

// pop takes the first message off, and the ends of data after it: they were for no COPY.
func (l *Ledger) pop() {
	n := 1
	for n < len(l.pending) && (l.pending[n] == 'c' || l.pending[n] == 'f') {
		n++
	}
	l.pending = append(l.pending[:0], l.pending[n:]...)
}

// completed notes what a command that has completed did to the session.
func (l *Ledger) completed(tag []byte) {
	switch string(tag) {
	case "DEALLOCATE ALL\x00", "DISCARD ALL\x00":
		l.marks.Dropped++
		l.marks.Named = bytes.IndexByte(l.pending, 'P') >= 0 // one that comes after it
	case "PREPARE\x00":
		l.marks.Named = true
	case "DECLARE CURSOR\x00":
		l.marks.Portals = true
	case "CALL\x00", "DO\x00":
		if l.status != wire.StatusBlock { // in a block they cannot
			l.marks.WentBack++ // it may have ended the transaction
		}
	case "SAVEPOINT\x00":
		l.savepoints = true
	case "ROLLBACK\x00", "COMMIT\x00", "PREPARE TRANSACTION\x00":
		if tag[0] == 'R' && l.savepoints {
			l.marks.WentBack++
		} else {
			l.endTransaction()
		}
		l.ended = len(l.pending) > 0 || l.isOpen
	}
}

// endTransaction notes that a transaction has ended, even if another has begun since.
func (l *Ledger) endTransaction() {
	l.marks.Ended++
	l.savepoints = false
}

// copyBegins takes account of a COPY that waits for data. Until the data ends the upstream ignores every
// Sync, so one that the client has sent too early, as it may, ends no pipeline.
func (l *Ledger) copyBegins() {
	l.copying = true
	rest := l.pending[min(1, len(l.pending)):]
	for len(rest) > 0 && l.copying && strings.IndexByte("Scf", rest[0]) >= 0 {
		l.copying = rest[0] == 'S' // else the data was sent already, and so was its end
		rest = rest[1:]
	}
	if n := len(l.pending); n > 0 {
		l.pending = append(l.pending[:1], rest...)
		l.isOpen = !isEnd(l.pending[len(l.pending)-1])
	}
}

// drop takes account of an error. In the extended protocol everything up to the next
// Sync is dropped then, a Query too; an error of a Query itself drops nothing.
func (l *Ledger) drop() {
	if len(l.pending) > 0 && l.pending[0] == 'Q' || len(l.pending) == 0 && !l.isOpen {
		return
	}
	if next := bytes.IndexByte(l.pending, 'S'); next >= 0 {
		l.pending = append(l.pending[:0], l.pending[next:]...)
		return
	}
	l.pending = l.pending[:0]
	l.isOpen, l.failed = true, true
}

// IsOpen says whether something of a pipeline went upstream whose end did not.
func (l *Ledger) IsOpen() bool { return l.isOpen }

// Owes says whether anything is not answered to its end, an open pipeline included.
func (l *Ledger) Owes() bool { return len(l.pending) > 0 || l.isOpen }

// OwesReady says whether a pipeline was sent to its end, and its ReadyForQuery is to come.
func (l *Ledger) OwesReady() bool { return bytes.ContainsAny(l.pending, "SQ") }

// Settled says whether everything sent so far has been answered, and whether the open
// pipeline has failed.
func (l *Ledger) Settled() (settled, failed bool) {
	settled = len(l.pending) == 0
	return settled, settled && l.failed
}

// HasFailed says whether the open pipeline has failed.
func (l *Ledger) HasFailed() bool { return l.failed }

// EndsBlock says whether an error that comes now ends the open block: a block is open, and
// ReadyForQuery is to come after the error. One amid a pipeline has the upstream drop a Query that
// ends it, and wait for a Sync.
func (l *Ledger) EndsBlock() bool {
	if l.status != wire.StatusBlock || len(l.pending) == 0 {
		return false
	}
	end := bytes.IndexAny(l.pending, "SQ")
	return end >= 0 && (l.pending[end] == 'S' || end == 0)
}

// Copying says whether the upstream waits for the data of a COPY.
func (l *Ledger) Copying() bool { return l.copying }

// EndCopy notes that the end of the data was sent, for a COPY of the proxy's.
func (l *Ledger) EndCopy() { l.copying = false }

// Status is the transaction status in the last ReadyForQuery.
func (l *Ledger) Status() byte { return l.status }

// Transaction is the state that the answers tell of. In a pipeline in which a transaction has
// ended, or gone back, what is there now is not known: it fails as a whole.
func (l *Ledger) Transaction() wire.TxState {
	switch {
	case l.isOpen && l.ended && !l.OwesReady():
		return wire.ImplicitTransaction
	case l.status == wire.StatusBlock:
		return wire.InBlock
	case l.status == wire.StatusFailed:
		return wire.FailedBlock
	case l.isOpen:
		return wire.ImplicitTransaction
	}
	return wire.NoTransaction
}

// NameStatement notes that a statement with a name was sent.
func (l *Ledger) NameStatement() { l.marks.Named = true }

// NamePortal notes that a portal with a name was sent.
func (l *Ledger) NamePortal() { l.marks.Portals = true }

// Marks are what has happened so far.
func (l *Ledger) Marks() Marks { return l.marks }
