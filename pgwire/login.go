package pgwire

import (
	"bytes"
	"container/list"
	"context"
	"errors"
	"io"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/backend"
	"raisinproxy/pgwire/auth"
	"raisinproxy/pgwire/settings"
	"raisinproxy/pgwire/wire"
	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// This file finds out who a client is: it moves the messages of package auth, and keeps
// those waiting who fail again and again.

// login is what a session knows of its client before it is one.
type login struct {
	channel  auth.Channel
	startBy  time.Time // when the start-up has to be over; zero: no limit
	admitted bool
	network  netip.Addr    // whom the client's address stands for
	place    *list.Element // in the loginQueue, which guards it
	evicted  atomic.Bool   // too many others are logging in
	password auth.Secret   // for an upstream that asks for it
}

// authenticate finds out who the client is, and in which scope it works.
func (s *session) authenticate(parameters []wire.Parameter) error {
	var user, database string
	for _, p := range parameters {
		switch p.Name {
		case "user":
			user = datum.TruncateName(p.Value)
		case "database":
			database = p.Value // not truncated: two scopes must not become one
		}
	}
	if user == "" {
		return pgerr.Fatalf(codes.InvalidAuthorizationSpecification, "no PostgreSQL user name specified in startup packet")
	}
	if database == "" {
		database = user
	}
	if s.server.cfg.RequireTLS && !s.login.channel.Encrypted {
		e := pgerr.Fatalf(codes.InvalidAuthorizationSpecification, "this server requires TLS").WithHint("Connect with sslmode=require or stronger.")
		s.logFailure(user, e)
		return e
	}
	identity, err := s.identify(user)
	if err != nil {
		return err
	}
	s.view.vars = settings.New(s.server.defaults, identity.User)
	s.caller = sqlfuncs.Caller{
		User:  identity.User,
		Scope: backend.Scope{Tenant: identity.Tenant, Repository: database},
	}
	s.login.password = identity.Password
	s.log = s.log.With("user", identity.User, "database", database)
	return nil
}

// identify drives the exchange of the policy's method.
func (s *session) identify(user string) (auth.Identity, error) {
	found, err := s.lookUp(user)
	if err != nil {
		return auth.Identity{}, err
	}
	return s.converse(user, s.server.cfg.Policy.Begin(user, s.login.channel, found))
}

// logFailure tells the operator more than the client is told, if there is more.
func (s *session) logFailure(user string, e *pgerr.Error) {
	var reason error = e
	if e.Cause != nil {
		reason = e.Cause
	}
	s.log.Warn("authentication failed", "user", user, "sqlstate", string(e.Code), "reason", reason)
}

// awaitTurn waits for the turn of this client among those of its network, unless it goes
// away or its start-up is to end. done gives the turn back.
func (s *session) awaitTurn(among *throttle) (done func(), err error) {
	if done, ok := among.free(s.login.network); ok {
		return done, nil
	}
	err = s.client.Waiting(func(ctx context.Context) error {
		ctx, cancel := s.untilStarted(ctx)
		defer cancel()
		done, err = among.turn(ctx, s.login.network)
		return err
	})
	if err != nil {
		err = errNoSession
	}
	if over := s.holdStartup(); over != nil {
		err = over
	}
	if err != nil && done != nil {
		done()
	}
	return done, err
}

// untilStarted ends with the time that the start-up has.
func (s *session) untilStarted(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.login.startBy.IsZero() {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, s.login.startBy)
}

// lookUp asks the upstream for a user that the users file does not have; nil if there
// is no such user. To the client one that cannot be asked for looks like a wrong
// password, not like an upstream that is down. Those of one network ask in turns, so that
// many from one leave room to others.
func (s *session) lookUp(user string) (found *auth.User, err error) {
	if s.server.cfg.LookUp == nil || !s.server.cfg.Policy.Asks(user) {
		return nil, nil
	}
	done, err := s.awaitTurn(&s.server.lookups)
	if err != nil {
		return nil, err
	}
	defer done()
	err = s.client.Waiting(func(ctx context.Context) error {
		ctx, cancel := s.untilStarted(ctx)
		defer cancel()
		var err error
		found, err = s.server.cfg.LookUp(ctx, user)
		return err
	})
	if err != nil {
		s.log.Error("a user cannot be looked up", "user", user, "error", err)
	}
	return found, s.holdStartup()
}

// converse moves the messages of an exchange.
func (s *session) converse(user string, exchange *auth.Exchange) (auth.Identity, error) {
	step, err := s.judge(user, exchange, exchange.Start)
	for err == nil {
		for _, m := range step.Messages {
			s.client.Out.Message(m)
		}
		if step.Done {
			return exchange.Identity(), nil
		}
		if err := s.client.Flush(); err != nil {
			return auth.Identity{}, errNoSession
		}
		s.client.In.Limit = exchange.Limit()
		kind, body, readErr := s.awaitResponse()
		if errors.Is(readErr, wire.ErrLength) {
			if unreadable := exchange.Unreadable(); unreadable != nil {
				return auth.Identity{}, s.rejected(user, unreadable)
			}
		}
		if readErr != nil {
			return auth.Identity{}, readErr
		}
		body = bytes.Clone(body) // more may arrive while it waits for its turn
		step, err = s.judge(user, exchange, func() (auth.Step, error) { return exchange.Respond(kind, body) })
		if err == nil {
			s.client.In.Skip(body)
		}
	}
	return auth.Identity{}, err
}

// judge takes the next step of an exchange: the one that decides when it is its turn.
func (s *session) judge(user string, exchange *auth.Exchange, next func() (auth.Step, error)) (auth.Step, error) {
	if exchange.Decides() {
		done, err := s.awaitTurn(&s.server.throttle)
		if err != nil {
			return auth.Step{}, err
		}
		defer done()
	}
	step, err := next()
	if err != nil {
		err = s.rejected(user, err)
	}
	return step, err
}

// rejected notes that a client was not let in.
func (s *session) rejected(user string, err error) error {
	if e, ok := errors.AsType[*pgerr.Error](err); ok {
		s.server.throttle.failed(s.login.network, time.Now())
		s.logFailure(user, e)
	}
	return err
}

// awaitResponse blocks until the client's answer has arrived as a whole. Of any other
// message, and of what is none, the type is enough.
func (s *session) awaitResponse() (kind byte, body []byte, err error) {
	for {
		if kind, ok := s.client.In.Head(); ok && kind != 'p' {
			return kind, nil, nil
		}
		kind, body, ok, bad := s.client.In.Peek()
		if ok || bad != nil {
			return kind, body, bad
		}
		_, begun := s.client.In.Head()
		switch err := s.client.In.Fill(s.client.Conn()); {
		case errors.Is(err, io.EOF) && begun:
			return 0, nil, wire.ErrLength // cut short
		case err != nil:
			return 0, nil, errNoSession
		}
	}
}
