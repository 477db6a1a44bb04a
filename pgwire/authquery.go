package pgwire

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"raisinproxy/pgwire/auth"
)

// AuthQuery looks up users in the upstream, so that an existing PostgreSQL needs no
// second list of passwords. It keeps one connection and is safe for concurrent use.
type AuthQuery struct {
	config *pgconn.Config
	query  string

	mu   sync.Mutex
	conn *pgconn.PgConn // nil: not open
}

// NewAuthQuery makes one for the server and the user of config. query has the user's
// name as $1 and returns the name and a verifier (or a password in plain), as
//
//	SELECT usename, passwd FROM pg_catalog.pg_shadow WHERE usename = $1
//
// does. Close it in the end.
func NewAuthQuery(config *pgconn.Config, query string) *AuthQuery {
	return &AuthQuery{config: config, query: query}
}

// Lookup finds a user; nil if there is none of this name. Its errors are about the
// upstream, or about a verifier that cannot be used, and quote no secret.
func (q *AuthQuery) Lookup(ctx context.Context, name string) (*auth.User, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	reused := q.conn != nil
	row, err := q.ask(ctx, name)
	if err != nil && reused && q.conn == nil && ctx.Err() == nil {
		row, err = q.ask(ctx, name) // the connection had been closed meanwhile
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("auth_query: %w", err)
	case row == nil:
		return nil, nil
	}
	return auth.NewUser(name, string(row))
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
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.conn == nil {
		return nil
	}
	err := q.conn.Conn().Close() // nothing is under way that had to be said farewell to
	q.conn = nil
	return err
}
