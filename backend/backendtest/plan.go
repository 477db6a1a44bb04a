package backendtest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"raisinproxy/backend"
)

// plan says for how long each lease lasts by the scenario's own time, in which nothing but
// advance takes time. On a real clock all takes time: where the process or the server was not
// scheduled for a while, a lease may be over which by the plan is held, and no answer about it
// says anything about the backend. The plan measures that. It is safe for concurrent use; nil is
// the plan of a clock that stands still unless advanced, which is always kept.
type plan struct {
	now   func() time.Duration
	slack time.Duration

	mu     sync.Mutex
	passed time.Duration // the scenario's time
	leases map[lockName]lease
	missed string // how the plan was missed first; "" if it was kept
}

type lockName struct {
	scope backend.Scope
	key   string
}

// lease is the newest one of a lock.
type lease struct {
	token    int64
	planned  time.Duration // its end by the scenario's time
	earliest time.Duration // its end by the clock, if the call that set it was answered at once
}

func newPlan(now func() time.Duration, slack time.Duration) *plan {
	return &plan{now: now, slack: slack, leases: make(map[lockName]lease)}
}

// advanced notes that d of the scenario's time has passed.
func (p *plan) advanced(d time.Duration) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.passed = plus(p.passed, d)
}

// begin is called before a call.
func (p *plan) begin() (call time.Duration) {
	if p == nil {
		return 0
	}
	return p.now()
}

// answered is called when a call about a lock was answered, before it is noted what it did.
func (p *plan) answered(lock lockName) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	l, ok := p.leases[lock]
	if ret := p.now(); ok && p.passed < l.planned && ret >= l.earliest-p.slack {
		p.miss(fmt.Sprintf("an answer about %.40q came at %v, and the lease may have ended at %v", lock.key, ret, l.earliest-p.slack))
	}
}

// failed is called when an acquire has failed.
func (p *plan) failed(err error, call, ttl time.Duration) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if took := p.now() - call; tooLate(err, took, ttl) {
		p.miss(fmt.Sprintf("an acquire for %v took %v: %v", ttl, took, err))
	}
}

// tooLate tells whether an acquire that took so long was refused, as it has to be, because its
// lease would have been over when the answer came. Such a call did nothing.
func tooLate(err error, took, ttl time.Duration) bool {
	return errors.Is(err, backend.ErrUnavailable) && took >= ttl
}

func (p *plan) miss(how string) {
	if p.missed == "" {
		p.missed = how
	}
}

// granted, renewed and released note what a call did to a lock.

func (p *plan) granted(lock lockName, token int64, call, ttl time.Duration) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leases[lock] = lease{token: token, planned: plus(p.passed, ttl), earliest: plus(call, ttl)}
}

func (p *plan) renewed(lock lockName, token int64, call, ttl time.Duration) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if l, ok := p.leases[lock]; ok && l.token == token {
		l.planned = max(l.planned, plus(p.passed, ttl))
		l.earliest = max(l.earliest, plus(call, ttl))
		p.leases[lock] = l
	}
}

func (p *plan) released(lock lockName, token int64) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.leases[lock].token == token {
		delete(p.leases, lock)
	}
}

// whyMissed says how the plan was missed, "" that it was kept.
func (p *plan) whyMissed() string {
	if p == nil {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.missed
}
