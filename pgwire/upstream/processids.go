package upstream

import (
	"encoding/binary"
	"sync"
)

// ProcessIDs are the ids that clients were told instead of those of their upstream
// processes. It is safe for concurrent use.
type ProcessIDs struct {
	mu    sync.RWMutex
	shown map[processKey]uint32
	ended []endedProcess // in the order in which their sessions ended
}

type endedProcess struct {
	key   processKey
	shown uint32
}

// processKey is a process of one of the upstream's hosts.
type processKey struct {
	address string
	pid     uint32
}

// NewProcessIDs begins with none.
func NewProcessIDs() *ProcessIDs { return &ProcessIDs{shown: map[processKey]uint32{}} }

// ShowAs says what the client of this connection was told instead of the id of its process.
func (c *Conn) ShowAs(ids *ProcessIDs, pid uint32) {
	c.ids, c.shown = ids, pid
	ids.show(c.key(), pid)
}

// PID is the id of the upstream's process.
func (c *Conn) PID() uint32 { return c.pid }

// address is that of the upstream's host.
func (c *Conn) address() string { return c.conn.RemoteAddr().String() }

func (c *Conn) key() processKey { return processKey{c.address(), c.pid} }

func (p *ProcessIDs) show(key processKey, pid uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown[key] = pid
}

// keptEnded is how many ids are known on when their sessions have ended: what they notified
// last may be under way still.
const keptEnded = 1000

// end notes that the session of a process has ended.
func (p *ProcessIDs) end(key processKey, pid uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = append(p.ended, endedProcess{key, pid})
	if len(p.ended) <= keptEnded {
		return
	}
	if first := p.ended[0]; p.shown[first.key] == first.shown { // else another process has that id by now
		delete(p.shown, first.key)
	}
	p.ended = p.ended[1:]
}

// translate puts the id in the body of a notification into what that process's client was
// told. Processes of other programs keep theirs.
func (p *ProcessIDs) translate(address string, body []byte) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if shown, ok := p.shown[processKey{address, binary.BigEndian.Uint32(body)}]; ok {
		binary.BigEndian.PutUint32(body, shown)
	}
}
