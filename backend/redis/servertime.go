package redis

import (
	"sync"
	"time"

	"raisinproxy/backend"
)

// serverClock is what is known of Redis's clock and of the tokens taken from it. The zero
// value knows nothing. Safe for concurrent use.
type serverClock struct {
	mu      sync.Mutex
	micros  int64     // of the last reply
	arrived time.Time // when that was
	highest int64     // token or time ever seen
}

// see takes note of the time and the token of a reply; 0 is none. A time that no token can be made
// of is that of a clock which is wrong: tokens would have to stay above it for ever.
func (c *serverClock) see(micros, token int64) {
	if !isTime(micros) {
		micros = 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if micros > 0 {
		c.micros, c.arrived = micros, time.Now()
	}
	c.highest = max(c.highest, micros, token)
}

// isTime tells whether tokens can be made of a server's time.
func isTime(micros int64) bool { return micros < backend.MaxToken }

// now is the server's time in microseconds, never later than it is unless the server changed;
// 0 if there was no reply yet.
func (c *serverClock) now() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.micros == 0 {
		return 0
	}
	return c.micros + time.Since(c.arrived).Microseconds()
}

// floor is what every new token has to be above.
func (c *serverClock) floor() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.highest
}
