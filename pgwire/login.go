package pgwire

import (
	"context"
	"errors"
	"io"
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
	if s.server.cfg.Upstream == nil {
		// It is we who tell it these names, as UTF-8.
		for _, name := range []string{identity.User, database} {
			if err := settings.ValidUTF8([]byte(name)); err != nil {
				return fatal(err)
			}
		}
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
	from := s.network
	if err := s.pause(s.server.throttle.delay(from, time.Now())); err != nil {
		return auth.Identity{}, err
	}
	id, err := s.converse(s.server.cfg.Policy.Begin(user, s.channel, s.lookUp(user)))
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

// pause waits, unless the client goes away or its start-up is to end.
func (s *session) pause(d time.Duration) error {
	if d == 0 {
		return nil
	}
	err := s.waiting(func(ctx context.Context) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	if over := s.holdStartup(); over != nil {
		return over
	}
	if err != nil {
		return errNoSession
	}
	return nil
}

// lookUp asks the upstream for a user that the users file does not have; nil if there
// is no such user. To the client one that cannot be asked for looks like a wrong
// password, not like an upstream that is down.
func (s *session) lookUp(user string) *auth.User {
	if s.server.cfg.LookUp == nil || !s.server.cfg.Policy.Asks(user) {
		return nil
	}
	ctx := s.ctx
	if !s.startBy.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, s.startBy)
		defer cancel()
	}
	found, err := s.server.cfg.LookUp(ctx, user)
	if err != nil {
		s.log.Error("a user cannot be looked up", "user", user, "error", err)
	}
	return found
}

// converse moves the messages of an exchange.
func (s *session) converse(exchange *auth.Exchange) (auth.Identity, error) {
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
		s.in.limit = exchange.Limit()
		kind, body, readErr := s.awaitResponse()
		if errors.Is(readErr, errLength) {
			if unreadable := exchange.Unreadable(); unreadable != nil {
				return auth.Identity{}, unreadable
			}
		}
		if readErr != nil {
			return auth.Identity{}, readErr
		}
		if step, err = exchange.Respond(kind, body); err == nil {
			s.in.skip(body)
		}
	}
	return auth.Identity{}, err
}

// awaitResponse blocks until the client's answer has arrived as a whole. Of any other
// message, and of what is none, the type is enough.
func (s *session) awaitResponse() (kind byte, body []byte, err error) {
	for {
		if kind, ok := s.in.head(); ok && kind != 'p' {
			return kind, nil, nil
		}
		kind, body, ok, bad := s.in.peek()
		if ok || bad != nil {
			return kind, body, bad
		}
		_, begun := s.in.head()
		switch err := s.in.fill(s.conn); {
		case errors.Is(err, io.EOF) && begun:
			return 0, nil, errLength // cut short
		case err != nil:
			return 0, nil, errNoSession
		}
	}
}
