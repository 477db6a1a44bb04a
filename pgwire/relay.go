package pgwire

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

	"raisinproxy/pgwire/upstream"
	"raisinproxy/pgwire/wire"
	"raisinproxy/sqlfuncs/pgerr"
)

// relay carries a session's messages to its upstream and the answers back. The
// session's goroutine sends; a goroutine of the relay, the pump, forwards answers to
// the client as they come, without decoding more than their types. Both sides are
// bounded: whoever is slow is waited for.
//
// The relay keeps account of what the upstream owes, so that the session knows when
// an answer of its own has its turn.
type relay struct {
	conn   net.Conn
	client net.Conn
	opened *pgconn.HijackedConn // how conn was opened, for cancel requests

	polling *polling // if an event loop waits for both connections; else the pump does
	left    int      // bytes of a long frame that are still to come

	out []byte // collected by the session, written by flush

	mu     sync.Mutex
	cond   sync.Cond       // signals every change below
	ledger upstream.Ledger // what is owed
	// partial: a frame went to the client in part, so nothing else may go now.
	partial bool
	// writing: the session writes to the client, so the pump may not.
	writing bool
	// captured receives frames instead of the client while it is not nil.
	captured *captured
	params   map[string]string
	version  uint64      // rises with every change of params
	lost     error       // why the pump ended
	pid      uint32      // of the upstream's process
	ids      *processIDs // what clients were told instead of such; nil: the ids themselves
	told     bool        // the upstream told the client that it ends
	// fatalFrame is the error with which the upstream ended amid an exchange.
	fatalFrame []byte
	// onFailedCommit adds to the error of a COMMIT; nil: there is nothing to add.
	onFailedCommit atomic.Pointer[func(*pgproto3.ErrorResponse)]
	// wake interrupts the session's reading from its client.
	wake func()

	pump sync.WaitGroup
}

// errUpstreamLost is what a client is told whose upstream went away in silence.
var errUpstreamLost = pgerr.Fatalf(codes.ConnectionFailure, "the upstream has closed the connection")

func newRelay(hijacked *pgconn.HijackedConn, client net.Conn) *relay {
	r := &relay{
		conn:   hijacked.Conn,
		client: client,
		opened: hijacked,
		ledger: upstream.NewLedger(hijacked.TxStatus),
		params: hijacked.ParameterStatuses,
		pid:    hijacked.PID,
	}
	r.cond.L = &r.mu
	return r
}

// settle makes the upstream answer what it owes, and waits until it has. Another
// message to it, or to the client, may follow then.
func (r *relay) settle() error {
	r.mustNotBeOnLoop()
	if r.inSeries() {
		r.out = append(r.out, 'H', 0, 0, 0, 4)
	}
	if err := r.flush(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		if settled, _ := r.isSettled(); settled || r.ledger.Copying() || r.lost != nil {
			return r.lost
		}
		r.cond.Wait()
	}
}

// flush writes what was collected for the upstream.
func (r *relay) flush() error {
	if len(r.out) == 0 {
		return nil
	}
	_, err := r.conn.Write(r.out)
	r.out = r.out[:0]
	if cap(r.out) > maxPending {
		r.out = nil
	}
	return err
}

// start begins to forward answers. It ends when either connection does; stop waits. wake
// is called when the session has to look up from its client.
func (r *relay) start(wake func()) {
	r.wake = wake
	if r.polling != nil {
		r.polling.upstream.OnReadable(r.onAnswer)
		return
	}
	r.pump.Go(func() { r.lose(r.forward()) })
}

// lose notes why no answers come any more.
func (r *relay) lose(why error) {
	r.mu.Lock()
	if r.lost == nil {
		r.lost = why
	}
	r.cond.Broadcast()
	r.mu.Unlock()
	if r.wake != nil {
		r.wake()
	}
}

// stop ends the upstream's session, cancelling what it still does, and waits for the
// pump.
func (r *relay) stop() {
	if r.owes() {
		r.abandon()
	} else {
		_, _ = r.conn.Write([]byte{'X', 0, 0, 0, 4})
		r.conn.Close()
	}
	r.pump.Wait()
}

// owes says whether the upstream is busy with something.
func (r *relay) owes() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return (r.ledger.Owes() || r.captured != nil) && r.lost == nil
}

// cancelTimeout bounds a cancel request, which is a connection of its own.
const cancelTimeout = 5 * time.Second

// requestCancel asks the upstream to cancel what it is doing for this session, and waits
// until it has heard.
func (r *relay) requestCancel() {
	if r.owes() {
		r.sendCancel()
	}
}

func (r *relay) sendCancel() {
	ctx, cancel := context.WithTimeout(context.Background(), cancelTimeout)
	defer cancel()
	if conn, err := pgconn.Construct(r.opened); err == nil {
		_ = conn.CancelRequest(ctx) // there is nobody to tell
	}
}

// abandon cancels what the upstream does and closes the connection to it. One that stands
// still is not waited for before stop.
func (r *relay) abandon() {
	if r.owes() {
		r.pump.Go(r.sendCancel)
	}
	r.conn.Close()
	if r.polling != nil {
		r.lose(errors.Join(errUpstreamLost, net.ErrClosed)) // the loop tells nothing of what we closed
	}
}

// isLost says whether the upstream has gone.
func (r *relay) isLost() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lost != nil
}

// writeToClient writes between two frames of the upstream's.
func (r *relay) writeToClient(b []byte) error {
	r.mu.Lock()
	for r.partial && r.lost == nil {
		r.cond.Wait()
	}
	r.writing = true
	r.mu.Unlock()
	_, err := r.client.Write(b) // without the mutex: a cancel must not wait for a slow client
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writing = false
	r.changed()
	return err
}

// changed tells those who wait, the pump included, that there is room. The mutex is held.
func (r *relay) changed() {
	r.cond.Broadcast()
	if r.polling != nil {
		r.polling.resume()
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
func (r *relay) forward() error {
	reader := newIdleReader(r.conn)
	var buf *relayBuffer // nil while nothing is in it
	defer func() { buf.giveBack() }()
	end := 0
	for {
		var n int
		var err error
		if buf == nil {
			buf, n, err = reader.first()
		} else {
			n, err = r.conn.Read(buf[end:])
		}
		if err != nil {
			return errors.Join(errUpstreamLost, err)
		}
		end += n
		to := r.begin()
		out, pass := r.passOn(buf[:end], to)
		if err := r.deliver(out, to); err != nil {
			return errors.Join(errUpstreamLost, err) // for nobody is there to have it
		}
		end = copy(buf[:], buf[pass:end])
		if r.outOfStep(buf[:end]) {
			return errors.Join(errUpstreamLost, wire.ErrLength)
		}
		if end == 0 {
			buf.giveBack()
			buf = nil
		}
	}
}

// begin says that frames are about to be noted and passed on, and where they go: nil
// is the client. Nobody may write to the client, or change where frames go, until
// deliver has said that they have gone.
func (r *relay) begin() *captured {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.writing && r.captured == nil {
		r.cond.Wait()
	}
	r.partial = r.captured == nil
	return r.captured
}

// advance takes note of what is in b, and returns how much of it can be passed on.
func (r *relay) advance(b []byte, to *captured) (pass int) {
	pass = min(r.left, len(b))
	r.left -= pass
	if r.left == 0 {
		var walked int
		walked, r.left = r.walk(b[pass:], to)
		pass += walked
	}
	return pass
}

// outOfStep says whether what was not passed on is no frame. Whoever sent it does not speak
// this protocol.
func (r *relay) outOfStep(rest []byte) bool {
	return r.left == 0 && len(rest) >= wire.FrameHeader && wire.FrameLength(rest) < wire.FrameHeader
}

// walk takes note of the frames in b. It returns how many bytes can be passed on: of
// whole frames, and of the beginning of a row or another frame that need not be
// whole, of which left bytes are missing then.
func (r *relay) walk(b []byte, to *captured) (pass, left int) {
	for len(b)-pass >= wire.FrameHeader {
		frame := b[pass:]
		if to == nil && frame[0] == 'E' {
			if n, wait := r.failedCommit(frame); n > 0 || wait {
				return pass, 0 // see passOn
			}
		}
		length := wire.FrameLength(frame)
		if length < wire.FrameHeader {
			return pass, 0 // see outOfStep
		}
		if length > len(frame) {
			if length <= relayBytes-wire.FrameHeader && !wire.IsBulk(frame[0]) {
				return pass, 0 // it fits: wait for the rest of it
			}
			r.note(to, frame[0], nil)
			return len(b), length - len(frame)
		}
		r.note(to, frame[0], frame[wire.FrameHeader:length])
		pass += length
	}
	return pass, 0
}

// deliver passes bytes on to the client, or to whom captures them.
func (r *relay) deliver(b []byte, to *captured) error {
	if to != nil {
		r.hand(b, to, r.left > 0)
		return nil
	}
	if len(b) > 0 {
		if _, err := r.client.Write(b); err != nil {
			return err
		}
	}
	r.delivered()
	return nil
}

// delivered says that what was begun has reached the client.
func (r *relay) delivered() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.partial = r.left > 0
	r.cond.Broadcast()
}
