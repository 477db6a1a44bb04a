package planner

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

// shape is a text without the literals of its calls. It is on the stack, and large.
type shape struct {
	key   [maxShape]byte // the text, with a mark in the place of each literal
	size  int            // of the key; negative: the text is too long
	open  [maxOpen]literal
	count int // of the literals
}

func (s *shape) literals() []literal { return s.open[:s.count] }

// view is the key, good for as long as s is.
func (s *shape) view() string { return unsafe.String(&s.key[0], s.size) }

func (s *shape) add(text string) {
	if s.size < 0 || copy(s.key[s.size:], text) < len(text) {
		s.size = -1
		return
	}
	s.size += len(text)
}

// literal is one that a shape leaves open.
type literal struct {
	start, end int // of the token, in the text
	value      int // where the value begins: after a quote
	number     int64
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

// find takes the literals out of a text; ok is false if it has none to take out.
func (s *shape) find(text string, standardConformingStrings bool) (ok bool) {
	if len(text) > 2*maxShape || strings.IndexByte(text, 0) >= 0 || !standardConformingStrings && strings.IndexByte(text, '\\') >= 0 {
		return false
	}
	l := newLexer(text, standardConformingStrings)
	copied, depth, named := 0, 0, false // depth of the parentheses within a call
	for t := l.next(); t.Kind != tokenEnd; t = l.next() {
		word := text[t.Start:t.End]
		switch {
		case t.Kind == tokenPunct && word == "(" && (named || depth > 0):
			depth++
		case t.Kind == tokenPunct && word == ")" && depth > 0:
			depth--
		case depth > 0:
			if open, mark := openLiteral(t, word); mark != "" && s.count < maxOpen {
				s.add(text[copied:t.Start])
				s.add(mark)
				s.open[s.count] = open
				s.count++
				copied = t.End
			}
		}
		named = t.Kind == tokenIdent && len(word) > len(namePrefix) && strings.EqualFold(word[:len(namePrefix)], namePrefix)
	}
	s.add(text[copied:])
	return s.count > 0 && s.size > 0
}

// openLiteral recognizes the literals whose value is the token as it stands: digits, and
// strings without quotes in them. What type an integer has depends on its size. mark is "" for
// every other token.
func openLiteral(t token, word string) (open literal, mark string) {
	open = literal{start: t.Start, end: t.End, value: t.Start}
	switch t.Kind {
	case tokenString:
		inner := word[1 : len(word)-1]
		if strings.IndexByte(inner, '\'') >= 0 || !utf8.ValidString(inner) {
			return open, ""
		}
		open.value++
		return open, markString
	case tokenInteger:
		n, ok := digits(word)
		if !ok {
			return open, ""
		}
		open.number = n
		if fits(n, datum.Int4) {
			return open, markInt4
		}
		return open, markInt8
	}
	return open, ""
}

// digits reads an integer that is written in decimal digits alone.
func digits(word string) (n int64, ok bool) {
	for i := range len(word) {
		if word[i] < '0' || word[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(word, 10, 64)
	return n, err == nil
}
