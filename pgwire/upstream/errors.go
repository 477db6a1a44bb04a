package upstream

import (
	"github.com/jackc/pgx/v5/pgproto3"

	"raisinproxy/sqlfuncs/pgerr"
)

// Error is an error that the upstream reported, and by which it has aborted its transaction already.
type Error struct{ Response pgproto3.ErrorResponse }

func (e *Error) Error() string { return e.Response.Message }

// IsOrdinary says whether the session there goes on.
func (e *Error) IsOrdinary() bool { return e.Response.SeverityUnlocalized == pgerr.SeverityError }

// ReadError reads an error of the upstream's, an *Error, from the body of its message.
func ReadError(body []byte) error {
	e := &Error{}
	if err := e.Response.Decode(body); err != nil {
		return err
	}
	return e
}
