package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"raisinproxy/backend"
)

// settle finds out what became of a call whose answer did not arrive: what it was answered, which
// is the answer still, or nothing, and then no copy of it does anything any more. A call that
// its caller does not wait for is undone. If Redis does not say in time, it is in doubt.
func (s *Store) settle(ctx context.Context, c *call, start time.Time, cause error) (reply, error) {
	cancelled := ctx.Err() != nil
	end := start.Add(s.opts.Timeout)
	if least := time.Now().Add(s.opts.settlingTime()); end.Before(least) {
		end = least
	}
	settling, cancel := context.WithDeadline(context.WithoutCancel(ctx), end)
	defer cancel()
	answer, err := s.askToSettle(settling, c, cancelled)
	if err != nil {
		if cancelled {
			return reply{}, fmt.Errorf("%w: %w: %w", backend.ErrInDoubt, ctx.Err(), err)
		}
		return reply{}, fmt.Errorf("%w: %w", backend.ErrInDoubt, errors.Join(cause, err))
	}
	switch answer.word {
	case "NOTHING":
		return reply{}, s.unavailable(ctx, cause)
	case "UNDONE":
		if len(answer.rest) >= 3 {
			s.known.sawPool(c.key, poolState{gen: answer.at(1), seq: answer.int(2)})
		}
		return reply{}, s.unavailable(ctx, cause)
	case "WAS":
		was := reply{word: answer.at(0), rest: answer.rest[1:]}
		if cancelled && (was.changed() || was.word == "SHORT") { // a first claim may be short and make the pool
			return reply{}, fmt.Errorf("%w: it was applied when its caller gave up: %w", backend.ErrInDoubt, ctx.Err())
		}
		return was, nil
	}
	return reply{}, fmt.Errorf("%w: settling was answered %s", backend.ErrInDoubt, answer.word)
}

// askToSettle runs the script that settles a call, and undoes what was applied if undo says so.
func (s *Store) askToSettle(ctx context.Context, c *call, undo bool) (reply, error) {
	return s.repeat(ctx, &call{key: c.key}, func(s *Store, _ string) (*request, error) {
		// The copies' own not_after, so that the tombstone outlives them.
		return &request{script: settleScript, key: c.key, args: c.head(flag(undo), strconv.FormatInt(c.taken, 10), s.watch.offersFrom())}, nil
	})
}
