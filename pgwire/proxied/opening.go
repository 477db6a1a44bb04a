package proxied

import (
	"context"
	"time"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/pgwire/frontend"
	"raisinproxy/pgwire/upstream"
	"raisinproxy/sqlfuncs/pgerr"
)

// This file opens the connection to the upstream, within the time that a start-up has, and
// takes from it what a session begins with.

// openUpstream connects the session to its upstream.
func (s *session) openUpstream(ctx context.Context) error {
	by := s.startBy
	if s.greeted != nil && !by.IsZero() { // it is not starting up any more
		by = time.Now().Add(s.behind.StartupTimeout)
	}
	if !by.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, by, upstream.ErrNoAnswer)
		defer cancel()
	}
	hijacked, g, err := s.behind.Server.Connect(ctx, &s.login)
	if err != nil {
		return err
	}
	s.up.Open(hijacked, s.Client.Conn())
	s.attach()
	if s.greeted != nil {
		return s.sameScope(g.Facts)
	}
	s.welcome = g.Notices
	return s.beginWith(g.Facts)
}

// beginWith takes over what a session begins with.
func (s *session) beginWith(f *upstream.Facts) error {
	if f == nil {
		return nil // nothing is asked of a connection for replication
	}
	s.Refresh()
	s.Caller.Scope.Repository = s.decoded(f.Database)
	s.learn(f, false)
	if s.Caller.Scope.Branch == "" {
		return frontend.Fatal(frontend.ErrEmptyBranch)
	}
	return nil
}

// sameScope ends a session that has worked in another scope, before it asked the upstream
// for something, than the upstream says it is in: the server is another, or its
// configuration.
func (s *session) sameScope(f *upstream.Facts) error {
	before := s.Caller.Scope
	s.Refresh()
	s.learn(f, false)
	if s.decoded(f.Database) != before.Repository || s.Caller.Scope != before {
		return pgerr.Fatalf(codes.AdminShutdown, "terminating connection because the upstream has changed").
			WithHint("Connect again.")
	}
	return nil
}
