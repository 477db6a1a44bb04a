package backendtest

import (
	"errors"
	"math"
	"testing"

	"raisinproxy/backend"
)

var inventoryCases = []testCase{
	{"the first claim creates the pool with its capacity", firstClaimCreates},
	{"a first claim for more than the capacity creates the pool and takes nothing", firstClaimTooLarge},
	{"capacity zero makes an empty pool", emptyPool},
	{"later capacities do not resize the pool", capacityIsIgnoredLater},
	{"a claim takes all n or nothing", allOrNothing},
	{"a pool can be sold to the last unit and stays sold out", soldOutStays},
	{"pools never disappear by themselves", poolsStay},
	{"restock gives back what was claimed", restockGivesBack},
	{"restock is not capped at the capacity", restockIsUncapped},
	{"restock of an unknown pool fails and creates nothing", restockUnknown},
	{"counts are exact over the whole range of int64", countsAreExact},
	{"restock beyond int64 fails and changes nothing", restockOverflow},
}

func firstClaimCreates(_ testing.TB, s *store) {
	s.mustClaim("p", 1, 180, 179)
	s.mustClaim("q", 180, 180, 0)
	s.mustClaim("p", 9, 180, 170)
}

func firstClaimTooLarge(_ testing.TB, s *store) {
	s.mustNotClaim("p", 11, 10, 10)
	s.mustRestock("p", 1, 11) // so it exists
	s.mustClaim("p", 11, 10, 0)
	s.mustNotClaim("q", math.MaxInt64, 0, 0)
	s.mustRestock("q", 1, 1)
}

func emptyPool(_ testing.TB, s *store) {
	s.mustNotClaim("p", 1, 0, 0)
	s.mustNotClaim("p", 1, 5, 0)
	s.mustRestock("p", 3, 3)
	s.mustClaim("p", 3, 0, 0)
}

func capacityIsIgnoredLater(_ testing.TB, s *store) {
	s.mustClaim("p", 1, 10, 9)
	for _, capacity := range []int64{0, 1, 9, 11, 1000, math.MaxInt64} {
		s.mustNotClaim("p", 10, capacity, 9)
	}
	s.mustClaim("p", 1, 0, 8)
	s.mustClaim("p", 1, math.MaxInt64, 7)
	s.mustRestock("p", 1, 8)
}

func allOrNothing(_ testing.TB, s *store) {
	s.mustClaim("p", 3, 10, 7)
	s.mustNotClaim("p", 8, 10, 7)
	s.mustNotClaim("p", math.MaxInt64, 10, 7)
	s.mustClaim("p", 7, 10, 0)
}

func soldOutStays(_ testing.TB, s *store) {
	s.mustClaim("p", 9, 10, 1)
	s.mustClaim("p", 1, 10, 0)
	for range 3 {
		s.mustNotClaim("p", 1, 10, 0)
		s.mustNotClaim("p", 10, 10, 0)
	}
	s.mustRestock("p", 1, 1)
	s.mustNotClaim("p", 2, 10, 1)
	s.mustClaim("p", 1, 10, 0)
}

func poolsStay(_ testing.TB, s *store) {
	s.mustClaim("full", 1, 10, 9)
	s.mustClaim("sold out", 10, 10, 0)
	s.mustNotClaim("empty", 1, 0, 0)
	s.advance(50)
	s.mustNotClaim("full", 10, 10, 9)
	s.mustNotClaim("sold out", 1, 10, 0)
	s.mustRestock("empty", 1, 1)
}

func restockGivesBack(_ testing.TB, s *store) {
	s.mustClaim("p", 7, 10, 3)
	s.mustRestock("p", 5, 8)
	s.mustClaim("p", 8, 10, 0)
	s.mustRestock("p", 10, 10)
}

func restockIsUncapped(_ testing.TB, s *store) {
	s.mustClaim("p", 1, 1, 0)
	s.mustRestock("p", 1, 1)
	s.mustRestock("p", 1, 2) // given back twice: so it is told, and not hidden
	s.mustRestock("p", 1000, 1002)
	s.mustClaim("p", 1002, 1, 0)
}

func restockUnknown(t testing.TB, s *store) {
	for range 2 {
		remaining, err := s.client().Restock(s.ctx, s.scope, "p", 5)
		if !errors.Is(err, backend.ErrNoPool) || remaining != 0 {
			t.Fatalf("Restock = %d, %v; want 0, ErrNoPool", remaining, err)
		}
	}
	s.mustClaim("p", 1, 10, 9)
}

func countsAreExact(_ testing.TB, s *store) {
	const all = math.MaxInt64
	s.mustClaim("all", all, all, 0)
	s.mustRestock("all", all, all)
	s.mustClaim("all", 1, 1, all-1)
	s.mustNotClaim("all", all, 1, all-1)
	s.mustRestock("all", 1, all)
	s.mustClaim("all", all-1, 1, 1)

	// Where doubles lose the last bit.
	const edge = 1 << 53
	s.mustNotClaim("edge", edge+1, edge, edge)
	s.mustRestock("edge", 1, edge+1)
	s.mustNotClaim("edge", edge+2, 1, edge+1)
	s.mustRestock("edge", 1, edge+2)
	s.mustRestock("edge", 1, edge+3)
	s.mustClaim("edge", 2, 1, edge+1)
	s.mustClaim("edge", edge+1, 1, 0)
}

func restockOverflow(t testing.TB, s *store) {
	const all = math.MaxInt64
	s.mustClaim("p", 2, all, all-2)
	for _, n := range []int64{3, 4, all - 1, all} {
		remaining, err := s.client().Restock(s.ctx, s.scope, "p", n)
		if !errors.Is(err, backend.ErrCountOverflow) || remaining != 0 {
			t.Fatalf("Restock(%d) onto %d = %d, %v; want 0, ErrCountOverflow", n, int64(all-2), remaining, err)
		}
	}
	s.mustNotClaim("p", all-1, 1, all-2)
	s.mustRestock("p", 2, all)
	if _, err := s.client().Restock(s.ctx, s.scope, "p", 1); !errors.Is(err, backend.ErrCountOverflow) {
		t.Fatalf("Restock(1) onto MaxInt64: %v, want ErrCountOverflow", err)
	}
	s.mustClaim("p", all, 1, 0)
}
