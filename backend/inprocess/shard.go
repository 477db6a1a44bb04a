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

	peak        int // most leases held since leases was made
	unused      *lease
	unusedCount int

	_ cpu.CacheLinePad // two cores at two shards do not share a line
}

func (sh *shard) init() {
	sh.leases = make(map[string]*lease)
	sh.pools = make(map[string]*pool)
}

// insert adds a lease for a key that has no record.
func (sh *shard) insert(key string, token int64, end time.Duration) {
	l := sh.unused
	if l == nil {
		l = new(lease)
	} else {
		sh.unused = l.next
		sh.unusedCount--
	}
	*l = lease{key: key, token: token, deadline: end}
	sh.leases[key] = l
	sh.expiry.push(l)
	sh.peak = max(sh.peak, len(sh.leases))
}

// remove drops the record of a lease.
func (sh *shard) remove(l *lease) {
	delete(sh.leases, l.key)
	sh.expiry.remove(l)
	if sh.unusedCount < maxUnused {
		*l = lease{next: sh.unused}
		sh.unused = l
		sh.unusedCount++
	}
}

// shrink gives back memory after a crowd has left. Go's maps and slices never
// do so by themselves: they stay as large as they once were.
func (sh *shard) shrink() {
	const small = 64 // below it there is nothing to win
	if sh.peak < small || len(sh.leases) > min(sh.peak/4, maxMoved) {
		return
	}
	leases := make(map[string]*lease, len(sh.leases))
	maps.Copy(leases, sh.leases)
	sh.leases = leases
	sh.peak = len(leases)
	sh.expiry = slices.Clone(sh.expiry)
	sh.unused, sh.unusedCount = nil, 0
}
