package torture

import (
	"context"
	"errors"
	"math/rand/v2"
	"syscall"
	"time"
)

// Fault is one way in which things break.
type Fault interface {
	// Strike breaks something while clients work, and returns when it has been mended
	// as far as it will be in this round.
	Strike(ctx context.Context, s *Site) error
}

// Site is what a fault can get at.
type Site struct {
	Proxies []*Proxy
	Redis   *Redis // nil: the proxies have none
	Random  *rand.Rand
	// TTL is how long the leases of the clients last.
	TTL time.Duration

	recorder  *recorder
	run       *run
	witnesses []*client
}

// clientsOf tells the clients of the i-th proxy from others.
func (s *Site) clientsOf(i int) func(client int) bool {
	return func(id int) bool { return id >= 0 && s.run.proxyOf(id) == s.Proxies[i] }
}

// AwaitCalls returns when n clients wait for an answer, so that what breaks then breaks
// a call.
func (s *Site) AwaitCalls(ctx context.Context, n int) { s.recorder.awaitWaiting(ctx, n) }

// proxy chooses one.
func (s *Site) proxy() *Proxy { return s.Proxies[s.Random.IntN(len(s.Proxies))] }

// between draws a duration.
func (s *Site) between(least, most time.Duration) time.Duration {
	return least + time.Duration(s.Random.Int64N(int64(most-least)))
}

// Nothing breaks. Clients may still have bad manners.
type Nothing struct{}

// Strike implements Fault.
func (Nothing) Strike(context.Context, *Site) error { return nil }

// KillProxy ends a proxy by SIGKILL when it has just told of a change and works for others,
// and starts it again.
type KillProxy struct{}

// Strike implements Fault.
func (KillProxy) Strike(ctx context.Context, s *Site) error {
	p := s.proxy()
	s.AwaitCalls(ctx, 3)
	s.recorder.awaitTold(ctx)
	p.Kill()
	return p.Start()
}

// StopProxy stops a proxy, as a machine does that is suspended, until the leases that
// were granted before are over.
type StopProxy struct{}

// Strike implements Fault.
func (StopProxy) Strike(ctx context.Context, s *Site) error {
	p := s.proxy()
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	s.AwaitCalls(ctx, 3)
	err := pause(ctx, s.between(2*s.TTL, 3*s.TTL))
	return errors.Join(err, p.Signal(syscall.SIGCONT))
}

// keys are those of the clients.
func (s *Site) keys() []string { return keys(len(s.run.clients)) }
