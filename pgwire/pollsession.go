package pgwire

import (
	"fmt"
)

// attach lets the loop of a session forward the answers of an upstream, if it waits for the
// client already.
func (s *proxied) attach() {
	if s.polled == nil {
		return
	}
	s.up.Attach(s.loop.Loop, s.polled, s.loop.in, func(cause any, stack []byte) {
		s.log.Error("panic in a relay", "panic", fmt.Sprint(cause), "stack", string(stack))
	})
}
