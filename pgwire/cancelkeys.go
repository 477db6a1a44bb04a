package pgwire

import (
	"crypto/rand"
	"encoding/binary"

	"raisinproxy/pgwire/drive"
	"raisinproxy/pgwire/frontend"
)

// This file is about the keys by which clients cancel: a process id and a secret. With an
// upstream a client is told the id of its process there, so that what the upstream says of
// processes is true for the client. Where there is none yet, or none at all, ids are made up,
// and notifications, which name the process that sent them, are put into what the client of
// that process was told (upstream/processids.go).

// firstPID is where process ids that are made up begin: beyond those of real processes, which an
// upstream's notifications name.
const firstPID = 1 << 30

// Register gives a session the process id and the secret by which it can be cancelled.
// Upstreams of several hosts, or one that was restarted, may give equal ids: it is both
// together that no other session has.
func (s *Server) Register(client *drive.Client, pid int32) frontend.CancelKey {
	s.mu.Lock()
	defer s.mu.Unlock()
	if pid == 0 {
		pid = s.madeUpID()
	}
	key := frontend.CancelKey{PID: pid}
	for taken := true; taken; {
		var secret [4]byte
		rand.Read(secret[:]) // never fails
		key.Secret = binary.BigEndian.Uint32(secret[:])
		_, taken = s.sessions[key]
	}
	s.sessions[key] = client
	return key
}

// madeUpID is the next id that no session has. The mutex is held.
func (s *Server) madeUpID() int32 {
	s.lastPID++
	for s.lastPID < firstPID || s.madeUp[s.lastPID] {
		s.lastPID = max(s.lastPID+1, firstPID) // it may have passed the last
	}
	s.madeUp[s.lastPID] = true
	return s.lastPID
}

// Unregister forgets a session.
func (s *Server) Unregister(client *drive.Client, key frontend.CancelKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, client)
	if key.PID != 0 {
		delete(s.sessions, key)
		delete(s.madeUp, key.PID)
	}
}
