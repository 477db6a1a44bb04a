package inprocess

import (
	"errors"
	"strconv"
	"testing"

	"raisinproxy/backend"
)

// TestPoolsCountAfterARestart: those on disk, also where the limit has become lower.
func TestPoolsCountAfterARestart(t *testing.T) {
	m := newMachine()
	s := m.open(t)
	for i := range 3 {
		if _, err := s.Claim(t.Context(), scope, "p"+strconv.Itoa(i), 1, 10); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[int]error{0: nil, 4: nil, 3: backend.ErrTooManyPools, 2: backend.ErrTooManyPools} {
		after := m.killed()
		after.limit.MaxPools = limit
		s := after.open(t)
		if _, err := s.Claim(t.Context(), scope, "one more", 1, 10); !errors.Is(err, want) {
			t.Errorf("limit %d: %v, want %v", limit, err, want)
		}
		if c, err := s.Claim(t.Context(), scope, "p0", 1, 10); err != nil || c.Remaining != 8 {
			t.Errorf("limit %d: what is there: %+v, %v", limit, c, err)
		}
	}
}
