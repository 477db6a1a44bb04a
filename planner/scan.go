package planner

import (
	"strings"
	"unicode/utf8"
)

// namePrefix is what the names of all our functions begin with.
const namePrefix = "raisin_"

// branchSetting is the setting that holds the branch of a session.
const branchSetting = "app.branch"

// concerns says whether the text could be about us: whether scanText could
// find a call, app.branch or USE BRANCH in it. It takes a fraction of a
// nanosecond for a byte, so that texts of megabytes are let through on its word.
func concerns(text string) bool {
	for _, word := range concerningWords {
		for i := 0; ; i++ {
			n := strings.IndexByte(text[i:], word.text[word.rare])
			if n < 0 {
				break
			}
			i += n
			start := i - word.rare
			end := start + len(word.text)
			if start >= 0 && end <= len(text) && strings.EqualFold(text[start:end], word.text) {
				return true
			}
		}
	}
	return false
}

// concerningWords are what must be in a text that is about us. They are looked
// for by the byte that is the rarest in SQL, in either case.
var concerningWords = []struct {
	text string
	rare int
}{
	{namePrefix, len(namePrefix) - 1},
	{"branch", 0},
	{"BRANCH", 0},
	{"u&", 1}, // U&"\0072aisin_…" hides a name
}

// scanned is what a text is about and how large it is, found without parsing.
type scanned struct {
	Mentions      bool // a name of the caller's stands in it, outside strings and comments
	Branch        bool // app.branch stands in it, as a name or as a whole string
	Use           bool // a statement of it begins with USE BRANCH
	EscapeStrings bool // a plain string of it has backslash escapes, as standard_conforming_strings is off
	Statements    int  // statements that are not empty
	Tokens        int  // semicolons between statements do not count
	Depth, Height int  // of its statement with the greatest; see statementScan
}

// Empty says that the text has nothing but white space, comments and
// semicolons.
func (s *scanned) Empty() bool { return s.Tokens == 0 }

// scanText looks through a whole text. named says whether a name, folded as
// PostgreSQL folds it, is of interest; it is asked only for names that begin
// with namePrefix.
func scanText(text string, standardConformingStrings bool, named func(name string) bool) scanned {
	var all scanned
	statements := newStatementScanner(text, standardConformingStrings, named)
	for st, ok := statements.next(); ok; st, ok = statements.next() {
		all.Mentions = all.Mentions || st.Mentions
		all.Branch = all.Branch || st.Branch
		all.Use = all.Use || st.Use
		all.EscapeStrings = all.EscapeStrings || st.EscapeStrings
		all.Statements++
		all.Tokens += st.Tokens
		all.Depth = max(all.Depth, st.Depth)
		all.Height = max(all.Height, st.Height)
	}
	return all
}

// statementScan is one statement of a text that is not empty.
type statementScan struct {
	Start, End    int    // from its first token to the end of its last, without the semicolon
	Keyword       string // its first word as it is written; "" if it begins with anything else
	Mentions      bool   // these four as in scanned
	Branch        bool
	Use           bool
	EscapeStrings bool
	Tokens        int

	// Depth is how deep brackets and CASE are nested. Height bounds the height
	// of the parse tree: no way from its root to a leaf has more tokens. Both
	// are for texts within maxTextBytes only; a Depth beyond maxDepth is no
	// longer exact, and Height is not then either.
	Depth, Height int

	value token // the third token: of USE BRANCH, the branch
}

// A statementScanner takes a text apart into statements. They end at
// semicolons outside parentheses, or outside the body of a CREATE FUNCTION …
// BEGIN ATOMIC … END.
type statementScanner struct {
	lex          lexer
	named        func(string) bool
	parens       int
	atomic       bool  // within BEGIN ATOMIC … END
	cases        int   // how many CASE are open there
	last, before token // the two tokens before this one
	nesting      nesting
}

func newStatementScanner(text string, standardConformingStrings bool, named func(name string) bool) statementScanner {
	return statementScanner{lex: newLexer(text, standardConformingStrings), named: named}
}

// next returns the next statement that is not empty.
func (s *statementScanner) next() (st statementScan, ok bool) {
	t := s.lex.next()
	for s.is(t, ';') {
		t = s.lex.next()
	}
	if t.Kind == tokenEnd {
		return st, false
	}
	st.Start = t.Start
	if t.Kind == tokenIdent {
		st.Keyword = s.text(t)
	}
	s.parens, s.atomic, s.cases = 0, false, 0
	s.last, s.before = token{}, token{}
	s.nesting.begin(len(s.lex.text) <= maxTextBytes)
	for t.Kind != tokenEnd && !s.ends(t, &st) {
		s.look(t, &st)
		s.before, s.last = s.last, t
		t = s.lex.next()
	}
	st.Depth, st.Height = s.nesting.end()
	return st, true
}

// ends says whether the token is the semicolon after the statement.
func (s *statementScanner) ends(t token, st *statementScan) bool {
	switch {
	case s.is(t, '('):
		s.parens++
	case s.is(t, ')'):
		s.parens = max(0, s.parens-1)
	case s.is(t, ';'):
		return s.parens == 0 && !s.atomic
	case s.isWord(t, "atomic") && s.isWord(s.last, "begin"):
		s.atomic = foldsTo(st.Keyword, "create")
	case s.atomic && s.isWord(t, "case"):
		s.cases++
	case s.atomic && s.isWord(t, "end"):
		s.cases--
		s.atomic = s.cases >= 0
	}
	return false
}

// look takes note of a token of the statement.
func (s *statementScanner) look(t token, st *statementScan) {
	st.Tokens++
	st.End = t.End
	switch st.Tokens {
	case 2:
		st.Use = s.isWord(t, "branch") && foldsTo(st.Keyword, "use")
	case 3:
		st.value = t
	}
	text := s.text(t)
	switch t.Kind {
	case tokenIdent, tokenQuotedIdent, tokenUnicodeIdent:
		name := s.name(t)
		if t.Kind == tokenIdent && len(name) >= len(namePrefix) && foldsTo(name[:len(namePrefix)], namePrefix) {
			name = foldName(name)
		}
		if strings.HasPrefix(name, namePrefix) && s.named(name) {
			st.Mentions = true
		}
		if s.is(s.last, '.') && foldsTo(name, "branch") && foldsTo(s.name(s.before), "app") {
			st.Branch = true
		}
	case tokenString, tokenEscapeString, tokenDollarString:
		if len(text) > len(branchSetting) && foldsTo(strings.Trim(text, "eE'$"), branchSetting) {
			st.Branch = true
		}
		if t.Kind == tokenString && s.lex.backslashes && strings.IndexByte(text, '\\') >= 0 {
			st.EscapeStrings = true
		}
	}
	s.nesting.add(t, text, s.is(s.last, '.'))
	if t.Kind == tokenOperator && s.last.Kind == tokenOperator && s.last.End == t.Start {
		s.nesting.addSign()
	}
}

func (s *statementScanner) text(t token) string { return s.lex.text[t.Start:t.End] }

// is says whether the token is this punctuation.
func (s *statementScanner) is(t token, punct byte) bool {
	return t.Kind == tokenPunct && t.End == t.Start+1 && s.lex.text[t.Start] == punct
}

// isWord says whether the token is this keyword or unquoted name.
func (s *statementScanner) isWord(t token, word string) bool {
	return t.Kind == tokenIdent && foldsTo(s.text(t), word)
}

// name is the name that a token is, without its quotes but not folded, or ""
// if it is none.
func (s *statementScanner) name(t token) string {
	text := s.text(t)
	switch t.Kind {
	case tokenIdent:
		return text
	case tokenQuotedIdent:
		return text[1 : len(text)-1] // no name of interest has a quote in it
	case tokenUnicodeIdent:
		return unicodeName(text[3:len(text)-1], s.unicodeEscape())
	}
	return ""
}

// unicodeEscape is the escape character of the U& token that was read last.
func (s *statementScanner) unicodeEscape() byte {
	ahead := s.lex
	if !s.isWord(ahead.next(), "uescape") {
		return '\\'
	}
	t := ahead.next()
	if t.Kind == tokenString && t.End-t.Start == len("'!'") {
		return s.lex.text[t.Start+1]
	}
	return '\\'
}

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
	var r rune
	for _, c := range []byte(digits[:count]) {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, utf8.ValidRune(r)
}

// nesting measures the Depth and Height of a statement. It goes by brackets,
// commas and a few keywords, and errs on the side of too much: for a statement
// that parses, the parse tree is never higher than Height times a small factor,
// which the tests of the limits measure.
type nesting struct {
	measuring bool
	depth     int // of the current level
	deepest   int
	levels    [maxDepth + 1]nestingLevel
}

// levelHeight is what a level adds to the height beyond its tokens: what it may
// be nested in without a token of its own in the same element, such as CASE,
// WHEN, OR and AND in CASE WHEN a OR b AND CASE WHEN ….
const levelHeight = 3

// A nestingLevel is what one pair of brackets or CASE … END holds. It is a
// list of elements, side by side in the parse tree, which commas, AND and OR
// divide, and WHEN, THEN and ELSE in a CASE.
type nestingLevel struct {
	run     int32 // the tokens of the current element, what its brackets hold excluded
	below   int32 // the height of the highest brackets in the current element
	highest int32 // the height of the highest element before the current one
	// links counts the words that nest all to their left, be it divided by
	// commas or not: UNION, INTERSECT, EXCEPT and JOIN.
	links  int32
	ranges int32 // BETWEEN whose AND has not come yet
	isCase bool
}

func (n *nesting) begin(measuring bool) {
	n.measuring, n.depth, n.deepest = measuring, 0, 0
	n.levels[0] = nestingLevel{}
}

// add takes the next token. A qualified word follows a point, and so is a name
// even where it is spelled like a keyword.
func (n *nesting) add(t token, text string, qualified bool) {
	if !n.measuring {
		return
	}
	level := &n.levels[n.depth]
	level.run++
	switch t.Kind {
	case tokenPunct:
		switch text {
		case "(", "[":
			n.open(false)
		case ")", "]":
			n.closeBracket()
		case ",", ";":
			level.divide()
		}
	case tokenIdent:
		if !qualified {
			n.word(level, text)
		}
	}
}

// addSign lets an operator that another stands before without a space count for
// more: PostgreSQL's scanner reads +-+-+- to its end for every sign, in quadratic
// time.
func (n *nesting) addSign() {
	const weight = 16
	if level := &n.levels[n.depth]; n.measuring && level.run <= maxHeight {
		level.run += weight
	}
}

// word takes note of the keywords that matter. All but JOIN and BETWEEN are
// reserved: unless a point or AS stands before them, they are no names.
func (n *nesting) word(level *nestingLevel, text string) {
	switch len(text) {
	case 2:
		if foldsTo(text, "or") {
			level.divide()
		}
	case 3:
		switch {
		case level.isCase && foldsTo(text, "end"):
			n.close()
		case !foldsTo(text, "and"):
		case level.ranges > 0:
			level.ranges-- // x BETWEEN 1 AND NOT y BETWEEN 2 AND NOT z … nests to the right
		default:
			level.divide()
		}
	case 4:
		switch {
		case foldsTo(text, "case"):
			n.open(true)
		case foldsTo(text, "join"):
			level.links++
		case level.isCase && (foldsTo(text, "when") || foldsTo(text, "then") || foldsTo(text, "else")):
			level.divide()
		}
	case len("union"), len("except"):
		if foldsTo(text, "union") || foldsTo(text, "except") {
			level.links++
			level.divide()
		}
	case len("between"):
		if foldsTo(text, "between") {
			level.ranges++
		}
	case len("intersect"):
		if foldsTo(text, "intersect") {
			level.links++
			level.divide()
		}
	}
}

func (n *nesting) open(isCase bool) {
	if n.depth == maxDepth {
		n.deepest, n.measuring = maxDepth+1, false
		return
	}
	n.depth++
	n.deepest = max(n.deepest, n.depth)
	n.levels[n.depth] = nestingLevel{isCase: isCase}
}

// closeBracket closes what the bracket closes, and a CASE within that has no
// END: it was a name.
func (n *nesting) closeBracket() {
	for n.depth > 0 {
		isCase := n.levels[n.depth].isCase
		n.close()
		if !isCase {
			return
		}
	}
}

func (n *nesting) close() {
	if n.depth == 0 {
		return
	}
	height := n.levels[n.depth].height()
	n.depth--
	outer := &n.levels[n.depth]
	outer.below = max(outer.below, height+levelHeight)
}

// end returns the measures of the whole statement.
func (n *nesting) end() (depth, height int) {
	for n.depth > 0 {
		n.close()
	}
	return n.deepest, int(n.levels[0].height())
}

// divide ends the current element.
func (l *nestingLevel) divide() {
	l.highest = max(l.highest, l.run+l.below)
	l.run, l.below, l.ranges = 0, 0, 0
}

func (l *nestingLevel) height() int32 {
	return l.links + max(l.highest, l.run+l.below)
}

// foldName folds an unquoted name as PostgreSQL does in a UTF8 database: only
// ASCII letters.
func foldName(name string) string {
	if foldsTo(name, name) {
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

// foldsTo says whether the text is the word, which is in lower case, in any
// case of ASCII letters.
func foldsTo(text, word string) bool {
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
