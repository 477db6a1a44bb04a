package sqltext

import (
	"sort"
	"strings"

	"raisinproxy/sqlfuncs"
)

// Statement is one statement of a text that is not empty.
type Statement struct {
	Start, End int    // from its first token to the end of its last, without the semicolon
	First      int    // the number of its first token
	Tokens     int    // how many it has
	Keyword    string // its first word as it is written; "" if it begins with anything else
	Mentions   bool   // a function of the proxy's stands in it, outside strings and comments
	Branch     bool   // app.branch stands in it, as a name or as a whole string
	Use        bool   // it begins with USE BRANCH
}

// about is what the statements of a text have in common.
type about struct {
	Mentions, Branch, Use bool
	tokens                int
}

// About says what a text is about.
func (t *Text) aboutIt() *about {
	if t.known {
		return &t.about
	}
	all := about{}
	statements := t.Statements()
	for st, ok := statements.Next(); ok; st, ok = statements.Next() {
		all.Mentions = all.Mentions || st.Mentions
		all.Branch = all.Branch || st.Branch
		all.Use = all.Use || st.Use
		all.tokens += st.Tokens
	}
	t.about, t.known = all, true
	return &t.about
}

// Empty says that a text has nothing but white space, comments and semicolons.
func (t *Text) Empty() bool { return t.aboutIt().tokens == 0 }

// Mentions says whether a function of the proxy's stands in a text.
func (t *Text) Mentions() bool { return t.aboutIt().Mentions }

// Count is how many tokens the statements of a text have.
func (t *Text) Count() int { return t.aboutIt().tokens }

// Statements takes the text apart. Statements end at semicolons outside parentheses, or
// outside the body of a CREATE FUNCTION … BEGIN ATOMIC … END.
func (t *Text) Statements() Statements {
	return Statements{text: t, reader: reader{tokens: t.Tokens(), rest: t.rest}}
}

// Statements are those of a text, one after the other.
type Statements struct {
	reader
	text         *Text
	parens       int
	atomic       bool  // within BEGIN ATOMIC … END
	cases        int   // how many CASE are open there
	last, before Token // the two tokens before this one
}

// reader goes through the tokens of a text, and on where they end.
type reader struct {
	tokens []Token
	at     int
	rest   lexer
}

func (r *reader) next() Token {
	r.at++
	if r.at <= len(r.tokens) {
		return r.tokens[r.at-1]
	}
	return r.rest.next()
}

// Next returns the next statement that is not empty.
func (s *Statements) Next() (st Statement, ok bool) {
	t := s.next()
	for s.is(t, ';') {
		t = s.next()
	}
	if t.Kind == End {
		return st, false
	}
	st.Start, st.First = t.Start, s.at-1
	if t.Kind == Ident {
		st.Keyword = s.text.Word(t)
	}
	s.parens, s.atomic, s.cases = 0, false, 0
	s.last, s.before = Token{}, Token{}
	for t.Kind != End && !s.ends(t, &st) {
		s.look(t, &st)
		s.before, s.last = s.last, t
		t = s.next()
	}
	return st, true
}

// ends says whether the token is the semicolon after the statement.
func (s *Statements) ends(t Token, st *Statement) bool {
	switch {
	case s.is(t, '('):
		s.parens++
	case s.is(t, ')'):
		s.parens = max(0, s.parens-1)
	case s.is(t, ';'):
		return s.parens == 0 && !s.atomic
	case s.isWord(t, "atomic") && s.isWord(s.last, "begin"):
		s.atomic = FoldsTo(st.Keyword, "create")
	case s.atomic && s.isWord(t, "case"):
		s.cases++
	case s.atomic && s.isWord(t, "end"):
		s.cases--
		s.atomic = s.cases >= 0
	}
	return false
}

// look takes note of a token of the statement.
func (s *Statements) look(t Token, st *Statement) {
	st.Tokens++
	st.End = t.End
	if st.Tokens == 2 {
		st.Use = s.isWord(t, "branch") && FoldsTo(st.Keyword, "use")
	}
	switch t.Kind {
	case Ident, QuotedIdent, UnicodeIdent:
		name := s.name(t)
		if t.Kind == Ident && HasPrefix(name) {
			name = FoldName(name)
		}
		if strings.HasPrefix(name, namePrefix) && isFunction(name) {
			st.Mentions = true
		}
		if s.is(s.last, '.') && FoldsTo(name, "branch") && FoldsTo(s.name(s.before), "app") {
			st.Branch = true
		}
	case String, EscapeString, DollarString:
		text := s.text.Word(t)
		if len(text) > len(BranchSetting) && FoldsTo(strings.Trim(text, "eE'$"), BranchSetting) {
			st.Branch = true
		}
	}
}

func isFunction(name string) bool {
	_, ok := sqlfuncs.Lookup(name)
	return ok
}

// is says whether the token is this punctuation.
func (s *Statements) is(t Token, punct byte) bool {
	return t.Kind == Punct && t.End == t.Start+1 && s.text.SQL[t.Start] == punct
}

// isWord says whether the token is this keyword or unquoted name.
func (s *Statements) isWord(t Token, word string) bool {
	return t.Kind == Ident && FoldsTo(s.text.Word(t), word)
}

// name is the name that a token is, without its quotes but not folded, or ""
// if it is none.
func (s *Statements) name(t Token) string {
	text := s.text.Word(t)
	switch t.Kind {
	case Ident:
		return text
	case QuotedIdent:
		return text[1 : len(text)-1] // no name of interest has a quote in it
	case UnicodeIdent:
		return unicodeName(text[3:len(text)-1], s.unicodeEscape(t))
	}
	return ""
}

// unicodeEscape is the escape character of a U& token.
func (s *Statements) unicodeEscape(t Token) byte {
	word := s.text.TokenFrom(t.End)
	escape := s.text.TokenFrom(word.End)
	if s.isWord(word, "uescape") && escape.Kind == String && escape.End-escape.Start == len("'!'") {
		return s.text.SQL[escape.Start+1]
	}
	return '\\'
}

// first is the number of the first token that begins at a place or after it.
func first(tokens []Token, pos int) int {
	return sort.Search(len(tokens), func(i int) bool { return tokens[i].Start >= pos })
}
