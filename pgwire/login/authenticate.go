package login

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"time"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/internal/identity"
	"raisinproxy/pgwire/wire"
	"raisinproxy/sqlfuncs/pgerr"
)

// This file finds out who a client is: it moves the messages of package identity, and keeps
// those waiting who fail again and again.

// authenticate finds out who the client is, and in which scope it works.
func (v *Visitor) authenticate(g *Guest) error {
	if g.user == "" {
		return pgerr.Fatalf(codes.InvalidAuthorizationSpecification, "no PostgreSQL user name specified in startup packet")
	}
	g.Database = cmp.Or(g.Database, g.user)
	if v.door.cfg.RequireTLS && !v.channel.Encrypted {
		e := pgerr.Fatalf(codes.InvalidAuthorizationSpecification, "this server requires TLS").WithHint("Connect with sslmode=require or stronger.")
		v.logFailure(g.user, e)
		return e
	}
	found, err := v.lookUp(g.user)
	if err != nil {
		return err
	}
	g.Identity, err = v.converse(g.user, v.door.cfg.Policy.Begin(g.user, v.channel, found))
	return err
}

// logFailure tells the operator more than the client is told, if there is more.
func (v *Visitor) logFailure(user string, e *pgerr.Error) {
	var reason error = e
	if e.Cause != nil {
		reason = e.Cause
	}
	v.log.Warn("authentication failed", "user", user, "sqlstate", string(e.Code), "reason", reason)
}

// awaitTurn waits for the turn of this client among those of its network, unless it goes
// away or its start-up is to end. done gives the turn back.
func (v *Visitor) awaitTurn(among *identity.Throttle) (done func(), err error) {
	if done, ok := among.Free(v.network); ok {
		return done, nil
	}
	err = v.waiting(func(ctx context.Context) (err error) {
		done, err = among.Turn(ctx, v.network)
		return err
	})
	if err != nil {
		err = ErrNoSession
	}
	if over := v.holdStartup(); over != nil {
		err = over
	}
	if err != nil && done != nil {
		done()
	}
	return done, err
}

// waiting does what may wait, up to the end of the time that the start-up has.
func (v *Visitor) waiting(do func(context.Context) error) error {
	return v.client.Waiting(func(ctx context.Context) error {
		if !v.startBy.IsZero() {
			var cancel context.CancelFunc
			ctx, cancel = context.WithDeadline(ctx, v.startBy)
			defer cancel()
		}
		return do(ctx)
	})
}

// lookUp asks the upstream for a user that the users file does not have; nil if there
// is no such user. To the client one that cannot be asked for looks like a wrong
// password, not like an upstream that is down. Those of one network ask in turns, so that
// many from one leave room to others.
func (v *Visitor) lookUp(user string) (found *identity.User, err error) {
	if v.door.cfg.LookUp == nil || !v.door.cfg.Policy.Asks(user) {
		return nil, nil
	}
	done, err := v.awaitTurn(&v.door.lookups)
	if err != nil {
		return nil, err
	}
	defer done()
	err = v.waiting(func(ctx context.Context) (err error) {
		found, err = v.door.cfg.LookUp(ctx, user)
		return err
	})
	if err != nil {
		v.log.Error("a user cannot be looked up", "user", user, "error", err)
	}
	return found, v.holdStartup()
}

// converse moves the messages of an exchange.
func (v *Visitor) converse(user string, exchange *identity.Exchange) (identity.Identity, error) {
	step, err := v.judge(user, exchange, exchange.Start)
	for err == nil {
		for _, m := range step.Messages {
			v.client.Out.Message(m)
		}
		if step.Done {
			return exchange.Identity(), nil
		}
		if err := v.client.Flush(); err != nil {
			return identity.Identity{}, ErrNoSession
		}
		v.client.In.Limit = exchange.Limit()
		kind, body, readErr := v.awaitResponse()
		if errors.Is(readErr, wire.ErrLength) {
			if unreadable := exchange.Unreadable(); unreadable != nil {
				return identity.Identity{}, v.rejected(user, unreadable)
			}
		}
		if readErr != nil {
			return identity.Identity{}, readErr
		}
		body = bytes.Clone(body) // more may arrive while it waits for its turn
		step, err = v.judge(user, exchange, func() (identity.Step, error) { return exchange.Respond(kind, body) })
		if err == nil {
			v.client.In.Skip(body)
		}
	}
	return identity.Identity{}, err
}

// judge takes the next step of an exchange: the one that decides when it is its turn.
func (v *Visitor) judge(user string, exchange *identity.Exchange, next func() (identity.Step, error)) (identity.Step, error) {
	if exchange.Decides() {
		done, err := v.awaitTurn(&v.door.throttle)
		if err != nil {
			return identity.Step{}, err
		}
		defer done()
	}
	step, err := next()
	if err != nil {
		err = v.rejected(user, err)
	}
	return step, err
}

// rejected notes that a client was not let in.
func (v *Visitor) rejected(user string, err error) error {
	if e, ok := errors.AsType[*pgerr.Error](err); ok {
		v.door.throttle.Failed(v.network, time.Now())
		v.logFailure(user, e)
	}
	return err
}

// awaitResponse blocks until the client's answer has arrived as a whole. Of any other
// message, and of what is none, the type is enough.
func (v *Visitor) awaitResponse() (kind byte, body []byte, err error) {
	for {
		kind, begun := v.client.In.Head()
		if begun && kind != 'p' {
			return kind, nil, nil
		}
		kind, body, ok, bad := v.client.In.Peek()
		if ok || bad != nil {
			return kind, body, bad
		}
		switch err := v.client.In.Fill(v.client.Conn()); {
		case errors.Is(err, io.EOF) && begun:
			return 0, nil, wire.ErrLength // cut short
		case err != nil:
			return 0, nil, ErrNoSession
		}
	}
}
