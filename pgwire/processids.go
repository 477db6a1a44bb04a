package pgwire

import (
	"crypto/rand"
	"encoding/binary"
)

// This file is about process ids. With an upstream a client is told the one of its process
// there, so that what the upstream says of processes is true for the client. Where there
// is none yet, or none at all, ids are made up, and notifications, which name the process
// that sent them, are put into what the client of that process was told.

// cancelKey is what a cancel request has to name.
type cancelKey struct {
	pid    int32
	secret uint32
}

// firstPID is where process ids of ours begin: beyond those of real processes, which an
// upstream's notifications name.
const firstPID = 1 << 30

// register gives a session the process id and the secret by which it can be cancelled.
// Upstreams of several hosts, or one that was restarted, may give equal ids: it is both
// together that no other session has.
func (s *Server) register(session *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	session.pid = session.handler.processID()
	if session.pid == 0 {
		session.pid = s.madeUpID()
	}
	for taken := true; taken; {
		var secret [4]byte
		rand.Read(secret[:]) // never fails
		session.secret = binary.BigEndian.Uint32(secret[:])
		_, taken = s.sessions[session.key()]
	}
	s.sessions[session.key()] = session
}

func (s *session) key() cancelKey { return cancelKey{s.pid, s.secret} }

// madeUpID is the next id that no session has. The mutex is held.
func (s *Server) madeUpID() int32 {
	s.lastPID++
	for s.lastPID < firstPID || s.madeUp[s.lastPID] {
		s.lastPID = max(s.lastPID+1, firstPID) // it may have passed the last
	}
	s.madeUp[s.lastPID] = true
	return s.lastPID
}

// forget takes the process id back. The mutex is held.
func (s *Server) forget(session *session) {
	if session.pid != 0 {
		delete(s.sessions, session.key())
		delete(s.madeUp, session.pid)
	}
}
