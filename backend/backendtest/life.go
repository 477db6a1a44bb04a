package backendtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"raisinproxy/backend"
)

var lifeCases = []testCase{
	{"a call whose context was cancelled is refused and applies nothing", cancelledAppliesNothing},
	{"a call whose deadline has passed is refused and applies nothing", lateAppliesNothing},
	{"calls after Close fail as unavailable", callsAfterClose},
	{"Close may be called again and at the same time", closeIsIdempotent},
	{"calls that race Close are answered or refused", callsRacingClose},
	{"Close of one client leaves the others and the leases", closeOfOneClient},
}

// everyCall makes each call once: on the key "k" with token and on the pool "p".
func everyCall(ctx context.Context, b backend.Backend, scope backend.Scope, token int64, ttl time.Duration) map[string]error {
	errs := make(map[string]error)
	_, errs["Acquire"] = b.Acquire(ctx, scope, "free", backend.Request{TTL: ttl})
	_, errs["Renew"] = b.Renew(ctx, scope, "k", backend.Proof{Token: token}, ttl)
	_, errs["Release"] = b.Release(ctx, scope, "k", backend.Proof{Token: token})
	_, _, errs["Look"] = b.Look(ctx, scope, "k")
	_, errs["Claim"] = b.Claim(ctx, scope, "p", 1, 10)
	_, errs["Restock"] = b.Restock(ctx, scope, "p", 1)
	return errs
}

func endedAppliesNothing(t testing.TB, s *store, ended context.Context, want error) {
	token := s.mustAcquire("k", s.units(6))
	s.mustClaim("p", 1, 10, 9)
	for call, err := range everyCall(ended, s.client(), s.scope, token, s.units(1000)) {
		if !errors.Is(err, backend.ErrUnavailable) || !errors.Is(err, want) {
			t.Errorf("%s: error is %v, want one that is ErrUnavailable and %q", call, err, want)
		}
	}
	if _, err := s.client().Claim(ended, s.scope, "q", 1, 10); err == nil {
		t.Error("Claim of a new pool: no error")
	}
	s.mustBeHeld("k")
	s.mustNotClaim("p", 10, 10, 9)
	s.mustClaim("q", 1, 5, 4)
	s.mustAcquire("free", s.units(6))
	s.advance(7)
	s.mustAcquire("k", s.unit) // it was not renewed either
}

func cancelledAppliesNothing(t testing.TB, s *store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	endedAppliesNothing(t, s, ctx, context.Canceled)
}

func lateAppliesNothing(t testing.TB, s *store) {
	ctx, cancel := context.WithTimeout(t.Context(), -time.Second)
	defer cancel()
	endedAppliesNothing(t, s, ctx, context.DeadlineExceeded)
}

func callsAfterClose(t testing.TB, s *store) {
	token := s.mustAcquire("k", s.units(1000))
	s.mustClaim("p", 1, 10, 9)
	for i, client := range s.Clients {
		if err := client.Close(); err != nil {
			t.Fatalf("Close of client %d: %v", i, err)
		}
	}
	for i, client := range s.Clients {
		for call, err := range everyCall(s.ctx, client, s.scope, token, s.unit) {
			if !errors.Is(err, backend.ErrUnavailable) {
				t.Errorf("client %d: %s after Close: %v, want ErrUnavailable", i, call, err)
			}
		}
	}
}

func closeIsIdempotent(t testing.TB, s *store) {
	together(8, func(i int) {
		for range 3 {
			if err := s.Clients[i%len(s.Clients)].Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		}
	})
}

func callsRacingClose(t testing.TB, s *store) {
	const callers = 7
	client := s.Clients[0]
	var calls, gone atomic.Int32
	var closed atomic.Bool
	going := make(chan struct{}) // closed when the others got going, or gave up
	start := sync.OnceFunc(func() { close(going) })
	together(callers+1, func(worker int) {
		if worker == callers {
			<-going
			if err := client.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
			closed.Store(true)
			return
		}
		defer func() {
			if gone.Add(1) == callers {
				start()
			}
		}()
		for i := 0; ; i++ {
			late := closed.Load()
			_, err := client.Acquire(s.ctx, s.scope, fmt.Sprint(worker, "/", i), backend.Request{TTL: s.units(1000)})
			if errors.Is(err, backend.ErrUnavailable) {
				return
			}
			if late {
				t.Errorf("Acquire after Close: %v, want ErrUnavailable", err)
				return
			}
			// A call that was on its way may end in doubt.
			if err != nil && !errors.Is(err, backend.ErrInDoubt) {
				t.Errorf("Acquire: %v, want success, ErrUnavailable or ErrInDoubt", err)
				return
			}
			if calls.Add(1) == 100 {
				start()
			}
		}
	})
	if calls.Load() < 100 {
		t.Errorf("only %d calls went through before Close", calls.Load())
	}
}

func closeOfOneClient(t testing.TB, s *store) {
	if len(s.Clients) < 2 {
		t.Skip("the harness has one client only")
	}
	token := s.mustAcquire("k", s.units(1000))
	if err := s.Clients[0].Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	s.Clients = s.Clients[1:]
	s.mustBeHeld("k")
	s.mustRenew("k", token, s.units(1000))
	s.mustRelease("k", token)
	s.mustClaim("p", 1, 10, 9)
}
