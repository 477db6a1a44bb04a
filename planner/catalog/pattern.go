package catalog

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/sqlfuncs/pgerr"
)

// Patterns: LIKE, SIMILAR TO and the regular expressions that Go reads as PostgreSQL
// does. Whether a text matches does not depend on which match is found first.

// portable are the characters of a regular expression that mean the same to both. The
// rest (braces, look-ahead, classes by name, backslash and a letter) is refused.
func portable(pattern string) bool {
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\':
			if i++; i == len(pattern) || !strings.ContainsRune(`.\*+?|()[]{}^$/-_%"'`, rune(pattern[i])) {
				return false
			}
		case c == '(' && strings.HasPrefix(pattern[i:], "(?"), strings.ContainsRune("{}", rune(c)),
			strings.ContainsRune("*+?", rune(c)) && i > 0 && strings.ContainsRune("*+?(|^", rune(pattern[i-1])),
			strings.ContainsRune("*+?", rune(c)) && i == 0:
			return false
		case c == '[':
			end := strings.IndexByte(pattern[i+1:], ']')
			if end < 1 || strings.ContainsAny(pattern[i+1:i+1+end], `[\&~`) || strings.HasPrefix(pattern[i+1:], "^]") {
				return false
			}
			i += 1 + end
		}
	}
	return !strings.HasPrefix(pattern, "***")
}

// expression compiles a regular expression.
func expression(pattern string, fold bool) (*regexp.Regexp, error) {
	flags := "(?s)"
	if fold {
		flags = "(?si)"
	}
	if !portable(pattern) {
		return nil, refusal("the regular expression \"%s\"", pattern)
	}
	re, err := regexp.Compile(flags + pattern)
	if err != nil {
		var e *syntax.Error
		if errors.As(err, &e) && e.Code == syntax.ErrMissingParen {
			return nil, pgerr.Newf(invalidRegularExpression, "invalid regular expression: parentheses () not balanced")
		}
		return nil, refusal("the regular expression \"%s\"", pattern)
	}
	return re, nil
}

// invalidRegularExpression is a code that the vocabulary lacks.
const invalidRegularExpression codes.Code = "2201B"

// like is LIKE; the escape character is a backslash.
func like(s, pattern string, fold bool) (bool, error) {
	if fold {
		s, pattern = strings.ToLower(s), strings.ToLower(pattern)
	}
	var b strings.Builder
	b.WriteString(`(?s)^`)
	for i := 0; i < len(pattern); {
		switch c := pattern[i]; c {
		case '%':
			b.WriteString(".*")
		case '_':
			b.WriteByte('.')
		case '\\':
			if i++; i == len(pattern) {
				return false, pgerr.Newf(invalidEscape, "LIKE pattern must not end with escape character")
			}
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		default:
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		}
		i++
	}
	b.WriteByte('$')
	re, err := regexp.Compile(b.String())
	if err != nil { // bytes of a character, quoted one by one
		return false, refusal("the pattern \"%s\"", pattern)
	}
	return re.MatchString(s), nil
}

const invalidEscape codes.Code = "22025"

// similar turns a pattern of SIMILAR TO into a regular expression.
func similar(pattern string, escape byte) (string, error) {
	var b strings.Builder
	b.WriteString("^(")
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == escape && i+1 < len(pattern):
			i++
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		case c == '%':
			b.WriteString(".*")
		case c == '_':
			b.WriteByte('.')
		case strings.ContainsRune(".^$\\", rune(c)):
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		case strings.ContainsRune("[]{}", rune(c)):
			return "", refusal("the pattern \"%s\"", pattern)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteString(")$")
	return b.String(), nil
}
