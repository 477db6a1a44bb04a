package torture

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"raisinproxy/backend/history"
)

// witness is a client of a fault's own, of the proxy of the i-th client.
func (s *Site) witness(i int) *client {
	c := s.run.client(i, Manners{})
	c.ttl = s.TTL
	s.witnesses = append(s.witnesses, c)
	return c
}

func (s *Site) close() {
	for _, c := range s.witnesses {
		c.close()
	}
}

// fresh is a name that nobody has used.
func (s *Site) fresh(what string) string {
	s.run.names++
	return fmt.Sprintf("%s:%d", what, s.run.names)
}

// outage is what witnesses know for certain when a store goes away: keys that nobody else asks for are free, or
// are theirs. In a key that others use some call is under way, and may explain any answer.
type outage struct {
	site  *Site
	calls []func(context.Context) (history.Operation, error)
}

// beforeOutage prepares a call of each kind through each proxy, while the store is there.
func (s *Site) beforeOutage(ctx context.Context) (*outage, error) {
	o := &outage{site: s}
	add := func(proxy int, op history.Operation) {
		c := s.witness(firstWitness + 2*proxy)
		o.calls = append(o.calls, func(ctx context.Context) (history.Operation, error) { return c.call(ctx, op) })
	}
	for proxy := range s.Proxies {
		add(proxy, history.Operation{Kind: history.Acquire, Name: s.fresh("witness"), TTL: s.TTL})
		add(proxy, history.Operation{Kind: history.Claim, Name: s.fresh("witness"), Units: 1, Capacity: poolUnits})
		for _, kind := range []history.Kind{history.Renew, history.Release} {
			name, token, err := s.heldByWitness(ctx, proxy)
			if err != nil {
				return nil, err
			}
			add(proxy, history.Operation{Kind: kind, Name: name, Token: token, TTL: s.TTL})
		}
	}
	return o, nil
}

// heldByWitness takes a lock that nobody else asks for. The disk of a busy machine may keep one
// answer back for longer than a call has, but not that of each in a row.
func (s *Site) heldByWitness(ctx context.Context, proxy int) (name string, token int64, err error) {
	const tries = 10
	var held history.Operation
	for range tries {
		name = s.fresh("witness")
		held, err = s.witness(firstWitness+2*proxy).call(ctx, history.Operation{Kind: history.Acquire, Name: name, TTL: s.Redis.MaxTTL})
		if err != nil || held.OK {
			return name, held.Token, err
		}
	}
	return "", 0, fmt.Errorf("vacuous: a key that is free is not granted: %v", &held)
}

// ask makes the calls now that the store is away. What they are told the history judges.
func (o *outage) ask(ctx context.Context) error {
	var asking sync.WaitGroup
	errs := make([]error, len(o.calls))
	for i, call := range o.calls {
		asking.Go(func() {
			told, err := call(ctx)
			if err == nil && told.OK {
				err = fmt.Errorf("vacuous: it was there: %v", &told)
			}
			errs[i] = err
		})
	}
	asking.Wait()
	return errors.Join(errs...)
}

// firstWitness is the first number of witnesses: an even one, of the first proxy.
const firstWitness = 100

// pausedFor is how long nothing is granted after a loss.
func (s *Site) pausedSince(since time.Duration, keys []string) {
	s.recorder.paused(since, keys, s.Redis.MaxTTL)
}
