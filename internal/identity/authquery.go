package identity

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// AuthQuery looks up users in a PostgreSQL, so that an existing PostgreSQL needs no
// second list of passwords. It keeps one connection and is safe for concurrent use.
type AuthQuery struct {
	config *pgconn.Config
	query  string

	turn chan struct{}  // holds one token, of the caller that may use conn
	conn *pgconn.PgConn // nil: not open
}

// lookUpTimeout bounds a question that is under way, even if nobody waits for the answer any more:
// giving it up would cost the connection.
const lookUpTimeout = 10 * time.Second

// NewAuthQuery makes one for the server, the database and the user of config. query has the
// user's name as $1 and returns the name and a verifier (or a password in plain); NULL
// instead of it, or no row, keeps the user out. Nothing else does: that a role is expired or may
// not log in is for query to say. This one says it, as pgbouncer's does since 1.24.1:
//
//	SELECT rolname, CASE WHEN rolvaliduntil < now() THEN NULL ELSE rolpassword END
//	FROM pg_catalog.pg_authid WHERE rolname = $1 AND rolcanlogin
//
// config bounds what the server may say to a new connection, as [raisinproxy/pgwire/upstream.Bounded] does.
// Close it in the end.
func NewAuthQuery(config *pgconn.Config, query string) *AuthQuery {
	return &AuthQuery{config: config, query: query, turn: make(chan struct{}, 1)}
}

// Lookup finds a user; nil if there is none of this name. Its errors are about the
// server, or about a verifier that cannot be used, and quote no secret.
func (q *AuthQuery) Lookup(ctx context.Context, name string) (*User, error) {
	secret, err := q.secretOf(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("auth_query: %w", err)
	}
	if secret == nil {
		return nil, nil
	}
	return NewUser(name, string(secret))
}

// secretOf is ask, on a connection that lives, when nobody else uses it.
func (q *AuthQuery) secretOf(ctx context.Context, name string) ([]byte, error) {
	select {
	case q.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-q.turn }()
	ctx, cancel := q.underWay(ctx)
	defer cancel()
	reused := q.conn != nil
	secret, err := q.ask(ctx, name)
	if err != nil && reused && q.conn == nil && ctx.Err() == nil {
		secret, err = q.ask(ctx, name) // the connection had been closed meanwhile
	}
	if string(secret) == hiddenPassword {
		return nil, errHidden
	}
	return secret, err
}

// underWay outlives a client that does not wait for its answer, but not the time that the
// client had.
func (q *AuthQuery) underWay(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline := time.Now().Add(lookUpTimeout)
	if own, ok := ctx.Deadline(); ok && own.Before(deadline) {
		deadline = own
	}
	return context.WithDeadline(context.WithoutCancel(ctx), deadline)
}

// hiddenPassword is what pg_roles and pg_user show instead of every verifier. Taken for a
// password in plain it would open every role to clients that send eight asterisks.
const hiddenPassword = "********"

var errHidden = errors.New("the query reads a view that hides passwords: pg_authid and pg_shadow have them")

// Try asks for the role that runs the query, and for one that cannot exist: so that what is
// wrong with the query, or with the role's rights, is known before somebody logs in.
func (q *AuthQuery) Try(ctx context.Context) error {
	const nobody = "raisinproxy: no such role, since this name is longer than a role's may be"
	found, err := q.secretOf(ctx, q.config.User)
	if err == nil {
		found, err = q.secretOf(ctx, nobody)
	}
	switch {
	case err != nil:
		return err
	case found != nil:
		return errors.New("the query has an answer for a user who does not exist")
	}
	return nil
}

// ask runs the query and returns the secret: nil if there is no user, empty if it has
// none. A connection that broke is given up.
func (q *AuthQuery) ask(ctx context.Context, name string) (secret []byte, err error) {
	if q.conn == nil {
		if q.conn, err = pgconn.ConnectConfig(ctx, q.config); err != nil {
			q.conn = nil
			return nil, err
		}
	}
	result := q.conn.ExecParams(ctx, q.query, [][]byte{[]byte(name)}, []uint32{pgtype.TextOID}, nil, nil).Read()
	if q.conn.IsClosed() {
		q.conn = nil
	}
	switch {
	case result.Err != nil:
		return nil, result.Err
	case len(result.Rows) == 0:
		return nil, nil
	case len(result.Rows) > 1 || len(result.Rows[0]) != 2:
		return nil, errors.New("the query must return one row of two columns, the name and the verifier")
	case string(result.Rows[0][0]) != name:
		return nil, errors.New("the query returned another user")
	}
	return append([]byte{}, result.Rows[0][1]...), nil
}

// Close ends the connection.
func (q *AuthQuery) Close() error {
	q.turn <- struct{}{}
	defer func() { <-q.turn }()
	if q.conn == nil {
		return nil
	}
	err := q.conn.Conn().Close() // nothing is under way that had to be said farewell to
	q.conn = nil
	return err
}
