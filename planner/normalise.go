package planner

import (
	"strings"
	"unicode/utf8"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// normalise reduces a statement to what its meaning depends on, as
// clientsql.Normalise describes.
func normalise(sql string) (text string, literals []string) { return normaliseWith(sql, true) }

func normaliseWith(sql string, standardConformingStrings bool) (text string, literals []string) {
	var out strings.Builder
	l := newLexer(sql, standardConformingStrings)
	for t := l.next(); t.Kind != tokenEnd; t = l.next() {
		word := sql[t.Start:t.End]
		switch t.Kind {
		case tokenIdent:
			word = foldName(word)
		case tokenQuotedIdent:
			word = quoteIdent(strings.ReplaceAll(word[1:len(word)-1], `""`, `"`))
		case tokenString:
			literals = append(literals, strings.ReplaceAll(word[1:len(word)-1], "''", "'"))
			word = "?"
		case tokenInteger, tokenFloat, tokenEscapeString, tokenUnicodeString, tokenDollarString, tokenBitString:
			literals = append(literals, word)
			word = "?"
		}
		if out.Len() > 0 {
			out.WriteByte(' ')
		}
		out.WriteString(word)
	}
	return strings.TrimSuffix(out.String(), " ;"), literals
}

// nameTooLong is a code that the vocabulary lacks.
const nameTooLong codes.Code = "42622"

// truncations are the notices about names that are too long, which PostgreSQL
// cuts in silence otherwise.
func truncations(sql string, standardConformingStrings bool) (notices []*pgerr.Error) {
	l := newLexer(sql, standardConformingStrings)
	for t := l.next(); t.Kind != tokenEnd; t = l.next() {
		name := sql[t.Start:t.End]
		switch t.Kind {
		case tokenIdent:
			name = foldName(name)
		case tokenQuotedIdent:
			name = strings.ReplaceAll(name[1:len(name)-1], `""`, `"`)
		default:
			continue
		}
		if short := datum.TruncateName(name); short != name {
			n := pgerr.Newf(nameTooLong, "identifier \"%s\" will be truncated to \"%s\"", name, short)
			n.Severity = pgerr.SeverityNotice
			notices = append(notices, n)
		}
	}
	return notices
}

// laterNumber refuses the forms of numbers that came with PostgreSQL 16: 0x1F and
// 1_000, which our lexer and pg_query read.
func laterNumber(sql string, standardConformingStrings bool) *pgerr.Error {
	l := newLexer(sql, standardConformingStrings)
	for t := l.next(); t.Kind != tokenEnd; t = l.next() {
		if t.Kind != tokenInteger && t.Kind != tokenFloat {
			continue
		}
		number := sql[t.Start:t.End]
		if i := strings.IndexAny(number, "xXoObB_"); i >= 0 {
			return pgerr.Newf(codes.Syntax, "trailing junk after numeric literal at or near \"%s\"", number[:i+1]).
				At(1 + utf8.RuneCountInString(sql[:t.Start]))
		}
	}
	return nil
}

// quoteIdent quotes a name where it would not be read back as itself.
func quoteIdent(name string) string {
	for i := range len(name) {
		c := name[i]
		if c != '_' && (c < 'a' || c > 'z') && (i == 0 || c < '0' || c > '9') {
			return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
		}
	}
	if name == "" || name == "user" {
		return `"` + name + `"`
	}
	return name
}
