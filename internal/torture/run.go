package torture

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"raisinproxy/backend/history"
)

// Plan is one run.
type Plan struct {
	Proxies []*Proxy
	Redis   *Redis // nil: the proxies have none
	Fault   Fault
	Manners Manners
	Rules   history.Rules

	// InDoubt is how long after a client has given up, or a fault has been mended, a
	// call that nobody was told of may still take effect.
	InDoubt time.Duration
	// Wants are what the run has to see, to prove anything. With a Loss the run ends in
	// the round in which the fault struck: a store that has lost state serves no pools.
	Wants history.Wants
	// Lease is how long leases last at least, where faults take time: one that is over
	// before a proxy has come back says nothing about what the proxy remembers.
	Lease time.Duration
	// LongestLease is what the proxies cut longer leases down to; 0: longer than any here.
	LongestLease time.Duration
	// Duration is how long to go on with rounds; there are at least two.
	Duration time.Duration
	Seed     uint64
}

const (
	clients = 8
	// leastTTL is the shortest lease; leases are longer where calls take longer.
	leastTTL = 150 * time.Millisecond
	// sharp is how many times as long as a call a lease is.
	sharp = 50
	// leastWork is how long the clients of a round work, or for this many leases.
	leastWork = 1200 * time.Millisecond
	roundTTLs = 4
	minRounds = 2
	// patience is for one round, beside the leases in it. It takes a few seconds; a lock that
	// is never free, say, must not stand in the way of the verdict.
	patience = 30 * time.Second
)

// Run works by the plan, and fails the test if the history is one that no correct store
// gives, or one in which nothing happened.
func Run(t *testing.T, plan *Plan) {
	t.Helper()
	r := &run{Plan: plan, recorder: newRecorder(), random: rand.New(rand.NewPCG(plan.Seed, 0))}
	r.reader = r.client(clients, Manners{})
	for i := range clients {
		r.clients = append(r.clients, r.client(i, plan.Manners))
	}
	err := r.rounds(t.Context())
	for _, c := range append(r.clients, r.reader) {
		c.close()
	}
	r.report(t, err)
}

type run struct {
	*Plan
	recorder *recorder
	random   *rand.Rand
	clients  []*client
	reader   *client // between the rounds
	ttl      time.Duration
	latency  time.Duration
	done     int // rounds
	names    int // that were given to witnesses
}

func (r *run) client(id int, manners Manners) *client {
	return &client{
		id:       id,
		proxy:    r.proxyOf(id),
		recorder: r.recorder,
		random:   rand.New(rand.NewPCG(r.Seed, uint64(id)+1)),
		manners:  manners,
	}
}

// proxyOf is the proxy of a client: with locks and pools, which go by odd and even, through each.
func (r *run) proxyOf(id int) *Proxy { return r.Proxies[id/2%len(r.Proxies)] }

// rounds goes on until the time is over.
func (r *run) rounds(ctx context.Context) error {
	if err := r.measure(ctx); err != nil {
		return err
	}
	for begin := time.Now(); r.done < minRounds || time.Since(begin) < r.Duration && !r.Wants.Loss; r.done++ {
		fault := r.Fault
		if r.Wants.Loss && r.done < minRounds-1 {
			fault = Nothing{}
		}
		if err := r.round(ctx, fault); err != nil {
			return fmt.Errorf("round %d: %w", r.done, err)
		}
	}
	return nil
}

// measure makes the pools, finds out how long calls take, and chooses leases that are
// long against that.
func (r *run) measure(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r.reader.ttl = leastTTL
	if err := r.awaitProxies(ctx); err != nil {
		return err
	}
	if err := r.reader.readAll(ctx, append(r.reader.locks(len(r.clients)), r.reader.pools(0)...), r.settle); err != nil {
		return err
	}
	var took []time.Duration
	for range 50 {
		o, err := r.reader.call(ctx, history.Operation{Kind: history.Release, Name: ownKey(r.reader.id), Token: 1})
		if err != nil {
			return err
		}
		took = append(took, o.Return-o.Call)
	}
	slices.Sort(took)
	r.latency = took[len(took)*9/10]
	r.ttl = r.leaseFor(r.latency)
	for _, c := range append(r.clients, r.reader) {
		c.ttl, c.latency = r.ttl, r.latency
	}
	return nil
}

// awaitProxies returns when each proxy serves calls: its store may not have answered it at its start.
func (r *run) awaitProxies(ctx context.Context) error {
	for i := range r.Proxies {
		c := r.client(firstWitness+2*i, Manners{})
		c.ttl = leastTTL
		err := c.readAll(ctx, []read{func(ctx context.Context) (bool, error) { return c.readLock(ctx, ownKey(c.id)) }}, r.settle)
		c.close()
		if err != nil {
			return err
		}
	}
	return nil
}

// leaseFor is how long leases are where a call takes so long: in whole milliseconds, as
// the functions take them. On a machine that is busy they are less sharp, but never longer
// than they are granted, or every end of one would look wrong.
func (r *run) leaseFor(latency time.Duration) time.Duration {
	ttl := max(leastTTL, r.Lease, (sharp * latency).Round(time.Millisecond))
	if r.LongestLease > 0 {
		ttl = min(ttl, r.LongestLease)
	}
	return ttl
}

// round lets the clients work, strikes, and reads everything when they have stopped.
func (r *run) round(ctx context.Context, fault Fault) error {
	ctx, cancel := context.WithTimeout(ctx, patience+3*roundTTLs*r.ttl+4*r.InDoubt)
	defer cancel()
	stop := make(chan struct{})
	var working sync.WaitGroup
	errs := make([]error, len(r.clients)+1)
	for i, c := range r.clients {
		working.Go(func() {
			if errs[i] = c.work(ctx, r.done, stop); errs[i] != nil {
				cancel()
			}
		})
	}
	errs[len(r.clients)] = r.strike(ctx, fault)
	close(stop)
	working.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := r.settle(ctx); err != nil {
		return err
	}
	if fault == r.Fault && r.Wants.Loss {
		return r.reader.readAll(ctx, r.reader.locks(len(r.clients)), r.settle)
	}
	return r.reader.readAll(ctx, append(r.reader.locks(len(r.clients)), r.reader.pools(r.done)...), r.settle)
}

// strike lets the fault strike somewhere in the round, and the round go on after it.
func (r *run) strike(ctx context.Context, fault Fault) error {
	site := &Site{Proxies: r.Proxies, Redis: r.Redis, Random: r.random, TTL: r.ttl, recorder: r.recorder, run: r}
	defer site.close()
	whole := max(leastWork, roundTTLs*r.ttl)
	before := site.between(whole/4, whole/2)
	if err := pause(ctx, before); err != nil {
		return err
	}
	begin := r.recorder.now()
	if err := fault.Strike(ctx, site); err != nil {
		return fmt.Errorf("the fault: %w", err)
	}
	if r.Wants.Loss && fault == r.Fault {
		r.recorder.lost(begin, keys(len(r.clients)), r.ttl)
	}
	return pause(ctx, whole-before)
}

// settle waits until nothing that is unknown can take effect any more.
func (r *run) settle(ctx context.Context) error {
	if err := pause(ctx, cmp.Or(r.InDoubt, time.Second)); err != nil {
		return err
	}
	r.recorder.settled()
	return nil
}
