package inprocess

import (
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/cpu"
)

const (
	// shardCount is a power of two. It is high so that a shard stays small: a
	// million leases are a thousand in each, so what is done to a whole shard
	// under its mutex takes microseconds.
	shardCount = 1024
	// maxUnused bounds the records that a shard keeps for its next insert.
	maxUnused = 32
	// maxMoved bounds the work of one shrink, which callers wait for.
	maxMoved = 4096
)

// A shard holds the keys of one hash bucket of the store.
type shard struct {
	mu     sync.Mutex
	leases map[string]*lease
	expiry expiry // the same leases, by deadline
	pools  map[string]*pool
	queues map[string]*queue // lines for locks; nil until somebody waits

	journal *journal // nil: nothing is kept on disk
	latest  *group   // the last one with a change of this shard; nil: none

	peak        int // most leases held since leases was made
	unused      *lease
	unusedCount int

	_ cpu.CacheLinePad // two cores at two shards do not share a line
}

func (sh *shard) init() {
	sh.leases = make(map[string]*lease)
	sh.pools = make(map[string]*pool)
	sh.queues = nil
}

// held tells whether somebody holds a lock.
func (sh *shard) held(key string, now time.Duration) bool {
	l := sh.leases[key]
	return l != nil && l.live(now)
}

// insert adds a lease for a key that has no record.
func (sh *shard) insert(key string, end time.Duration) *lease {
	l := sh.unused
	if l == nil {
		l = new(lease)
	} else {
		sh.unused = l.next
		sh.unusedCount--
	}
	*l = lease{key: key, deadline: end}
	sh.leases[key] = l
	sh.expiry.push(l)
	sh.peak = max(sh.peak, len(sh.leases))
	return l
}

// found adds a lease of a store that is being read, and index all of them to the map
// and the heap, when their number is known: a map that grows with each is made ten times.
func (sh *shard) found(l *lease) { sh.expiry = append(sh.expiry, dated{l.deadline, l}) }

func (sh *shard) index() {
	sh.leases = make(map[string]*lease, len(sh.expiry))
	for _, d := range sh.expiry {
		sh.leases[d.lease.key] = d.lease
	}
	sh.expiry.order()
	sh.peak = len(sh.leases)
}

// remove drops the record of a lease.
func (sh *shard) remove(l *lease) {
	l.user.drop()
	delete(sh.leases, l.key)
	sh.expiry.remove(l)
	if sh.unusedCount < maxUnused {
		*l = lease{next: sh.unused}
		sh.unused = l
		sh.unusedCount++
	}
}

// shrink gives back memory after a crowd has left, and tells how many that were. Go's
// maps and slices never do so by themselves: they stay as large as they once were.
func (sh *shard) shrink() (left int) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	const small = 64 // below it there is nothing to win
	if sh.peak < small || len(sh.leases) > min(sh.peak/4, maxMoved) {
		return 0
	}
	left = sh.peak - len(sh.leases)
	leases := make(map[string]*lease, len(sh.leases))
	maps.Copy(leases, sh.leases)
	sh.leases = leases
	sh.peak = len(leases)
	sh.expiry = slices.Clone(sh.expiry)
	sh.unused, sh.unusedCount = nil, 0
	return left
}

// What follows writes to the journal, if there is one, and comes before the same
// change of memory: what was refused there must not be seen here.

func (sh *shard) recordLease(id []byte, l *leaseRecord) error {
	if sh.journal == nil {
		return nil
	}
	return sh.wrote(sh.journal.putLease(id, l))
}

func (sh *shard) recordEnd(l *lease) error {
	if sh.journal == nil {
		return nil
	}
	return sh.wrote(sh.journal.erase(leasePrefix, l.key))
}

func (sh *shard) recordPool(id []byte, p pool) error {
	if sh.journal == nil {
		return nil
	}
	return sh.wrote(sh.journal.putPool(id, p))
}

func (sh *shard) recordNoPool(id []byte) error {
	if sh.journal == nil {
		return nil
	}
	return sh.wrote(sh.journal.erase(poolPrefix, string(id)))
}

func (sh *shard) wrote(g *group, err error) error {
	if err == nil {
		sh.latest = g
	}
	return err
}

// bury ends a lease whose holder is told that it is over. On disk it would have
// its full time again if the machine were restarted before the reaper came.
func (sh *shard) bury(l *lease) (basis, error) {
	if sh.journal == nil {
		return basis{}, nil
	}
	if err := sh.recordEnd(l); err != nil {
		return basis{}, err
	}
	sh.remove(l)
	return sh.seen(), nil
}

// seen is the basis of an answer that changed nothing.
func (sh *shard) seen() basis { return basis{group: sh.latest} }

// changed is the basis of an answer that did.
func (sh *shard) changed() basis { return basis{group: sh.latest, wrote: true} }
