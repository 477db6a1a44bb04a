package planner

import (
	"slices"
	"strings"

	"raisinproxy/planner/expr"
	"raisinproxy/planner/local"
	"raisinproxy/planner/pgparse"
	"raisinproxy/planner/plan"
	"raisinproxy/planner/sqltext"
	"raisinproxy/sqlfuncs/datum"
)

// template is a plan for all texts of one shape.
type template struct {
	script *plan.Script
	slots  []slot
	count  int // of the literals
	// calls are those of the statement, if literals say whether one of them waits in line.
	calls []*expr.Call
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
	script     plan.Script
	statement  plan.Statement
	statements [1]*plan.Statement
	values     [maxFilled]datum.Datum
}

// fill makes the plan of a text of the shape that t is for. ok is false if
// this text has to be planned for itself: a literal is none of the type that it is
// needed for, and the error says where it stands.
func (t *template) fill(text string, literals []sqltext.Literal) (script *plan.Script, ok bool) {
	if len(literals) != t.count {
		return nil, false
	}
	f := &filled{}
	text = strings.Clone(text)
	values := f.values[:0]
	for _, slot := range t.slots {
		v, ok := literals[slot.literal].As(slot.t, text)
		if !ok {
			return nil, false
		}
		values = append(values, v)
	}
	f.script, f.statement, f.statements[0] = *t.script, *t.script.Statements[0], &f.statement
	f.script.Statements = f.statements[:]
	f.statement.Text = text[t.start : len(text)-t.tail]
	f.statement.Literals = values
	if t.calls != nil {
		f.statement.Waits = local.Waits(t.calls, values)
	}
	return &f.script, true
}

// fromShape makes the plan of a text from one of its shape that is in the cache.
func (p *Planner) fromShape(text *sqltext.Text, o plan.Options) (*plan.Script, bool) {
	var s sqltext.Shape
	if !s.Find(text) {
		return nil, false
	}
	kept, ok := p.cache.get(keyOf(o, s.View(), text.Standard))
	if !ok || kept.template == nil {
		return nil, false
	}
	return kept.template.fill(text.SQL, s.Literals())
}

// keep puts a plan into the cache: under the shape of its text, if it can be used for
// others of that shape. It returns the plan of this text.
func (p *Planner) keep(text *sqltext.Text, o plan.Options, script *plan.Script) *plan.Script {
	var s sqltext.Shape
	if s.Find(text) {
		if t := newTemplate(script, text.SQL, s.Literals()); t != nil {
			p.cache.put(keyOf(o, strings.Clone(s.View()), text.Standard), cached{template: t})
			own, _ := t.fill(text.SQL, s.Literals()) // it was seen that it can be
			return own
		}
	}
	p.cache.put(keyOf(o, text.SQL, text.Standard), cached{script: script})
	return script
}

// newTemplate makes a template of a plan if every literal is nothing but a value in an
// argument of a call; else it returns nil.
func newTemplate(s *plan.Script, text string, literals []sqltext.Literal) *template {
	if s.Err != nil || len(s.Notices) > 0 || len(s.Statements) != 1 {
		return nil
	}
	st := s.Statements[0]
	query, ok := st.Action.(*local.Select)
	if !ok || st.Err != nil {
		return nil
	}
	byStart := make(map[int32]int, len(literals))
	for i, l := range literals {
		byStart[int32(l.Start)] = i
	}
	var places []*expr.Constant
	var slots []slot
	filled := map[int]bool{}
	for _, call := range query.Calls {
		for _, arg := range call.Args {
			expr.Walk(arg, func(e expr.Expr) {
				k, ok := e.(*expr.Constant)
				if !ok || !k.Written {
					return
				}
				i, ok := byStart[k.Pos]
				if ok {
					_, ok = literals[i].As(k.T, text)
				}
				if ok && !slices.Contains(places, k) {
					places, slots = append(places, k), append(slots, slot{i, k.T})
					filled[i] = true
				}
			})
		}
	}
	if len(filled) != len(literals) {
		return nil
	}
	for i, k := range places {
		k.Slot = i + 1
	}
	start := pgparse.ByteOffset(text, st.Start)
	t := &template{script: s, slots: slots, count: len(literals), start: start, tail: len(text) - start - len(st.Text)}
	if local.Waits(query.Calls, nil) != nil {
		t.calls = query.Calls
	}
	return t
}
