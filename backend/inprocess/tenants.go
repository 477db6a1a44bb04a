package inprocess

import (
	"encoding/binary"
	"sync"
)

// tenants counts the pools of each tenant. Only the making of a pool asks it, under the
// mutex of the pool's shard. It is safe for concurrent use.
type tenants struct {
	limit int // 0: none

	mu    sync.Mutex
	pools map[string]int
}

// take counts a pool that is about to be made, unless there are too many.
func (t *tenants) take(tenant string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.limit > 0 && t.pools[tenant] >= t.limit {
		return false
	}
	t.add(tenant, 1)
	return true
}

// giveBack undoes take: the pool was not made.
func (t *tenants) giveBack(tenant string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.add(tenant, -1)
}

// found counts a pool that is there, whatever the limit says now.
func (t *tenants) found(tenant string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.add(tenant, 1)
}

func (t *tenants) add(tenant string, change int) {
	if t.pools == nil {
		t.pools = map[string]int{}
	}
	t.pools[tenant] += change
}

// tenantOf is that of a key made by appendKey.
func tenantOf(key []byte) string {
	length, n := binary.Uvarint(key)
	if n <= 0 || length > uint64(len(key)-n) {
		return "" // no such key
	}
	return string(key[n : n+int(length)])
}
