package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"raisinproxy/backend"
)

// ask runs a script that changes nothing, or nothing that copies of it could change again. It needs no nonce: whatever
// becomes of its copies, it may be repeated, and its error is never a doubt.
func (s *Store) ask(ctx context.Context, sc *script, key string, judge func(addr string) (evidence, error), args func(e evidence) []any) (reply, error) {
	if err := s.begin(ctx); err != nil {
		return reply{}, err
	}
	defer s.work.Done()
	if s.clock.now() == 0 {
		return reply{}, fmt.Errorf("%w: no answer from Redis yet", backend.ErrUnavailable)
	}
	asking, cancel := context.WithTimeout(ctx, s.opts.sendingTime())
	defer cancel()
	r, err := s.repeat(asking, &call{key: key}, func(s *Store, addr string) (*request, error) {
		var e evidence
		if judge != nil {
			var err error
			if e, err = judge(addr); err != nil {
				return nil, err
			}
		}
		notAfter := s.clock.now() + s.opts.sendingTime().Microseconds()
		return &request{script: sc, key: key, args: append([]any{"", strconv.FormatInt(notAfter, 10), "0"}, args(e)...), epoch: e.epoch}, nil
	})
	switch {
	case err == nil && r.word == "SEALED":
		s.watch.lookNow()
		return reply{}, backend.ErrMoved
	case err == nil:
		return r, nil
	}
	if final, ok := errors.AsType[*finalError](err); ok {
		err = final.err
	}
	if errors.Is(err, backend.ErrInDoubt) { // a script failed in the middle, of which nothing hangs on
		err = errors.New(err.Error())
	}
	return reply{}, s.unavailable(ctx, err)
}

// reading is what a name was found to be.
type reading[T any] struct {
	row   T
	found bool
	err   error
}

// readTogether reads names, some at the same time, so that they go to Redis in pipelines. Not all at once: other
// calls wait for a pipeline that is before them.
func readTogether[T any](names []string, read func(name string) (T, bool, error)) []reading[T] {
	const atOnce = 64
	all := make([]reading[T], len(names))
	var next atomic.Int64
	var readers sync.WaitGroup
	for range min(len(names), atOnce) {
		readers.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(names); i = next.Add(1) - 1 {
				r := &all[i]
				r.row, r.found, r.err = read(names[i])
			}
		})
	}
	readers.Wait()
	return all
}
