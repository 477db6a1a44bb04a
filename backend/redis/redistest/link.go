package redistest

import (
	"bytes"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// Link is a network between a client and a server that misbehaves on demand. It is safe for
// concurrent use.
type Link struct {
	t        testing.TB
	listener net.Listener
	all      sync.WaitGroup
	over     chan struct{} // closed when the test ends, which lets go of what is held

	mu     sync.Mutex
	target string
	rules  []Rule
	opened int // client connections ever accepted
	conns  map[net.Conn]bool
	closed bool
}

// Rule is what happens to one request. The zero value is nothing special.
type Rule struct {
	// Hold keeps the request back until the channel is closed. The client may have closed
	// its connection by then; the request arrives nevertheless.
	Hold <-chan struct{}
	// Break closes the client's connection when the request has been taken from it, so that the
	// client need not wait for an answer until its time is over.
	Break bool
	// DelayRequest keeps the request back for so long, and it arrives on its own connection.
	DelayRequest time.Duration
	// DropAnswer swallows the answer and all that follows on this connection.
	DropAnswer bool
	// DelayAnswer keeps the answer back for so long, and what comes behind it on this connection
	// in the meantime; later answers are on time.
	DelayAnswer time.Duration
	// Copies are sent after the request, each on a connection of its own.
	Copies int
	// Done is closed, if it is not nil, when the request has been handed to the server.
	Done chan<- struct{}
}

// StartLink makes a link to a server.
func StartLink(t testing.TB, to *Server) *Link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &Link{t: t, listener: listener, target: to.Addr(), conns: make(map[net.Conn]bool), over: make(chan struct{})}
	l.all.Go(l.accept)
	t.Cleanup(func() {
		listener.Close()
		close(l.over)
		l.mu.Lock()
		l.closed = true
		l.mu.Unlock()
		l.Cut()
		l.all.Wait()
	})
	return l
}

// URL is where clients connect.
func (l *Link) URL() string { return "redis://" + l.listener.Addr().String() + "/0" }

// Port is the number in URL.
func (l *Link) Port() int { return l.listener.Addr().(*net.TCPAddr).Port }

// Next says what happens to the next requests that run a script by its hash, one rule for each.
func (l *Link) Next(rules ...Rule) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rules = append(l.rules, rules...)
}

// Clear takes the rules back that no request has met.
func (l *Link) Clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rules = nil
}

// Pending is how many rules wait for their request.
func (l *Link) Pending() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.rules)
}

// Opened is how many connections clients have ever opened.
func (l *Link) Opened() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.opened
}

// To leads new connections to another server, as a failover of a name does, and cuts the others.
func (l *Link) To(s *Server) {
	l.mu.Lock()
	l.target = s.Addr()
	l.mu.Unlock()
	l.Cut()
}

// Break closes all connections and refuses new ones.
func (l *Link) Break() {
	l.listener.Close()
	l.Cut()
}

// Cut closes all connections.
func (l *Link) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for conn := range l.conns {
		conn.Close()
	}
}

func (l *Link) accept() {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return
		}
		l.mu.Lock()
		l.opened++
		l.mu.Unlock()
		l.all.Go(func() { l.serve(client) })
	}
}

// track keeps a connection for Cut; false: it is too late.
func (l *Link) track(conn net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		conn.Close()
		return false
	}
	l.conns[conn] = true
	return true
}

func (l *Link) drop(conn net.Conn) {
	conn.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, conn)
}

func (l *Link) dial() (net.Conn, bool) {
	l.mu.Lock()
	target := l.target
	l.mu.Unlock()
	server, err := net.Dial("tcp", target)
	if err != nil {
		return nil, false
	}
	return server, l.track(server)
}

func (l *Link) serve(client net.Conn) {
	if !l.track(client) {
		return
	}
	defer l.drop(client)
	server, ok := l.dial()
	if !ok {
		return
	}
	defer l.drop(server)
	var mu sync.Mutex // of answer
	var answer Rule
	var answers sync.WaitGroup
	answers.Go(func() {
		defer client.Close()
		forward(client, server, func([]byte) bool {
			mu.Lock()
			rule := answer
			answer.DelayAnswer = 0
			mu.Unlock()
			if rule.DelayAnswer > 0 {
				<-time.After(rule.DelayAnswer)
			}
			return !rule.DropAnswer
		})
	})
	forward(server, client, func(request []byte) bool {
		rule, ok := l.rule(request)
		if !ok {
			return true
		}
		mu.Lock()
		answer = rule
		mu.Unlock()
		l.obey(rule, server, request)
		if rule.Break {
			client.Close()
		}
		return false
	})
	server.Close()
	answers.Wait()
}

// rule takes the rule for a request, if there is one.
func (l *Link) rule(request []byte) (Rule, bool) {
	if !bytes.Contains(request, []byte("evalsha")) {
		return Rule{}, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.rules) == 0 {
		return Rule{}, false
	}
	rule := l.rules[0]
	l.rules = l.rules[1:]
	return rule, true
}

// obey hands a request on as its rule says. A request that is held goes on a connection that
// nobody closes before it is there.
func (l *Link) obey(rule Rule, server net.Conn, request []byte) {
	request = bytes.Clone(request)
	if rule.Hold != nil {
		l.all.Go(func() {
			select {
			case <-rule.Hold:
			case <-l.over:
				return
			}
			l.sendAlone(request)
			if rule.Done != nil {
				close(rule.Done)
			}
		})
		return
	}
	if rule.DelayRequest > 0 {
		<-time.After(rule.DelayRequest)
	}
	_, _ = server.Write(request) // who waits for its answer sees that it failed
	for range rule.Copies {
		l.sendAlone(request)
	}
	if rule.Done != nil {
		close(rule.Done)
	}
}

// sendAlone sends a request on a new connection and waits until it is answered.
func (l *Link) sendAlone(request []byte) {
	conn, ok := l.dial()
	if !ok {
		return
	}
	defer l.drop(conn)
	_, _ = conn.Write(request)
	var answer [1]byte
	_, _ = conn.Read(answer[:]) // or its end: the server has it
}

// forward copies what passes until one side is closed.
func forward(to io.Writer, from io.Reader, pass func(chunk []byte) bool) {
	buf := make([]byte, 1<<20)
	for {
		n, err := from.Read(buf)
		if n > 0 && pass(buf[:n]) {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
