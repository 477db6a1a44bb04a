package inprocess

import (
	"maps"
	"sync"
	"sync/atomic"
)

// A user is who holds leases, and how many.
type user struct {
	name   string
	leases atomic.Int64 // of those that wait in line, too
}

// users are those who hold leases. It is safe for concurrent use.
type users struct {
	limit int64 // of leases that one may have; 0: none

	mu     sync.RWMutex
	byName map[string]*user
}

// take counts a lease that a user is about to have, unless there are too many. nil is
// the user of a lease whose holder nobody keeps.
func (s *users) take(name string) (u *user, ok bool) {
	if name == "" {
		return nil, true
	}
	u = s.add(name)
	if s.limit > 0 && u.leases.Load() > s.limit {
		u.drop()
		return u, false
	}
	return u, true
}

// found counts a lease that is there, whatever the limit says now.
func (s *users) found(name string) *user {
	if name == "" {
		return nil
	}
	return s.add(name)
}

func (s *users) add(name string) *user {
	s.mu.RLock()
	u := s.byName[name]
	if u != nil {
		u.leases.Add(1) // with the mutex held, so that forget does not drop the user
		s.mu.RUnlock()
		return u
	}
	s.mu.RUnlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if u = s.byName[name]; u == nil {
		if s.byName == nil {
			s.byName = make(map[string]*user)
		}
		u = &user{name: name}
		s.byName[name] = u
	}
	u.leases.Add(1)
	return u
}

// forget drops the users without any lease.
func (s *users) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.byName, func(_ string, u *user) bool { return u.leases.Load() == 0 })
}

// drop takes a lease off a user's count.
func (u *user) drop() {
	if u != nil {
		u.leases.Add(-1)
	}
}

// named is the user's name; "" if nobody keeps it.
func (u *user) named() string {
	if u == nil {
		return ""
	}
	return u.name
}
