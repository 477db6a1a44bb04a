package backendtest

import (
	"fmt"
	"sync"
	"testing"

	"raisinproxy/backend"
)

var firstCases = []testCase{
	{"the first key of a list that is free is taken, and no other", firstFreeKey},
	{"a key for which others stand in line is passed over", firstPassesOverLines},
	{"of a list without a free key nothing is taken", noFreeKey},
	{"racing callers get a key each", racingForKeys},
}

func (s *store) first(user string, keys ...string) (key string, token int64) {
	s.t.Helper()
	key, g, err := s.client().AcquireFirst(s.ctx, s.scope, keys, backend.Request{TTL: s.units(longWait), User: user})
	if err != nil || g.Acquired != (key != "") {
		s.t.Fatalf("AcquireFirst(%q) = %q, %+v, %v", keys, key, g, err)
	}
	return key, g.Token
}

func (s *store) mustBeFirst(user, want string, keys ...string) (token int64) {
	s.t.Helper()
	key, token := s.first(user, keys...)
	if key != want {
		s.t.Fatalf("AcquireFirst(%q) took %q, want %q", keys, key, want)
	}
	return token
}

func firstFreeKey(_ testing.TB, s *store) {
	s.mustAcquireAs("bob", "a", s.units(longWait))
	token := s.mustBeFirst("alice", "b", "a", "b", "c")
	s.mustSeeLeases("", "a", "b")
	s.mustBeFirst("alice", "c", "a", "b", "c")
	s.mustReleaseAs("alice", "b", token)
	s.mustAcquireAs("bob", "over", s.units(2))
	s.advance(4)
	s.mustBeFirst("carol", "over", "a", "over", "b")
	s.mustBeFirst("carol", "b", "a", "b", "b")
	s.mustSeeLeases("", "a", "b", "c", "over")
}

func firstPassesOverLines(_ testing.TB, s *store) {
	token := s.mustAcquireAs("bob", "a", s.units(longWait))
	w := s.join("carol", "a", s.units(longWait), s.units(longWait))
	s.mustBeFirst("alice", "b", "a", "b")
	s.mustReleaseAs("bob", "a", token)
	s.mustBeFirst("alice", "c", "a", "c") // it is kept for the one who waits
	w.mustHave()
}

func noFreeKey(_ testing.TB, s *store) {
	var keys []string
	for i := range 40 {
		keys = append(keys, fmt.Sprint("k", i))
		s.mustAcquireAs("bob", keys[i], s.units(longWait))
	}
	s.mustBeFirst("alice", "", keys...)
	s.mustBeFirst("alice", "last", append(keys, "last")...)
}

func racingForKeys(t testing.TB, s *store) {
	const crowd = 12
	var keys []string
	for i := range crowd {
		keys = append(keys, fmt.Sprint("k", i))
	}
	var mu sync.Mutex
	taken := map[string]string{}
	together(crowd+2, func(i int) {
		user := fmt.Sprint("user ", i)
		key, _ := s.first(user, keys...)
		mu.Lock()
		defer mu.Unlock()
		if other, twice := taken[key]; twice && key != "" {
			t.Errorf("%s and %s have both got %q", other, user, key)
		}
		taken[key] = user
	})
	delete(taken, "")
	if len(taken) != crowd {
		t.Errorf("%d of %d keys were taken", len(taken), crowd)
	}
}
