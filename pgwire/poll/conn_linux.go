//go:build linux && !goroutines

package poll

import (
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// What the kernel is asked for, by what it is wanted for.
const (
	readable = syscall.EPOLLIN | syscall.EPOLLRDHUP
	writable = syscall.EPOLLOUT
	hungUp   = syscall.EPOLLRDHUP | always
	always   = syscall.EPOLLHUP | syscall.EPOLLERR // told unasked
	posted   = 0                                   // the kernel has nothing to do with it
)

// Conn is a connection of a Loop: a net.Conn for goroutines, and callbacks for the loop. It is safe
// for concurrent use, as a net.Conn is; callbacks are set by the owner of the connection.
type Conn struct {
	loop          *Loop
	birth         int32 // tells it from others that had its descriptor
	local, remote net.Addr

	mu     sync.Mutex
	fd     int    // -1: closed
	armed  uint32 // what the kernel was asked for; 0: it does not know fd
	reader func()
	writer func()
	gone   func()
	heard  time.Time // while it gathers: when the kernel last had news
	// A goroutine that waits has a channel here, which is closed for it.
	waitsToRead, waitsToWrite chan struct{}
	readBy, writeBy           deadline
}

// ErrWouldBlock says that there is nothing to read now, or no room for more to be written.
var ErrWouldBlock = errors.New("operation would block")

// OnReadable has the loop call read whenever there is input, the peer is gone, or the read
// deadline has passed, which TryRead then says; until it is set to nil. A call that is under way is
// not waited for.
func (c *Conn) OnReadable(read func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reader = read
	if read == nil || c.fd < 0 {
		return // what the kernel was asked for stays until it comes: mostly it is wanted again by then
	}
	c.want()
	if c.readBy.passed {
		c.loop.post(c)
	}
}

// Wake has the loop call the reader, if there is one, whether there is input or not.
func (c *Conn) Wake() { c.loop.post(c) }

// Gather has input told of when there are least bytes of it, the peer is gone, or for a millisecond or
// two there were fewer, which ends it. It is for a peer that sends much in small portions:
// each would wake the loop. 1 ends it too. Only a callback of the loop may call it. On
// a Unix socket it does nothing.
func (c *Conn) Gather(least int) {
	c.loop.gathering = slices.DeleteFunc(c.loop.gathering, func(other *Conn) bool { return other == c })
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fd < 0 {
		return
	}
	c.heard = time.Time{}
	if err := syscall.SetsockoptInt(c.fd, syscall.SOL_SOCKET, syscall.SO_RCVLOWAT, least); err == nil && least > 1 {
		c.heard = time.Now()
		c.loop.gathering = append(c.loop.gathering, c)
	}
}

// heardSince tells whether the kernel had news since then.
func (c *Conn) heardSince(then time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fd >= 0 && c.heard.After(then)
}

// OnWritable has the loop call write once: as soon as something can be written, or the write
// deadline has passed.
func (c *Conn) OnWritable(write func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writer = write
	c.want()
}

// OnGone has the loop call gone when the peer is, once; nil takes that back. gone is not
// running any more when OnGone returns. It must not use the connection.
func (c *Conn) OnGone(gone func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = gone
	c.want()
}

// withDescriptor lets ask use the descriptor, unless it is closed.
func (c *Conn) withDescriptor(ask func(fd uintptr)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fd >= 0 {
		ask(uintptr(c.fd))
	}
}

// wanted is what the kernel has to be asked for. The mutex is held.
func (c *Conn) wanted() (events uint32) {
	if c.reader != nil || c.waitsToRead != nil {
		events |= readable
	}
	if c.writer != nil || c.waitsToWrite != nil {
		events |= writable
	}
	if c.gone != nil {
		events |= syscall.EPOLLRDHUP
	}
	return events
}

// want asks the kernel for what is missing. What is not wanted any more stays asked for
// until it happens.
func (c *Conn) want() {
	wanted := c.wanted()
	if c.fd < 0 || wanted&^c.armed == 0 {
		return
	}
	op := syscall.EPOLL_CTL_MOD
	if c.armed == 0 {
		op = syscall.EPOLL_CTL_ADD
	}
	c.armed |= wanted
	c.loop.control(op, c.fd, c.armed, c.birth)
}

// happened is called by the loop, for what the kernel says or what was posted.
func (c *Conn) happened(events uint32) {
	read, write := c.take(events)
	if write != nil {
		write()
	}
	if read != nil {
		read()
	}
}

// take wakes who waits and returns the callbacks that are due.
func (c *Conn) take(events uint32) (read, write func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fd < 0 {
		return nil, nil
	}
	if !c.heard.IsZero() {
		c.heard = time.Now()
	}
	if events&(writable|always) != 0 || events == posted && c.writeBy.passed {
		write, c.writer = c.writer, nil
		wake(&c.waitsToWrite)
	}
	if events&(readable|always) != 0 || events == posted {
		read = c.reader
		wake(&c.waitsToRead)
	}
	if events&hungUp != 0 && c.gone != nil {
		c.gone()
		c.gone = nil
	}
	c.drop(events)
	return read, write
}

// drop tells the kernel not to report again what nobody wants. A peer that is gone is
// reported as long as the kernel knows the connection.
func (c *Conn) drop(events uint32) {
	wanted := c.wanted()
	switch {
	case events&^wanted == 0 || c.armed == 0:
	case wanted == 0:
		c.armed = 0
		c.loop.control(syscall.EPOLL_CTL_DEL, c.fd, 0, c.birth)
	case events&^wanted&^always != 0 && c.armed != wanted:
		c.armed = wanted
		c.loop.control(syscall.EPOLL_CTL_MOD, c.fd, wanted, c.birth)
	}
}

func wake(waiting *chan struct{}) {
	if *waiting != nil {
		close(*waiting)
		*waiting = nil
	}
}

// TryRead reads what is there. The error is ErrWouldBlock if that is nothing.
func (c *Conn) TryRead(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tryRead(b)
}

func (c *Conn) tryRead(b []byte) (int, error) {
	switch {
	case c.fd < 0:
		return 0, net.ErrClosed
	case c.readBy.passed:
		return 0, os.ErrDeadlineExceeded
	case len(b) == 0:
		return 0, nil
	}
	n, err := transfer(syscall.SYS_RECVFROM, c.fd, b)
	if n == 0 && err == nil {
		err = io.EOF
	}
	return n, err
}

// TryWrite writes what there is room for. The error is ErrWouldBlock if that is not all
// of b.
func (c *Conn) TryWrite(b []byte) (written int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tryWrite(b)
}

func (c *Conn) tryWrite(b []byte) (written int, err error) {
	for len(b) > 0 {
		switch {
		case c.fd < 0:
			return written, net.ErrClosed
		case c.writeBy.passed:
			return written, os.ErrDeadlineExceeded
		}
		n, err := transfer(syscall.SYS_SENDTO, c.fd, b)
		if err != nil {
			return written, err
		}
		written += n
		b = b[n:]
	}
	return written, nil
}

// transfer is recv or send, which go straight to the socket; read and write take a way
// through the file system. The descriptor does not block, so the scheduler need not know.
func transfer(call uintptr, fd int, b []byte) (int, error) {
	for {
		n, _, errno := syscall.RawSyscall6(call, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), syscall.MSG_NOSIGNAL, 0, 0)
		switch errno {
		case 0:
			return int(n), nil
		case syscall.EINTR:
		case syscall.EAGAIN:
			return 0, ErrWouldBlock
		default:
			return 0, errno
		}
	}
}

// Read is that of a net.Conn.
func (c *Conn) Read(b []byte) (int, error) {
	for {
		c.mu.Lock()
		n, err := c.tryRead(b)
		if !errors.Is(err, ErrWouldBlock) {
			c.mu.Unlock()
			return n, err
		}
		wait := c.waiting(&c.waitsToRead)
		c.mu.Unlock()
		<-wait
	}
}

// Write is that of a net.Conn.
func (c *Conn) Write(b []byte) (written int, err error) {
	for {
		c.mu.Lock()
		n, err := c.tryWrite(b[written:])
		written += n
		if !errors.Is(err, ErrWouldBlock) {
			c.mu.Unlock()
			return written, err
		}
		wait := c.waiting(&c.waitsToWrite)
		c.mu.Unlock()
		<-wait
	}
}

// waiting is a channel that is closed when it is worth another try.
func (c *Conn) waiting(on *chan struct{}) chan struct{} {
	if *on == nil {
		*on = make(chan struct{})
		c.want()
	}
	return *on
}

// Close is that of a net.Conn.
func (c *Conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fd < 0 {
		return net.ErrClosed
	}
	c.readBy.stop()
	c.writeBy.stop()
	c.reader, c.writer, c.gone = nil, nil, nil
	wake(&c.waitsToRead)
	wake(&c.waitsToWrite)
	c.loop.forget(c.fd) // before the number can be another connection's
	if c.armed != 0 {
		c.loop.control(syscall.EPOLL_CTL_DEL, c.fd, 0, c.birth)
	}
	fd := c.fd
	c.fd, c.armed = -1, 0
	return syscall.Close(fd)
}

// LocalAddr is that of a net.Conn.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr is that of a net.Conn.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline is that of a net.Conn.
func (c *Conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline is that of a net.Conn. A reader is called when it passes.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.setDeadline(&c.readBy, t, func() {
		wake(&c.waitsToRead)
		if c.reader != nil {
			c.loop.post(c)
		}
	})
}

// SetWriteDeadline is that of a net.Conn.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.setDeadline(&c.writeBy, t, func() {
		wake(&c.waitsToWrite)
		if c.writer != nil {
			c.loop.post(c)
		}
	})
}

// deadline is one that has passed, or a timer.
type deadline struct {
	passed bool
	timer  *time.Timer
}

func (d *deadline) stop() {
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
}

func (c *Conn) setDeadline(d *deadline, t time.Time, passed func()) error {
	if c.fd < 0 {
		return net.ErrClosed
	}
	d.stop()
	d.passed = !t.IsZero() && time.Until(t) <= 0
	if d.passed {
		passed()
		return nil
	}
	if t.IsZero() {
		return nil
	}
	var timer *time.Timer
	timer = time.AfterFunc(time.Until(t), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if d.timer == timer && c.fd >= 0 { // and not another that was set since
			d.passed = true
			passed()
		}
	})
	d.timer = timer
	return nil
}
