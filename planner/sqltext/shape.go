package sqltext

import (
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"

	"raisinproxy/sqlfuncs/datum"
)

// Texts that differ only in the literals that their calls get share one plan, which
// leaves these open: in the simple protocol every key and every token makes another text,
// and parsing is what costs. docs/decisions/0018 has the reasons.

// Shape is a text without the literals of its calls. It is on the stack, and large.
type Shape struct {
	key   [maxShape]byte // the text, with a mark in the place of each literal
	size  int            // of the key; negative: the text is too long
	open  [maxOpen]Literal
	count int // of the literals
}

// Literals are those that were taken out, in the order of the text.
func (s *Shape) Literals() []Literal { return s.open[:s.count] }

// View is the key, good for as long as s is.
func (s *Shape) View() string { return unsafe.String(&s.key[0], s.size) }

func (s *Shape) add(text string) {
	if s.size < 0 || copy(s.key[s.size:], text) < len(text) {
		s.size = -1
		return
	}
	s.size += len(text)
}

// Literal is one that a shape leaves open.
type Literal struct {
	Start  int // of the token, in the text
	end    int
	value  int // where the value begins: after a quote
	number int64
}

// maxShape bounds shapes, in bytes, and maxOpen what they leave open. Longer texts are
// planned each.
const (
	maxShape = 512
	maxOpen  = 8
)

// The marks. No text that a client sends has a zero byte.
const (
	markString = "\x00s"
	markInt4   = "\x00i"
	markInt8   = "\x00l"
)

// Find takes the literals out of a text; ok is false if it has none to take out.
func (s *Shape) Find(t *Text) (ok bool) {
	text := t.SQL
	if len(text) > 2*maxShape || strings.IndexByte(text, 0) >= 0 || !t.Standard && strings.IndexByte(text, '\\') >= 0 {
		return false
	}
	copied, depth, named := 0, 0, false // depth of the parentheses within a call
	for _, token := range t.Tokens() {
		word := t.Word(token)
		switch {
		case token.Kind == Punct && word == "(" && (named || depth > 0):
			depth++
		case token.Kind == Punct && word == ")" && depth > 0:
			depth--
		case depth > 0:
			if open, mark := openLiteral(token, word); mark != "" && s.count < maxOpen {
				s.add(text[copied:token.Start])
				s.add(mark)
				s.open[s.count] = open
				s.count++
				copied = token.End
			}
		}
		named = token.Kind == Ident && HasPrefix(word)
	}
	s.add(text[copied:])
	return s.count > 0 && s.size > 0
}

// openLiteral recognizes the literals whose value is the token as it stands: digits, and
// strings without quotes in them. What type an integer has depends on its size. mark is "" for
// every other token.
func openLiteral(t Token, word string) (open Literal, mark string) {
	open = Literal{Start: t.Start, end: t.End, value: t.Start}
	switch t.Kind {
	case String:
		inner := word[1 : len(word)-1]
		if strings.IndexByte(inner, '\'') >= 0 || !utf8.ValidString(inner) {
			return open, ""
		}
		open.value++
		return open, markString
	case Integer:
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil { // such as 0x1F
			return open, ""
		}
		open.number = n
		if n == int64(int32(n)) {
			return open, markInt4
		}
		return open, markInt8
	}
	return open, ""
}

// As is the value of a literal as a type.
func (l *Literal) As(t datum.Type, text string) (v datum.Datum, ok bool) {
	if l.value == l.Start {
		return datum.OfInt(l.number), true // of the size that its mark says
	}
	v, err := datum.Parse(t, text[l.value:l.end-1])
	return v, err == nil
}
