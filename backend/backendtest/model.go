package backendtest

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"raisinproxy/backend"
)

var modelCases = []testCase{
	{"any sequence of calls is answered as the model answers it", sequencesFollowTheModel},
}

// sequencesFollowTheModel makes random calls, one after the other, and compares
// each answer with that of a model that is simple enough to be believed.
func sequencesFollowTheModel(t testing.TB, s *store) {
	const runsOnRealClock = 20 // where every advance is waited for
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++ // a place of its own for each run, since pools stay
		if run > runsOnRealClock && !s.exact() {
			return
		}
		m := &model{
			store: s.reporting(rt).unplanned().in(backend.Scope{Tenant: "model", Repository: "shop", Branch: fmt.Sprint(run)}),
			locks: make(map[string]*modelLock),
			pools: make(map[string]*int64),
			known: []int64{0, 1, -1, backend.MaxToken},
		}
		actions := map[string]func(*rapid.T){
			"acquire": m.tryAcquire,
			"renew":   m.tryRenew,
			"release": m.tryRelease,
			"claim":   m.tryClaim,
			"restock": m.tryRestock,
			"advance": m.tryAdvance,
		}
		if s.StepWall != nil {
			actions["step the wall clock"] = m.tryStepWall
		}
		rt.Repeat(actions)
	})
}

type model struct {
	store *store
	locks map[string]*modelLock
	pools map[string]*int64
	known []int64 // tokens to try, of whatever key
}

// modelLock is a key. Its lease ends between earliest and latest: the call that
// set the end took some time, unless the clock stands still.
type modelLock struct {
	held             bool
	token            int64
	earliest, latest time.Duration
	greatest         int64 // token ever granted
}

// An answer about a lease is compelled except between earliest and latest.
const (
	mustBeOver = iota
	mustBeLive
	mayBeEither
)

func (l *modelLock) state(call, ret, slack time.Duration) int {
	switch {
	case !l.held || call >= plus(l.latest, slack):
		return mustBeOver
	case ret < l.earliest-slack:
		return mustBeLive
	}
	return mayBeEither
}

// plus adds times that are not negative; what is too large is the greatest.
func plus(a, b time.Duration) time.Duration {
	if sum := a + b; sum >= 0 {
		return sum
	}
	return math.MaxInt64
}

func (m *model) drawLock(rt *rapid.T) (string, *modelLock) {
	key := rapid.SampledFrom([]string{"k", "l", "k "}).Draw(rt, "key")
	if m.locks[key] == nil {
		m.locks[key] = new(modelLock)
	}
	return key, m.locks[key]
}

func (m *model) drawTTL(rt *rapid.T) time.Duration {
	ttl := rapid.SampledFrom([]int{1, 1, 2, 3, 4, 6, 10, 0}).Draw(rt, "ttl")
	if ttl == 0 {
		return math.MaxInt64
	}
	return m.store.units(ttl)
}

func (m *model) drawToken(rt *rapid.T, l *modelLock) int64 {
	if l.greatest > 0 && rapid.IntRange(0, 3).Draw(rt, "own token") > 0 {
		return l.greatest
	}
	return rapid.SampledFrom(m.known).Draw(rt, "token")
}

func (m *model) tryAcquire(rt *rapid.T) {
	key, l := m.drawLock(rt)
	ttl := m.drawTTL(rt)
	call := m.store.Now()
	g, err := m.store.client().Acquire(m.store.ctx, m.store.scope, key, backend.Request{TTL: ttl})
	ret := m.store.Now()
	if !m.store.exact() && tooLate(err, ret-call, ttl) {
		return
	}
	if err != nil {
		rt.Fatalf("Acquire(%q, %v): %v", key, ttl, err)
	}
	state := l.state(call, ret, m.store.slack)
	switch {
	case state == mustBeLive && g != (backend.Grant{}):
		rt.Fatalf("Acquire(%q) of a held key = %+v", key, g)
	case state == mustBeOver && !g.Acquired:
		rt.Fatalf("Acquire(%q) of a free key was refused", key)
	}
	if !g.Acquired {
		return
	}
	if g.Token <= l.greatest || g.Token >= backend.MaxToken {
		rt.Fatalf("Acquire(%q): token %d after %d", key, g.Token, l.greatest)
	}
	*l = modelLock{
		held: true, token: g.Token, greatest: g.Token,
		earliest: plus(call, ttl), latest: plus(ret, ttl),
	}
	m.known = append(m.known, g.Token-1, g.Token, g.Token+1)
}

func (m *model) tryRenew(rt *rapid.T) {
	key, l := m.drawLock(rt)
	token := m.drawToken(rt, l)
	ttl := m.drawTTL(rt)
	call := m.store.Now()
	ok := m.store.renew(key, token, ttl)
	ret := m.store.Now()
	m.checkHolder(rt, "Renew", l, token, ok, call, ret)
	if ok {
		l.earliest = max(l.earliest, plus(call, ttl))
		l.latest = max(l.latest, plus(ret, ttl))
	}
}

func (m *model) tryRelease(rt *rapid.T) {
	key, l := m.drawLock(rt)
	token := m.drawToken(rt, l)
	call := m.store.Now()
	ok := m.store.release(key, token)
	ret := m.store.Now()
	m.checkHolder(rt, "Release", l, token, ok, call, ret)
	if ok {
		l.held = false
	}
}

// checkHolder judges the answer of a call that only the holder may make.
func (m *model) checkHolder(rt *rapid.T, call string, l *modelLock, token int64, ok bool, called, returned time.Duration) {
	if token != l.token {
		if ok {
			rt.Fatalf("%s with token %d is true, the holder's is %d", call, token, l.token)
		}
		return
	}
	switch state := l.state(called, returned, m.store.slack); {
	case state == mustBeOver && ok:
		rt.Fatalf("%s of a lease that is over is true", call)
	case state == mustBeLive && !ok:
		rt.Fatalf("%s by the holder is false", call)
	case !ok:
		l.held = false // if that was open, it is known now
	}
}

func (m *model) drawPool(rt *rapid.T) (string, *int64) {
	pool := rapid.SampledFrom([]string{"k", "p"}).Draw(rt, "pool")
	return pool, m.pools[pool]
}

func drawUnits(rt *rapid.T, label string, least int64) int64 {
	return rapid.OneOf(
		rapid.Int64Range(least, 10),
		rapid.Int64Range(1<<53-2, 1<<53+2),
		rapid.Int64Range(math.MaxInt64-2, math.MaxInt64),
	).Draw(rt, label)
}

func (m *model) tryClaim(rt *rapid.T) {
	pool, left := m.drawPool(rt)
	n, capacity := drawUnits(rt, "n", 1), drawUnits(rt, "capacity", 0)
	if left == nil {
		left = &capacity
		m.pools[pool] = left
	}
	want := backend.Claimed{Remaining: *left}
	if n <= *left {
		want = backend.Claimed{Claimed: true, Remaining: *left - n}
	}
	if got := m.store.claim(pool, n, capacity); got != want {
		rt.Fatalf("Claim(%q, %d, %d) = %+v, want %+v", pool, n, capacity, got, want)
	}
	*left = want.Remaining
}

func (m *model) tryRestock(rt *rapid.T) {
	pool, left := m.drawPool(rt)
	n := drawUnits(rt, "n", 1)
	got, err := m.store.client().Restock(m.store.ctx, m.store.scope, pool, n)
	switch {
	case left == nil:
		if !errors.Is(err, backend.ErrNoPool) {
			rt.Fatalf("Restock(%q) of no pool: %v", pool, err)
		}
	case uint64(*left)+uint64(n) > math.MaxInt64:
		if !errors.Is(err, backend.ErrCountOverflow) {
			rt.Fatalf("Restock(%q, %d) onto %d: %v", pool, n, *left, err)
		}
	default:
		*left += n
		if got != *left || err != nil {
			rt.Fatalf("Restock(%q, %d) = %d, %v; want %d", pool, n, got, err, *left)
		}
	}
}

func (m *model) tryAdvance(rt *rapid.T) {
	m.store.advance(rapid.IntRange(1, 6).Draw(rt, "units"))
}

func (m *model) tryStepWall(rt *rapid.T) {
	m.store.StepWall(rapid.SampledFrom([]time.Duration{-time.Hour, -time.Second, time.Hour}).Draw(rt, "step"))
}
