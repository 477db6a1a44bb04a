package sqlfuncs

import (
	"context"
	"time"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/backend"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// ttl reads a lease length, capped.
func (c call) ttl(arg int) time.Duration { return c.capped(arg, "ttl_ms", c.service.options.MaxTTL) }

// wait reads how long a call may wait, capped.
func (c call) wait(arg int) time.Duration {
	return c.capped(arg, "wait_ms", c.service.options.MaxWait)
}

// proof is what the caller shows of the lease whose token an argument is.
func (c call) proof(token int) backend.Proof {
	return backend.Proof{Token: c.args[token].Int, User: c.caller.User}
}

func acquire(ctx context.Context, c call) error {
	key := c.args[0]
	grant, err := c.service.backend.Acquire(ctx, c.caller.Scope, key.Str, backend.Request{TTL: c.ttl(1), Wait: c.wait(2), User: c.caller.User})
	if err != nil {
		return err
	}
	return c.tellLease(key, grant)
}

// tellLease tells of a lease that was granted, or not.
func (c call) tellLease(key datum.Datum, g backend.Grant) error {
	if !g.Acquired {
		return c.tell(datum.OfBool(false), key, datum.Null, datum.Null)
	}
	return c.tell(datum.OfBool(true), key, datum.OfInt(g.Token), datum.OfInt(g.ExpiresAt.UnixMilli()))
}

func acquireFirst(ctx context.Context, c call) error {
	keys, err := c.names(0)
	if err != nil {
		return err
	}
	key, grant, err := c.service.backend.AcquireFirst(ctx, c.caller.Scope, keys, backend.Request{TTL: c.ttl(1), User: c.caller.User})
	switch {
	case err != nil:
		return translate(ctx, c.fn, []datum.Datum{datum.OfText(key)}, err)
	case !grant.Acquired:
		return c.tellLease(datum.Null, grant)
	}
	return c.tellLease(datum.OfText(key), grant)
}

// names reads a list of keys.
func (c call) names(arg int) ([]string, error) {
	a := &c.fn.Args[arg]
	elements, err := datum.TextElements(c.args[arg])
	if err != nil {
		return nil, err
	}
	if most := c.service.options.MaxKeys; most > 0 && len(elements) > most {
		return nil, pgerr.Newf(codes.InvalidParameterValue, "%s: argument \"%s\" has %d elements, and the limit of this server is %d", c.fn.Name, a.Name, len(elements), most).
			WithHint("The limit is max_keys_per_call in [locks] of the server config.")
	}
	one := Arg{Name: a.Name, Type: datum.Text}
	names := make([]string, len(elements))
	for i, e := range elements {
		if e.Null {
			return nil, pgerr.Newf(codes.InvalidParameterValue, "%s: argument \"%s\" must not have null elements", c.fn.Name, a.Name)
		}
		if err := c.fn.checkArg(&one, e); err != nil {
			return nil, err
		}
		names[i] = e.Str
	}
	return names, nil
}

func release(ctx context.Context, c call) error {
	released, err := c.service.backend.Release(ctx, c.caller.Scope, c.args[0].Str, c.proof(1))
	if err != nil {
		return err
	}
	return c.tell(datum.OfBool(released))
}

func renew(ctx context.Context, c call) error {
	renewed, err := c.service.backend.Renew(ctx, c.caller.Scope, c.args[0].Str, c.proof(1), c.ttl(2))
	if err != nil {
		return err
	}
	return c.tell(datum.OfBool(renewed))
}

func look(ctx context.Context, c call) error {
	lease, held, err := c.service.backend.Look(ctx, c.caller.Scope, c.args[0].Str)
	if err != nil {
		return err
	}
	copy(c.row[1:], c.lockRow(lease, held))
	return c.tell(datum.OfBool(held))
}

func locks(ctx context.Context, c call) ([]Row, error) {
	leases, err := c.service.backend.Leases(ctx, c.caller.Scope, c.args[0].Str, int(c.args[1].Int))
	if err != nil {
		return nil, err
	}
	rows := make([]Row, len(leases))
	for i, l := range leases {
		copy(rows[i][:], c.lockRow(l, true))
	}
	return rows, nil
}

// lockRow tells of a lock in lockColumns. A token opens its lock to whoever knows it, so only its
// holder and administrators are told.
func (c call) lockRow(l backend.Lease, held bool) []datum.Datum {
	key, waiters := datum.OfText(l.Key), datum.OfInt(l.Waiters)
	if !held {
		return []datum.Datum{key, datum.Null, datum.Null, datum.Null, datum.Null, waiters, datum.Null}
	}
	holder, token, acquiredAt := datum.Null, datum.Null, datum.Null
	if l.User != "" {
		holder = datum.OfText(l.User)
	}
	if l.User == "" || l.User == c.caller.User || c.service.administers(c.caller) {
		token = datum.OfInt(l.Token)
	}
	if !l.AcquiredAt.IsZero() {
		acquiredAt = datum.OfTime(l.AcquiredAt)
	}
	return []datum.Datum{key, holder, token, acquiredAt, datum.OfTime(l.ExpiresAt), waiters, datum.OfText("lease")}
}

func evict(ctx context.Context, c call) error {
	key := c.args[0]
	l, held, err := c.service.backend.Evict(ctx, c.caller.Scope, key.Str)
	if err != nil {
		return err
	}
	c.logged("key", key.Str, "released", held, "holder", l.User, "token", l.Token)
	if !held {
		return c.tell(datum.OfBool(false), key, datum.Null, datum.Null)
	}
	holder := datum.OfText(l.User)
	if l.User == "" {
		holder = datum.Null
	}
	return c.tell(datum.OfBool(true), key, holder, datum.OfInt(l.Token))
}

// logged tells the log what an administrator has done. Of all calls only these name what they
// are about.
func (c call) logged(what ...any) {
	by := []any{"function", c.fn.Name, "user", c.caller.User,
		"tenant", c.caller.Scope.Tenant, "repository", c.caller.Scope.Repository, "branch", c.caller.Scope.Branch}
	c.service.options.Log.Info("an administrator has changed locks or pools", append(by, what...)...)
}
