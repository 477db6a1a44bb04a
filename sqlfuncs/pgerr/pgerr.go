// Package pgerr is the one error type of everything a client sees: a PostgreSQL
// error report with its SQLSTATE and fields. It is a leaf: every layer above
// the backend may return such an error, and the front end writes it as it is.
package pgerr

import (
	"errors"
	"fmt"

	"github.com/jeroenrinzema/psql-wire/codes"
)

// Error is an error report or a notice. Fields that are empty are not sent.
// See https://www.postgresql.org/docs/current/protocol-error-fields.html.
type Error struct {
	Severity string // "" stands for ERROR
	Code     codes.Code
	Message  string
	Detail   string
	Hint     string
	// Position counts characters, not bytes, from 1 in the text that the client
	// sent; 0 is none.
	Position int
	// Where is the context, such as the parameter that was being read.
	Where string
	// Cause is for the log only; the client never sees it.
	Cause error
}

func (e *Error) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("%s (SQLSTATE %s): %v", e.Message, e.Code, e.Cause)
	}
	return fmt.Sprintf("%s (SQLSTATE %s)", e.Message, e.Code)
}

func (e *Error) Unwrap() error { return e.Cause }

// Severities.
const (
	SeverityError   = "ERROR"
	SeverityFatal   = "FATAL"
	SeverityPanic   = "PANIC"
	SeverityWarning = "WARNING"
	SeverityNotice  = "NOTICE"
)

// Newf makes an ERROR.
func Newf(code codes.Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Fatalf makes a FATAL, after which the connection ends.
func Fatalf(code codes.Code, format string, args ...any) *Error {
	e := Newf(code, format, args...)
	e.Severity = SeverityFatal
	return e
}

// WithHint sets the hint and returns e.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// WithDetail sets the detail and returns e.
func (e *Error) WithDetail(format string, args ...any) *Error {
	e.Detail = fmt.Sprintf(format, args...)
	return e
}

// At sets the position in characters from 1 and returns e.
func (e *Error) At(position int) *Error {
	e.Position = position
	return e
}

// From flattens any error chain to one report. An error that is not of this
// type becomes XX000 with a message that tells the client nothing of the inside.
func From(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Code: codes.Internal, Message: "internal error", Cause: err}
}
