package redis

import (
	"errors"
	"testing"

	"raisinproxy/backend"
	"raisinproxy/backend/redis/redistest"
)

// Who takes a name off, and is slow, does not take it off for the next one who has noted it.
func TestANameThatWasNotedAnewStays(t *testing.T) {
	t.Parallel()
	o := options(t, redistest.URL(t))
	o.MaxPools = 1
	s := open(t, o)
	place := s.placeOf(scope, "p")
	for _, again := range []bool{true, false} {
		if err := place.reserve(t.Context()); err != nil {
			t.Fatal(err)
		}
		stamp, noted, err := place.noted(t.Context())
		if !noted || err != nil {
			t.Fatal(noted, err)
		}
		if again {
			if err := place.reserve(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if err := place.giveUp(t.Context(), stamp); err != nil {
			t.Fatal(err)
		}
		if _, noted, err := place.noted(t.Context()); noted != again || err != nil {
			t.Errorf("noted: %v, %v; want %v", noted, err, again)
		}
	}
}

// TestAPoolThatWasNotedOnly: whoever noted its name and could not make it has lost nothing,
// and the place is the pool's.
func TestAPoolThatWasNotedOnly(t *testing.T) {
	t.Parallel()
	o := options(t, redistest.URL(t))
	o.MaxPools = 1
	s := open(t, o)
	scope := backend.Scope{Tenant: "t", Repository: "r", Branch: "b"}
	for range 2 {
		if err := s.placeOf(scope, "noted").reserve(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Claim(t.Context(), scope, "another", 1, 10); !errors.Is(err, backend.ErrTooManyPools) {
		t.Errorf("another pool: %v", err)
	}
	if c, err := s.Claim(t.Context(), scope, "noted", 1, 10); err != nil || c.Remaining != 9 {
		t.Errorf("the noted one: %+v, %v", c, err)
	}
}
