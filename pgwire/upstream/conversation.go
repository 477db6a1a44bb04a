package upstream

import (
	"strconv"

	"github.com/jackc/pgx/v5/pgproto3"
)

// Conversation is what the proxy says to an upstream by itself, unseen by the client, and how it hears the
// answers. Everything that is said in one call goes together and is answered together. It belongs to the
// session's goroutine, and the session waits while it goes on: Settle first, and never on an event loop.
type Conversation struct {
	conn   *Conn
	client Client
	// kept are the statements that stay prepared, the newest last, and keptSince how often the upstream had
	// dropped all statements when they were prepared.
	kept      []Name
	keptSince int64
	closes    Messages // of portals that nobody reads any more
	last      int      // number of the last portal
}

// Client is the other side of the session, which a Conversation is not about.
type Client interface {
	// News passes on what the upstream says besides answers: a notice, a notification, the new value of a
	// parameter, as a frame.
	News(frame []byte)
	// Pass passes on rows, or a part of one, as they are.
	Pass(rows []byte)
	// Flush sends what waits for the client, if that is much, or now is true. Its error ends the session.
	Flush(now bool) error
	// MostWaiting is how many bytes may wait to be sent.
	MostWaiting() int
	// CopyIn passes the client's data on until the upstream wants no more. Its error ends the session.
	CopyIn() error
}

// NewConversation begins one on a connection.
func NewConversation(conn *Conn, client Client) *Conversation {
	return &Conversation{conn: conn, client: client}
}

// A Visit sees the answers to a Part, except errors. An error of its own ends the conversation's call; later answers
// are not seen then.
type Visit func(kind byte, body []byte) error

// Each sees the answers of one kind.
func Each(kind byte, see func(body []byte)) Visit {
	return func(k byte, body []byte) error {
		if k == kind {
			see(body)
		}
		return nil
	}
}

// Part is messages that are said together with others, and what becomes of their answers.
type Part struct {
	Messages Messages
	Visit    Visit // nil: nothing is to be seen
	// Fail makes the error of what the upstream reports; nil: it is an *Error as it is.
	Fail func(body []byte) error
	// Notice sees notices instead of the client; nil: the client gets them.
	Notice func(body []byte)
	// own: a failure may be for want of a statement that was kept.
	own   bool
	count int // of messages that are not answered yet
}

// Say says something and hears the answers, up to the first error. It is part of the open pipeline,
// or else one of its own: what that leaves of a transaction is as after any statement: it commits, or its
// block fails.
func (c *Conversation) Say(parts ...Part) error {
	all := append([]Part{{Messages: c.takeCloses()}}, parts...)
	var messages Messages
	for i := range all {
		all[i].count = len(all[i].Messages)
		messages = append(messages, all[i].Messages...)
	}
	if len(messages) == 0 {
		return nil
	}
	var end pgproto3.FrontendMessage = &pgproto3.Sync{}
	done := untilReady
	if c.conn.IsOpen() {
		end, done = &pgproto3.Flush{}, answersTo(len(messages))
	}
	frames, err := c.conn.exchange(encode(append(messages, end)...), done)
	if err != nil {
		return err
	}
	current := func() *Part {
		for len(all) > 1 && all[0].count == 0 {
			all = all[1:]
		}
		return &all[0]
	}
	r := reader{c: c, notice: func() func([]byte) { return current().Notice }, visit: func(kind byte, body []byte) error {
		part := current()
		if endsAnswer(kind) {
			part.count--
		}
		return c.visit(part, kind, body)
	}}
	r.read(frames)
	return r.failed
}

func (c *Conversation) visit(part *Part, kind byte, body []byte) error {
	switch {
	case kind == 'Z':
	case kind == 'E' && part.Fail != nil:
		return part.Fail(body)
	case kind == 'E':
		if part.own { // a function of the client's may have dropped all statements
			c.kept = nil
		}
		return ReadError(body)
	case part.Visit != nil:
		return part.Visit(kind, body)
	}
	return nil
}

// Command runs a command that the client knows nothing of.
func (c *Conversation) Command(sql string) error {
	return c.Say(Part{Messages: Run(Control, sql, nil, nil)})
}

// Sync ends the open pipeline, if one is open. The error is an *Error if its transaction could not be
// committed.
func (c *Conversation) Sync() error {
	if !c.conn.IsOpen() {
		return nil
	}
	frames, err := c.conn.exchange(encode(&pgproto3.Sync{}), untilReady)
	if err != nil {
		return err
	}
	c.conn.closePipeline()
	// An error is about a constraint that was deferred, for example.
	r := reader{c: c, visit: func(kind byte, body []byte) error { return c.visit(&Part{}, kind, body) }}
	r.read(frames)
	return r.failed
}

// Abort makes the transaction fail as an error of its own would: by a text that cannot be parsed. The
// complaint about it is swallowed.
func (c *Conversation) Abort() error {
	if c.conn.HasFailed() {
		return nil // an error of its own has done so already
	}
	return c.Say(Part{
		Messages: Messages{&pgproto3.Parse{Name: Reserved + "abort", Query: "raisinproxy_aborts_this_transaction"}},
		Fail:     func([]byte) error { return nil },
	})
}

// NewPortal is a name for a portal.
func (c *Conversation) NewPortal() string {
	c.last++
	return Reserved + "p" + strconv.Itoa(c.last)
}

// CloseLater has a portal closed with whatever is said next. An open portal keeps its tables from being
// truncated or altered, so it goes before anything that the client wants to run there: see MustClose.
func (c *Conversation) CloseLater(portal string) { c.closes = append(c.closes, ClosePortal(portal)...) }

// MustClose says whether portals are left to be closed.
func (c *Conversation) MustClose() bool { return len(c.closes) > 0 }

// CloseNow closes them.
func (c *Conversation) CloseNow() error { return c.Say() }

// Forget forgets them: they have gone with their transaction.
func (c *Conversation) Forget() { c.closes = nil }

func (c *Conversation) takeCloses() Messages {
	closes := c.closes
	c.closes = nil
	return closes
}
