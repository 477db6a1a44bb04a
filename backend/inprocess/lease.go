package inprocess

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"raisinproxy/backend"
)

// A lease is the record of one key. Its shard's mutex guards it. A lease that is
// over may still have its record; see live.
type lease struct {
	key      string // as made by appendKey
	token    int64
	deadline time.Duration // on the boot clock
	acquired int64         // by the wall clock, in microseconds since 1970; 0: nobody knows
	user     *user         // nil: nobody knows
	at       int           // where it is in its shard's expiry heap
	next     *lease        // in the shard's list of unused records
}

// live reports whether the lease still runs. At its deadline it is over.
func (l *lease) live(now time.Duration) bool { return now < l.deadline }

// proves says whether somebody who shows p holds the lease, if it runs.
func (l *lease) proves(p backend.Proof) bool {
	return l.token == p.Token && (l.user == nil || l.user.name == p.User)
}

// deadline is now+ttl, or the end of time where that is beyond it.
func deadline(now, ttl time.Duration) time.Duration {
	if ttl > math.MaxInt64-now {
		return math.MaxInt64
	}
	return now + ttl
}

// Acquire implements backend.Locker. It fails with backend.ErrUnavailable if ctx
// has ended before the call, or while it waited, or the store is closed, with
// backend.ErrPaused if the store does not know of all leases yet, and with
// backend.ErrTokensExhausted, ErrTooManyLeases and ErrTooManyWaiters; nothing changed
// then. A durable store fails with backend.ErrInDoubt, ErrUnwritable and
// ErrOutOfResources too, and with ErrUnavailable if its disk takes longer than the
// lease, twice.
func (s *Store) Acquire(ctx context.Context, scope backend.Scope, key string, r backend.Request) (backend.Grant, error) {
	if err := s.ready(ctx); err != nil {
		return backend.Grant{}, err
	}
	var buf [keySize]byte
	id := appendKey(buf[:0], scope, key)
	var end time.Duration // of the wait
	if r.Wait > 0 {
		end = deadline(s.clock.Boot(), r.Wait)
	}
	for range 2 {
		lease, err := s.acquire(ctx, id, r, end)
		if errors.Is(err, backend.ErrTooManyLeases) && s.reapFor(r.User) {
			lease, err = s.acquire(ctx, id, r, end)
		}
		if err != nil || lease.token == 0 {
			return backend.Grant{}, err
		}
		// A lease that ended while it was written is nobody's any more.
		if s.journal == nil || s.clock.Boot() < lease.deadline {
			return lease.tell(r.TTL), nil
		}
	}
	return backend.Grant{}, fmt.Errorf("%w: the disk takes longer than the lease of %v", backend.ErrUnavailable, r.TTL)
}

// acquire gives a lease that may be told; its token is 0 if another holds the lock.
func (s *Store) acquire(ctx context.Context, id []byte, r backend.Request, end time.Duration) (granted, error) {
	sh := s.shardOf(id)
	lease, w, rests, err := s.acquireOrJoin(sh, id, r, end)
	if w == nil {
		if err := s.settle(ctx, rests); err != nil {
			return granted{}, err
		}
		return lease, err
	}
	if err := s.await(ctx, sh, w); err != nil {
		if w.granted { // just before the wait was ended
			err = s.takeBack(id, r.User, w.lease.token, err)
		}
		return granted{}, err
	}
	if err := s.settle(ctx, w.rests); err != nil {
		if w.granted && ctx.Err() != nil {
			return granted{}, s.takeBack(id, r.User, w.lease.token, ctx.Err())
		}
		return granted{}, err
	}
	return w.lease, w.err
}

// AcquireFirst implements backend.Locker. It fails as Acquire does.
func (s *Store) AcquireFirst(ctx context.Context, scope backend.Scope, keys []string, r backend.Request) (string, backend.Grant, error) {
	r.Wait = 0
	for _, key := range keys {
		if g, err := s.Acquire(ctx, scope, key, r); g.Acquired || err != nil {
			return key, g, err
		}
	}
	return "", backend.Grant{}, nil
}

// takeBack ends a lease that its caller does not wait for any more. What tells of its end
// is written behind it: if that is lost in a crash, the lease is there until it ends by itself.
func (s *Store) takeBack(id []byte, name string, token int64, cause error) error {
	if _, _, err := s.release(id, backend.Proof{Token: token, User: name}); err != nil {
		return fmt.Errorf("%w: %w", backend.ErrInDoubt, err)
	}
	return fmt.Errorf("%w: %w", backend.ErrUnavailable, cause)
}

// acquireOrJoin grants a lock that is free and that nobody waits for. Otherwise it puts
// the call in line, if that waits.
func (s *Store) acquireOrJoin(sh *shard, id []byte, r backend.Request, end time.Duration) (g granted, w *waiter, b basis, err error) {
	sh.mu.Lock()
	defer sh.mu.Unlock()

	if len(sh.queues) > 0 {
		s.serve(sh, string(id)) // those who came before
	}
	now := s.clock.Boot()
	l := sh.leases[string(id)]
	held := l != nil && l.live(now)
	lined := len(sh.queues) > 0 && sh.queues[string(id)] != nil
	switch waits := r.Wait > 0; {
	case !held && !waits && s.pause.runs(now):
		return granted{}, nil, sh.seen(), s.pause.refusal(now)
	case (held || lined) && !waits:
		return granted{}, nil, sh.seen(), nil
	}
	u, ok := s.users.take(r.User)
	if !ok {
		return granted{}, nil, sh.seen(), backend.ErrTooManyLeases
	}
	if held || lined || s.pause.runs(now) {
		w, err = s.join(sh, id, end, r.TTL, u)
	} else if g, err = s.grant(sh, id, l, r.TTL, u, now); err == nil {
		return g, nil, sh.changed(), nil
	}
	if err != nil {
		u.drop()
	}
	return granted{}, w, sh.seen(), err
}

// grant makes a lease of a lock that is free. l is what is left of an earlier one, or nil.
func (s *Store) grant(sh *shard, id []byte, l *lease, ttl time.Duration, u *user, now time.Duration) (granted, error) {
	wall := s.clock.Wall()
	token, err := s.tokens.next(wall)
	if err != nil {
		return granted{}, err
	}
	g := granted{token: token, deadline: deadline(now, ttl), wall: wall.UnixMicro()}
	record := leaseRecord{token: token, deadline: g.deadline, ttl: ttl, acquired: g.wall, user: u.named()}
	if err := sh.recordLease(id, &record); err != nil {
		return granted{}, err
	}
	if l == nil {
		l = sh.insert(string(id), g.deadline)
	} else {
		l.user.drop() // its lease is over
		sh.expiry.postpone(l, g.deadline)
	}
	l.token, l.acquired, l.user = token, g.wall, u
	return g, nil
}

// Renew implements backend.Locker. It fails with backend.ErrUnavailable, as
// Acquire does; if the store is durable, with backend.ErrInDoubt, ErrUnwritable
// and ErrOutOfResources too.
func (s *Store) Renew(ctx context.Context, scope backend.Scope, key string, p backend.Proof, ttl time.Duration) (bool, error) {
	if err := s.ready(ctx); err != nil {
		return false, err
	}
	var buf [keySize]byte
	renewed, rests, err := s.renew(appendKey(buf[:0], scope, key), p, ttl)
	if err := s.settle(ctx, rests); err != nil {
		return false, err
	}
	return renewed, err
}

func (s *Store) renew(id []byte, p backend.Proof, ttl time.Duration) (bool, basis, error) {
	sh := s.shardOf(id)
	sh.mu.Lock()
	defer sh.mu.Unlock()

	l := sh.leases[string(id)]
	if l == nil || !l.proves(p) {
		return false, sh.seen(), nil
	}
	now := s.clock.Boot()
	if !l.live(now) {
		rests, err := sh.bury(l)
		return false, rests, err
	}
	if end := deadline(now, ttl); end > l.deadline {
		record := leaseRecord{token: l.token, deadline: end, ttl: ttl, acquired: l.acquired, user: l.user.named()}
		if err := sh.recordLease(id, &record); err != nil {
			return false, basis{}, err
		}
		sh.expiry.postpone(l, end)
		return true, sh.changed(), nil
	}
	return true, sh.seen(), nil
}

// Release implements backend.Locker. It fails as Renew does.
func (s *Store) Release(ctx context.Context, scope backend.Scope, key string, p backend.Proof) (bool, error) {
	if err := s.ready(ctx); err != nil {
		return false, err
	}
	var buf [keySize]byte
	released, rests, err := s.release(appendKey(buf[:0], scope, key), p)
	if err := s.settle(ctx, rests); err != nil {
		return false, err
	}
	return released, err
}

func (s *Store) release(id []byte, p backend.Proof) (bool, basis, error) {
	sh := s.shardOf(id)
	sh.mu.Lock()
	defer sh.mu.Unlock()

	l := sh.leases[string(id)]
	if l == nil || !l.proves(p) {
		return false, sh.seen(), nil
	}
	if !l.live(s.clock.Boot()) {
		rests, err := sh.bury(l)
		return false, rests, err
	}
	rests, err := s.end(sh, l)
	return err == nil, rests, err
}

// end ends a lease that runs, and gives its lock to the first in line.
func (s *Store) end(sh *shard, l *lease) (basis, error) {
	if err := sh.recordEnd(l); err != nil {
		return basis{}, err
	}
	key := l.key
	sh.remove(l)
	rests := sh.changed()
	if len(sh.queues) > 0 {
		s.serve(sh, key)
	}
	return rests, nil
}
