package redis

import "sync"

const (
	// maxAnswered bounds for how many keys the nonces to delete are kept. What is left out is
	// dropped by the scripts later.
	maxAnswered = 8192
	// maxForgotten is how many of them go along with one call.
	maxForgotten = 16
)

// known is what a Store remembers of keys: nonces that may be deleted, since their answer has
// arrived and no other copy of the call is on its way, and the newest state of each pool. Safe
// for concurrent use.
type known struct {
	mu       sync.Mutex
	answered map[string][]string
	pools    map[string]poolState
}

// poolState is which life of a pool, and how many changes of it, have been seen.
type poolState struct {
	gen string
	seq int64
}

func (k *known) answer(key string, nonces ...string) {
	if len(nonces) == 0 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.answered == nil {
		k.answered = make(map[string][]string)
	}
	if _, ok := k.answered[key]; !ok && len(k.answered) >= maxAnswered {
		for other := range k.answered {
			delete(k.answered, other)
			break
		}
	}
	k.answered[key] = append(k.answered[key], nonces...)
}

// forget takes some nonces of key to delete.
func (k *known) forget(key string) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	nonces := k.answered[key]
	if len(nonces) <= maxForgotten {
		delete(k.answered, key)
		return nonces
	}
	k.answered[key] = nonces[maxForgotten:]
	return nonces[:maxForgotten]
}

func (k *known) pool(key string) poolState {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.pools[key]
}

func (k *known) sawPool(key string, state poolState) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.pools == nil {
		k.pools = make(map[string]poolState)
	}
	if before := k.pools[key]; before.gen != state.gen || before.seq < state.seq {
		k.pools[key] = state
	}
}

// forgetPools is for when an operator has accepted the pools as they are.
func (k *known) forgetPools() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pools = nil
}
