package frontend

import (
	"time"

	"raisinproxy/pgwire/drive"
	"raisinproxy/pgwire/settings"
	"raisinproxy/planner"
	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/pgerr"
)

// Env is what the sessions of a server share.
type Env struct {
	Functions *sqlfuncs.Service
	Planner   *planner.Planner
	Defaults  *settings.Defaults // of a new session
	Now       func() time.Time   // the wall clock of now() and its kin

	IdleTimeout     time.Duration // between messages; 0: no limit
	MaxMessageBytes int

	Registry Registry
}

// Registry knows the sessions of a server. It is safe for concurrent use.
type Registry interface {
	// Admit counts a session whose client has logged in as user, or refuses it. A session that was admitted must leave.
	Admit(user string) *pgerr.Error
	Leave()
	// Register gives a session the key by which it can be cancelled. pid is the process id that it should have;
	// 0: one is made up.
	Register(client *drive.Client, pid int32) CancelKey
	// Unregister forgets a session, which may have no key: the zero one.
	Unregister(client *drive.Client, key CancelKey)
}

// CancelKey is what a cancel request has to name.
type CancelKey struct {
	PID    int32
	Secret uint32
}
