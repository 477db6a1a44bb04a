package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	goredis "github.com/redis/go-redis/v9"
)

// handOver is how long a lock is nobody's between two holders, while some clients want it all the
// time: from when its holder begins to release it to when the next one knows that it has it.
type handOver struct {
	percentile int
	join       func(ctx context.Context, s *server) (contender, error)
}

// contender is a client that wants the lock.
type contender interface {
	// acquire returns when the client has the lock.
	acquire(ctx context.Context) error
	release(ctx context.Context) error
	close()
}

const (
	// contenders are enough for a line to stand at each release.
	contenders = 8
	// held is how long each has the lock: the one before is in line again by then.
	held = 2 * time.Millisecond
	// contested is the lock, and contestedTTL the length of its leases: none ends by itself.
	contested    = "contested"
	contestedTTL = time.Minute
)

// drive measures hand-overs. Those of the warm-up are left out.
func (h handOver) drive(ctx context.Context, l *lab, s *server) (sample, error) {
	begin := time.Now().Add(warmUp * time.Second)
	b := &baton{begin: begin, end: begin.Add(time.Duration(l.options.seconds) * time.Second), over: make(chan struct{}), grabbed: make(chan struct{})}
	var all []contender
	defer func() {
		for _, c := range all {
			c.close()
		}
	}()
	for range contenders {
		c, err := h.join(ctx, s)
		if err != nil {
			return sample{}, err
		}
		all = append(all, c)
	}
	group, faults := sync.WaitGroup{}, make(chan error, contenders)
	for _, c := range all {
		group.Go(func() { faults <- b.contend(ctx, c) })
	}
	group.Wait()
	close(faults)
	for err := range faults {
		if err != nil {
			return sample{}, err
		}
	}
	if len(b.gaps) == 0 {
		return sample{}, errors.New("the lock was never handed over")
	}
	slices.Sort(b.gaps)
	at := b.gaps[len(b.gaps)*h.percentile/100]
	return sample{value: float64(at.Nanoseconds()) / 1000, done: float64(len(b.gaps))}, nil
}

// baton is what contenders know of each other. The mutex guards all but the times.
type baton struct {
	begin, end time.Time

	mu       sync.Mutex
	released time.Time // by the holder before; zero: nobody had it
	gaps     []time.Duration
	grabbed  chan struct{} // closed when the next one has it
	over     chan struct{} // closed at the end
	closed   bool
}

// contend takes the lock again and again. Who has released it lets another have it first: what is measured
// is how long others wait.
func (b *baton) contend(ctx context.Context, c contender) error {
	for {
		if err := c.acquire(ctx); err != nil {
			return fmt.Errorf("acquire: %w", err)
		}
		b.grab()
		if err := rest(ctx, held); err != nil {
			return err
		}
		next, last := b.letGo()
		if err := c.release(ctx); err != nil {
			return fmt.Errorf("release: %w", err)
		}
		if last {
			return nil
		}
		select {
		case <-next:
		case <-b.over:
			return nil
		}
	}
}

// grab is called by who has got the lock.
func (b *baton) grab() {
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.released.After(b.begin) {
		b.gaps = append(b.gaps, now.Sub(b.released))
	}
	close(b.grabbed)
	b.grabbed = make(chan struct{})
}

// letGo is called by who is about to release the lock. next is closed when another has it.
func (b *baton) letGo() (next <-chan struct{}, last bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if last = time.Now().After(b.end); last && !b.closed {
		b.closed = true
		close(b.over)
	}
	b.released = time.Now()
	return b.grabbed, last
}

// sqlContender waits in the server. Its statements are prepared.
type sqlContender struct {
	conn  *pgconn.PgConn
	token []byte
	// freed makes the parameters of the statement that releases.
	freed func(token []byte) [][]byte
	taken [][]byte
}

// joinLine is a contender of the proxy.
func joinLine(ctx context.Context, s *server) (contender, error) {
	ms := []byte(strconv.FormatInt(contestedTTL.Milliseconds(), 10))
	return joinSQL(ctx, s, &sqlContender{
		taken: [][]byte{[]byte(contested), ms, ms},
		freed: func(token []byte) [][]byte { return [][]byte{[]byte(contested), token} },
	}, "SELECT acquired, token FROM raisin_lock_acquire($1, $2, $3)", "SELECT raisin_lock_release($1, $2)")
}

// joinAdvisory is a contender for PostgreSQL's own lock.
func joinAdvisory(ctx context.Context, s *server) (contender, error) {
	return joinSQL(ctx, s, &sqlContender{freed: func([]byte) [][]byte { return nil }},
		"SELECT true, pg_advisory_lock(14)::text", "SELECT pg_advisory_unlock(14)")
}

func joinSQL(ctx context.Context, s *server, c *sqlContender, acquire, release string) (contender, error) {
	conn, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	c.conn = conn
	_, err = conn.Prepare(ctx, "acquire", acquire, nil)
	if err == nil {
		_, err = conn.Prepare(ctx, "release", release, nil)
	}
	return c, err
}

func (c *sqlContender) acquire(ctx context.Context) error {
	result := c.conn.ExecPrepared(ctx, "acquire", c.taken, nil, nil).Read()
	if result.Err != nil {
		return result.Err
	}
	if string(result.Rows[0][0]) != "t" {
		return errors.New("the wait was in vain")
	}
	c.token = slices.Clone(result.Rows[0][1])
	return nil
}

func (c *sqlContender) release(ctx context.Context) error {
	result := c.conn.ExecPrepared(ctx, "release", c.freed(c.token), nil, nil).Read()
	if result.Err == nil && string(result.Rows[0][0]) != "t" {
		return errors.New("the lock was not the holder's")
	}
	return result.Err
}

func (c *sqlContender) close() { _ = c.conn.Close(context.Background()) }

// redisContender takes the lock by SET NX PX, and asks again while it is another's.
type redisContender struct {
	client *goredis.Client
	mine   string
	// again says when to ask again.
	again func(ctx context.Context) error
	freed *goredis.Script
	told  *goredis.PubSub // nil: it is not told of releases
}

// pollPause is that of redis-py's Lock.
const pollPause = 100 * time.Millisecond

// joinPolling is a contender that polls.
func joinPolling(ctx context.Context, s *server) (contender, error) {
	c := &redisContender{client: s.redisClient(1), mine: strconv.FormatUint(rand.Uint64(), 36), freed: deleteIfMine}
	c.again = func(ctx context.Context) error { return rest(ctx, pollPause) }
	return c, c.freed.Load(ctx, c.client).Err()
}

// deleteAndTell is deleteIfMine, and tells those who wait, as Redisson's unlock does.
var deleteAndTell = goredis.NewScript(`if redis.call("get",KEYS[1]) ~= ARGV[1] then return 0 end
redis.call("del",KEYS[1]) redis.call("publish",KEYS[1],"") return 1`)

// joinTold is a contender that is told of releases, and asks again then or when the lease is over.
func joinTold(ctx context.Context, s *server) (contender, error) {
	c := &redisContender{client: s.redisClient(2), mine: strconv.FormatUint(rand.Uint64(), 36), freed: deleteAndTell}
	c.told = c.client.Subscribe(ctx, contested)
	messages := make(chan struct{}, 1)
	go func() {
		for {
			if _, err := c.told.ReceiveMessage(ctx); err != nil {
				return // it is closed
			}
			select {
			case messages <- struct{}{}:
			default: // it has not asked since it was told last
			}
		}
	}()
	c.again = func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, contestedTTL)
		defer cancel()
		select {
		case <-messages:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return c, c.freed.Load(ctx, c.client).Err()
}

func (c *redisContender) acquire(ctx context.Context) error {
	for {
		err := c.client.SetArgs(ctx, contested, c.mine, goredis.SetArgs{Mode: "NX", TTL: contestedTTL}).Err()
		if !errors.Is(err, goredis.Nil) {
			return err
		}
		if err := c.again(ctx); err != nil {
			return err
		}
	}
}

func (c *redisContender) release(ctx context.Context) error {
	n, err := c.freed.EvalSha(ctx, c.client, []string{contested}, c.mine).Int()
	if err == nil && n != 1 {
		return errors.New("the lock was not the holder's")
	}
	return err
}

func (c *redisContender) close() {
	if c.told != nil {
		_ = c.told.Close()
	}
	_ = c.client.Close()
}

// rest waits for d, or until ctx ends.
func rest(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
