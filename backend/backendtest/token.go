package backendtest

import (
	"fmt"
	"testing"
	"time"

	"raisinproxy/backend"
)

var tokenCases = []testCase{
	{"tokens rise from grant to grant while time stands still", tokensRiseAtOnce},
	{"tokens rise over expiry", tokensRiseOverExpiry},
	{"tokens follow the wall clock, so that a restart does not lower them", tokensFollowTheWall},
	{"tokens rise when the wall clock goes back", tokensRiseOverWallSteps},
	{"tokens of free keys are not forgotten", tokensOutliveTheKey},
	{"a step of the wall clock moves no lease", wallStepMovesNoLease},
}

// rising checks that each token of a key is above the one before it and below
// MaxToken.
type rising struct {
	t    testing.TB
	last int64
}

func (r *rising) next(token int64) {
	r.t.Helper()
	if token <= r.last || token >= backend.MaxToken {
		r.t.Fatalf("token %d after %d, want a greater one below 2^53", token, r.last)
	}
	r.last = token
}

func tokensRiseAtOnce(t testing.TB, s *store) {
	tokens := rising{t: t}
	for range 100 {
		token := s.mustAcquire("k", s.units(100))
		tokens.next(token)
		s.mustRenew("k", token, s.units(200)) // keeps the token
		s.mustRelease("k", token)
	}
}

func tokensRiseOverExpiry(t testing.TB, s *store) {
	tokens := rising{t: t}
	for range 5 {
		tokens.next(s.mustAcquire("k", s.units(1)))
		s.advance(2)
	}
}

func tokensFollowTheWall(t testing.TB, s *store) {
	for range 3 {
		floor := s.Wall().Add(-s.slack).UnixMicro()
		if token := s.mustAcquire("k", s.units(1)); token < floor {
			t.Fatalf("token %d is below the wall clock, %d µs", token, floor)
		}
		s.advance(2)
	}
}

func tokensRiseOverWallSteps(t testing.TB, s *store) {
	canStepWall(t, s)
	tokens := rising{t: t}
	for _, step := range []time.Duration{
		-time.Hour, -time.Hour, time.Hour, -time.Microsecond, -10 * 365 * 24 * time.Hour, 365 * 24 * time.Hour,
	} {
		s.StepWall(step)
		token := s.mustAcquire("k", s.units(2))
		tokens.next(token)
		s.mustRelease("k", token)
		tokens.next(s.mustAcquire("k", s.units(1)))
		s.advance(2)
	}
}

func tokensOutliveTheKey(t testing.TB, s *store) {
	const keys = 50
	var tokens [keys]rising
	for range 3 {
		for i := range tokens {
			tokens[i].t = t
			key := fmt.Sprint("k", i)
			token := s.mustAcquire(key, s.units(100))
			tokens[i].next(token)
			s.mustRelease(key, token)
		}
		s.advance(2)
	}
}

func wallStepMovesNoLease(t testing.TB, s *store) {
	canStepWall(t, s)
	for _, step := range []time.Duration{time.Hour, -time.Hour, -100 * 365 * 24 * time.Hour} {
		token := s.mustAcquire("k", s.units(6))
		s.advance(2)
		s.StepWall(step)
		s.mustBeHeld("k")
		s.mustRenew("k", token, s.units(6))
		s.advance(4)
		s.mustBeHeld("k")
		s.advance(3)
		s.mustNotRenew("k", token, s.unit)
		token = s.mustAcquire("k", s.units(100))
		s.mustRelease("k", token)
	}
}

func canStepWall(t testing.TB, s *store) {
	t.Helper()
	if s.StepWall == nil {
		t.Skip("the harness cannot step the wall clock: " + s.NoStepWall)
	}
}
