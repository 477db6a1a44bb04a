package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"raisinproxy/backend"
	"raisinproxy/backend/history"
)

// scope is where all clients are: the database of their connections.
var scope = backend.Scope{Tenant: "default", Repository: "shop", Branch: "main"}

// calls are the statements of the kinds of call.
var calls = map[history.Kind]string{
	history.Acquire: "SELECT acquired, token, expires_at_ms FROM raisin_lock_acquire($1, $2, $3)",
	history.Renew:   "SELECT raisin_lock_renew($1, $2, $3)",
	history.Release: "SELECT raisin_lock_release($1, $2)",
	history.Claim:   "SELECT claimed, remaining FROM raisin_inventory_claim($1, $2, $3)",
	history.Restock: "SELECT raisin_inventory_release($1, $2)",
}

// client makes one call at a time. It is not safe for concurrent use.
type client struct {
	id       int
	proxy    *Proxy
	recorder *recorder
	random   *rand.Rand
	manners  Manners
	ttl      time.Duration
	latency  time.Duration // of the last call that was answered

	conn   *pgconn.PgConn
	failed bool // the last call ended with an error
	held   []lease
	units  int64
}

// lease is a grant that the client remembers.
type lease struct {
	key   string
	token int64
}

// Manners are how clients behave to their server.
type Manners struct {
	// GiveUp is the share of calls whose client closes the connection before long.
	GiveUp float64
	// Cancel is the share of calls for which a CancelRequest is sent.
	Cancel float64
	// Patience is how long all others wait; 0 stands for 20 s.
	Patience time.Duration
}

// errUnexpected is an answer that no fault explains.
var errUnexpected = errors.New("unexpected answer")

// call makes a call, records it, and gives it with its answer. An error ends the run.
func (c *client) call(ctx context.Context, o history.Operation) (history.Operation, error) {
	o.Client, o.Scope = c.id, scope
	conn, err := c.connect(ctx)
	if err != nil {
		return o, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.patience())
	defer cancel()
	defer c.maybeCancel(ctx, conn)()

	o.Call = c.recorder.begin()
	result := conn.ExecParams(ctx, calls[o.Kind], arguments(&o), nil, nil, nil).Read()
	o.Return = c.recorder.now()
	err = fill(&o, result)
	c.failed = result.Err != nil
	if !c.failed {
		c.latency = o.Return - o.Call // what is soon changes with what else the machine does
	}
	c.recorder.end(&o)
	if conn.IsClosed() {
		c.conn = nil
	}
	return o, err
}

// connect opens a connection unless there is one, trying again while the proxy is away.
func (c *client) connect(ctx context.Context) (*pgconn.PgConn, error) {
	for c.conn == nil {
		conn, err := dial(ctx, c.proxy.Address(), c.id)
		if err == nil {
			c.conn = conn
			break
		}
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return nil, fmt.Errorf("client %d finds no proxy: %w", c.id, err)
		}
	}
	return c.conn, nil
}

func dial(ctx context.Context, address string, id int) (*pgconn.PgConn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	return pgconn.Connect(ctx, fmt.Sprintf("host=%s port=%s user=client%d dbname=%s sslmode=disable", host, port, id, scope.Repository))
}

func (c *client) close() {
	if c.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = c.conn.Close(ctx) // the proxy may be gone
		c.conn = nil
	}
}

func (c *client) patience() time.Duration {
	if c.random.Float64() < c.manners.GiveUp {
		return c.soon()
	}
	if c.manners.Patience > 0 {
		return c.manners.Patience
	}
	return 20 * time.Second
}

// soon is a while in which a call may be under way or just over.
func (c *client) soon() time.Duration { return time.Duration(c.random.Int64N(int64(2*c.latency) + 1)) }

// maybeCancel sends a CancelRequest into the call that comes next, and gives a function
// that waits until that is over.
func (c *client) maybeCancel(ctx context.Context, conn *pgconn.PgConn) (wait func()) {
	if c.random.Float64() >= c.manners.Cancel {
		return func() {}
	}
	delay, done := c.soon(), make(chan struct{})
	go func() {
		defer close(done)
		if pause(ctx, delay) == nil {
			_ = conn.CancelRequest(ctx) // one that is lost cancels nothing
		}
	}()
	return func() { <-done }
}

func arguments(o *history.Operation) [][]byte {
	texts := []any{o.Name}
	switch o.Kind {
	case history.Acquire:
		texts = append(texts, o.TTL.Milliseconds(), o.Wait.Milliseconds())
	case history.Renew:
		texts = append(texts, o.Token, o.TTL.Milliseconds())
	case history.Release:
		texts = append(texts, o.Token)
	case history.Claim:
		texts = append(texts, o.Units, o.Capacity)
	case history.Restock:
		texts = append(texts, o.Units)
	}
	values := make([][]byte, len(texts))
	for i, text := range texts {
		values[i] = fmt.Append(nil, text)
	}
	return values
}

// fill adds what the client was told.
func fill(o *history.Operation, result *pgconn.Result) error {
	if result.Err != nil {
		return fillError(o, result.Err)
	}
	if len(result.Rows) != 1 {
		return fmt.Errorf("%w: %d rows to %v", errUnexpected, len(result.Rows), o)
	}
	row := result.Rows[0]
	number := func(i int) int64 {
		n, _ := strconv.ParseInt(string(row[i]), 10, 64) // NULL: 0
		return n
	}
	switch o.Kind {
	case history.Acquire:
		o.OK, o.Token, o.ExpiresMS = string(row[0]) == "t", number(1), number(2)
	case history.Claim:
		o.OK, o.Remaining = string(row[0]) == "t", number(1)
	case history.Restock:
		o.OK, o.Remaining = true, number(0)
	default:
		o.OK = string(row[0]) == "t"
	}
	return nil
}

// fillError reads an error as docs/reference.md tells users to: a SQLSTATE says whether
// anything was changed, and a connection that ended says nothing.
func fillError(o *history.Operation, err error) error {
	o.Note = err.Error()
	var told *pgconn.PgError
	if !errors.As(err, &told) {
		o.Outcome = history.Unknown
		if pgconn.SafeToRetry(err) { // no byte was sent
			o.Outcome = history.Undone
		}
		return nil
	}
	o.Code, o.Lost = told.Code, told.Code == "55000"
	switch told.Code {
	case "58000", "53000", "57014", "55000", "58030":
		o.Outcome = history.Undone
	case "40003", "57P01":
		o.Outcome = history.Unknown
	default:
		return fmt.Errorf("%w: %w to %v", errUnexpected, err, o)
	}
	return nil
}

// pause waits for d, or until ctx ends, whose error it gives.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
