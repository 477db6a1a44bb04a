package planner

import (
	"errors"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/sqlfuncs/pgerr"
)

// NeedsUpstream says whether an error means that only a PostgreSQL can answer.
func NeedsUpstream(err *pgerr.Error) bool { return errors.Is(err, errNeedsUpstream) }

func upstreamError(what string) *pgerr.Error {
	return upstreamHint(pgerr.Newf(codes.FeatureNotSupported, "%s needs an [upstream]", what))
}

func upstreamHint(e *pgerr.Error) *pgerr.Error {
	e = e.WithHint("This server runs embedded, without a PostgreSQL behind it: it answers its own functions and what drivers send by themselves. An [upstream] in the server's config adds everything else.")
	e.Cause = errNeedsUpstream
	return e
}

// errNeedsUpstream is the cause of the errors of statements that only a PostgreSQL can
// answer.
var errNeedsUpstream = errors.New("not answered without an upstream")

// isAboutValue says whether an error is of the class of those about values.
func isAboutValue(err *pgerr.Error) bool { return err.Code[:2] == "22" }
