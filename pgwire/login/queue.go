package login

import (
	"container/list"
	"net/netip"
	"sync"
	"time"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/sqlfuncs/pgerr"
)

// queue holds the visitors whose client has not logged in yet. They do not count
// towards MaxConnections, or whoever cannot log in could keep out all who can. They have
// a bound of their own instead, beyond which the one that has been here longest has to
// go, of those of the network that has the most here: who means well is through after a
// few round trips. It is safe for concurrent use.
type queue struct {
	limit int // 0: none

	mu      sync.Mutex
	waiting list.List          // of *Visitor, the longest first
	from    map[netip.Addr]int // how many of each network
	sizes   map[int]int        // of how many networks there are so many
	most    int                // how many of one network, at most
	told    time.Time          // when the log was last told of a crowd
}

// leastLogins is how many may log in at once however few may be logged in: a pool of
// connections opens them together.
const leastLogins = 100

var errEvicted = pgerr.Fatalf(codes.TooManyConnections, "sorry, too many clients are logging in already")

func newQueue(maxConnections int) *queue {
	e := &queue{from: map[netip.Addr]int{}, sizes: map[int]int{}}
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
	e.count(v.network, 1)
	if e.limit == 0 || e.waiting.Len() <= e.limit {
		return nil
	}
	longest := e.longest()
	e.remove(longest)
	longest.evicted.Store(true) // before it can have left by itself
	return longest
}

// longest is whoever has waited longest of the network with the most.
func (e *queue) longest() *Visitor {
	at := e.waiting.Front()
	for e.from[at.Value.(*Visitor).network] < e.most {
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
	e.count(v.network, -1)
}

// count notes one more or one less of a network.
func (e *queue) count(network netip.Addr, change int) {
	before := e.from[network]
	after := before + change
	if e.sizes[before]--; e.sizes[before] <= 0 {
		delete(e.sizes, before)
	}
	if after == 0 {
		delete(e.from, network)
	} else {
		e.from[network] = after
		e.sizes[after]++
	}
	if after > e.most || before == e.most && e.sizes[before] == 0 {
		e.most = after
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
