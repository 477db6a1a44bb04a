package redis

import (
	"container/heap"
	"errors"
	"hash/maphash"
	"maps"
	"slices"
	"sync"
	"time"

	"raisinproxy/backend"
)

// leaseCount knows how many live leases each user took through a Store. They
// count from before Redis is asked, so that many at once do not pass the limit, and
// until they are released or over by this process's own clock. It is safe for concurrent
// use.
type leaseCount struct {
	limit int
	seed  maphash.Seed

	mu    sync.Mutex
	users map[string]*leaseUser
	held  map[uint64]*heldLease // by the hash of scope and key: two of one hash count once
	ends  leaseEnds
	peak  int // most of them since held was made
	spare []*heldLease
}

// leaseUser is somebody who has leases, or is about to.
type leaseUser struct {
	name string
	live int
}

// heldLease is one lease.
type heldLease struct {
	user  *leaseUser
	id    uint64
	token int64 // 0: it is not known whether it was granted
	until time.Time
	at    int // its place in leaseEnds
}

const (
	// maxSpareLeases bounds what is kept for the next leases.
	maxSpareLeases = 1024
	// forgotAtOnce bounds how many leases are forgotten while calls wait: some tens of
	// microseconds.
	forgotAtOnce = 64
	// maxMovedLeases bounds how many move to a smaller map, for which calls wait too.
	maxMovedLeases = 4096
)

func newLeaseCount(limit int) *leaseCount {
	return &leaseCount{
		limit: limit, seed: maphash.MakeSeed(),
		users: map[string]*leaseUser{}, held: map[uint64]*heldLease{},
	}
}

// idOf stands for a key: not the text of it, which is the caller's.
func (c *leaseCount) idOf(scope backend.Scope, key string) uint64 {
	var h maphash.Hash
	h.SetSeed(c.seed)
	for _, part := range [...]string{scope.Tenant, scope.Repository, scope.Branch, key} {
		maphash.WriteComparable(&h, len(part))
		h.WriteString(part)
	}
	return h.Sum64()
}

// counted is an acquire that counts for a user: acquire makes it. It fails with
// backend.ErrTooManyLeases.
func (c *leaseCount) counted(scope backend.Scope, key string, r backend.Request, acquire func() (backend.Grant, error)) (backend.Grant, error) {
	u, ok := c.begin(r.User)
	if !ok {
		return backend.Grant{}, backend.ErrTooManyLeases
	}
	grant, err := acquire()
	c.end(u, c.idOf(scope, key), r.TTL, grant, err != nil && !isUnchanged(err))
	return grant, err
}

// isUnchanged says whether an error leaves no doubt that nothing was applied.
func isUnchanged(err error) bool {
	for _, certain := range []error{
		backend.ErrUnavailable, backend.ErrOutOfResources, backend.ErrUnwritable, backend.ErrStateLost, backend.ErrMoved, backend.ErrTokensExhausted,
		backend.ErrTooManyWaiters,
	} {
		if errors.Is(err, certain) {
			return !errors.Is(err, backend.ErrInDoubt)
		}
	}
	return false
}

// begin counts a lease that is about to be asked for, unless there are too many.
func (c *leaseCount) begin(user string) (*leaseUser, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	more := c.expire(now)
	u := c.users[user]
	if u == nil {
		u = &leaseUser{name: user}
	}
	for u.live >= c.limit && more {
		more = c.expire(now)
	}
	if u.live >= c.limit {
		return nil, false
	}
	u.live++
	c.users[user] = u
	return u, true
}

// end notes what became of it. One that may have been granted counts, unless the key is
// known to be somebody's.
func (c *leaseCount) end(u *leaseUser, id uint64, ttl time.Duration, grant backend.Grant, maybe bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.held[id]
	if !grant.Acquired && (!maybe || known != nil) {
		c.drop(u)
		return
	}
	if known != nil {
		c.remove(known) // over, by the backend's clock
	}
	l := c.fresh()
	*l = heldLease{user: u, id: id, token: grant.Token, until: time.Now().Add(ttl)}
	c.held[id] = l
	heap.Push(&c.ends, l)
	c.peak = max(c.peak, len(c.held))
}

// released notes that a lease has ended. The next holder's may be there already, who was granted it before this one's call returned.
func (c *leaseCount) released(scope backend.Scope, key string, token int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.held[c.idOf(scope, key)]; l.has(token) {
		c.remove(l)
	}
}

// has tells whether it is the lease with this token, as far as is known.
func (l *heldLease) has(token int64) bool { return l != nil && (l.token == token || l.token == 0) }

// renewed notes that a lease was renewed just now.
func (c *leaseCount) renewed(scope backend.Scope, key string, token int64, ttl time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.held[c.idOf(scope, key)]
	if !l.has(token) {
		return
	}
	if until := time.Now().Add(ttl); until.After(l.until) {
		l.until = until
		heap.Fix(&c.ends, l.at)
	}
}

// expire forgets some leases that are over, and tells whether there may be more. A call
// that forgot all of them would wait for a second after a million have ended.
func (c *leaseCount) expire(now time.Time) (more bool) {
	for range forgotAtOnce {
		if len(c.ends) == 0 || c.ends[0].until.After(now) {
			return false
		}
		c.remove(c.ends[0])
	}
	return true
}

// forget forgets every lease that is over, and gives back what a crowd of them took.
func (c *leaseCount) forget(now time.Time) {
	for more := true; more; {
		c.mu.Lock()
		more = c.expire(now)
		c.mu.Unlock()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.held) <= min(c.peak/4, maxMovedLeases) {
		c.shrink()
	}
}

// live is how many leases there are.
func (c *leaseCount) live() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return int64(len(c.held))
}

// shrink makes the map and the heap anew, which never become smaller by themselves.
func (c *leaseCount) shrink() {
	held := make(map[uint64]*heldLease, len(c.held))
	maps.Copy(held, c.held)
	c.held, c.peak = held, len(held)
	c.ends = slices.Clone(c.ends)
	c.spare = nil
}

func (c *leaseCount) remove(l *heldLease) {
	heap.Remove(&c.ends, l.at)
	delete(c.held, l.id)
	c.drop(l.user)
	*l = heldLease{}
	if len(c.spare) < maxSpareLeases {
		c.spare = append(c.spare, l)
	}
}

func (c *leaseCount) fresh() *heldLease {
	n := len(c.spare)
	if n == 0 {
		return new(heldLease)
	}
	l := c.spare[n-1]
	c.spare = c.spare[:n-1]
	return l
}

// drop takes one from a user's count, and forgets who has none.
func (c *leaseCount) drop(u *leaseUser) {
	if u.live--; u.live == 0 {
		delete(c.users, u.name)
	}
}

// leaseEnds is a heap of leases, the one that ends first on top.
type leaseEnds []*heldLease

func (e leaseEnds) Len() int           { return len(e) }
func (e leaseEnds) Less(i, j int) bool { return e[i].until.Before(e[j].until) }
func (e leaseEnds) Swap(i, j int) {
	e[i], e[j] = e[j], e[i]
	e[i].at, e[j].at = i, j
}

// Push is heap.Interface's.
func (e *leaseEnds) Push(x any) {
	l := x.(*heldLease)
	l.at = len(*e)
	*e = append(*e, l)
}

// Pop is heap.Interface's.
func (e *leaseEnds) Pop() any {
	last := len(*e) - 1
	l := (*e)[last]
	(*e)[last] = nil
	*e = (*e)[:last]
	return l
}
