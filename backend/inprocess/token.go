package inprocess

import (
	"sync/atomic"
	"time"

	"raisinproxy/backend"
)

// tokenClock is where the fencing tokens of a store come from: a hybrid logical
// clock. Wall time lets them rise across restarts, counting on from the last one
// lets them rise when the wall clock stands still or goes back. One clock for
// all keys means that nothing must be remembered of a key that is free.
//
// It is safe for concurrent use. The zero value has issued no token.
type tokenClock struct {
	last atomic.Int64
}

// next issues max(last+1, wall in microseconds). It fails with
// backend.ErrTokensExhausted, and stays as it was, if that reaches
// backend.MaxToken.
func (c *tokenClock) next(wall time.Time) (int64, error) {
	micros := wall.UnixMicro()
	for {
		last := c.last.Load()
		token := max(last+1, micros)
		if token >= backend.MaxToken {
			return 0, backend.ErrTokensExhausted
		}
		if c.last.CompareAndSwap(last, token) {
			return token, nil
		}
	}
}
