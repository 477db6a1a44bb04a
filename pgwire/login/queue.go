package login

import (
	"container/list"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/sqlfuncs/pgerr"
)

// queue holds the visitors whose client has not logged in yet. They do not count
// towards MaxConnections, or clients that cannot log in could keep out all that can. They have
// a bound of their own instead, beyond which the one that has been here longest has to
// go, of those of the network that has the most here: a client that means well is through after a
// few round trips. It is safe for concurrent use.
type queue struct {
	limit int // 0: none

	mu      sync.Mutex
	waiting list.List          // of *Visitor, the longest first
	from    map[netip.Addr]int // how many of each network
	told    time.Time          // when the log was last told of a crowd
}

// leastLogins is how many may log in at once however few may be logged in: a pool of
// connections opens them together.
const leastLogins = 100

var errEvicted = pgerr.Fatalf(codes.TooManyConnections, "sorry, too many clients are logging in already")

func newQueue(maxConnections int) *queue {
	e := &queue{from: map[netip.Addr]int{}}
	if maxConnections > 0 {
		e.limit = max(maxConnections, leastLogins)
	}
	return e
}

// enter notes a visitor, and returns the one that has to go for it; nil: there is room.
func (e *queue) enter(v *Visitor) (crowdedOut *Visitor) {
	e.mu.Lock()
	defer e.mu.Unlock()
	v.place = e.waiting.PushBack(v)
	e.from[v.network]++
	if e.limit == 0 || e.waiting.Len() <= e.limit {
		return nil
	}
	longest := e.longest()
	e.remove(longest)
	longest.evicted.Store(true) // before it can have left by itself
	return longest
}

// longest is the visitor that has waited longest of the network with the most.
func (e *queue) longest() *Visitor {
	most := slices.Max(slices.Collect(maps.Values(e.from)))
	at := e.waiting.Front()
	for e.from[at.Value.(*Visitor).network] < most {
		at = at.Next()
	}
	return at.Value.(*Visitor)
}

// leave forgets a visitor, if it is still here.
func (e *queue) leave(v *Visitor) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if v.place != nil {
		e.remove(v)
	}
}

func (e *queue) remove(v *Visitor) {
	e.waiting.Remove(v.place)
	v.place = nil
	if e.from[v.network]--; e.from[v.network] == 0 {
		delete(e.from, v.network)
	}
}

// isNews says whether the log should be told of a crowd: once a minute.
func (e *queue) isNews(now time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if now.Sub(e.told) < time.Minute {
		return false
	}
	e.told = now
	return true
}
