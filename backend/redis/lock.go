package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"raisinproxy/backend"
)

// Acquire implements backend.Locker. Nothing is granted, with backend.ErrUnavailable, for some time after
// Redis lost state or was another one; see package comment.
func (s *Store) Acquire(ctx context.Context, scope backend.Scope, key string, r backend.Request) (backend.Grant, error) {
	if s.leases == nil || r.User == "" {
		return s.acquireInTime(ctx, scope, key, r)
	}
	return s.leases.counted(scope, key, r, func() (backend.Grant, error) { return s.acquireInTime(ctx, scope, key, r) })
}

// acquireInTime gives a lease that is not over when its holder is told of it.
func (s *Store) acquireInTime(ctx context.Context, scope backend.Scope, key string, r backend.Request) (backend.Grant, error) {
	const tries = 2
	id := keyOf(s.opts.Namespace, lockKind, scope, key)
	end := time.Now().Add(r.Wait)
	for range tries {
		grant, sent, err := s.acquire(ctx, id, key, r, end)
		if err != nil || !grant.Acquired || time.Since(sent) < r.TTL {
			return grant, err
		}
		// The holder counts from before it asked, so for it this lease is over already.
		if _, err := s.release(ctx, id, key, backend.Proof{Token: grant.Token, User: r.User}); err != nil {
			return backend.Grant{}, fmt.Errorf("%w: a lease that came too late could not be released: %w", backend.ErrInDoubt, err)
		}
	}
	return backend.Grant{}, fmt.Errorf("%w: the answer takes longer than the lease of %v", backend.ErrUnavailable, r.TTL)
}

// acquire asks for a lock, or waits for it until end. No copy of what was granted was sent before sent.
func (s *Store) acquire(ctx context.Context, id, key string, ask backend.Request, end time.Time) (g backend.Grant, sent time.Time, err error) {
	r, err := s.onLock(ctx, key, func() (reply, error) {
		if ask.Wait > 0 && time.Now().Before(end) {
			t := s.newTurn(id, ask, end)
			r, err := s.unlessMoved(t.wait(ctx))
			sent = t.since
			return r, err
		}
		sent = time.Now()
		return s.do(ctx, &call{script: acquireScript, key: id, judge: s.watch.grants, args: func(e evidence) []any {
			return s.acquireArgs(e, ask, 0)
		}})
	})
	if err != nil {
		return backend.Grant{}, sent, err
	}
	switch r.word {
	case "GRANTED":
		return backend.Grant{Acquired: true, Token: r.int(0), ExpiresAt: time.UnixMilli(r.int(1))}, sent, nil
	case "HELD":
		return backend.Grant{}, sent, nil
	case "EXHAUSTED":
		return backend.Grant{}, sent, backend.ErrTokensExhausted
	case "EARLY":
		return backend.Grant{}, sent, errEarly
	case "FULL":
		return backend.Grant{}, sent, backend.ErrTooManyWaiters
	}
	return backend.Grant{}, sent, unexpected(r)
}

func (s *Store) acquireArgs(e evidence, ask backend.Request, wait time.Duration) []any {
	return []any{
		milliseconds(ask.TTL), milliseconds(s.opts.Retention), e.floor, e.earliest, e.judged, milliseconds(s.watch.longest()), ask.User,
		milliseconds(wait), s.opts.MaxWaiters,
	}
}

var errEarly = fmt.Errorf("%w: Redis was restarted or replaced; it grants nothing until its clock is past every token", backend.ErrUnavailable)

// Release implements backend.Locker.
func (s *Store) Release(ctx context.Context, scope backend.Scope, key string, p backend.Proof) (bool, error) {
	released, err := s.release(ctx, keyOf(s.opts.Namespace, lockKind, scope, key), key, p)
	if released && s.leases != nil {
		s.leases.released(scope, key, p.Token)
	}
	return released, err
}

func (s *Store) release(ctx context.Context, id, key string, p backend.Proof) (bool, error) {
	return yes(s.doOnLock(ctx, key, call{script: releaseScript, key: id, args: func(evidence) []any {
		return []any{strconv.FormatInt(p.Token, 10), milliseconds(s.watch.longest()), p.User, s.watch.offersFrom()}
	}}))
}

// Renew implements backend.Locker.
func (s *Store) Renew(ctx context.Context, scope backend.Scope, key string, p backend.Proof, ttl time.Duration) (bool, error) {
	id := keyOf(s.opts.Namespace, lockKind, scope, key)
	renewed, err := yes(s.doOnLock(ctx, key, call{script: renewScript, key: id, args: func(evidence) []any {
		return []any{strconv.FormatInt(p.Token, 10), milliseconds(ttl), milliseconds(s.watch.longest()), p.User}
	}}))
	if renewed && s.leases != nil {
		s.leases.renewed(scope, key, p.Token, ttl)
	}
	return renewed, err
}

// Look implements backend.Locker.
func (s *Store) Look(ctx context.Context, scope backend.Scope, key string) (backend.Lease, bool, error) {
	return s.see(ctx, keyOf(s.opts.Namespace, lockKind, scope, key), key)
}

// leaseOf is what look has answered.
func leaseOf(key string, r reply) (l backend.Lease, held bool, err error) {
	switch r.word {
	case "FREE":
		return backend.Lease{Key: key, Waiters: r.int(0)}, false, nil
	case "LEASE":
		end := time.UnixMicro(r.micros).Add(time.Duration(r.int(1)) * time.Millisecond)
		return backend.Lease{Key: key, Token: r.int(0), User: r.at(2), AcquiredAt: timeOf(r.int(3)), ExpiresAt: end, Waiters: r.int(4)}, true, nil
	}
	return backend.Lease{}, false, unexpected(r)
}

// doOnLock is do for a lock.
func (s *Store) doOnLock(ctx context.Context, key string, c call) (reply, error) {
	return s.onLock(ctx, key, func() (reply, error) {
		once := c
		return s.do(ctx, &once)
	})
}

// onLock refuses a lock with values that no script of ours writes. A lease that is too long may be that
// of a proxy which has just come, with a greater max_ttl: the id record tells.
func (s *Store) onLock(ctx context.Context, key string, do func() (reply, error)) (reply, error) {
	for {
		longest := s.watch.longest()
		r, err := do()
		if err != nil || r.word != "STRANGE" {
			return r, err
		}
		if err := s.askLongest(ctx); err != nil {
			return reply{}, s.unavailable(ctx, err)
		}
		if s.watch.longest() == longest {
			return reply{}, &backend.LockValueError{Key: key, Value: r.at(0)}
		}
	}
}

// askLongest learns from the id record which is the greatest max_ttl.
func (s *Store) askLongest(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.opts.attemptTime())
	defer cancel()
	r, err := s.readID(ctx, "", "")
	if err == nil && r != nil {
		s.watch.sawLongest(r.maxTTL)
	}
	return err
}

func yes(r reply, err error) (bool, error) {
	if err == nil && r.word != "YES" && r.word != "NO" {
		err = unexpected(r)
	}
	return r.word == "YES", err
}

func unexpected(r reply) error {
	return fmt.Errorf("%w: %w", backend.ErrInDoubt, errors.New("redis: unexpected answer "+r.word))
}
