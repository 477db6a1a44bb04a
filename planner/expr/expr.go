package expr

import (
	"raisinproxy/planner/plan"
	"raisinproxy/sqlfuncs/datum"
)

// Expr is a typed expression. It is immutable once the statement is compiled.
type Expr interface {
	// Type is known before anything is evaluated.
	Type() datum.Type
	// Eval evaluates it for one execution of its statement.
	Eval(f *Frame) (datum.Datum, error)
	// operands are the direct inputs, for walking the tree.
	operands() []Expr
}

// Constant is a literal, already of its type. A literal whose type no context
// has decided yet is of type unknown.
type Constant struct {
	T   datum.Type
	val datum.Datum
	Pos int32 // byte offset in the parsed text, for errors of a later coercion
	// Written: it stands in the text at pos, and its value is what is written there.
	Written bool
	// Slot, if not 0, is the number of the literal that is its value, from 1: the plan is
	// one for all texts of a shape.
	Slot int
}

// Type is that of Expr.
func (e *Constant) Type() datum.Type { return e.T }

// Eval is that of Expr.
func (e *Constant) Eval(f *Frame) (datum.Datum, error) {
	if e.Slot > 0 {
		return f.Literals[e.Slot-1], nil
	}
	return e.val, nil
}
func (e *Constant) operands() []Expr { return nil }

// param is a reference to $number. Its type is unknown until a context decides.
type param struct {
	number int
	t      datum.Type
	pos    int32
}

func (e *param) Type() datum.Type { return e.t }
func (e *param) Eval(f *Frame) (datum.Datum, error) {
	return f.Params[e.number-1], nil
}
func (e *param) operands() []Expr { return nil }

// Whole is a call in an expression: jsonb, or its only column.
func Whole(call *Call) Expr { return &callScalar{call} }

// JSONOf is the call whose JSON an expression is as it stands; nil for any other.
func JSONOf(e Expr) *Call {
	if whole, ok := e.(*callScalar); ok && whole.Type() == datum.JSONB {
		return whole.call
	}
	return nil
}

type callScalar struct{ call *Call }

func (e *callScalar) Type() datum.Type { return e.call.Func.Scalar }
func (e *callScalar) Eval(f *Frame) (datum.Datum, error) {
	row, err := e.call.Result(f)
	if err != nil {
		return datum.Null, err
	}
	if e.Type() != datum.JSONB {
		return row[0], nil
	}
	return datum.OfText(string(e.call.Func.AppendScalar(nil, row))), nil
}
func (e *callScalar) operands() []Expr { return e.call.Args }

// ColumnOf is (f(…)).column.
func ColumnOf(call *Call, column int) Expr { return &callColumn{call: call, column: column} }

// FromColumn is a column of a call that is an item of FROM.
func FromColumn(call *Call, column int) Expr {
	return &callColumn{call: call, column: column, inFrom: true}
}

type callColumn struct {
	call   *Call
	column int
	inFrom bool
}

func (e *callColumn) Type() datum.Type { return e.call.Func.Columns[e.column].Type }
func (e *callColumn) Eval(f *Frame) (datum.Datum, error) {
	row, err := e.call.Result(f)
	if err != nil {
		return datum.Null, err
	}
	return row[e.column], nil
}
func (e *callColumn) operands() []Expr {
	if e.inFrom {
		return nil
	}
	return e.call.Args
}

// ValuesColumn is a column of a VALUES list.
func ValuesColumn(column int, t datum.Type) Expr { return &valuesColumn{column, t} }

type valuesColumn struct {
	column int
	t      datum.Type
}

func (e *valuesColumn) Type() datum.Type { return e.t }
func (e *valuesColumn) Eval(f *Frame) (datum.Datum, error) {
	return f.Tuple[e.column].Eval(f)
}
func (e *valuesColumn) operands() []Expr { return nil }

// derived is a column of a subquery or of a WITH query, which is a single row. It is
// computed once, when it is first used, and what there is to know of it was found when
// it was made: queries that build on each other would double the work each time.
type derived struct {
	inner  Expr
	slot   int // in Frame.derived
	inside traits
}

// memo is the value of a derived column.
type memo struct {
	done bool
	val  datum.Datum
	err  error
}

func (e *derived) Type() datum.Type { return e.inner.Type() }
func (e *derived) Eval(f *Frame) (datum.Datum, error) {
	for len(f.derived) <= e.slot {
		f.derived = append(f.derived, memo{})
	}
	if !f.derived[e.slot].done {
		v, err := e.inner.Eval(f)
		f.derived[e.slot] = memo{true, v, err}
	}
	m := &f.derived[e.slot]
	return m.val, m.err
}
func (e *derived) operands() []Expr { return nil }

// strict1 is an operation on one value that yields NULL for NULL.
type strict1 struct {
	t     datum.Type
	arg   Expr
	apply func(datum.Datum) (datum.Datum, error)
	traits
}

func (e *strict1) Type() datum.Type { return e.t }
func (e *strict1) Eval(f *Frame) (datum.Datum, error) {
	v, err := e.arg.Eval(f)
	if err != nil || v.Null {
		return datum.Null, err
	}
	return e.apply(v)
}
func (e *strict1) operands() []Expr { return []Expr{e.arg} }

// strict2 is an operation on two values that yields NULL if either is NULL.
type strict2 struct {
	t           datum.Type
	left, right Expr
	apply       func(l, r datum.Datum) (datum.Datum, error)
	traits
}

func (e *strict2) Type() datum.Type { return e.t }
func (e *strict2) Eval(f *Frame) (datum.Datum, error) {
	l, err := e.left.Eval(f)
	if err != nil {
		return datum.Null, err
	}
	r, err := e.right.Eval(f)
	if err != nil || l.Null || r.Null {
		return datum.Null, err
	}
	return e.apply(l, r)
}
func (e *strict2) operands() []Expr { return []Expr{e.left, e.right} }

// logic is AND or OR with SQL's three values. absorbing is the value that
// decides the result alone.
type logic struct {
	args      []Expr
	absorbing bool
}

func (e *logic) Type() datum.Type { return datum.Bool }
func (e *logic) Eval(f *Frame) (datum.Datum, error) {
	result := datum.OfBool(!e.absorbing)
	for _, arg := range e.args {
		v, err := arg.Eval(f)
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
func (e *logic) operands() []Expr { return e.args }

// nullSafe is a test that answers for NULL too: IS NULL, IS TRUE and their kin.
type nullSafe struct {
	arg   Expr
	apply func(datum.Datum) bool
}

func (e *nullSafe) Type() datum.Type { return datum.Bool }
func (e *nullSafe) Eval(f *Frame) (datum.Datum, error) {
	v, err := e.arg.Eval(f)
	return datum.OfBool(e.apply(v)), err
}
func (e *nullSafe) operands() []Expr { return []Expr{e.arg} }

// session is a value that the session knows.
type session struct {
	t    datum.Type
	args []Expr
	ask  func(env plan.Env, args []datum.Datum) (datum.Datum, error)
}

func (e *session) Type() datum.Type { return e.t }
func (e *session) Eval(f *Frame) (datum.Datum, error) {
	args := make([]datum.Datum, len(e.args))
	for i, arg := range e.args {
		v, err := arg.Eval(f)
		if err != nil {
			return datum.Null, err
		}
		args[i] = v
	}
	return e.ask(f.Env, args)
}
func (e *session) operands() []Expr { return e.args }
