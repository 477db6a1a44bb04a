package sqltext

import (
	"strings"
	"unicode/utf8"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/sqlfuncs/pgerr"
)

// LaterNumber refuses the forms of numbers that came with PostgreSQL 16: 0x1F and
// 1_000, which the lexer and pg_query read.
func (t *Text) LaterNumber() *pgerr.Error {
	for _, token := range t.Tokens() {
		if token.Kind != Integer && token.Kind != Float {
			continue
		}
		number := t.Word(token)
		if i := strings.IndexAny(number, "xXoObB_"); i >= 0 {
			return pgerr.Newf(codes.Syntax, "trailing junk after numeric literal at or near \"%s\"", number[:i+1]).
				At(1 + utf8.RuneCountInString(t.SQL[:token.Start]))
		}
	}
	return nil
}

// Junk is a number or parameter with the letters that stand right behind it, as in 1a; ok
// is false if there are none.
func (t *Text) Junk(token Token) (junk Token, ok bool) {
	if token.End == len(t.SQL) || byteClasses[t.SQL[token.End]]&classIdentStart == 0 {
		return token, false
	}
	junk = token
	for junk.End < len(t.SQL) && byteClasses[t.SQL[junk.End]]&classIdentPart != 0 {
		junk.End++
	}
	if token.Kind != Param && junk.End < len(t.SQL) && FoldsTo(t.SQL[token.End:junk.End], "e") {
		if sign := t.SQL[junk.End]; sign == '+' || sign == '-' {
			junk.End++
		}
	}
	return junk, true
}
