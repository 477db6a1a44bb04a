package sqltext

import "strings"

// MaxTokens is how many tokens a text may have of which anything is made. Of a longer one
// it is only said what it is about.
const MaxTokens = 20000

// A Text is SQL and its tokens, which are found once, when they are first asked for, and
// looked at by all that follows: what the text is about, its shape, the limits of what is
// parsed, the text for the parser, and the texts that are spliced from it. It is for one
// goroutine.
type Text struct {
	SQL string
	// Standard is the standard_conforming_strings by which it is read.
	Standard bool

	tokens []Token
	buffer *[]Token // where tokens are; nil: they have not been asked for
	rest   lexer    // behind tokens
	passes int      // how often the text was read
	about  about
	known  bool // about is
}

// New is a text that is read as a session would that has the given setting of
// standard_conforming_strings.
func New(sql string, standardConformingStrings bool) *Text {
	return &Text{SQL: sql, Standard: standardConformingStrings}
}

// maxKept leaves room for a semicolon behind every token.
const maxKept = 2 * MaxTokens

// buffers are those of texts that were released: as many as texts are read at once. A sync.Pool loses
// one by chance under the race detector, and then what is allocated cannot be told.
var buffers = make(chan *[]Token, 16)

func takeBuffer() *[]Token {
	select {
	case buffer := <-buffers:
		return buffer
	default:
		return new([]Token)
	}
}

// Tokens are those of the text, without the one that ends it, up to some more than
// MaxTokens; see Whole.
func (t *Text) Tokens() []Token {
	if t.buffer == nil {
		t.read()
	}
	return t.tokens
}

func (t *Text) read() {
	t.passes++
	t.buffer = takeBuffer()
	tokens, l := (*t.buffer)[:0], newLexer(t.SQL, t.Standard)
	for len(tokens) < maxKept {
		token := l.next()
		if token.Kind == End {
			break
		}
		tokens = append(tokens, token)
	}
	t.tokens, t.rest, *t.buffer = tokens, l, tokens
}

// Passes is how often the text was read from its beginning to its end: once.
func (t *Text) Passes() int { return t.passes }

// Whole says whether Tokens are all tokens of the text.
func (t *Text) Whole() bool {
	t.Tokens()
	rest := t.rest
	return rest.next().Kind == End
}

// Equal says whether both are the same and read the same.
func (t *Text) Equal(o *Text) bool { return t.SQL == o.SQL && t.Standard == o.Standard }

// Keep is the text with a string of its own, for when the bytes that it is of are gone. It
// takes the tokens along.
func (t *Text) Keep() *Text {
	kept := *t
	kept.SQL = strings.Clone(t.SQL)
	kept.rest.text = kept.SQL
	t.buffer, t.tokens = nil, nil
	return &kept
}

// Release gives the memory of the tokens to the next text. They cannot be used any more.
func (t *Text) Release() {
	const most = 1024 // of the tokens of a statement in earnest
	if t.buffer != nil && cap(*t.buffer) <= most {
		select {
		case buffers <- t.buffer:
		default: // there are enough
		}
	}
	t.buffer, t.tokens = nil, nil
}

// Word is the text of a token.
func (t *Text) Word(token Token) string { return t.SQL[token.Start:token.End] }

// TokenFrom is the token that begins at a place or after it, which need not be where
// another one ends.
func (t *Text) TokenFrom(pos int) Token {
	l := newLexer(t.SQL, t.Standard)
	l.pos = pos
	return l.next()
}

// Between are the tokens that begin in a part of the text.
func (t *Text) Between(start, end int) []Token {
	tokens := t.Tokens()
	return tokens[first(tokens, start):first(tokens, end)]
}
