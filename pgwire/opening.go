package pgwire

import (
	"context"
	"time"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/pgwire/upstream"
	"raisinproxy/pgwire/wire"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// This file opens the connection to the upstream, within the time that a start-up has, and
// takes from it what a session begins with.

// openUpstream connects the session to its upstream.
func (s *proxied) openUpstream(ctx context.Context) error {
	by := s.startBy
	if s.greeted != nil && !by.IsZero() { // it is not starting up any more
		by = time.Now().Add(s.behind.StartupTimeout)
	}
	if !by.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, by, upstream.ErrNoAnswer)
		defer cancel()
	}
	u := s.behind.Server
	database := s.caller.Scope.Repository
	if s.database != "" {
		database = s.database
	}
	hijacked, g, err := u.Connect(ctx, &upstream.Login{User: s.caller.User, Database: database, Password: s.password, Parameters: s.parameters, Replicates: s.replicates})
	if err != nil {
		return err
	}
	if u.FirstUse && !s.replicates {
		u.Remember(s.identity, g)
	}
	s.up.Open(hijacked, s.client.Conn())
	s.attach()
	if s.greeted != nil {
		return s.sameScope(g.Facts)
	}
	s.welcome = g.Notices
	return s.beginWith(g.Facts)
}

// beginWith takes over what a session begins with.
func (s *proxied) beginWith(f *upstream.Facts) error {
	if f == nil {
		return nil // nothing is asked of a connection for replication
	}
	s.refresh()
	s.database = s.caller.Scope.Repository
	s.caller.Scope.Repository = s.decoded(f.Database)
	s.learn(f, false)
	if s.caller.Scope.Branch == "" {
		return fatal(errEmptyBranch)
	}
	return nil
}

// sameScope ends a session that has worked in another scope, before it asked the upstream
// for something, than the upstream says it is in: the server is another, or its
// configuration.
func (s *proxied) sameScope(f *upstream.Facts) error {
	before := s.caller.Scope
	s.refresh()
	s.learn(f, false)
	if s.decoded(f.Database) != before.Repository || s.caller.Scope != before {
		return pgerr.Fatalf(codes.AdminShutdown, "terminating connection because the upstream has changed").
			WithHint("Connect again.")
	}
	return nil
}

// replicates says whether a connection is for replication.
func replicates(parameters []wire.Parameter) bool {
	on := false
	for _, p := range parameters {
		if p.Name == "replication" {
			is, ok := datum.ParseBool(p.Value)
			on = is || !ok
		}
	}
	return on
}
