package upstream

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jeroenrinzema/psql-wire/codes"
)

// Privileges are what the role of the clients' sessions can do in the upstream that their
// owner may not have meant.
type Privileges struct {
	Superuser bool // it can run programs there, and read everything
	// ActsAs: it can become the role that was asked about.
	ActsAs bool
}

// Try connects as a session of a client would, to database unless the configuration names
// one, and looks at the privileges; role is one that clients should not be able to act as.
// The error says why sessions will have no upstream. What is wrong for some clients only (a
// user or a database that is theirs) is no error.
func (u *Server) Try(ctx context.Context, database, role string) (Privileges, error) {
	conn, err := pgconn.ConnectConfig(ctx, u.configFor(database))
	if trouble := troubleOf(err, !u.AsClient); trouble != "" {
		u.reach.told(trouble)
		return Privileges{}, errors.New(trouble)
	}
	if err != nil {
		return Privileges{}, u.faultOfURL(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	const query = `SELECT rolsuper, coalesce((SELECT pg_catalog.pg_has_role(oid, 'MEMBER') FROM pg_catalog.pg_roles WHERE rolname = $1), false)
		FROM pg_catalog.pg_roles WHERE rolname = current_user`
	result := conn.ExecParams(ctx, query, [][]byte{[]byte(role)}, []uint32{pgtype.TextOID}, nil, nil).Read()
	if result.Err != nil || len(result.Rows) != 1 {
		return Privileges{}, nil // no PostgreSQL as it is known here; its matter
	}
	is := func(column int) bool { return string(result.Rows[0][column]) == "t" }
	return Privileges{Superuser: is(0), ActsAs: is(1)}, nil
}

// faultOfURL is err if every session will meet it, since the URL of the configuration asks
// for what it names: the database, or a parameter. Behind a URL without them it is a matter
// between PostgreSQL and the client whose names they are.
func (u *Server) faultOfURL(err error) error {
	told, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return nil
	}
	ofURL := false
	switch codes.Code(told.Code) {
	case codes.InvalidCatalogName:
		ofURL = u.FixedDatabase
	case codes.InsufficientPrivilege: // of the database, or of a parameter
		ofURL = u.FixedDatabase && !u.AsClient
	case codes.UndefinedObject, codes.InvalidParameterValue, codes.Syntax:
		ofURL = len(u.Config.RuntimeParams) > 0
	}
	if !ofURL {
		return nil
	}
	return errors.New(Explain(told))
}

// Explain says what went wrong with a question of the proxy's own, without the names and
// addresses of the configuration.
func Explain(err error) string {
	if told, ok := errors.AsType[*pgconn.PgError](err); ok {
		return strings.TrimSpace(told.Message) + " (SQLSTATE " + told.Code + ")"
	}
	return rootCause(err)
}
