package backendtest

import (
	"math"
	"slices"
	"testing"
	"time"

	"raisinproxy/backend"
)

var lockCases = []testCase{
	{"a free key is granted with a token and the end of its lease", freeKeyIsGranted},
	{"a held key is refused to everybody with an empty answer", heldKeyIsRefused},
	{"a refused acquire changes nothing", refusedAcquireChangesNothing},
	{"a lease ends by itself after its ttl", leaseEndsByItself},
	{"a lease is over at its deadline for acquire", overAtDeadlineForAcquire},
	{"a lease is over at its deadline for renew", overAtDeadlineForRenew},
	{"a lease is over at its deadline for release", overAtDeadlineForRelease},
	{"a ttl of one millisecond is neither instant nor immortal", shortestTTL},
	{"the longest ttl does not wrap round", longestTTL},

	{"release frees the key at once", releaseFrees},
	{"a second release is false", secondReleaseIsFalse},
	{"release after expiry is false and spares the successor", lateReleaseSparesSuccessor},
	{"release with another token is false and changes nothing", foreignRelease},
	{"release of a key that was never held is false", releaseOfNothing},

	{"renew moves the end to now plus ttl", renewMovesTheEnd},
	{"renew never shortens", renewNeverShortens},
	{"renew again and again holds the key for many ttls", renewChain},
	{"renew with another token is false and changes nothing", foreignRenew},
	{"renew never revives a lease that is over", renewNeverRevives},
	{"renew after release is false and the key stays free", renewAfterRelease},
	{"renew by a former holder spares the successor", lateRenewSparesSuccessor},
	{"renew of a key that was never held is false", renewOfNothing},
}

func freeKeyIsGranted(t testing.TB, s *store) {
	for _, ttl := range []time.Duration{s.units(1), s.units(10), 300 * time.Second} {
		earliest := s.Wall().Add(ttl - s.slack)
		g := s.acquire("key "+ttl.String(), ttl)
		latest := s.Wall().Add(ttl + s.slack)
		if !g.Acquired || g.Token < 1 || g.Token >= backend.MaxToken {
			t.Errorf("ttl %v: Acquire = %+v, want a grant with a token from 1 to below 2^53", ttl, g)
		}
		// A backend may tell the end in whole milliseconds.
		if g.ExpiresAt.Before(earliest.Truncate(time.Millisecond)) || g.ExpiresAt.After(latest) {
			t.Errorf("ttl %v: ExpiresAt = %v, want %v to %v", ttl, g.ExpiresAt, earliest, latest)
		}
	}
}

func heldKeyIsRefused(_ testing.TB, s *store) {
	s.mustAcquire("k", s.units(100))
	for range 2 * len(s.Clients) { // the holder's own client is among them
		s.mustBeHeld("k")
	}
}

func refusedAcquireChangesNothing(_ testing.TB, s *store) {
	token := s.mustAcquire("k", s.units(6))
	s.advance(1)
	s.mustBeHeld("k") // asks for far more than 6 units
	if g := s.acquire("k", time.Millisecond); g.Acquired {
		s.t.Fatalf("granted while held")
	}
	s.advance(1)
	s.mustRenew("k", token, time.Millisecond)
	s.advance(5)
	s.mustAcquire("k", s.units(100))
}

func leaseEndsByItself(_ testing.TB, s *store) {
	first := s.mustAcquire("k", s.units(6))
	s.advance(3)
	s.mustBeHeld("k")
	s.advance(4)
	second := s.mustAcquire("k", s.units(6))
	s.mustNotRelease("k", first)
	s.mustRelease("k", second)
}

// toDeadline takes a lease and runs check a millisecond before its deadline and
// after that at the deadline.
func toDeadline(t testing.TB, s *store, before, at func(key string, token int64)) {
	if !s.exact() {
		t.Skip("the harness has Slack: its clock cannot be stopped at a deadline")
	}
	s.advance(1)
	ttl := s.units(3)
	early := s.mustAcquire("early", ttl)
	late := s.mustAcquire("late", ttl)
	s.Advance(ttl - time.Millisecond)
	before("early", early)
	s.Advance(time.Millisecond)
	at("late", late)
}

func overAtDeadlineForAcquire(t testing.TB, s *store) {
	toDeadline(t, s,
		func(key string, _ int64) { s.mustBeHeld(key) },
		func(key string, _ int64) { s.mustAcquire(key, s.unit) })
}

func overAtDeadlineForRenew(t testing.TB, s *store) {
	toDeadline(t, s,
		func(key string, token int64) { s.mustRenew(key, token, s.unit) },
		func(key string, token int64) { s.mustNotRenew(key, token, s.unit) })
}

func overAtDeadlineForRelease(t testing.TB, s *store) {
	toDeadline(t, s,
		func(key string, token int64) { s.mustRelease(key, token) },
		func(key string, token int64) { s.mustNotRelease(key, token) })
}

func shortestTTL(_ testing.TB, s *store) {
	token := s.mustAcquireBriefly("k")
	if s.exact() {
		s.mustBeHeld("k")
		s.mustRenew("k", token, time.Millisecond)
	}
	s.Advance(time.Millisecond + s.slack)
	s.mustNotRenew("k", token, s.units(10))
	s.mustNotRelease("k", token)
	s.mustAcquireBriefly("k")
}

func longestTTL(_ testing.TB, s *store) {
	s.advance(1) // so that now + ttl is beyond the range
	for key, ttl := range map[string]time.Duration{
		"all": math.MaxInt64, "nearly all": math.MaxInt64 - 1, "half": math.MaxInt64 / 2,
	} {
		token := s.mustAcquire(key, ttl)
		s.mustBeHeld(key)
		s.mustRenew(key, token, math.MaxInt64)
		s.advance(2)
		s.mustBeHeld(key)
		s.mustRenew(key, token, time.Millisecond)
		s.advance(2)
		s.mustBeHeld(key)
		s.mustRelease(key, token)
	}
}

func releaseFrees(_ testing.TB, s *store) {
	for range 3 {
		token := s.mustAcquire("k", s.units(100))
		s.mustRelease("k", token)
	}
}

func secondReleaseIsFalse(_ testing.TB, s *store) {
	first := s.mustAcquire("k", s.units(100))
	s.mustRelease("k", first)
	s.mustNotRelease("k", first)
	second := s.mustAcquire("k", s.units(100))
	s.mustNotRelease("k", first)
	s.mustBeHeld("k")
	s.mustRelease("k", second)
}

func lateReleaseSparesSuccessor(_ testing.TB, s *store) {
	first := s.mustAcquire("k", s.units(2))
	s.advance(3)
	s.mustNotRelease("k", first)
	second := s.mustAcquire("k", s.units(100))
	s.mustNotRelease("k", first)
	s.mustBeHeld("k")
	s.mustRelease("k", second)
}

// notTheToken gives tokens that somebody could mistake for token: its neighbours,
// which are equal to it in too narrow a number, and the ends of the range.
func notTheToken(token int64) []int64 {
	others := []int64{
		token - 1, token + 1, token + 256, token + 1<<32, token % (1 << 32), -token, 0, -1,
		backend.MaxToken, math.MaxInt64, math.MinInt64,
	}
	return slices.DeleteFunc(others, func(other int64) bool { return other == token })
}

func foreignRelease(_ testing.TB, s *store) {
	token := s.mustAcquire("k", s.units(100))
	for _, other := range notTheToken(token) {
		s.mustNotRelease("k", other)
	}
	s.mustBeHeld("k")
	s.mustRelease("k", token)
}

func releaseOfNothing(_ testing.TB, s *store) {
	for _, token := range []int64{0, 1, -1, math.MaxInt64, math.MinInt64} {
		s.mustNotRelease("k", token)
	}
	s.mustAcquire("k", s.unit)
}

func renewMovesTheEnd(_ testing.TB, s *store) {
	token := s.mustAcquire("k", s.units(6))
	s.advance(3)
	s.mustRenew("k", token, s.units(6)) // to 9; added to the old end it would be 12
	s.advance(4)                        // 7: the first end is past
	s.mustBeHeld("k")
	s.advance(3) // 10
	s.mustAcquire("k", s.unit)
	s.mustNotRelease("k", token)
}

func renewNeverShortens(_ testing.TB, s *store) {
	token := s.mustAcquire("k", s.units(8))
	s.mustRenew("k", token, s.units(1))
	s.mustRenew("k", token, time.Millisecond)
	s.advance(4)
	s.mustBeHeld("k")
	s.mustRenew("k", token, s.units(1))
	s.advance(5)
	s.mustNotRenew("k", token, s.units(1)) // nor does it lengthen: the end was 8
	s.mustAcquire("k", s.unit)
}

func renewChain(_ testing.TB, s *store) {
	token := s.mustAcquire("k", s.units(4))
	for range 6 {
		s.advance(2)
		s.mustRenew("k", token, s.units(4))
		s.mustBeHeld("k")
	}
	s.mustRelease("k", token)
	s.mustAcquire("k", s.unit)
}

func foreignRenew(_ testing.TB, s *store) {
	token := s.mustAcquire("k", s.units(6))
	for _, other := range notTheToken(token) {
		s.mustNotRenew("k", other, s.units(1000))
	}
	s.mustBeHeld("k")
	s.mustRenew("k", token, time.Millisecond)
	s.advance(7)
	s.mustAcquire("k", s.unit)
}

func renewNeverRevives(_ testing.TB, s *store) {
	token := s.mustAcquire("k", s.units(2))
	s.advance(3)
	s.mustNotRenew("k", token, s.units(100))
	s.mustNotRenew("k", token, s.units(100))
	s.mustNotRelease("k", token)
	s.mustAcquire("k", s.units(100))
	s.mustNotRenew("k", token, s.units(100))
}

func renewAfterRelease(_ testing.TB, s *store) {
	token := s.mustAcquire("k", s.units(100))
	s.mustRelease("k", token)
	s.mustNotRenew("k", token, s.units(100))
	s.mustAcquire("k", s.units(100))
}

func lateRenewSparesSuccessor(_ testing.TB, s *store) {
	first := s.mustAcquire("k", s.units(2))
	s.advance(3)
	second := s.mustAcquire("k", s.units(6))
	s.mustNotRenew("k", first, s.units(100))
	s.mustRenew("k", second, time.Millisecond)
	s.advance(7)
	s.mustNotRenew("k", second, s.unit)
	s.mustAcquire("k", s.unit)
}

func renewOfNothing(_ testing.TB, s *store) {
	for _, token := range []int64{0, 1, -1, math.MaxInt64, math.MinInt64} {
		s.mustNotRenew("k", token, s.units(100))
	}
	s.mustAcquire("k", s.unit)
}
