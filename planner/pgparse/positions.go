package pgparse

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

// Positions leads from the text that pg_query got back to the user's.
type Positions struct {
	User    string // the user's text
	parsed  string
	inserts []insertion // in parsed, in its order
}

type insertion struct {
	at, length int
	before     int // the lengths of those before it
}

// insert notes that the parsed text has so many bytes at a place that the user's has not.
func (p *Positions) insert(at, length int) {
	in := insertion{at: at, length: length}
	if n := len(p.inserts); n > 0 {
		in.before = p.inserts[n-1].before + p.inserts[n-1].length
	}
	p.inserts = append(p.inserts, in)
}

// Offset is where in the user's text, in bytes, a location in the parse tree
// is; -1 if there is none.
func (p *Positions) Offset(location int32) int {
	after, _ := slices.BinarySearchFunc(p.inserts, int(location), func(in insertion, at int) int { return cmp.Compare(in.at, at) })
	if after == 0 {
		return int(location)
	}
	last := p.inserts[after-1]
	return int(location) - last.before - min(last.length, int(location)-last.at)
}

// Char is the position of a location in the parse tree as an error report gives
// it: in characters of the user's text, from 1; 0 if there is none.
func (p *Positions) Char(location int32) int {
	if location < 0 {
		return 0
	}
	return p.Character(p.Offset(location))
}

// Character is the position in characters of an offset in the user's text.
func (p *Positions) Character(offset int) int {
	return utf8.RuneCountInString(p.User[:min(offset, len(p.User))]) + 1
}

// Characters counts from the beginning of the text.
func (p *Positions) Characters() *Characters { return &Characters{Positions: p} }

// Characters counts the characters of a text up to places that come in about their order,
// so that thousands of statements do not each count from its beginning. It is for one
// goroutine.
type Characters struct {
	*Positions

	offset, count int // of the last place, in bytes and in characters
}

// Before is how many characters there are before an offset in the user's text.
func (c *Characters) Before(offset int) int {
	offset = min(offset, len(c.User))
	if offset < c.offset {
		c.count -= utf8.RuneCountInString(c.User[offset:c.offset])
	} else {
		c.count += utf8.RuneCountInString(c.User[c.offset:offset])
	}
	c.offset = offset
	return c.count
}

// Char is that of Positions.
func (c *Characters) Char(location int32) int {
	if location < 0 {
		return 0
	}
	return c.Before(c.Offset(location)) + 1
}

// ByteOffset is where the character with this number, from 0, begins.
func ByteOffset(text string, character int) int {
	for i := range text {
		if character == 0 {
			return i
		}
		character--
	}
	return len(text)
}
