package redis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"raisinproxy/backend"
)

// call is one execution of a script that changes something, with all its copies.
type call struct {
	script *script
	key    string
	nonce  string
	// args are those after nonce, not_after and the copied flag, and judge is what they rest on:
	// both are taken anew for each copy. Without judge they rest on nothing.
	args   func(e evidence) []any
	judge  func(addr string) (evidence, error)
	forget []string // nonces that were answered
	taken  int64    // units that a settled claim gives back
	// copied: a copy of the request was written and its answer did not arrive. It may
	// be applied at any time until not_after, so the script has to note whatever it answers.
	copied   bool
	notAfter int64
}

// reply is the answer of a script.
type reply struct {
	word   string
	micros int64 // the server's time
	rest   []string
}

// at is the i-th value after the word and the time; "" if there is none.
func (r reply) at(i int) string {
	if i >= len(r.rest) {
		return ""
	}
	return r.rest[i]
}

func (r reply) int(i int) int64 {
	n, _ := strconv.ParseInt(r.at(i), 10, 64)
	return n
}

// changed tells whether the answer says that the call changed something.
func (r reply) changed() bool {
	word := r.word
	if word == "WAS" {
		word = r.at(0)
	}
	switch word {
	case "GRANTED", "YES", "CLAIMED", "RESTOCKED", "UNDONE", "EVICTED", "SET", "DROPPED":
		return true
	}
	return false
}

// errShort: the change is made, and too few replicas have said that they have it.
var errShort = errors.New("fewer replicas than wait_replicas have acknowledged the change")

// do runs a call to its end. Its errors are as package backend says: what was written
// and did not come back is settled or in doubt.
func (s *Store) do(ctx context.Context, c *call) (reply, error) {
	return s.unlessMoved(s.execute(ctx, c))
}

// unlessMoved makes an error of the answer that the name space is sealed.
func (s *Store) unlessMoved(r reply, err error) (reply, error) {
	if err == nil && r.word == "SEALED" {
		s.watch.lookNow()
		return reply{}, backend.ErrMoved
	}
	return r, err
}

func (s *Store) execute(ctx context.Context, c *call) (reply, error) {
	if err := s.begin(ctx); err != nil {
		return reply{}, err
	}
	defer s.work.Done()
	if s.clock.now() == 0 {
		return reply{}, errNoAnswer
	}
	c.nonce = s.nonce()
	c.forget = s.known.forget(c.key)
	start := time.Now()
	sending, cancel := context.WithDeadline(ctx, start.Add(s.opts.sendingTime()))
	defer cancel()
	r, err := s.repeat(sending, c, c.request)
	if err == nil {
		switch {
		case !r.changed():
			s.known.answer(c.key, c.forget...) // its script has not come to them
		case !c.copied:
			s.known.answer(c.key, c.nonce)
		}
		return r, nil
	}
	if final, ok := errors.AsType[*finalError](err); ok {
		return reply{}, final.err
	}
	if !c.copied {
		return reply{}, s.unavailable(ctx, err)
	}
	return s.settle(ctx, c, start, err)
}

var errNoAnswer = fmt.Errorf("%w: no answer from Redis yet", backend.ErrUnavailable)

// finalError ends a call for certain, whatever copies of it there are.
type finalError struct{ err error }

func (e *finalError) Error() string { return e.err.Error() }

// unavailable is a call that did nothing. If its context has ended, that is the reason.
func (s *Store) unavailable(ctx context.Context, err error) error {
	if cause := ctx.Err(); cause != nil {
		return fmt.Errorf("%w: %w", backend.ErrUnavailable, cause)
	}
	if errors.Is(err, backend.ErrOutOfResources) || errors.Is(err, backend.ErrUnavailable) || errors.Is(err, backend.ErrStateLost) || errors.Is(err, backend.ErrMoved) {
		return err
	}
	return fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
}

// fixed are arguments that do not rest on anything.
func fixed(args ...any) func(evidence) []any { return func(evidence) []any { return args } }

// request makes the next copy of a call, for the server at addr.
func (c *call) request(s *Store, addr string) (*request, error) {
	var e evidence
	if c.judge != nil {
		var err error
		if e, err = c.judge(addr); err != nil {
			return nil, err
		}
	}
	c.notAfter = s.clock.now() + s.opts.sendingTime().Microseconds()
	args := c.head(c.args(e)...)
	for _, nonce := range c.forget {
		args = append(args, nonce)
	}
	return &request{script: c.script, key: c.key, args: args, epoch: e.epoch}, nil
}

// head puts what every script of a call takes before args.
func (c *call) head(args ...any) []any {
	copied := "0"
	if c.copied {
		copied = "1"
	}
	return append([]any{c.nonce, strconv.FormatInt(c.notAfter, 10), copied}, args...)
}

// nextCopy makes a copy of a call for the server at addr, as it is to be sent now.
type nextCopy func(s *Store, addr string) (*request, error)

// repeat sends requests until one is answered, ctx ends, or Redis refuses for good. A
// refusal is an answer about its own copy only: if others were written, err stays open.
func (s *Store) repeat(ctx context.Context, c *call, next nextCopy) (reply, error) {
	pause := 2 * time.Millisecond
	var eval bool
	var at *goredis.Client // where a redirect points
	var asking bool
	var last error // what Redis or the network said, rather than that the time is over
	for {
		answer, err := s.attempt(ctx, c, next, at, eval, asking)
		at, asking = nil, false
		if final, ok := errors.AsType[*finalError](err); ok {
			return reply{}, final
		}
		if err == nil {
			switch answer.word {
			case "LATE":
				// Neither will an earlier copy do anything now: its time is over too.
				c.copied = false
				err = errors.New("the request reached Redis after its time")
			case "JUDGE", "NOBEAT", "CLOCK":
				err = s.unjudged(answer.word)
			case "MORE": // there is more to be done than a script may
				continue
			case "GIVENUP":
				return reply{}, &finalError{fmt.Errorf("%w: the call was given up", backend.ErrUnavailable)}
			default:
				return answer, nil
			}
		} else {
			switch judge(err) {
			case refused:
				return reply{}, refusal(err)
			case stopped:
				return reply{}, err
			case broken:
				return reply{}, &finalError{fmt.Errorf("%w: %w", backend.ErrInDoubt, err)}
			case noScript:
				eval = true
				continue
			case elsewhere:
				at, asking = s.redirect(ctx, err)
				continue
			case notNow:
				s.servers.changed(ctx)
			case unknown:
				c.copied = true
				s.servers.changed(ctx)
			case unsent:
				s.servers.changed(ctx)
			}
		}
		if last == nil || ctx.Err() == nil && !errors.Is(err, context.DeadlineExceeded) { // an exchange ends at the same time as ctx
			last = err
		}
		select {
		case <-ctx.Done():
			return reply{}, last
		case <-time.After(pause/2 + rand.N(pause/2)): //nolint:gosec // spreads retries
			pause = min(2*pause, 100*time.Millisecond)
		}
		if c.script != nil && !c.copied && s.tooLate(ctx) {
			return reply{}, last
		}
	}
}

// tooLate tells whether there is hardly time left for an answer. A call all of whose copies
// have been refused did nothing for certain; with one more that nobody waits for to the end it
// would be in doubt.
func (s *Store) tooLate(ctx context.Context) bool {
	end, ok := ctx.Deadline()
	return ok && time.Until(end) < s.opts.answerTime()
}

// unjudged is for a script that found another server than the call was to be sent to, or one without its
// data. It did nothing; what may be done now says the next copy's evidence.
func (s *Store) unjudged(word string) error {
	switch word {
	case "NOBEAT":
		s.watch.lose("the beat of this proxy is gone")
		return errors.New("the data of this Redis are gone")
	case "CLOCK":
		return errClock
	}
	s.watch.lookNow()
	return errors.New("this Redis is another one, or has other data, than it was judged by")
}

// errClock is for a server whose time cannot be used. That is not remembered: when the clock is right again, so is all else.
var errClock = errors.New("the clock of Redis is beyond the year 2255, where no token can be made")

// redirect is the node that a Cluster names for a key.
func (s *Store) redirect(ctx context.Context, err error) (node *goredis.Client, asking bool) {
	if addr, ok := goredis.IsMovedError(err); ok {
		s.servers.changed(ctx)
		return s.servers.at(ctx, addr), false
	}
	if addr, ok := goredis.IsAskError(err); ok {
		return s.servers.at(ctx, addr), true
	}
	return nil, false
}

// attempt sends one request and waits for its reply or the end of ctx.
func (s *Store) attempt(ctx context.Context, c *call, next nextCopy, node *goredis.Client, eval, asking bool) (reply, error) {
	if err := ctx.Err(); err != nil {
		return reply{}, &unsentError{err}
	}
	if node == nil {
		var err error
		if node, err = s.servers.forKey(ctx, c.key); err != nil {
			return reply{}, err
		}
	}
	r, err := next(s, node.Options().Addr)
	if err != nil {
		return reply{}, err
	}
	r.eval, r.asking = eval, asking
	r.done = make(chan struct{})
	r.until, _ = ctx.Deadline()
	s.laneTo(node).send(r)
	select {
	case <-r.done:
	case <-ctx.Done():
		if r.withdraw() {
			return reply{}, &unsentError{ctx.Err()}
		}
		if !arrives(ctx, r) {
			return reply{}, ctx.Err()
		}
	}
	if r.err != nil {
		return reply{}, r.err
	}
	return s.read(r)
}

// arrives waits, after the end of ctx, for what ends at the same time: the exchange of r may
// have been answered just now, or may tell that nothing was written.
func arrives(ctx context.Context, r *request) bool {
	const moment = 20 * time.Millisecond
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		select {
		case <-r.done:
			return true
		default:
			return false
		}
	}
	select {
	case <-r.done:
		return true
	case <-time.After(moment):
		return false
	}
}

// read takes a reply apart: its word, the server's time, and what belongs to the word.
func (s *Store) read(r *request) (reply, error) {
	texts := make([]string, len(r.reply))
	for i, value := range r.reply {
		texts[i], _ = value.(string)
	}
	if len(texts) < 2 {
		return reply{}, fmt.Errorf("redis: the script %s answered %v", r.script.name, texts)
	}
	answer := reply{word: texts[0], rest: texts[2:]}
	answer.micros, _ = strconv.ParseInt(texts[1], 10, 64)
	var token int64
	switch answer.word {
	case "GRANTED", "HELD", "YES", "NO":
		token = answer.int(0)
	}
	s.clock.see(answer.micros, min(token, backend.MaxToken-1))
	if r.short && answer.changed() {
		return reply{}, &finalError{fmt.Errorf("%w: %w", backend.ErrInDoubt, errShort)}
	}
	return answer, nil
}
