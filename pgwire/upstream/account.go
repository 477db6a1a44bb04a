package upstream

import (
	"maps"

	"github.com/jackc/pgx/v5/pgproto3"

	"raisinproxy/pgwire/wire"
)

// This file takes account of what passes through a Conn: what was sent that is to be
// answered, and what the answers say about the session.

// ask is what the ledger says. (With a function of the type, since a closure would be allocated.)
func ask[T any](c *Conn, what func(*Ledger) T) T {
	c.mu.Lock()
	defer c.mu.Unlock()
	return what(&c.ledger)
}

// tell has the ledger note something.
func (c *Conn) tell(what func(*Ledger)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	what(&c.ledger)
}

// Expect notes a message of the client's that goes upstream.
func (c *Conn) Expect(kind byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ledger.Sent(kind)
}

// IsOpen says whether something of a pipeline went upstream whose end did not.
func (c *Conn) IsOpen() bool { return ask(c, (*Ledger).IsOpen) }

// Settled says whether everything sent so far has been answered, and whether the open
// pipeline has failed.
func (c *Conn) Settled() (settled, failed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.isSettled()
}

func (c *Conn) isSettled() (settled, failed bool) {
	if len(c.out) > 0 || c.lost != nil { // what waits for it learns of the loss
		return false, false
	}
	settled, failed = c.ledger.Settled()
	return settled && !c.partial, failed
}

// OwesReady says whether ReadyForQuery is to come for something that was sent.
func (c *Conn) OwesReady() bool { return ask(c, (*Ledger).OwesReady) }

// HasFailed says whether the open pipeline has failed.
func (c *Conn) HasFailed() bool { return ask(c, (*Ledger).HasFailed) }

// Copying says whether the upstream waits for the data of a COPY.
func (c *Conn) Copying() bool { return ask(c, (*Ledger).Copying) }

// Marks are what has happened in the upstream's session.
func (c *Conn) Marks() Marks { return ask(c, (*Ledger).Marks) }

// NameStatement notes that a statement with a name is sent.
func (c *Conn) NameStatement() { c.tell((*Ledger).NameStatement) }

// NamePortal notes that a portal with a name is sent.
func (c *Conn) NamePortal() { c.tell((*Ledger).NamePortal) }

// TxState is the state that the answers tell of.
func (c *Conn) TxState() wire.TxState { return ask(c, (*Ledger).Transaction) }

// Status is the transaction status in the last ReadyForQuery.
func (c *Conn) Status() byte { return ask(c, (*Ledger).Status) }

// OpenPipeline notes that messages of the proxy's are part of a pipeline.
func (c *Conn) OpenPipeline() { c.tell((*Ledger).Open) }

// closePipeline notes that the open pipeline has ended with a Sync of the proxy's.
func (c *Conn) closePipeline() { c.tell((*Ledger).Close) }

// failPipeline notes that the upstream drops what is left of the open pipeline.
func (c *Conn) failPipeline() { c.tell((*Ledger).Fail) }

// EndCopy notes that the end of the data was sent, for a COPY of the proxy's.
func (c *Conn) EndCopy() { c.tell((*Ledger).EndCopy) }

// note takes account of one frame. body is nil for one that is too long to wait for.
func (c *Conn) note(to *sink, kind byte, body []byte) {
	if wire.IsBulk(kind) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case kind == 'S':
		m := wire.Body{Rest: body}
		name, value := string(m.Text()), string(m.Text())
		if _, known := c.params[name]; known || len(c.params) < maxParameters {
			c.params[name] = value
		}
		c.version++
	case kind == 'A' && len(body) > 4 && c.ids != nil:
		c.ids.translate(c.address(), body)
	}
	ended := c.ledger.Marks().Ended
	if to != nil {
		c.noteOwn(to, kind, body)
	} else {
		c.told = c.told || kind == 'E' && wire.EndsSession(body)
		c.ledger.Received(kind, body)
	}
	if c.ledger.Marks().Ended != ended {
		c.onFailedCommit.Store(nil)
	}
}

// HasTold says whether the upstream has told the client that it ends, or has told the proxy
// instead, in this frame.
func (c *Conn) HasTold() (told bool, fatalFrame []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.told, c.fatalFrame
}

// Params are the settings that the upstream has reported.
func (c *Conn) Params() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.params)
}

// Param is one of them.
func (c *Conn) Param(name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.params[name]
}

// Version rises with every report.
func (c *Conn) Version() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.version
}

// OnFailedCommit adds to the error of a COMMIT that fails, and is forgotten when the transaction ends;
// nil: there is nothing to add.
func (c *Conn) OnFailedCommit(add func(*pgproto3.ErrorResponse)) {
	if add == nil {
		c.onFailedCommit.Store(nil)
		return
	}
	c.onFailedCommit.Store(&add)
}
