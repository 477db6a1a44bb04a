package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"raisinproxy/backend"
	"raisinproxy/backend/moving"
)

// ErrNotEmpty means that there is something already: an import goes into an empty name space only.
var ErrNotEmpty = errors.New("the namespace is not empty")

// Import fills the name space of o with what is in a file. It is sealed meanwhile, so that half an import is never
// served; after a crash the same Import goes on. Proxies that are running serve it within a second.
//
// The name space must be empty, else it fails with ErrNotEmpty, or sealed by an export and replace set: then
// what is in it was moved away before, and is removed. Tokens go on above those of the file. Leases have their
// time from the import on.
func Import(ctx context.Context, o Options, from *moving.File, replace bool) error {
	return withMover(ctx, o, func(ctx context.Context, m *mover) error {
		m.mark = from.Header.ID // a later try knows its own keys by it
		return m.importFrom(ctx, from, replace)
	})
}

func (m *mover) importFrom(ctx context.Context, from *moving.File, replace bool) error {
	if err := m.steady(ctx); err != nil {
		return err
	}
	if m.record.state != sealOpening {
		if err := m.makeRoom(ctx, replace); err != nil {
			return err
		}
		parts, err := m.put(ctx, from)
		if err != nil {
			return err
		}
		if err := m.steady(ctx); err != nil {
			return err
		}
		if err := m.setSeal(ctx, sealOpening, m.mark, parts); err != nil {
			return err
		}
	} else if m.record.file != m.mark {
		return m.unfinished()
	}
	// From here on keys may be used, and are not written again.
	return m.open(ctx, sealParts{create: "1"})
}

// makeRoom brings the name space to the point at which records of this import, and nothing else, may be in it.
func (m *mover) makeRoom(ctx context.Context, replace bool) error {
	if err := m.known(); err != nil {
		return err
	}
	switch state := m.record.state; {
	case state == "", state == sealChecking:
		return m.check(ctx)
	case state == sealImporting && m.record.file == m.mark:
		return m.sealBeats(ctx)
	case state == sealExported && replace, state == sealReplacing:
		return m.replace(ctx)
	case state == sealExported:
		return fmt.Errorf("%w: namespace %s has what was exported to the file with the id %s: name another namespace, or let --replace remove it", ErrNotEmpty, m.o.Namespace, m.record.file)
	case state == sealExporting:
		return fmt.Errorf("an export of namespace %s was not finished: run it again, or `raisinproxy reopen`", m.o.Namespace)
	}
	return m.unfinished()
}

// check seals a name space and refuses it, unsealed again, if anything is in it.
func (m *mover) check(ctx context.Context) error {
	if m.record.id == "" {
		switch empty, err := m.servers.empty(ctx, m.o.Namespace); {
		case err != nil:
			return err
		case !empty:
			return fmt.Errorf("%w: %s has keys, and no id record: name another namespace", ErrNotEmpty, m.o.Namespace)
		}
	}
	if err := m.setSeal(ctx, sealChecking, m.mark, sealParts{}); err != nil {
		return err
	}
	if err := m.sealBeats(ctx); err != nil {
		return err
	}
	found := make(map[string]int)
	err := m.onEach(ctx, func(_ *goredis.Client, keys []string) error {
		for _, key := range keys {
			kind, _, _, err := splitKey(m.o.Namespace, key)
			if err != nil {
				return err
			}
			found[kind]++
		}
		return nil
	})
	if err == nil && len(found) > 0 {
		err = fmt.Errorf("%w: %s has %d pools and %d locks, free ones that are remembered included: name another namespace", ErrNotEmpty, m.o.Namespace, found[poolKind], found[lockKind])
	}
	if err != nil {
		return errors.Join(err, m.open(ctx, sealParts{}))
	}
	return m.setSeal(ctx, sealImporting, m.mark, sealParts{})
}

// replace removes what an export has left.
func (m *mover) replace(ctx context.Context) error {
	if err := m.setSeal(ctx, sealReplacing, m.mark, sealParts{}); err != nil {
		return err
	}
	if err := m.sealBeats(ctx); err != nil {
		return err
	}
	of := m.o.Namespace + ":"
	if err := m.remove(ctx, of+poolKind+":{", of+lockKind+":{", of+"pools:{"); err != nil {
		return err
	}
	return m.setSeal(ctx, sealImporting, m.mark, sealParts{})
}

// put writes all records, sealed, and gives what the id record has to know of them.
func (m *mover) put(ctx context.Context, from *moving.File) (sealParts, error) {
	p := putter{mover: m, waiting: make(map[*goredis.Client]*page)}
	parts := sealParts{floor: max(m.record.floor, from.Totals.GreatestToken), maxTTL: m.o.MaxTTL}
	err := from.Each(func(r moving.Record) error {
		if r.Lease != nil {
			parts.maxTTL = max(parts.maxTTL, r.Lease.Remaining)
		}
		return p.put(ctx, r)
	})
	if err == nil {
		err = p.flush(ctx)
	}
	return parts, err
}

// putter sends records in pages, one for each master.
type putter struct {
	*mover

	waiting map[*goredis.Client]*page
}

// page is some requests to one master.
type page struct {
	keys []string
	pipe goredis.Pipeliner
}

func (p *putter) put(ctx context.Context, r moving.Record) error {
	if l := r.Lease; l != nil {
		left := min(l.Remaining, time.Duration(backend.MaxToken)*time.Microsecond)
		return p.send(ctx, putScript, keyOf(p.o.Namespace, lockKind, l.Scope, l.Key), "lease", l.Token, milliseconds(left), milliseconds(p.o.Retention), l.Acquired/1000, l.User)
	}
	if p.o.MaxPools > 0 { // as a claim would; those that are there may be more than the limit
		err := p.send(ctx, reserveScript, tenantKey(p.o.Namespace, r.Pool.Scope.Tenant), nameInTenant(r.Pool.Scope, r.Pool.Name), backend.MaxToken, rand.Text()[:8])
		if err != nil {
			return err
		}
	}
	capacity := ""
	if r.Pool.Capacity != moving.UnknownCapacity {
		capacity = strconv.FormatInt(r.Pool.Capacity, 10)
	}
	return p.send(ctx, putScript, keyOf(p.o.Namespace, poolKind, r.Pool.Scope, r.Pool.Name), "pool", r.Pool.Remaining, rand.Text()[:12], capacity)
}

func (p *putter) send(ctx context.Context, sc *script, key string, args ...any) error {
	node, err := p.servers.forKey(ctx, key)
	if err != nil {
		return err
	}
	if err := p.load(ctx, node); err != nil {
		return err
	}
	w := p.waiting[node]
	if w == nil {
		w = &page{pipe: node.Pipeline()}
		p.waiting[node] = w
	}
	head := []any{"", backend.MaxToken, "0"}
	if sc == putScript {
		head = append(head, p.mark)
	}
	w.pipe.EvalSha(ctx, sc.sha, []string{key}, append(head, args...)...)
	if w.keys = append(w.keys, key); len(w.keys) < pageSize {
		return nil
	}
	delete(p.waiting, node)
	return p.exchange(ctx, w)
}

// flush sends what is left.
func (p *putter) flush(ctx context.Context) error {
	for _, w := range p.waiting {
		if err := p.exchange(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

func (p *putter) exchange(ctx context.Context, w *page) error {
	replies, err := p.exec(ctx, w.pipe)
	if err != nil {
		return fmt.Errorf("writing locks and pools: %w", err)
	}
	for i, key := range w.keys {
		answer, err := replies[i].(*goredis.Cmd).StringSlice()
		switch {
		case err != nil:
			return err
		case answer[0] == "CLOCK":
			return errClock
		case answer[0] != "PUT" && answer[0] != "RESERVED":
			return fmt.Errorf("%w: somebody has made the key %s meanwhile", ErrNotEmpty, key)
		}
	}
	return nil
}
