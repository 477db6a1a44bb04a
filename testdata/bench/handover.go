package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
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
	// contested is the lock, and contestedTTL the length of its leases: none ends by itself.
	contested    = "contested"
	contestedTTL = time.Minute
)

// drive measures hand-overs. Those of the warm-up are left out.
func (h handOver) drive(ctx context.Context, l *lab, s *server) (sample, error) {
	begin := time.Now().Add(warmUp * time.Second)
	end := begin.Add(time.Duration(l.options.seconds) * time.Second)
	var released atomic.Pointer[time.Time] // nil: not yet
	var gaps []time.Duration               // the holder's
	group, faults := sync.WaitGroup{}, make(chan error, contenders)
	for range contenders {
		c, err := h.join(ctx, s)
		if err != nil {
			return sample{}, err
		}
		defer c.close()
		group.Go(func() {
			for {
				if err := c.acquire(ctx); err != nil {
					faults <- fmt.Errorf("acquire: %w", err)
					return
				}
				now := time.Now()
				if before := released.Load(); before != nil && now.After(begin) {
					gaps = append(gaps, now.Sub(*before))
				}
				releasing := time.Now()
				released.Store(&releasing)
				if err := c.release(ctx); err != nil {
					faults <- fmt.Errorf("release: %w", err)
					return
				}
				if releasing.After(end) {
					return
				}
			}
		})
	}
	group.Wait()
	select {
	case err := <-faults:
		return sample{}, err
	default:
	}
	if len(gaps) == 0 {
		return sample{}, errors.New("the lock was never handed over")
	}
	slices.Sort(gaps)
	at := gaps[len(gaps)*h.percentile/100]
	return sample{value: float64(at.Nanoseconds()) / 1000, done: float64(len(gaps))}, nil
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
	messages := c.told.Channel()
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
