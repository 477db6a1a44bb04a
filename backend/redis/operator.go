package redis

import (
	"context"
	"crypto/rand"
	"net/url"
	"strconv"
	"strings"
	"time"

	"raisinproxy/backend"
)

// Evict implements backend.Locker. It frees a lock with values that no proxy writes, too, and then tells of what is known.
func (s *Store) Evict(ctx context.Context, scope backend.Scope, key string) (backend.Lease, bool, error) {
	id := keyOf(s.opts.Namespace, lockKind, scope, key)
	r, err := s.do(ctx, &call{script: evictScript, key: id, args: func(evidence) []any {
		return []any{milliseconds(s.opts.Retention), s.watch.offersFrom()}
	}})
	switch {
	case err != nil:
		return backend.Lease{}, false, err
	case r.word == "FREE":
		return backend.Lease{Key: key}, false, nil
	case r.word != "EVICTED":
		return backend.Lease{}, false, unexpected(r)
	}
	l := backend.Lease{Key: key, Token: r.int(0), ExpiresAt: timeOf(r.int(1)), AcquiredAt: timeOf(r.int(2)), Waiters: r.int(3)}
	l.User, err = url.PathUnescape(strings.TrimPrefix(r.at(4), "u"))
	if err != nil {
		return backend.Lease{}, false, unexpected(r)
	}
	if s.leases != nil {
		s.leases.released(scope, key, l.Token)
	}
	return l, true, nil
}

// timeOf is the time of so many milliseconds; the zero time for 0.
func timeOf(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// SetPool implements backend.Inventory. Of a pool with values that no proxy writes it tells nothing, as if there had been none.
func (s *Store) SetPool(ctx context.Context, scope backend.Scope, p backend.Pool) (backend.Pool, bool, error) {
	id := keyOf(s.opts.Namespace, poolKind, scope, p.Name)
	r, err := s.making(ctx, scope, p.Name, func(making string) (reply, bool, error) {
		r, err := s.set(ctx, id, p, making)
		return r, true, err
	})
	switch {
	case err != nil:
		return backend.Pool{}, false, err
	case r.word != "SET":
		return backend.Pool{}, false, unexpected(r)
	}
	s.known.sawPool(id, poolState{gen: r.at(2), seq: r.int(3)})
	if r.at(0) == "-" {
		return backend.Pool{}, false, nil
	}
	return backend.Pool{Name: p.Name, Remaining: r.int(0), Capacity: capacityOf(r.at(1))}, true, nil
}

// set runs the script. That a pool is not what it was is noted as a loss, and does not keep the operator from setting it.
func (s *Store) set(ctx context.Context, id string, to backend.Pool, making string) (reply, error) {
	capacity := ""
	if to.Capacity != backend.UnknownCapacity {
		capacity = strconv.FormatInt(to.Capacity, 10)
	}
	gen := rand.Text()[:12]
	for {
		lost := s.watch.lost()
		r, err := s.do(ctx, &call{script: setScript, key: id, judge: s.watch.sets, args: func(e evidence) []any {
			seen := s.known.pool(id)
			if lost {
				seen.gen = ""
			}
			return []any{to.Remaining, capacity, gen, making, seen.gen, seen.seq, e.judged}
		}})
		if err != nil || r.word != "LOST" || lost {
			return r, err
		}
		_ = s.lostPool(id) // whoever sells is told
	}
}

// DropPool implements backend.Inventory. It fails as Claim does, for pools that are missing after a loss of state, too: to drop one
// does not let a claim make it. One with values that no proxy writes is dropped.
func (s *Store) DropPool(ctx context.Context, scope backend.Scope, pool string) (bool, error) {
	id := keyOf(s.opts.Namespace, poolKind, scope, pool)
	place := s.placeOf(scope, pool)
	stamp, noted, err := place.noted(ctx)
	if err != nil {
		return false, err
	}
	dropped, known, err := s.drop(ctx, id)
	if err == nil && known && noted {
		if err := place.giveUp(ctx, stamp); err != nil {
			s.log.Warn("redis: a pool was dropped and counts for its tenant still; drop it once more", "pool", id, "error", err)
		}
	}
	return dropped, err
}

// drop runs the script. known tells whether it was a pool, or had been one that was dropped before.
func (s *Store) drop(ctx context.Context, id string) (dropped, known bool, err error) {
	gen := rand.Text()[:12]
	var mayCreate bool
	r, err := s.do(ctx, &call{script: dropScript, key: id, judge: s.watch.counts, args: func(e evidence) []any {
		mayCreate = e.create
		seen := s.known.pool(id)
		return []any{gen, seen.gen, seen.seq, e.judged}
	}})
	if err != nil {
		return false, false, err
	}
	switch r.word {
	case "DROPPED":
		s.known.sawPool(id, poolState{gen: r.at(0), seq: r.int(1)})
		return true, true, nil
	case "NOPOOL":
		known = r.at(1) != ""
		if !known && !mayCreate {
			return false, false, backend.ErrPoolMissing
		}
		if known {
			s.known.sawPool(id, poolState{gen: r.at(1), seq: r.int(0)})
		}
		return false, known, nil
	case "LOST":
		return false, false, s.lostPool(id)
	}
	return false, false, unexpected(r)
}
