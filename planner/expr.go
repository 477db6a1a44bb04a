package planner

import "raisinproxy/sqlfuncs/datum"

// expr is a typed expression. It is immutable once the statement is compiled.
type expr interface {
	typ() datum.Type
	eval(f *exprFrame) (datum.Datum, error)
	// operands are the direct inputs, for walking the tree.
	operands() []expr
}

// constant is a literal, already of its type. A literal whose type no context
// has decided yet is of type unknown.
type constant struct {
	t   datum.Type
	val datum.Datum
	pos int32 // byte offset in the parsed text, for errors of a later coercion
	// written: it stands in the text at pos, and its value is what is written there.
	written bool
	// slot, if not 0, is the number of the literal that is its value, from 1: the plan is
	// one for all texts of a shape.
	slot int
}

func (e *constant) typ() datum.Type { return e.t }
func (e *constant) eval(f *exprFrame) (datum.Datum, error) {
	if e.slot > 0 {
		return f.literals[e.slot-1], nil
	}
	return e.val, nil
}
func (e *constant) operands() []expr { return nil }

// param is a reference to $number. Its type is unknown until a context decides.
type param struct {
	number int
	t      datum.Type
	pos    int32
}

func (e *param) typ() datum.Type { return e.t }
func (e *param) eval(f *exprFrame) (datum.Datum, error) {
	return f.Params[e.number-1], nil
}
func (e *param) operands() []expr { return nil }

// callScalar is a call in an expression: jsonb, or its only column.
type callScalar struct{ call *Call }

func (e *callScalar) typ() datum.Type { return e.call.Func.Scalar }
func (e *callScalar) eval(f *exprFrame) (datum.Datum, error) {
	row, err := e.call.result(f)
	if err != nil {
		return datum.Null, err
	}
	if e.typ() != datum.JSONB {
		return row[0], nil
	}
	return datum.OfText(string(e.call.Func.AppendScalar(nil, row))), nil
}
func (e *callScalar) operands() []expr { return e.call.Args }

// callColumn is a column of a call: of a FROM item, or (f(…)).column.
type callColumn struct {
	call   *Call
	column int
	inFrom bool
}

func (e *callColumn) typ() datum.Type { return e.call.Func.Columns[e.column].Type }
func (e *callColumn) eval(f *exprFrame) (datum.Datum, error) {
	row, err := e.call.result(f)
	if err != nil {
		return datum.Null, err
	}
	return row[e.column], nil
}
func (e *callColumn) operands() []expr {
	if e.inFrom {
		return nil
	}
	return e.call.Args
}

// valuesColumn is a column of a VALUES list in FROM.
type valuesColumn struct {
	column int
	t      datum.Type
}

func (e *valuesColumn) typ() datum.Type { return e.t }
func (e *valuesColumn) eval(f *exprFrame) (datum.Datum, error) {
	return f.tuple[e.column].eval(f)
}
func (e *valuesColumn) operands() []expr { return nil }

// derived is a column of a subquery or of a WITH query, which is a single row. It is
// computed once, when it is first used, and what there is to know of it was found when
// it was made: queries that build on each other would double the work each time.
type derived struct {
	inner    expr
	slot     int // in Frame.derived
	early    bool
	fallible bool
	session  bool
}

func newDerived(inner expr, slot int) *derived {
	e := &derived{inner: inner, slot: slot}
	e.early, e.fallible = early(inner)
	e.session = usesSession(inner)
	return e
}

// memo is the value of a derived column.
type memo struct {
	done bool
	val  datum.Datum
	err  error
}

func (e *derived) typ() datum.Type { return e.inner.typ() }
func (e *derived) eval(f *exprFrame) (datum.Datum, error) {
	for len(f.derived) <= e.slot {
		f.derived = append(f.derived, memo{})
	}
	if !f.derived[e.slot].done {
		v, err := e.inner.eval(f)
		f.derived[e.slot] = memo{true, v, err}
	}
	m := &f.derived[e.slot]
	return m.val, m.err
}
func (e *derived) operands() []expr { return nil }

// strict1 is an operation on one value that yields NULL for NULL.
type strict1 struct {
	t        datum.Type
	arg      expr
	apply    func(datum.Datum) (datum.Datum, error)
	fallible bool
}

func (e *strict1) typ() datum.Type { return e.t }
func (e *strict1) eval(f *exprFrame) (datum.Datum, error) {
	v, err := e.arg.eval(f)
	if err != nil || v.Null {
		return datum.Null, err
	}
	return e.apply(v)
}
func (e *strict1) operands() []expr { return []expr{e.arg} }

// strict2 is an operation on two values that yields NULL if either is NULL.
type strict2 struct {
	t           datum.Type
	left, right expr
	apply       func(l, r datum.Datum) (datum.Datum, error)
	fallible    bool
}

func (e *strict2) typ() datum.Type { return e.t }
func (e *strict2) eval(f *exprFrame) (datum.Datum, error) {
	l, err := e.left.eval(f)
	if err != nil {
		return datum.Null, err
	}
	r, err := e.right.eval(f)
	if err != nil || l.Null || r.Null {
		return datum.Null, err
	}
	return e.apply(l, r)
}
func (e *strict2) operands() []expr { return []expr{e.left, e.right} }

// logic is AND or OR with SQL's three values. absorbing is the value that
// decides the result alone.
type logic struct {
	args      []expr
	absorbing bool
}

func (e *logic) typ() datum.Type { return datum.Bool }
func (e *logic) eval(f *exprFrame) (datum.Datum, error) {
	result := datum.OfBool(!e.absorbing)
	for _, arg := range e.args {
		v, err := arg.eval(f)
		switch {
		case err != nil:
			return datum.Null, err
		case v.Null:
			result = datum.Null
		case v.Bool() == e.absorbing:
			return v, nil
		}
	}
	return result, nil
}
func (e *logic) operands() []expr { return e.args }

// nullSafe is a test that answers for NULL too: IS NULL, IS TRUE and their kin.
type nullSafe struct {
	arg   expr
	apply func(datum.Datum) bool
}

func (e *nullSafe) typ() datum.Type { return datum.Bool }
func (e *nullSafe) eval(f *exprFrame) (datum.Datum, error) {
	v, err := e.arg.eval(f)
	return datum.OfBool(e.apply(v)), err
}
func (e *nullSafe) operands() []expr { return []expr{e.arg} }

// session is a value that the session knows.
type session struct {
	t    datum.Type
	args []expr
	ask  func(env Env, args []datum.Datum) (datum.Datum, error)
}

func (e *session) typ() datum.Type { return e.t }
func (e *session) eval(f *exprFrame) (datum.Datum, error) {
	args := make([]datum.Datum, len(e.args))
	for i, arg := range e.args {
		v, err := arg.eval(f)
		if err != nil {
			return datum.Null, err
		}
		args[i] = v
	}
	return e.ask(f.Env, args)
}
func (e *session) operands() []expr { return e.args }
