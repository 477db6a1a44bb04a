package pgwire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/pgwire/auth"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// This file opens the connection to the upstream, within the time that a start-up has, and
// takes from it what a session begins with.

// client is who an upstream connection is for.
type client struct {
	user, database string
	password       auth.Secret
	parameters     []startupParameter
	replicates     bool
}

// connect opens a connection for a client, and asks for the facts. The error is one for
// the client: what the upstream said if it said something, else that it cannot be reached.
func (u *Upstream) connect(ctx context.Context, c *client) (*pgconn.HijackedConn, greeting, error) {
	var g greeting
	cfg := u.Config.Copy()
	cfg.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { g.notices = append(g.notices, n) }
	if !u.FixedDatabase {
		cfg.Database = c.database
	}
	u.logInAs(cfg, c)
	for _, p := range c.parameters {
		cfg.RuntimeParams[p.name] = withConfigured(cfg, p)
	}
	boundGreeting(cfg)
	conn, err := pgconn.ConnectConfig(ctx, cfg)
	u.reach.note(ctx, err, !u.AsClient)
	if err != nil {
		return nil, g, connectError(ctx, err)
	}
	if !c.replicates {
		g.facts, err = firstFacts(ctx, conn)
	}
	if err == nil {
		err = conn.SyncConn(ctx)
	}
	if err != nil {
		return nil, g, errors.Join(connectError(ctx, err), conn.Close(ctx))
	}
	hijacked, err := conn.Hijack()
	if err != nil {
		return nil, g, connectError(ctx, err)
	}
	hijacked.Frontend = nil // its buffers are not for idle sessions
	g.params = hijacked.ParameterStatuses
	return hijacked, g, nil
}

// firstFacts asks what a session begins with. It leaves neither an unnamed statement nor an
// unnamed portal behind, as nothing of ours does.
func firstFacts(ctx context.Context, conn *pgconn.PgConn) (f facts, err error) {
	defer context.AfterFunc(ctx, func() { conn.Conn().SetDeadline(longAgo) })()
	frontend := conn.Frontend()
	for _, m := range append(statement(factsName, factsQuery), &pgproto3.Sync{}) {
		frontend.Send(m)
	}
	if err := frontend.Flush(); err != nil {
		return nil, err
	}
	for {
		m, receiveErr := frontend.Receive()
		if receiveErr != nil {
			return nil, errors.Join(receiveErr, err)
		}
		switch m := m.(type) {
		case *pgproto3.DataRow:
			for _, value := range m.Values {
				f = append(f, bytes.Clone(value)) // NULL stays nil
			}
		case *pgproto3.ErrorResponse:
			err = pgconn.ErrorResponseToPgError(m)
		case *pgproto3.ReadyForQuery:
			return f, err
		}
	}
}

// errNoAnswer ends an opening that takes longer than a start-up may.
var errNoAnswer = errors.New("it has not answered in the time that a start-up has (startup_timeout_secs)")

// connectError is what a client is told. Whoever ended the opening has said why.
func connectError(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if from, ok := errors.AsType[*pgconn.PgError](err); ok && cause == nil {
		return &pgerr.Error{
			Severity: pgerr.SeverityFatal,
			Code:     codes.Code(from.Code),
			Message:  from.Message,
			Detail:   from.Detail,
			Hint:     from.Hint,
			Cause:    err,
		}
	}
	if _, says := errors.AsType[*pgerr.Error](cause); says {
		return cause
	}
	if cause != nil && !errors.Is(cause, errNoAnswer) {
		return errNoSession // the client is gone
	}
	e := pgerr.Fatalf(codes.SQLclientUnableToEstablishSQLconnection, "the upstream cannot be reached")
	e.Cause, e.Detail = err, reason(err)
	if cause != nil {
		e.Cause, e.Detail = fmt.Errorf("%w: %w", cause, err), sentence(cause.Error())
	}
	return e
}

// reason is why a connection failed, without whose it was to be.
func reason(err error) string { return sentence(rootCause(err)) }

// sentence has a text begin and end as a DETAIL does.
func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }

// openUpstream connects the session to its upstream.
func (s *session) openUpstream(ctx context.Context) error {
	by := s.startBy
	if s.greeted != nil && !by.IsZero() { // it is not starting up any more
		by = time.Now().Add(s.server.cfg.StartupTimeout)
	}
	if !by.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, by, errNoAnswer)
		defer cancel()
	}
	u := s.server.cfg.Upstream
	database := s.caller.Scope.Repository
	if s.database != "" {
		database = s.database
	}
	hijacked, g, err := u.connect(ctx, &client{s.caller.User, database, s.password, s.parameters, s.replicates})
	if err != nil {
		return err
	}
	if u.FirstUse && !s.replicates {
		u.remember(s.identity, g)
	}
	opened := newRelay(hijacked, s.conn)
	s.poll(opened)
	s.up = opened
	s.seenEnded, s.seenWentBack, s.dropped = 0, 0, 0
	if s.greeted != nil {
		return s.sameScope(g.facts)
	}
	s.welcome = g.notices
	return s.beginWith(g.facts)
}

// facts are what calls depend on and only the upstream knows, as factsQuery returns them.
type facts [][]byte

// beginWith takes over what a session begins with.
func (s *session) beginWith(f facts) error {
	if f == nil {
		return nil // nothing is asked of a connection for replication
	}
	s.refresh()
	s.database = s.caller.Scope.Repository
	s.caller.Scope.Repository = s.decoded(f[factDatabase])
	s.learn(f, false)
	if s.caller.Scope.Branch == "" {
		return fatal(errEmptyBranch)
	}
	return nil
}

// sameScope ends a session that has worked in another scope, before it asked the upstream
// for something, than the upstream says it is in: the server is another, or its
// configuration.
func (s *session) sameScope(f facts) error {
	before := s.caller.Scope
	s.refresh()
	s.learn(f, false)
	if s.decoded(f[factDatabase]) != before.Repository || s.caller.Scope != before {
		return pgerr.Fatalf(codes.AdminShutdown, "terminating connection because the upstream has changed").
			WithHint("Connect again.")
	}
	return nil
}

// replicates says whether a connection is for replication.
func replicates(parameters []startupParameter) bool {
	on := false
	for _, p := range parameters {
		if p.name == "replication" {
			is, ok := datum.ParseBool(p.value)
			on = is || !ok
		}
	}
	return on
}
