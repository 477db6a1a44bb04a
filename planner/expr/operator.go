package expr

import (
	"cmp"
	"math"
	"strings"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// binary resolves an operator on two operands, for the operators and types that
// are answered here.
func (c *Compiler) binary(op string, l, r Expr, pos int32) (Expr, *pgerr.Error) {
	switch op {
	case "+", "-", "*", "/", "%":
		return c.arithmetic(op, l, r, pos)
	case "||":
		return c.concatenation(l, r, pos)
	case "=", "<>", "<", "<=", ">", ">=":
		return c.comparison(op, l, r, pos)
	case "->", "->>":
		return c.JSONField(op, l, r, pos)
	}
	return nil, c.NeedsUpstream(pos, "operator %s", op)
}

func (c *Compiler) arithmetic(op string, l, r Expr, pos int32) (Expr, *pgerr.Error) {
	t, err := c.commonInteger(op, l, r, pos)
	if err != nil {
		return nil, err
	}
	if l, err = c.Operand(l, t); err != nil {
		return nil, err
	}
	if r, err = c.Operand(r, t); err != nil {
		return nil, err
	}
	return &strict2{t: t, left: l, right: r, apply: arithmetic(op, t), traits: fallible}, nil
}

// commonInteger is the type in which two operands compute: the wider of two
// integers; an untyped operand takes the type of the other.
func (c *Compiler) commonInteger(op string, l, r Expr, pos int32) (datum.Type, *pgerr.Error) {
	lt, rt := l.Type(), r.Type()
	switch {
	case lt == datum.Unknown && rt == datum.Unknown:
		return 0, pgerr.Newf(codes.AmbiguousFunction, "operator is not unique: unknown %s unknown", op).
			WithHint("Could not choose a best candidate operator. You might need to add explicit type casts.").
			At(c.At(pos))
	case lt == datum.Unknown:
		lt = rt
	case rt == datum.Unknown:
		rt = lt
	}
	if !lt.IsInteger() || !rt.IsInteger() {
		if (lt.IsString() || lt == datum.Bool) && (rt.IsInteger() || rt.IsString()) || lt.IsInteger() && (rt.IsString() || rt == datum.Bool) {
			return 0, c.undefinedOperator(op, lt, rt, pos)
		}
		return 0, c.NeedsUpstream(pos, "operator %s on %s and %s", op, DisplayName(lt), DisplayName(rt))
	}
	if lt.Len() < rt.Len() {
		lt = rt
	}
	return lt, nil
}

func (c *Compiler) undefinedOperator(op string, l, r datum.Type, pos int32) *pgerr.Error {
	return pgerr.Newf(codes.UndefinedFunction, "operator does not exist: %s %s %s", DisplayName(l), op, DisplayName(r)).
		WithHint("No operator matches the given name and argument types. You might need to add explicit type casts.").
		At(c.At(pos))
}

// concatenation follows the candidates text || text, text || anynonarray and
// anynonarray || text: one side must be a string, the other becomes one.
func (c *Compiler) concatenation(l, r Expr, pos int32) (Expr, *pgerr.Error) {
	lt, rt := l.Type(), r.Type()
	stringy := func(t datum.Type) bool { return t.IsString() || t == datum.Unknown }
	for _, t := range []datum.Type{lt, rt} {
		if !computable(t) && t != datum.Unknown { // such as "char", with which it is ambiguous
			return nil, c.NeedsUpstream(pos, "operator || on %s and %s", DisplayName(lt), DisplayName(rt))
		}
	}
	if !stringy(lt) && !stringy(rt) {
		return nil, c.undefinedOperator("||", lt, rt, pos)
	}
	var err *pgerr.Error
	if l, err = c.asText(l, pos); err != nil {
		return nil, err
	}
	if r, err = c.asText(r, pos); err != nil {
		return nil, err
	}
	return &strict2{t: datum.Text, left: l, right: r, apply: concatenate}, nil
}

// maxValue bounds what concatenation may build: a few bytes of SQL can double a text
// many times.
const maxValue = 16 << 20

func concatenate(l, r datum.Datum) (datum.Datum, error) {
	if len(l.Str)+len(r.Str) > maxValue {
		return datum.Null, pgerr.Newf(codes.ProgramLimitExceeded, "a text of more than %d bytes needs an [upstream]", maxValue)
	}
	return datum.OfText(l.Str + r.Str), nil
}

func (c *Compiler) asText(e Expr, pos int32) (Expr, *pgerr.Error) {
	if converted, ok, err := c.Implicit(e, datum.Text); ok || err != nil {
		return converted, err
	}
	return c.Cast(e, datum.Text, -1, pos)
}

// comparison covers the types whose order depends on no collation, and equality
// of strings.
func (c *Compiler) comparison(op string, l, r Expr, pos int32) (Expr, *pgerr.Error) {
	t := l.Type()
	if t == datum.Unknown {
		t = r.Type()
	}
	if t == datum.Unknown || t == datum.Varchar {
		t = datum.Text // varchar is compared as text
	}
	var err *pgerr.Error
	if l, err = c.Operand(l, t); err != nil {
		return nil, err
	}
	if r, err = c.Operand(r, t); err != nil {
		return nil, err
	}
	lt, rt := l.Type(), r.Type()
	order := func(l, r datum.Datum) int { return cmp.Compare(l.Int, r.Int) }
	switch {
	case lt.IsInteger() && rt.IsInteger(), lt == datum.Bool && rt == datum.Bool, lt == datum.Timestamptz && rt == datum.Timestamptz:
	case lt.IsString() && rt.IsString() && lt != datum.Bpchar && rt != datum.Bpchar && (op == "=" || op == "<>"):
		order = func(l, r datum.Datum) int { return strings.Compare(l.Str, r.Str) }
	case lt.IsString() && rt.IsInteger(), lt.IsInteger() && rt.IsString(), lt == datum.Bool && rt.IsInteger(), lt.IsInteger() && rt == datum.Bool:
		return nil, c.undefinedOperator(op, lt, rt, pos)
	default:
		return nil, c.NeedsUpstream(pos, "operator %s on %s and %s", op, DisplayName(lt), DisplayName(rt))
	}
	accept := comparisons[op]
	apply := func(l, r datum.Datum) (datum.Datum, error) { return datum.OfBool(accept(order(l, r))), nil }
	return &strict2{t: datum.Bool, left: l, right: r, apply: apply}, nil
}

var comparisons = map[string]func(int) bool{
	"=":  func(o int) bool { return o == 0 },
	"<>": func(o int) bool { return o != 0 },
	"<":  func(o int) bool { return o < 0 },
	"<=": func(o int) bool { return o <= 0 },
	">":  func(o int) bool { return o > 0 },
	">=": func(o int) bool { return o >= 0 },
}

// JSONField selects a field of a call's JSON, which is computed from the row
// itself: nothing is parsed.
func (c *Compiler) JSONField(op string, l, r Expr, pos int32) (Expr, *pgerr.Error) {
	scalar, isCall := l.(*callScalar)
	if !isCall || scalar.Type() != datum.JSONB {
		return nil, c.NeedsUpstream(pos, "operator %s here", op)
	}
	field, ok, err := c.Implicit(r, datum.Text)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, c.NeedsUpstream(pos, "operator %s on %s and %s", op, DisplayName(l.Type()), DisplayName(r.Type()))
	}
	t := datum.Text
	if op == "->" {
		t = datum.JSONB
	}
	return &jsonSelect{callScalar: scalar, field: field, t: t}, nil
}

// jsonSelect is call->name or call->>name. A call that did not succeed has only its
// first column.
type jsonSelect struct {
	*callScalar
	field Expr
	t     datum.Type
}

func (e *jsonSelect) Type() datum.Type { return e.t }

func (e *jsonSelect) Eval(f *Frame) (datum.Datum, error) {
	field, err := e.field.Eval(f)
	if err != nil || field.Null {
		return datum.Null, err
	}
	row, err := e.call.Result(f)
	if err != nil {
		return datum.Null, err
	}
	column := e.call.Func.ColumnIndex(field.Str)
	if column < 0 || column > 0 && !row[0].Bool() || row[column].Null {
		return datum.Null, nil
	}
	return datum.OfText(e.call.Func.FieldText(row, column, e.t == datum.JSONB)), nil
}

func (e *jsonSelect) operands() []Expr { return []Expr{e.callScalar, e.field} }

// arithmetic computes on integers and checks the range of the result's type.
func arithmetic(op string, t datum.Type) func(l, r datum.Datum) (datum.Datum, error) {
	compute := integerOps[op]
	return func(l, r datum.Datum) (datum.Datum, error) {
		if r.Int == 0 && (op == "/" || op == "%") {
			return datum.Null, pgerr.Newf(codes.DivisionByZero, "division by zero")
		}
		n, ok := compute(l.Int, r.Int)
		if !ok || !fits(n, t) {
			return datum.Null, outOfRange(t)
		}
		return datum.OfInt(n), nil
	}
}

func outOfRange(t datum.Type) error {
	return pgerr.Newf(codes.NumericValueOutOfRange, "%s out of range", t)
}

func fits(n int64, t datum.Type) bool {
	switch t {
	case datum.Int2:
		return n == int64(int16(n))
	case datum.Int4:
		return n == int64(int32(n))
	}
	return true
}

// integerOps compute in 64 bits; ok is false on overflow.
var integerOps = map[string]func(a, b int64) (n int64, ok bool){
	"+": func(a, b int64) (int64, bool) {
		n := a + b
		return n, (n > a) == (b > 0)
	},
	"-": func(a, b int64) (int64, bool) {
		n := a - b
		return n, (n < a) == (b > 0)
	},
	"*": func(a, b int64) (int64, bool) {
		if a == 0 || b == 0 {
			return 0, true
		}
		n := a * b
		return n, n/b == a && (a != -1 || b != math.MinInt64) && (b != -1 || a != math.MinInt64)
	},
	"/": func(a, b int64) (int64, bool) {
		if b == -1 {
			return -a, a != math.MinInt64
		}
		return a / b, true
	},
	"%": func(a, b int64) (int64, bool) {
		if b == -1 {
			return 0, true
		}
		return a % b, true
	},
}
