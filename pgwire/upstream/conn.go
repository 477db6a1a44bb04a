package upstream

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/pgwire/wire"
	"raisinproxy/sqlfuncs/pgerr"
)

// Conn carries a session's messages to its upstream and the answers back. The
// session's goroutine sends; a goroutine of the connection, the pump, or an event loop
// forwards answers to the client as they come, without decoding more than their types.
// Both sides are bounded: the slower one is waited for.
//
// Its Ledger says what the upstream owes, so that the session knows when an answer of its own has its
// turn. Send, Flush and what else sends belong to the session's goroutine; whatever tells of the
// upstream's state is safe for concurrent use.
type Conn struct {
	conn   net.Conn
	client net.Conn
	opened *pgconn.HijackedConn // how conn was opened, for cancel requests

	polling *polling // if an event loop waits for both connections; else the pump does
	left    int      // bytes of a long frame that are still to come

	out []byte // collected by the session, written by Flush

	mu     sync.Mutex
	cond   sync.Cond // signals every change below
	ledger Ledger    // what is owed
	// partial: a frame went to the client in part, so nothing else may go now.
	partial bool
	// writing: the session writes to the client, so the pump may not.
	writing bool
	// sink receives frames instead of the client while it is not nil.
	sink    *sink
	params  map[string]string
	version uint64      // rises with every change of params
	lost    error       // why the pump ended
	pid     uint32      // of the upstream's process
	ids     *ProcessIDs // what clients were told instead of such; nil: the ids themselves
	shown   uint32      // what this client was
	told    bool        // the upstream told the client that it ends
	// fatalFrame is the error with which the upstream ended amid an exchange.
	fatalFrame []byte
	// onFailedCommit adds to the error of a COMMIT; nil: there is nothing to add.
	onFailedCommit atomic.Pointer[func(*pgproto3.ErrorResponse)]
	// wake interrupts the session's reading from its client.
	wake func()
	// onLost ends what the session waits for that is worth nothing without the upstream; nil: nothing.
	onLost context.CancelCauseFunc

	pump sync.WaitGroup
}

// ErrLost is what a client is told whose upstream went away in silence.
var ErrLost = pgerr.Fatalf(codes.ConnectionFailure, "the upstream has closed the connection")

// NewConn is a connection that is not open yet: nothing was sent on it, so it owes nothing.
func NewConn() *Conn {
	c := &Conn{ledger: NewLedger(wire.StatusIdle)}
	c.cond.L = &c.mu
	return c
}

// Open goes on with a connection that has been greeted, for a client. Start lets answers come.
func (c *Conn) Open(hijacked *pgconn.HijackedConn, client net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conn, c.client, c.opened = hijacked.Conn, client, hijacked
	c.ledger = NewLedger(hijacked.TxStatus)
	c.params, c.pid = hijacked.ParameterStatuses, hijacked.PID
	c.version++
}

// IsOpened says whether it is open, or was. Only Open, in the session's goroutine, changes that.
func (c *Conn) IsOpened() bool { return c.conn != nil }

// Settle makes the upstream answer what it owes, and waits until it has. Another
// message to it, or to the client, may follow then.
func (c *Conn) Settle() error {
	c.mustNotBeOnLoop()
	if c.IsOpen() {
		c.Send('H', nil)
	}
	if err := c.Flush(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		if settled, _ := c.isSettled(); settled || c.ledger.Copying() || c.lost != nil {
			return c.lost
		}
		c.cond.Wait()
	}
}

// maxKept is the output buffer that an idle session may keep.
const maxKept = 64 << 10

// Send collects a message for the upstream.
func (c *Conn) Send(kind byte, body []byte) { c.out = wire.AppendFrame(c.out, kind, body) }

// SendPart collects a part of a message.
func (c *Conn) SendPart(part []byte) { c.out = append(c.out, part...) }

// Unsent is how many bytes are collected.
func (c *Conn) Unsent() int { return len(c.out) }

// Flush writes what was collected for the upstream.
func (c *Conn) Flush() error {
	if len(c.out) == 0 {
		return nil
	}
	_, err := c.conn.Write(c.out)
	c.out = c.out[:0]
	if cap(c.out) > maxKept {
		c.out = nil
	}
	return err
}

// Start begins to forward answers. It ends when either connection does; stop waits. wake
// is called when the session has to look up from its client.
func (c *Conn) Start(wake func()) {
	c.wake = wake
	if c.polling != nil {
		c.polling.upstream.OnReadable(c.onAnswer)
		return
	}
	c.pump.Go(func() { c.lose(c.forward()) })
}

// lose notes why no answers come any more.
func (c *Conn) lose(why error) {
	c.mu.Lock()
	if c.lost == nil {
		c.lost = why
	}
	if c.onLost != nil {
		c.onLost(ErrLost)
	}
	c.cond.Broadcast()
	c.mu.Unlock()
	if c.wake != nil {
		c.wake()
	}
}

// Stop ends the upstream's session, cancelling what it still does, and waits for the
// pump.
func (c *Conn) Stop() {
	if !c.IsOpened() {
		return
	}
	if c.ids != nil {
		c.ids.end(c.key(), c.shown)
	}
	if c.Owes() {
		c.Abandon()
	} else {
		_, _ = c.conn.Write([]byte{'X', 0, 0, 0, 4})
		c.conn.Close()
	}
	c.pump.Wait()
}

// Owes says whether the upstream is busy with something.
func (c *Conn) Owes() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return (c.ledger.Owes() || c.sink != nil) && c.lost == nil
}

// cancelTimeout bounds a cancel request, which is a connection of its own.
const cancelTimeout = 5 * time.Second

// RequestCancel asks the upstream to cancel what it is doing for this session, and waits
// until it has heard.
func (c *Conn) RequestCancel() {
	if c.Owes() {
		c.sendCancel()
	}
}

func (c *Conn) sendCancel() {
	ctx, cancel := context.WithTimeout(context.Background(), cancelTimeout)
	defer cancel()
	if conn, err := pgconn.Construct(c.opened); err == nil {
		_ = conn.CancelRequest(ctx) // there is nobody to tell
	}
}

// Abandon cancels what the upstream does and closes the connection to it. One that stands
// still is not waited for before stop.
func (c *Conn) Abandon() {
	if c.Owes() {
		c.pump.Go(c.sendCancel)
	}
	c.conn.Close()
	if c.polling != nil {
		c.lose(errors.Join(ErrLost, net.ErrClosed)) // the loop tells nothing of what was closed here
	}
}

// Bind gives a context that ends with ctx, and with the upstream: then ErrLost is its cause. One is bound at a time, until
// end is called.
func (c *Conn) Bind(ctx context.Context) (bound context.Context, end func()) {
	bound, cancel := context.WithCancelCause(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.onLost = cancel; c.lost != nil {
		cancel(ErrLost)
	}
	return bound, func() {
		c.mu.Lock()
		c.onLost = nil
		c.mu.Unlock()
		cancel(nil)
	}
}

// IsLost says whether the upstream has gone.
func (c *Conn) IsLost() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lost != nil
}

// WriteToClient writes between two frames of the upstream's.
func (c *Conn) WriteToClient(b []byte) error {
	c.mu.Lock()
	for c.partial && c.lost == nil {
		c.cond.Wait()
	}
	c.writing = true
	c.mu.Unlock()
	_, err := c.client.Write(b) // without the mutex: a cancel must not wait for a slow client
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writing = false
	c.changed()
	return err
}

// changed tells those who wait, the pump included, that there is room. The mutex is held.
func (c *Conn) changed() {
	c.cond.Broadcast()
	if c.polling != nil {
		c.polling.resume()
	}
}

// relayBuffer is how much is read from an upstream, and written to a client, at once.
type relayBuffer [relayBytes]byte

const relayBytes = 32 << 10

var relayBuffers = sync.Pool{New: func() any { return new(relayBuffer) }}

func takeRelayBuffer() *relayBuffer { return relayBuffers.Get().(*relayBuffer) }

func (b *relayBuffer) giveBack() {
	if b != nil {
		relayBuffers.Put(b)
	}
}

// forward is the pump. Frames longer than the buffer pass through it in parts.
func (c *Conn) forward() error {
	reader := newIdleReader(c.conn)
	var buf *relayBuffer // nil while nothing is in it
	defer func() { buf.giveBack() }()
	end := 0
	for {
		var n int
		var err error
		if buf == nil {
			buf, n, err = reader.first()
		} else {
			n, err = c.conn.Read(buf[end:])
		}
		if err != nil {
			return errors.Join(ErrLost, err)
		}
		end += n
		pass, err := c.Receive(buf[:end])
		if err != nil {
			return errors.Join(ErrLost, err) // for nobody is there to have it
		}
		end = copy(buf[:], buf[pass:end])
		if c.outOfStep(buf[:end]) {
			return errors.Join(ErrLost, wire.ErrLength)
		}
		if end == 0 {
			buf.giveBack()
			buf = nil
		}
	}
}

// Receive notes and passes on what the upstream has said, and returns how much of it: not a part of a frame that is
// to be seen as a whole. It waits for the client; only the pump calls it.
func (c *Conn) Receive(b []byte) (used int, err error) {
	to := c.begin()
	out, used := c.passOn(b, to)
	return used, c.deliver(out, to)
}

// begin says that frames are about to be noted and passed on, and where they go: nil
// is the client. Nobody may write to the client, or change where frames go, until
// deliver has said that they have gone.
func (c *Conn) begin() *sink {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.writing && c.sink == nil {
		c.cond.Wait()
	}
	c.partial = c.sink == nil
	return c.sink
}

// advance takes note of the frames in b. It returns how many bytes can be passed on: of whole
// frames, and of the beginning of a row or another frame that need not be whole, of which c.left
// bytes are missing then.
func (c *Conn) advance(b []byte, to *sink) (pass int) {
	pass = min(c.left, len(b))
	c.left -= pass
	for c.left == 0 && len(b)-pass >= wire.FrameHeader {
		frame := b[pass:]
		length := wire.FrameLength(frame)
		if to == nil && frame[0] == 'E' {
			if n, wait := c.failedCommit(frame); n > 0 || wait {
				return pass // see passOn
			}
		}
		switch {
		case length < wire.FrameHeader:
			return pass // see outOfStep
		case length <= len(frame):
			c.note(to, frame[0], frame[wire.FrameHeader:length])
			pass += length
		case length <= relayBytes-wire.FrameHeader && !wire.IsBulk(frame[0]):
			return pass // it fits: wait for the rest of it
		default:
			c.note(to, frame[0], nil)
			c.left = length - len(frame)
			return len(b)
		}
	}
	return pass
}

// outOfStep says whether what was not passed on is no frame. Its sender does not speak
// this protocol.
func (c *Conn) outOfStep(rest []byte) bool {
	return c.left == 0 && len(rest) >= wire.FrameHeader && wire.FrameLength(rest) < wire.FrameHeader
}

// deliver passes bytes on to the client, or to whom captures them.
func (c *Conn) deliver(b []byte, to *sink) error {
	if to != nil {
		c.give(b, to, c.left > 0)
		return nil
	}
	if len(b) > 0 {
		if _, err := c.client.Write(b); err != nil {
			return err
		}
	}
	c.delivered()
	return nil
}

// delivered says that what was begun has reached the client.
func (c *Conn) delivered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.partial = c.left > 0
	c.cond.Broadcast()
}
