package planner

import (
	"strings"
	"sync"
	"sync/atomic"

	"raisinproxy/planner/plan"
	"raisinproxy/sqlfuncs/datum"
)

// key finds a plan. The type of each declared parameter is part of it, since the
// plan depends on it; so is whether the text was read with
// standard_conforming_strings, and whether it may have parameters at all.
type key struct {
	text     string
	types    string // four bytes an OID
	prepared bool
	standard bool
}

func keyOf(o plan.Options, text string, standard bool) key {
	return key{text: text, types: typesKey(o.Types), prepared: o.Prepared, standard: standard}
}

// cached is the plan of a text, or a template for all texts of a shape.
type cached struct {
	script   *plan.Script
	template *template
}

// cache keeps plans by their text, bounded in bytes. It forgets by second
// chance: a plan that was not used since the hand last passed it goes. Safe for
// concurrent use; a hit takes a read lock and allocates nothing.
type cache struct {
	mu      sync.RWMutex
	plans   map[key]*entry
	ring    []*entry // in the order in which the hand visits them
	hand    int
	bytes   int64
	limit   int64
	evicted atomic.Uint64
}

type entry struct {
	key key
	cached
	size int64
	used atomic.Bool
}

func newCache(limit int64) *cache { return &cache{plans: map[key]*entry{}, limit: limit} }

func (c *cache) get(k key) (cached, bool) {
	c.mu.RLock()
	e := c.plans[k]
	c.mu.RUnlock()
	if e == nil {
		return cached{}, false
	}
	if !e.used.Load() {
		e.used.Store(true)
	}
	return e.cached, true
}

// put keeps a plan. k must not refer to memory that the caller reuses.
func (c *cache) put(k key, kept cached) {
	e := &entry{key: k, cached: kept, size: weigh(k, kept)}
	if e.size > c.limit/8 {
		return // one text must not push out everything else
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.plans[k] != nil {
		return
	}
	for c.bytes+e.size > c.limit {
		c.evict()
	}
	c.plans[k] = e
	c.ring = append(c.ring, e)
	c.bytes += e.size
}

// evict drops the first plan that was not used since the hand last passed it.
func (c *cache) evict() {
	for {
		c.hand %= len(c.ring)
		e := c.ring[c.hand]
		if e.used.Swap(false) {
			c.hand++
			continue
		}
		last := len(c.ring) - 1
		c.ring[c.hand] = c.ring[last]
		c.ring[last] = nil
		c.ring = c.ring[:last]
		delete(c.plans, e.key)
		c.bytes -= e.size
		c.evicted.Add(1)
		return
	}
}

// weigh estimates the memory of a plan: expressions take some ten times the room
// of the text that they were written as.
func weigh(k key, kept cached) int64 {
	const perStatement, perByte = 1024, 12
	s := kept.script
	if kept.template != nil {
		s = kept.template.script
	}
	return perStatement*int64(1+len(s.Statements)) + perByte*int64(len(k.text)+len(k.types))
}

// typesKey packs parameter types for a key.
func typesKey(types []datum.Type) string {
	if len(types) == 0 {
		return ""
	}
	var b strings.Builder
	for _, t := range types {
		b.Write([]byte{byte(t >> 24), byte(t >> 16), byte(t >> 8), byte(t)})
	}
	return b.String()
}
