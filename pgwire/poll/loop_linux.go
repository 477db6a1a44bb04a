//go:build linux && !goroutines

package poll

import (
	"errors"
	"net"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Loop waits for its connections on a thread of its own, which it calls back on: one
// callback at a time. It is safe for concurrent use.
type Loop struct {
	epoll int
	wake  int // an eventfd: somebody has posted something, or the loop is to end
	done  chan struct{}
	// gathering are the connections that wait for more than a byte. The loop's thread has them.
	gathering []*Conn

	mu     sync.Mutex
	conns  []*Conn // by descriptor
	births int32   // how many there have been
	posted []*Conn // whose callbacks are to be called whether the kernel has news or not
	closed bool
}

// Start begins a loop. Close ends it.
func Start() (*Loop, error) {
	epoll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	wake, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		_ = syscall.Close(epoll)
		return nil, err
	}
	l := &Loop{epoll: epoll, wake: wake, done: make(chan struct{})}
	l.control(syscall.EPOLL_CTL_ADD, wake, syscall.EPOLLIN, 0)
	go l.run()
	return l, nil
}

// Close ends the loop and waits for the callback that is running. Its connections, which
// should be closed before, get no callback any more.
func (l *Loop) Close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.rouse()
	<-l.done
}

// Adopt takes a connection over from the runtime's poller, which would wake a thread of its
// own for all that happens to it. conn must be a TCP or Unix connection that nobody uses; it
// is closed, and the Conn goes on with what it was. On an error conn is as it was.
func (l *Loop) Adopt(conn net.Conn) (*Conn, error) {
	raw, ok := conn.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	control, err := raw.SyscallConn()
	if err != nil {
		return nil, err
	}
	fd, dupErr := -1, error(nil)
	err = control.Control(func(original uintptr) {
		syscall.ForkLock.RLock()
		defer syscall.ForkLock.RUnlock()
		if fd, dupErr = syscall.Dup(int(original)); dupErr == nil {
			syscall.CloseOnExec(fd)
		}
	})
	if err := errors.Join(err, dupErr); err != nil {
		return nil, err
	}
	c := &Conn{loop: l, fd: fd, local: conn.LocalAddr(), remote: conn.RemoteAddr()}
	conn.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.conns) <= fd {
		l.conns = append(l.conns, nil)
	}
	l.births++
	c.birth = l.births
	l.conns[fd] = c
	return c, nil
}

// post makes the loop call the reader of a connection.
func (l *Loop) post(c *Conn) {
	l.mu.Lock()
	l.posted = append(l.posted, c)
	l.mu.Unlock()
	l.rouse()
}

func (l *Loop) rouse() {
	one := [8]byte{1}
	_, _ = syscall.Write(l.wake, one[:]) // it can only fail for being awake already
}

// maxEvents is how many connections one look may report.
const maxEvents = 128

func (l *Loop) run() {
	// A thread that waits in the kernel is not to be taken for other goroutines.
	runtime.LockOSThread()
	defer close(l.done)
	defer func() { _, _ = syscall.Close(l.epoll), syscall.Close(l.wake) }()
	var events [maxEvents]syscall.EpollEvent
	var conns [maxEvents]*Conn
	for {
		n := l.look(events[:])
		l.find(events[:n], conns[:n])
		for i, c := range conns[:n] {
			if c != nil {
				c.happened(events[i].Events)
			} else if events[i].Fd == int32(l.wake) && l.takePosted() {
				return
			}
		}
	}
}

// find looks up whose events these are: nobody's if a connection was closed since, not even
// those of the next with its descriptor, whose peer is not gone.
func (l *Loop) find(events []syscall.EpollEvent, conns []*Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, e := range events {
		conns[i] = nil
		if int(e.Fd) < len(l.conns) && l.conns[e.Fd] != nil && l.conns[e.Fd].birth == e.Pad {
			conns[i] = l.conns[e.Fd]
		}
	}
}

// briefly is how long a loop waits, in milliseconds, before it tells the scheduler that it does.
const briefly = 1

// look waits for events. For a while the scheduler is not told: that, and having its thread
// taken for somebody else and found again, costs more than most waits last. It is no
// obstacle meanwhile: the signal by which the scheduler stops a thread ends the wait as well.
//
// A loop that had to wait gives way, once it is woken, to others that want the processor, which
// on an idle one is nobody. On a busy one more has come by its turn, and is done at one go: less
// switching for all, and fewer ones to be woken, which those that send to it pay for.
func (l *Loop) look(events []syscall.EpollEvent) int {
	l.endGathering()
	if n := l.wait(events, 0); n > 0 {
		return n
	}
	n := l.wait(events, briefly)
	if n == 0 && len(l.gathering) == 0 {
		n, _ = syscall.EpollWait(l.epoll, events, -1) // -1: EINTR
	}
	if n <= 0 {
		return 0
	}
	_, _, _ = syscall.RawSyscall(syscall.SYS_SCHED_YIELD, 0, 0, 0)
	return max(l.wait(events, 0), 0)
}

// endGathering ends that of connections which have heard nothing for long enough.
func (l *Loop) endGathering() {
	if len(l.gathering) == 0 {
		return
	}
	latest := time.Now().Add(-briefly * time.Millisecond)
	for _, c := range slices.Backward(l.gathering) { // backwards, since they leave
		if !c.heardSince(latest) {
			c.Gather(1)
			c.happened(readable)
		}
	}
}

// wait is epoll_wait, untold to the scheduler. It is negative if a signal ended it.
func (l *Loop) wait(events []syscall.EpollEvent, milliseconds uintptr) int {
	n, _, errno := syscall.RawSyscall6(syscall.SYS_EPOLL_PWAIT, uintptr(l.epoll), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), milliseconds, 0, 0)
	if errno != 0 { // EINTR
		return -1
	}
	return int(n)
}

// takePosted calls the readers of what was posted. ended says that the loop is over.
func (l *Loop) takePosted() (ended bool) {
	var count [8]byte
	_, _ = syscall.Read(l.wake, count[:])
	l.mu.Lock()
	waiting := l.posted
	l.posted, ended = nil, l.closed
	l.mu.Unlock()
	for _, c := range waiting {
		if !ended {
			c.happened(posted)
		}
	}
	return ended
}

func (l *Loop) forget(fd int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns[fd] = nil
}

// control changes what the kernel tells about a connection.
func (l *Loop) control(op, fd int, events uint32, birth int32) {
	event := syscall.EpollEvent{Events: events, Fd: int32(fd), Pad: birth}
	_ = syscall.EpollCtl(l.epoll, op, fd, &event) // fails only for a loop that has ended
}
