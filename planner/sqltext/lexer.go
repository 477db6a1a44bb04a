package sqltext

import "strings"

// Kind is what a token is. Comments and white space are no tokens.
type Kind uint8

// The kinds of tokens.
const (
	End Kind = iota // nothing is left; Start and End are the length of the text

	Ident         // a keyword or a name: select, Raisin_Lock_Acquire, größe
	QuotedIdent   // "name"
	UnicodeIdent  // U&"n\0061me"; a UESCAPE that follows is two tokens of its own
	String        // 'text', which standard_conforming_strings governs
	EscapeString  // E'text'
	UnicodeString // U&'t\0065xt'; UESCAPE as above
	DollarString  // $tag$text$tag$
	BitString     // B'01' or X'1F'
	Integer       // 1, 1_000, 0x1F
	Float         // 1.5, .5, 1e9
	Param         // $1
	Operator      // +, ||, ->>, <=, but not =>
	Punct         // ( ) [ ] , ; : . and the longer :: := .. =>
	Other         // a byte that begins nothing, such as a lone $ or \
	Unterminated  // a string, quoted name or comment without its end; it reaches to the end of the text
)

// A Token is the bytes [Start, End) of the text.
type Token struct {
	Kind       Kind
	Start, End int
}

// A lexer splits SQL into tokens by PostgreSQL's rules
// (https://www.postgresql.org/docs/current/sql-syntax-lexical.html and
// src/backend/parser/scan.l). It takes any bytes, never fails, allocates
// nothing, and its time is linear in the length of the text, so it is what may
// look at hostile text before anything else does.
//
// N'text' is two tokens, as in PostgreSQL: the name N and a plain string.
// A string goes on after white space with a line break and another quote; that
// is one token.
type lexer struct {
	text string
	pos  int
	// backslashes says that a plain 'text' has backslash escapes, which is so
	// while standard_conforming_strings is off.
	backslashes bool
	// signsEnd: up to here every byte is a + or - and an operator of its own.
	signsEnd int
}

// newLexer reads text as a session would that has the given setting of
// standard_conforming_strings.
func newLexer(text string, standardConformingStrings bool) lexer {
	return lexer{text: text, backslashes: !standardConformingStrings}
}

// next returns the next Token, and End for ever after the last one.
func (l *lexer) next() Token {
	start, closed := l.skipBlanks()
	if !closed {
		return l.unterminated(start)
	}
	if start == len(l.text) {
		return Token{End, start, start}
	}
	c := l.text[start]
	switch class := byteClasses[c]; {
	case class&classIdentStart != 0:
		return l.word(start)
	case class&classDigit != 0:
		return l.number(start)
	case class&classOperator != 0:
		return l.operator(start)
	}
	switch c {
	case '\'':
		return l.quoted(String, start, start, l.backslashes)
	case '"':
		return l.quotedIdent(QuotedIdent, start, start)
	case '$':
		return l.dollar(start)
	case '.', ':':
		following := l.byteAt(start + 1)
		if c == '.' && l.digitAt(start+1) {
			return l.number(start)
		}
		if following == c || c == ':' && following == '=' {
			return l.take(Punct, start, start+2)
		}
		return l.take(Punct, start, start+1)
	case '(', ')', '[', ']', ',', ';':
		return l.take(Punct, start, start+1)
	}
	return l.take(Other, start, start+1)
}

// skipBlanks moves to the next byte that is neither white space nor comment. A
// comment without an end is not closed; it begins at the position returned.
func (l *lexer) skipBlanks() (pos int, closed bool) {
	i := l.pos
	for i < len(l.text) {
		switch c := l.text[i]; {
		case byteClasses[c]&classSpace != 0:
			i++
		case c == '-' && l.byteAt(i+1) == '-':
			i = l.lineEnd(i)
		case c == '/' && l.byteAt(i+1) == '*':
			end := l.blockCommentEnd(i)
			if end < 0 {
				return i, false
			}
			i = end
		default:
			l.pos = i
			return i, true
		}
	}
	l.pos = i
	return i, true
}

// lineEnd is where the line that i is on ends, its line break excluded.
func (l *lexer) lineEnd(i int) int {
	if n := strings.IndexAny(l.text[i:], "\n\r"); n >= 0 {
		return i + n
	}
	return len(l.text)
}

// blockCommentEnd is the position after the comment that begins at i, comments
// within it included, or -1.
func (l *lexer) blockCommentEnd(i int) int {
	depth := 0
	for i+1 < len(l.text) {
		switch {
		case l.text[i] == '/' && l.text[i+1] == '*':
			depth++
			i += 2
		case l.text[i] == '*' && l.text[i+1] == '/':
			depth--
			i += 2
			if depth == 0 {
				return i
			}
		default:
			i++
		}
	}
	return -1
}

// word reads a keyword or name, or the string that a one-letter prefix begins.
func (l *lexer) word(start int) Token {
	switch l.text[start] {
	case 'e', 'E':
		if l.byteAt(start+1) == '\'' {
			return l.quoted(EscapeString, start, start+1, true)
		}
	case 'b', 'B', 'x', 'X':
		if l.byteAt(start+1) == '\'' {
			return l.quoted(BitString, start, start+1, false)
		}
	case 'u', 'U':
		if l.byteAt(start+1) == '&' {
			switch l.byteAt(start + 2) {
			case '\'':
				return l.quoted(UnicodeString, start, start+2, false)
			case '"':
				return l.quotedIdent(UnicodeIdent, start, start+2)
			}
		}
	}
	end := start + 1
	for end < len(l.text) && byteClasses[l.text[end]]&classIdentPart != 0 {
		end++
	}
	return l.take(Ident, start, end)
}

// quoted reads a string whose first quote is at open.
func (l *lexer) quoted(kind Kind, start, open int, backslashes bool) Token {
	for {
		end := l.quoteEnd(open, backslashes, kind != BitString)
		if end < 0 {
			return l.unterminated(start)
		}
		if open = l.continuation(end); open < 0 {
			return l.take(kind, start, end)
		}
	}
}

// quoteEnd is the position after the quote that ends what the one at open
// begins, or -1. With doubling, a quote written twice stands for itself.
func (l *lexer) quoteEnd(open int, backslashes, doubling bool) int {
	i := open + 1
	for {
		quote := l.nextQuote(i, backslashes)
		if quote < 0 {
			return -1
		}
		if !doubling || l.byteAt(quote+1) != '\'' {
			return quote + 1
		}
		i = quote + 2
	}
}

// nextQuote is the first quote at or after i that no backslash stands before,
// or -1.
func (l *lexer) nextQuote(i int, backslashes bool) int {
	if !backslashes {
		if n := strings.IndexByte(l.text[i:], '\''); n >= 0 {
			return i + n
		}
		return -1
	}
	for ; i < len(l.text); i++ {
		switch l.text[i] {
		case '\'':
			return i
		case '\\':
			i++ // the byte after it has no meaning of its own
		}
	}
	return -1
}

// continuation is the position of the quote by which a string that ended at
// end goes on, or -1: only white space, line comments and at least one line
// break may stand between.
func (l *lexer) continuation(end int) int {
	lineBreak := false
	for i := end; i < len(l.text); {
		switch c := l.text[i]; {
		case c == '\'' && lineBreak:
			return i
		case c == '\n' || c == '\r':
			lineBreak = true
			i++
		case byteClasses[c]&classSpace != 0:
			i++
		case c == '-' && l.byteAt(i+1) == '-':
			i = l.lineEnd(i)
		default:
			return -1
		}
	}
	return -1
}

// quotedIdent reads a quoted name whose first quote is at open.
func (l *lexer) quotedIdent(kind Kind, start, open int) Token {
	i := open + 1
	for {
		n := strings.IndexByte(l.text[i:], '"')
		if n < 0 {
			return l.unterminated(start)
		}
		i += n + 1
		if l.byteAt(i) != '"' {
			return l.take(kind, start, i)
		}
		i++
	}
}

// dollar reads $1, $$text$$ or $tag$text$tag$.
func (l *lexer) dollar(start int) Token {
	i := start + 1
	if l.digitAt(i) {
		for l.digitAt(i) {
			i++
		}
		return l.take(Param, start, i)
	}
	if i < len(l.text) && byteClasses[l.text[i]]&classIdentStart != 0 {
		for i < len(l.text) && l.text[i] != '$' && byteClasses[l.text[i]]&classIdentPart != 0 {
			i++
		}
	}
	if l.byteAt(i) != '$' {
		return l.take(Other, start, start+1)
	}
	delimiter := l.text[start : i+1]
	n := strings.Index(l.text[i+1:], delimiter)
	if n < 0 {
		return l.unterminated(start)
	}
	return l.take(DollarString, start, i+1+n+len(delimiter))
}

// number reads a number that begins with a digit, or with a point and a digit.
func (l *lexer) number(start int) Token {
	if l.text[start] == '0' {
		if end := l.radixEnd(start); end > 0 {
			return l.take(Integer, start, end)
		}
	}
	end := l.digitsEnd(start)
	kind := Integer
	// In 1..2 the points are a token of their own, but not in 1_0..2.
	if l.byteAt(end) == '.' && (l.byteAt(end+1) != '.' || strings.IndexByte(l.text[start:end], '_') >= 0) {
		kind = Float
		end = l.digitsEnd(end + 1)
	}
	if c := l.byteAt(end); c == 'e' || c == 'E' {
		exponent := end + 1
		if c := l.byteAt(exponent); c == '+' || c == '-' {
			exponent++
		}
		if l.digitAt(exponent) {
			kind = Float
			end = l.digitsEnd(exponent)
		}
	}
	return l.take(kind, start, end)
}

// digitsEnd is the end of digits that single underscores may divide.
func (l *lexer) digitsEnd(i int) int {
	if !l.digitAt(i) {
		return i
	}
	for l.digitAt(i) || l.byteAt(i) == '_' && l.digitAt(i+1) {
		i++
	}
	return i
}

// radixEnd is the end of a number like 0x1F, 0o17 or 0b11, or 0 where there is
// none.
func (l *lexer) radixEnd(start int) int {
	var digits string
	switch l.byteAt(start + 1) {
	case 'x', 'X':
		digits = "0123456789abcdefABCDEF"
	case 'o', 'O':
		digits = "01234567"
	case 'b', 'B':
		digits = "01"
	default:
		return 0
	}
	end := start + 2
	for i := end; i < len(l.text); i++ {
		if l.text[i] == '_' {
			if i++; i == len(l.text) {
				break
			}
		}
		if strings.IndexByte(digits, l.text[i]) < 0 {
			break
		}
		end = i + 1
	}
	if end == start+2 {
		return 0
	}
	return end
}

// operator reads an operator or =>. A comment ends it. A longer one may end in
// + or - only if it has a character that no SQL operator has, so that 1=-1
// is what it looks like.
func (l *lexer) operator(start int) Token {
	if start < l.signsEnd {
		return l.take(Operator, start, start+1)
	}
	end := start
	unusual := false
	for end < len(l.text) && byteClasses[l.text[end]]&classOperator != 0 {
		c, following := l.text[end], l.byteAt(end+1)
		if c == '-' && following == '-' || c == '/' && following == '*' {
			break
		}
		unusual = unusual || byteClasses[c]&classUnusual != 0
		end++
	}
	if !unusual {
		run := end
		for end > start+1 && (l.text[end-1] == '+' || l.text[end-1] == '-') {
			end--
		}
		l.signsEnd = run // not to be looked at again, or a run of them would take quadratic time
	}
	if l.text[start:end] == "=>" {
		return l.take(Punct, start, end)
	}
	return l.take(Operator, start, end)
}

func (l *lexer) take(kind Kind, start, end int) Token {
	l.pos = end
	return Token{kind, start, end}
}

func (l *lexer) unterminated(start int) Token {
	return l.take(Unterminated, start, len(l.text))
}

// byteAt is the byte at i, or 0 beyond the end.
func (l *lexer) byteAt(i int) byte {
	if i < len(l.text) {
		return l.text[i]
	}
	return 0
}

func (l *lexer) digitAt(i int) bool {
	return i < len(l.text) && byteClasses[l.text[i]]&classDigit != 0
}

// The classes of bytes in scan.l.
const (
	classSpace      = 1 << iota
	classDigit      // 0-9
	classIdentStart // what may begin a name: letters, _ and every byte of a non-ASCII letter
	classIdentPart  // what may follow in it: digits and $ too
	classOperator   // what operators are made of
	classUnusual    // those of them that no SQL operator has
)

var byteClasses = func() (classes [256]uint8) {
	for _, c := range []byte(" \t\n\r\f") {
		classes[c] |= classSpace
	}
	for c := '0'; c <= '9'; c++ {
		classes[c] |= classDigit | classIdentPart
	}
	for c := 'a'; c <= 'z'; c++ {
		classes[c] |= classIdentStart | classIdentPart
		classes[c-'a'+'A'] |= classIdentStart | classIdentPart
	}
	for c := 0x80; c <= 0xff; c++ {
		classes[c] |= classIdentStart | classIdentPart
	}
	classes['_'] |= classIdentStart | classIdentPart
	classes['$'] |= classIdentPart
	for _, c := range []byte("~!@#^&|`?+-*/%<>=") {
		classes[c] |= classOperator
	}
	for _, c := range []byte("~!@#^&|`?%") {
		classes[c] |= classUnusual
	}
	return classes
}()

// Part is a part of a string whose first quote is at open: where it ends, negative if
// nowhere, and the quote of the next part, negative if there is none.
func (t *Text) Part(open int, kind Kind) (end, next int) {
	l := newLexer(t.SQL, t.Standard)
	end = l.quoteEnd(open, kind == EscapeString || kind == String && l.backslashes, kind != BitString)
	if end < 0 {
		return end, -1
	}
	return end, l.continuation(end)
}
