package sqltext

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// unicodeName undoes the escapes of the inside of a U&"…". What is wrong in it
// stays as it is: the parser will refuse it.
func unicodeName(inside string, escape byte) string {
	var name strings.Builder
	for i := 0; i < len(inside); {
		if inside[i] != escape {
			name.WriteByte(inside[i])
			i++
			continue
		}
		digits := strings.TrimPrefix(inside[i+1:], "+")
		count := 4 + 2*(len(inside)-i-1-len(digits))
		if r, ok := hexRune(digits, count); ok {
			name.WriteRune(r)
			i = len(inside) - len(digits) + count
			continue
		}
		name.WriteByte(escape)
		i++
	}
	return name.String()
}

// hexRune reads a code point from the first count hexadecimal digits.
func hexRune(digits string, count int) (rune, bool) {
	if len(digits) < count {
		return 0, false
	}
	r, err := strconv.ParseUint(digits[:count], 16, 31)
	return rune(r), err == nil && utf8.ValidRune(rune(r))
}

// FoldName folds an unquoted name as PostgreSQL does in a UTF8 database: only
// ASCII letters.
func FoldName(name string) string {
	if FoldsTo(name, name) {
		return name
	}
	folded := []byte(name)
	for i, c := range folded {
		if 'A' <= c && c <= 'Z' {
			folded[i] = c | 0x20
		}
	}
	return string(folded)
}

// FoldsTo says whether the text is the word, which is in lower case, in any
// case of ASCII letters.
func FoldsTo(text, word string) bool {
	if len(text) != len(word) {
		return false
	}
	for i := range len(word) {
		c := text[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != word[i] {
			return false
		}
	}
	return true
}

// nameTooLong is a code that the vocabulary lacks.
const nameTooLong codes.Code = "42622"

// Truncations are the notices about names that are too long, which PostgreSQL
// cuts in silence otherwise.
func (t *Text) Truncations() (notices []*pgerr.Error) {
	for _, token := range t.Tokens() {
		name := t.Word(token)
		switch token.Kind {
		case Ident:
			name = FoldName(name)
		case QuotedIdent:
			name = unquoted(name)
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
