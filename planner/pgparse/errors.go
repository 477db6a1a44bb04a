package pgparse

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jeroenrinzema/psql-wire/codes"
	"github.com/pganalyze/pg_query_go/v5/parser"

	"raisinproxy/sqlfuncs/pgerr"
)

// report makes a report to the client of an error of pg_query.
func (w *writer) report(err error) *pgerr.Error {
	var failure *parser.Error
	if !errors.As(err, &failure) {
		return pgerr.From(fmt.Errorf("parse tree: %w", err))
	}
	code, hint := parserErrorCode(failure)
	report := &pgerr.Error{Code: code, Message: failure.Message, Hint: hint}
	if failure.Cursorpos > 0 {
		location := int32(ByteOffset(w.parsed, failure.Cursorpos-1))
		report.Position = w.Char(location)
		what, _, ok := strings.Cut(failure.Message, " at or near ")
		if ok && (what == "syntax error" || strings.HasPrefix(what, "unterminated ")) {
			// It quotes what writer.go wrote; the user's token may be another.
			return w.errorAt(w.text.TokenFrom(w.Offset(location)), what)
		}
	}
	return report
}

// parserErrorCode tells the SQLSTATE and hint of an error, which pg_query
// reports without them, by its message. All that gram.y and scan.l raise and
// that are no 42601 are here.
func parserErrorCode(err *parser.Error) (code codes.Code, hint string) {
	message := err.Message
	if user := strings.IndexAny(message, `":`); user >= 0 { // from there on it may be the user's text
		message = message[:user]
	}
	for _, known := range parserErrors {
		if strings.Contains(message, known.message) && (known.function == "" || known.function == err.Funcname) {
			return known.code, known.hint
		}
	}
	return codes.Syntax, ""
}

var parserErrors = []struct {
	message, function string
	code              codes.Code
	hint              string
}{
	{"invalid Unicode escape", "core_yylex", codes.InvalidEscapeSequence, `Unicode escapes must be \uXXXX or \UXXXXXXXX.`},
	{"invalid Unicode escape", "str_udeescape", codes.Syntax, `Unicode escapes must be \XXXX or \+XXXXXX.`},
	{"invalid byte sequence for encoding", "", codes.CharacterNotInRepertoire, ""},
	{"LIMIT #,# syntax is not supported", "", codes.Syntax, "Use separate LIMIT and OFFSET clauses."},
	{"missing argument", "", codes.Syntax, "Use NONE to denote the missing argument of a unary operator."},
	{"unrecognized row security option", "", codes.Syntax, "Only PERMISSIVE or RESTRICTIVE policies are supported currently."},
	{"UNENCRYPTED PASSWORD is no longer supported", "", codes.FeatureNotSupported, "Remove UNENCRYPTED to store the password in encrypted form instead."},
	{"cannot include schema elements", "", codes.FeatureNotSupported, ""},
	{"current database cannot be changed", "", codes.FeatureNotSupported, ""},
	{"MATCH PARTIAL not yet implemented", "", codes.FeatureNotSupported, ""},
	{"is only supported for ON DELETE actions", "", codes.FeatureNotSupported, ""},
	{"CREATE EXTENSION ... FROM is no longer supported", "", codes.FeatureNotSupported, ""},
	{"CREATE OR REPLACE CONSTRAINT TRIGGER is not supported", "", codes.FeatureNotSupported, ""},
	{"CREATE ASSERTION is not yet implemented", "", codes.FeatureNotSupported, ""},
	{"aggregates cannot have output arguments", "", codes.FeatureNotSupported, ""},
	{"WITH CHECK OPTION not supported on recursive views", "", codes.FeatureNotSupported, ""},
	{"UNIQUE predicate is not yet implemented", "", codes.FeatureNotSupported, ""},
	{"an ordered-set aggregate with a VARIADIC direct argument", "", codes.FeatureNotSupported, ""},
	{" constraints cannot be marked ", "", codes.FeatureNotSupported, ""},
	{"column number must be in range", "", codes.InvalidParameterValue, ""},
	{"precision for type float", "", codes.InvalidParameterValue, ""},
	{"unrecognized partitioning strategy", "", codes.InvalidParameterValue, ""},
	{"for hash partition provided more than once", "", codes.DuplicateObject, ""},
	{"role name ", "", codes.ReservedName, ""},
	{"frame start", "", codes.Windowing, ""},
	{"frame end", "", codes.Windowing, ""},
}
