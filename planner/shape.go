package planner

import (
	"slices"
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

// template is how a plan is made for another text of its shape.
type template struct {
	slots []slot
	count int // of the literals
	// start and tail are how many bytes of a text stand before and after its statement.
	start, tail int
}

// slot is a place in the plan that a literal fills.
type slot struct {
	literal int
	t       datum.Type
}

// maxFilled is the number of slots that are filled without an allocation of their own.
const maxFilled = 4

// filled is a plan for one text, in one piece of memory.
type filled struct {
	script     Script
	statement  Statement
	statements [1]*Statement
	values     [maxFilled]datum.Datum
}

// fill makes the plan of a text of the shape that s is the plan of. ok is false if
// this text has to be planned for itself: a literal is none of the type that it is
// needed for, and the error says where it stands.
func (s *Script) fill(text string, literals []literal) (script *Script, ok bool) {
	if len(literals) != s.template.count {
		return nil, false
	}
	f := &filled{}
	text = strings.Clone(text)
	values := f.values[:0]
	for _, slot := range s.template.slots {
		v, ok := literals[slot.literal].as(slot.t, text)
		if !ok {
			return nil, false
		}
		values = append(values, v)
	}
	f.script, f.statement, f.statements[0] = *s, *s.Statements[0], &f.statement
	f.script.Statements, f.script.template = f.statements[:], nil
	f.statement.Text = text[s.template.start : len(text)-s.template.tail]
	f.statement.literals = values
	return &f.script, true
}

// as is the value of a literal as a type.
func (l *literal) as(t datum.Type, text string) (v datum.Datum, ok bool) {
	if l.value == l.start {
		return datum.OfInt(l.number), true // of the size that its mark says
	}
	v, err := datum.Parse(t, text[l.value:l.end-1])
	return v, err == nil
}

// fromShape makes the plan of a text from one of its shape that is in the cache.
func (p *Planner) fromShape(text string, o Options) (*Script, bool) {
	var s shape
	if !s.find(text, o.Standard) {
		return nil, false
	}
	plan, ok := p.cache.get(o.key(s.view()))
	if !ok || plan.template == nil {
		return nil, false
	}
	return plan.fill(text, s.literals())
}

// keep puts a plan into the cache: under the shape of its text, if it can be used for
// others of that shape. It returns the plan of this text.
func (p *Planner) keep(text string, o Options, script *Script) *Script {
	var s shape
	if s.find(text, o.Standard) && script.open(text, s.literals()) {
		p.cache.put(o.key(strings.Clone(s.view())), script)
		own, _ := script.fill(text, s.literals()) // open has seen that it can be
		return own
	}
	p.cache.put(o.key(text), script)
	return script
}

// open makes a template of a plan if every literal is nothing but a value in an argument
// of a call.
func (s *Script) open(text string, literals []literal) bool {
	if s.Err != nil || len(s.Notices) > 0 || len(s.Statements) != 1 {
		return false
	}
	st := s.Statements[0]
	query, ok := st.Action.(*Select)
	if !ok || st.Err != nil || query.catalog != nil {
		return false
	}
	byStart := make(map[int32]int, len(literals))
	for i, l := range literals {
		byStart[int32(l.start)] = i
	}
	var places []*constant
	var slots []slot
	filled := map[int]bool{}
	for _, call := range st.Calls {
		for _, arg := range call.Args {
			walk(arg, func(e expr) {
				k, ok := e.(*constant)
				if !ok || !k.written {
					return
				}
				i, ok := byStart[k.pos]
				if ok {
					_, ok = literals[i].as(k.t, text)
				}
				if ok && !slices.Contains(places, k) {
					places, slots = append(places, k), append(slots, slot{i, k.t})
					filled[i] = true
				}
			})
		}
	}
	if len(filled) != len(literals) {
		return false
	}
	for i, k := range places {
		k.slot = i + 1
	}
	s.template = &template{slots: slots, count: len(literals), start: st.offset, tail: len(text) - st.offset - len(st.Text)}
	return true
}
