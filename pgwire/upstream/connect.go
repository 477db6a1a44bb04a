package upstream

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

	"raisinproxy/internal/identity"
	"raisinproxy/pgwire/wire"
	"raisinproxy/sqlfuncs/pgerr"
)

// Login is who an upstream connection is for.
type Login struct {
	User, Database string
	Password       identity.Secret
	Parameters     []wire.Parameter
	Replicates     bool // it is for replication
}

// Connect opens a connection for a client, and asks for the facts. The error is one for
// the client: what the upstream said if it said something, else that it cannot be reached.
func (u *Server) Connect(ctx context.Context, c *Login) (*pgconn.HijackedConn, Greeting, error) {
	var g Greeting
	cfg := u.configFor(c.Database)
	cfg.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { g.Notices = append(g.Notices, n) }
	u.logInAs(cfg, c)
	for _, p := range c.Parameters {
		cfg.RuntimeParams[p.Name] = withConfigured(cfg, p)
	}
	conn, err := pgconn.ConnectConfig(ctx, cfg)
	u.reach.note(ctx, err, !u.AsClient)
	if err != nil {
		return nil, g, connectError(ctx, err)
	}
	if !c.Replicates {
		g.Facts, err = firstFacts(ctx, conn)
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
	g.Params = hijacked.ParameterStatuses
	if u.FirstUse && !c.Replicates {
		u.remember(c, g)
	}
	return hijacked, g, nil
}

// Report is what an upstream has said, as a client is told.
func Report(e *pgconn.PgError) *pgerr.Error {
	return &pgerr.Error{Severity: e.Severity, Code: codes.Code(e.Code), Message: e.Message, Detail: e.Detail, Hint: e.Hint}
}

// firstFacts asks what a session begins with. It leaves neither an unnamed statement nor an
// unnamed portal behind, as nothing of the proxy's does.
func firstFacts(ctx context.Context, conn *pgconn.PgConn) (f *Facts, err error) {
	defer context.AfterFunc(ctx, func() { conn.Conn().SetDeadline(time.Unix(1, 0)) })()
	frontend := conn.Frontend()
	for _, m := range append(Run(Control, factsQuery, nil, nil), &pgproto3.Sync{}) {
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
			row := make([][]byte, len(m.Values))
			for i, value := range m.Values {
				row[i] = bytes.Clone(value) // NULL stays nil
			}
			f = readFacts(row)
		case *pgproto3.ErrorResponse:
			err = pgconn.ErrorResponseToPgError(m)
		case *pgproto3.ReadyForQuery:
			return f, err
		}
	}
}

// ErrClientGone is why a connection was not opened that nobody waits for.
var ErrClientGone = errors.New("the client is gone")

// ErrNoAnswer ends an opening that takes longer than a start-up may.
var ErrNoAnswer = errors.New("it has not answered in the time that a start-up has (startup_timeout_secs)")

// connectError is what a client is told. The cause of the context says why it was ended.
func connectError(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if from, ok := errors.AsType[*pgconn.PgError](err); ok && cause == nil {
		e := Report(from)
		e.Severity, e.Cause = pgerr.SeverityFatal, err
		return e
	}
	if _, says := errors.AsType[*pgerr.Error](cause); says {
		return cause
	}
	if cause != nil && !errors.Is(cause, ErrNoAnswer) {
		return ErrClientGone
	}
	e := pgerr.Fatalf(codes.SQLclientUnableToEstablishSQLconnection, "the upstream cannot be reached")
	e.Cause, e.Detail = err, sentence(rootCause(err))
	if cause != nil {
		e.Cause, e.Detail = fmt.Errorf("%w: %w", cause, err), sentence(cause.Error())
	}
	return e
}

// sentence has a text begin and end as a DETAIL does.
func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }
