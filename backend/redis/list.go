package redis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"raisinproxy/backend"
)

// scanned is how many keys one script looks at while it searches: some tenths of a millisecond, for which other calls
// wait.
const scanned = 1000

// Leases implements backend.Locker. It looks at every key of Redis, and a Store does so for one call at a time. It fails
// with a *backend.LockValueError if one of the locks has values that no proxy writes, and if slots of a Cluster move. After a loss of
// state it tells what is there.
func (s *Store) Leases(ctx context.Context, scope backend.Scope, prefix string, most int) ([]backend.Lease, error) {
	where := listing{kind: lockKind, scope: scope, prefix: prefix, judge: s.watch.sees}
	return list(ctx, s, where, most, func(ctx context.Context, key string) (backend.Lease, bool, error) {
		return s.see(ctx, keyOf(s.opts.Namespace, lockKind, scope, key), key)
	})
}

// Pools implements backend.Inventory. It fails as Leases does, with a *backend.PoolValueError, and as Claim does.
func (s *Store) Pools(ctx context.Context, scope backend.Scope, prefix string, most int) ([]backend.Pool, error) {
	where := listing{kind: poolKind, scope: scope, prefix: prefix, judge: s.watch.counts}
	return list(ctx, s, where, most, func(ctx context.Context, name string) (backend.Pool, bool, error) {
		p, _, found, err := s.count(ctx, keyOf(s.opts.Namespace, poolKind, scope, name), name) // not remembered: a list may be long
		if errors.Is(err, backend.ErrPoolMissing) {                                            // it was there when its name was read
			return backend.Pool{}, false, nil
		}
		return p, found, err
	})
}

// listing is what is looked for.
type listing struct {
	kind   string
	scope  backend.Scope
	prefix string
	judge  func(addr string) (evidence, error)
}

// list reads all that is found, and sorts it by name. What is found twice is told once, as it was read last.
func list[T any](ctx context.Context, s *Store, l listing, most int, read func(ctx context.Context, name string) (T, bool, error)) ([]T, error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.work.Done()
	select {
	case s.listing <- struct{}{}:
	case <-ctx.Done():
		return nil, s.unavailable(ctx, ctx.Err())
	case <-s.stop:
		return nil, fmt.Errorf("%w: the store is closed", backend.ErrUnavailable)
	}
	defer func() { <-s.listing }()
	rows := make(map[string]T)
	err := s.scan(ctx, l, func(names []string) error {
		reading, fail := context.WithCancelCause(ctx)
		defer fail(nil)
		all := readTogether(names, func(name string) (T, bool, error) {
			row, found, err := read(reading, name)
			if err != nil {
				fail(err) // nobody waits for the others
			}
			return row, found, err
		})
		switch {
		case ctx.Err() != nil:
			return s.unavailable(ctx, ctx.Err())
		case reading.Err() != nil:
			return context.Cause(reading)
		}
		for i, r := range all {
			if r.found {
				rows[names[i]] = r.row
			}
		}
		if len(rows) > most {
			return backend.ErrTooManyRows
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	sorted := make([]T, 0, len(rows))
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		sorted = append(sorted, rows[name])
	}
	return sorted, nil
}

// scan calls work with the names that are found on all masters.
func (s *Store) scan(ctx context.Context, l listing, work func(names []string) error) error {
	masters, slots, err := s.servers.layout(ctx)
	if err != nil {
		s.servers.changed(ctx) // for the next call
		return s.unavailable(ctx, err)
	}
	beats, err := s.servers.beatsOf(ctx, s.opts.Namespace, masters)
	if err != nil {
		return s.unavailable(ctx, err)
	}
	for addr := range masters {
		if beats[addr] == "" {
			return fmt.Errorf("%w: no beat found for the master %s", backend.ErrUnavailable, addr)
		}
		if err := s.scanMaster(ctx, beats[addr], l, work); err != nil {
			return err
		}
	}
	switch _, now, err := s.servers.layout(ctx); {
	case err != nil:
		return s.unavailable(ctx, err)
	case now != slots:
		return s.unavailable(ctx, errSlotsMoved)
	}
	return nil
}

// scanMaster is scan for the master that has a beat. A cursor means something to one process with one history only: so
// all of it rests on one judgement.
func (s *Store) scanMaster(ctx context.Context, beat string, l listing, work func(names []string) error) error {
	var judged string
	judge := func(addr string) (evidence, error) {
		e, err := l.judge(addr)
		if err == nil && judged != "" && e.judged != judged {
			return e, &finalError{fmt.Errorf("%w: Redis was restarted or replaced while it was searched", backend.ErrUnavailable)}
		}
		return e, err
	}
	for cursor := "0"; ; {
		r, err := s.ask(ctx, scanScript, beat, judge, func(e evidence) []any {
			judged = e.judged
			return []any{e.judged, cursor, l.pattern(s.opts.Namespace), scanned}
		})
		switch {
		case err != nil:
			return err
		case r.word != "KEYS":
			return unexpected(r)
		}
		if names := l.names(s.opts.Namespace, r.rest[1:]); len(names) > 0 {
			if err := work(names); err != nil {
				return err
			}
		}
		if cursor = r.at(0); cursor == "0" {
			return nil
		}
		select {
		case <-s.stop:
			return fmt.Errorf("%w: the store is closed", backend.ErrUnavailable)
		default:
		}
	}
}

// pattern is the glob of all keys that are looked for.
func (l *listing) pattern(namespace string) string {
	begin := strings.TrimSuffix(keyOf(namespace, l.kind, l.scope, l.prefix), "}")
	return globOf(begin) + "*"
}

// globOf is a glob that matches text alone.
func globOf(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`).Replace(text)
}

// names are those of keys, without what is not looked for. A key that no proxy makes is no lock and no pool: no call can
// name it.
func (l *listing) names(namespace string, keys []string) []string {
	var names []string
	for _, key := range keys {
		kind, scope, name, err := splitKey(namespace, key)
		if err == nil && kind == l.kind && scope == l.scope && strings.HasPrefix(name, l.prefix) {
			names = append(names, name)
		}
	}
	return names
}
