package plan

import (
	"errors"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/sqlfuncs/pgerr"
)

// NeedsUpstream says whether an error means that only a PostgreSQL can answer.
func NeedsUpstream(err *pgerr.Error) bool { return errors.Is(err, ErrNeedsUpstream) }

// UpstreamError refuses what only a PostgreSQL can answer.
func UpstreamError(what string) *pgerr.Error {
	return UpstreamHint(pgerr.Newf(codes.FeatureNotSupported, "%s needs an [upstream]", what))
}

// UpstreamHint gives an error the hint, and the cause, of those that only a PostgreSQL
// can answer.
func UpstreamHint(e *pgerr.Error) *pgerr.Error {
	e = e.WithHint("This server runs embedded, without a PostgreSQL behind it: it answers its own functions and what drivers send by themselves. An [upstream] in the server's config adds everything else.")
	e.Cause = ErrNeedsUpstream
	return e
}

// ErrNeedsUpstream is the cause of the errors of statements that only a PostgreSQL can
// answer.
var ErrNeedsUpstream = errors.New("not answered without an upstream")

// IsAboutValue says whether an error is of the class of those about values.
func IsAboutValue(err *pgerr.Error) bool { return err.Code[:2] == "22" }
