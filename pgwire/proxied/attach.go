package proxied

import "fmt"

// attach lets the loop of a session forward the answers of an upstream, if it waits for the
// client already.
func (s *session) attach() {
	polled, loop := s.Client.Polled()
	if polled == nil {
		return
	}
	s.up.Attach(loop.Loop, polled, loop.Buffer(), func(cause any, stack []byte) {
		s.Log.Error("panic in a relay", "panic", fmt.Sprint(cause), "stack", string(stack))
	})
}
