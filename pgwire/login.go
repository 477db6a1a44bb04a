package pgwire

import (
	"context"
	"errors"
	"time"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/backend"
	"raisinproxy/pgwire/auth"
	"raisinproxy/pgwire/settings"
	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// This file finds out who a client is: it moves the messages of package auth, and keeps
// those waiting who fail again and again.

// authenticate finds out who the client is, and in which scope it works.
func (s *session) authenticate(parameters []startupParameter) error {
	var user, database string
	for _, p := range parameters {
		switch p.name {
		case "user":
			user = datum.TruncateName(p.value)
		case "database":
			database = p.value // not truncated: two scopes must not become one
		}
	}
	if user == "" {
		return pgerr.Fatalf(codes.InvalidAuthorizationSpecification, "no PostgreSQL user name specified in startup packet")
	}
	if database == "" {
		database = user
	}
	if s.server.cfg.RequireTLS && !s.channel.Encrypted {
		e := pgerr.Fatalf(codes.InvalidAuthorizationSpecification, "this server requires TLS").WithHint("Connect with sslmode=require or stronger.")
		s.logFailure(user, e)
		return e
	}
	identity, err := s.identify(user)
	if err != nil {
		return err
	}
	s.vars = settings.New(s.server.defaults, identity.User)
	s.caller = sqlfuncs.Caller{
		User:  identity.User,
		Scope: backend.Scope{Tenant: identity.Tenant, Repository: database},
	}
	s.password = identity.Password
	s.log = s.log.With("user", identity.User, "database", database)
	return nil
}

// identify drives the exchange of the policy's method.
func (s *session) identify(user string) (auth.Identity, error) {
	from := networkOf(s.conn.RemoteAddr())
	if !s.pause(s.server.throttle.delay(from, time.Now())) {
		return auth.Identity{}, errNoSession
	}
	id, err := s.converse(s.server.cfg.Policy.Begin(user, s.channel, s.lookUp(user)), user)
	if e, ok := errors.AsType[*pgerr.Error](err); ok {
		s.server.throttle.failed(from, time.Now())
		s.logFailure(user, e)
	}
	return id, err
}

// logFailure tells the operator more than the client is told, if there is more.
func (s *session) logFailure(user string, e *pgerr.Error) {
	var reason error = e
	if e.Cause != nil {
		reason = e.Cause
	}
	s.log.Warn("authentication failed", "user", user, "sqlstate", string(e.Code), "reason", reason)
}

// pause waits, unless the client goes away or the time for its start-up is over.
func (s *session) pause(d time.Duration) bool {
	if d == 0 {
		return true
	}
	err := s.waiting(func(ctx context.Context) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	s.conn.SetDeadline(s.startBy)
	return err == nil
}

// lookUp asks the upstream for a user that the users file does not have; nil if there
// is no such user. To the client one that cannot be asked for looks like a wrong
// password, not like an upstream that is down.
func (s *session) lookUp(user string) *auth.User {
	if s.server.cfg.LookUp == nil || !s.server.cfg.Policy.Asks(user) {
		return nil
	}
	found, err := s.server.cfg.LookUp(s.ctx, user)
	if err != nil {
		s.log.Error("a user cannot be looked up", "user", user, "error", err)
	}
	return found
}

// converse moves the messages of an exchange.
func (s *session) converse(exchange *auth.Exchange, user string) (auth.Identity, error) {
	step, err := exchange.Start()
	for err == nil {
		for _, m := range step.Messages {
			s.out.message(m)
		}
		if step.Done {
			return exchange.Identity(), nil
		}
		if err := s.flush(); err != nil {
			return auth.Identity{}, errNoSession
		}
		kind, body, readErr := s.awaitFrame()
		if errors.Is(readErr, errLength) {
			return auth.Identity{}, pgerr.Fatalf(codes.InvalidPassword, "password authentication failed for user \"%s\"", user)
		}
		if readErr != nil {
			return auth.Identity{}, readErr
		}
		step, err = exchange.Respond(kind, body)
		s.in.skip(body)
	}
	return auth.Identity{}, err
}

// awaitFrame blocks until one whole frame has arrived.
func (s *session) awaitFrame() (kind byte, body []byte, err error) {
	for {
		kind, body, ok, bad := s.in.peek()
		if bad != nil {
			return 0, nil, bad
		}
		if ok {
			return kind, body, nil
		}
		if err := s.in.fill(s.conn); err != nil {
			return 0, nil, errNoSession
		}
	}
}
