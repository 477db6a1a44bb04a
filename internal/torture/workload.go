package torture

import (
	"context"
	"fmt"
	"math"
	"time"

	"raisinproxy/backend/history"
)

// What the clients contend for. Keys and pools live through all rounds, so that what
// was told before a crash binds after it; one pool of each round is sold unit by unit.
const (
	sharedKeys  = 2
	sharedPools = 2
	// poolUnits is small, so that pools are sold out most of the time.
	poolUnits = 20
)

func sharedKey(i int) string  { return fmt.Sprintf("seat:%d", i) }
func sharedPool(i int) string { return fmt.Sprintf("flight:%d", i) }

// singles is the pool that a round sells unit by unit.
func singles(round int) string { return fmt.Sprintf("raffle:%d", round) }

// ownKey is a client's own: nobody takes it over when the lease has ended, so a call of
// the former holder meets the lease that is over, not a successor.
func ownKey(client int) string { return fmt.Sprintf("own:%d", client) }

// work makes calls until stop is closed.
func (c *client) work(ctx context.Context, round int, stop <-chan struct{}) error {
	for {
		select {
		case <-stop:
			return nil
		default:
		}
		task := c.useLock
		if c.id%2 == 0 { // half of the clients
			task = func(ctx context.Context) error { return c.usePool(ctx, round) }
		}
		if err := task(ctx); err != nil {
			return err
		}
		most := c.ttl / 20
		if c.failed {
			most = c.ttl // as clients do that were told of an error
		}
		if err := c.rest(ctx, most); err != nil {
			return err
		}
	}
}

// rest waits up to most.
func (c *client) rest(ctx context.Context, most time.Duration) error {
	return pause(ctx, time.Duration(c.random.Int64N(int64(most)+1)))
}

// useLock is one life of a lease, or an attempt at one.
func (c *client) useLock(ctx context.Context) error {
	if c.random.IntN(4) == 0 {
		if err := c.useOldToken(ctx); err != nil {
			return err
		}
	}
	key := sharedKey(c.random.IntN(sharedKeys))
	if c.random.IntN(4) == 0 {
		key = ownKey(c.id)
	}
	grant, err := c.call(ctx, history.Operation{Kind: history.Acquire, Name: key, TTL: c.ttl, Wait: c.wait()})
	if err != nil || !grant.OK {
		return err
	}
	held := lease{key, grant.Token}
	c.held = append(c.held, held)
	switch c.random.IntN(4) {
	case 0: // forgets it, and comes back when it is over
		if key != ownKey(c.id) {
			return nil
		}
		if err := pause(ctx, c.ttl+c.ttl/10); err != nil {
			return err
		}
		return c.end(ctx, held, c.random.IntN(2) == 0)
	case 1:
		if err := c.rest(ctx, c.ttl); err != nil {
			return err
		}
		if _, err := c.renew(ctx, held); err != nil {
			return err
		}
	}
	if err := c.rest(ctx, c.ttl/4); err != nil {
		return err
	}
	return c.end(ctx, held, c.random.IntN(4) == 0)
}

// wait is how long a call waits in line: half of them do not, and some for longer than a lease.
func (c *client) wait() time.Duration {
	if c.random.IntN(2) == 0 {
		return 0
	}
	return time.Duration(c.random.Int64N(int64(2 * c.ttl))).Truncate(time.Millisecond)
}

// end releases, after one more renewal if so asked.
func (c *client) end(ctx context.Context, held lease, renewFirst bool) error {
	if renewFirst {
		if _, err := c.renew(ctx, held); err != nil {
			return err
		}
	}
	_, err := c.call(ctx, history.Operation{Kind: history.Release, Name: held.key, Token: held.token})
	return err
}

// useOldToken comes back with a token that is most likely over.
func (c *client) useOldToken(ctx context.Context) error {
	if len(c.held) == 0 {
		return nil
	}
	old := c.held[c.random.IntN(len(c.held))]
	if c.random.IntN(2) == 0 {
		_, err := c.renew(ctx, old)
		return err
	}
	_, err := c.call(ctx, history.Operation{Kind: history.Release, Name: old.key, Token: old.token})
	return err
}

func (c *client) renew(ctx context.Context, held lease) (history.Operation, error) {
	return c.call(ctx, history.Operation{Kind: history.Renew, Name: held.key, Token: held.token, TTL: c.ttl})
}

// usePool claims, or gives back of what it has.
func (c *client) usePool(ctx context.Context, round int) error {
	if c.random.IntN(3) == 0 {
		_, err := c.call(ctx, history.Operation{Kind: history.Claim, Name: singles(round), Units: 1, Capacity: poolUnits})
		return err
	}
	n := c.random.Int64N(poolUnits/2) + 1
	pool := sharedPool(c.random.IntN(sharedPools))
	if c.units >= n && c.random.IntN(2) == 0 {
		given, err := c.call(ctx, history.Operation{Kind: history.Restock, Name: pool, Units: n})
		if given.Outcome != history.Undone {
			c.units -= n
		}
		return err
	}
	taken, err := c.call(ctx, history.Operation{Kind: history.Claim, Name: pool, Units: n, Capacity: poolUnits})
	if taken.OK || taken.Outcome == history.Unknown {
		c.units += n
	}
	return err
}

// keys are all that so many clients use: every second one uses locks.
func keys(clients int) []string {
	var all []string
	for i := range sharedKeys {
		all = append(all, sharedKey(i))
	}
	for i := 1; i < clients; i += 2 {
		all = append(all, ownKey(i))
	}
	return all
}

// A read tells the whole state of one key or pool, and cuts the history, if nothing else
// is under way. It is not done while somebody's lease runs, or after an error.
type read func(context.Context) (done bool, err error)

// locks are the reads of all keys.
func (c *client) locks(clients int) []read {
	var reads []read
	for _, key := range keys(clients) {
		reads = append(reads, func(ctx context.Context) (bool, error) { return c.readLock(ctx, key) })
	}
	return reads
}

// pools are the reads of all pools of a round.
func (c *client) pools(round int) []read {
	reads := []read{func(ctx context.Context) (bool, error) { return c.readPool(ctx, singles(round)) }}
	for i := range sharedPools {
		reads = append(reads, func(ctx context.Context) (bool, error) { return c.readPool(ctx, sharedPool(i)) })
	}
	return reads
}

// readAll repeats each read until it is done, and settles before it does so.
func (c *client) readAll(ctx context.Context, reads []read, settle func(context.Context) error) error {
	for _, read := range reads {
		for {
			done, err := read(ctx)
			if err != nil {
				return err
			}
			if done {
				break
			}
			if err := settle(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// readLock takes the key and frees it.
func (c *client) readLock(ctx context.Context, key string) (done bool, err error) {
	grant, err := c.call(ctx, history.Operation{Kind: history.Acquire, Name: key, TTL: c.ttl})
	if err != nil || !grant.OK {
		return false, err
	}
	freed, err := c.call(ctx, history.Operation{Kind: history.Release, Name: key, Token: grant.Token})
	if err != nil || !freed.OK {
		return false, err
	}
	c.recorder.cut(c.id)
	return true, nil
}

// readPool asks for more than any pool has.
func (c *client) readPool(ctx context.Context, pool string) (done bool, err error) {
	refused, err := c.call(ctx, history.Operation{Kind: history.Claim, Name: pool, Units: math.MaxInt64, Capacity: poolUnits})
	if err != nil || refused.Outcome != history.Answered {
		return false, err
	}
	c.recorder.cut(c.id)
	return true, nil
}
