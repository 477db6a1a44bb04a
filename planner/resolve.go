package planner

import (
	"fmt"
	"strings"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/planner/catalog"
	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// maxParams is what the protocol can count.
const maxParams = 65535

// paramTypes are the types of $1, $2, …: declared by the client, or decided by
// the first context that needs one, as PostgreSQL's parser decides them.
type paramTypes struct {
	types []datum.Type // Unknown: not decided yet
	fixed bool         // a simple query has no parameters at all
	// beyond: there is a reference to a number that no client can bind.
	beyond bool
}

func newParamTypes(declared []datum.Type) *paramTypes {
	p := &paramTypes{types: make([]datum.Type, len(declared))}
	for i, t := range declared {
		p.types[i] = t
		if t == datum.Invalid {
			p.types[i] = datum.Unknown
		}
	}
	return p
}

// ref makes a reference to $number.
func (p *paramTypes) ref(number int32, pos int32) (*param, *pgerr.Error) {
	if number < 1 || p.fixed {
		return nil, pgerr.Newf(codes.UndefinedParameter, "there is no parameter $%d", number)
	}
	if number > maxParams {
		p.beyond = true
		return &param{number: int(number), t: datum.Unknown, pos: pos}, nil
	}
	for len(p.types) < int(number) {
		p.types = append(p.types, datum.Unknown)
	}
	return &param{number: int(number), t: p.types[number-1], pos: pos}, nil
}

// decide gives an undecided reference its type.
func (p *paramTypes) decide(e *param, t datum.Type) *pgerr.Error {
	if e.number > maxParams {
		e.t = t
		return nil
	}
	known := &p.types[e.number-1]
	if *known != datum.Unknown && *known != t {
		return pgerr.Newf(codes.AmbiguousParameter, "inconsistent types deduced for parameter $%d", e.number).
			WithDetail("%s versus %s", displayName(*known), displayName(t))
	}
	*known, e.t = t, t
	return nil
}

// check refuses parameters whose type nothing decided.
func (p *paramTypes) check() *pgerr.Error {
	for i, t := range p.types {
		if t == datum.Unknown {
			return undetermined(i + 1)
		}
	}
	if p.beyond { // not all of the parameters before it can be referred to as well
		return undetermined(len(p.types) + 1)
	}
	return nil
}

func undetermined(number int) *pgerr.Error {
	return pgerr.Newf(codes.IndeterminateDatatype, "could not determine data type of parameter $%d", number)
}

// implicit converts e to t where PostgreSQL does so by itself for a function
// argument or an operand. ok is false where it would not.
func (c *compiler) implicit(e expr, t datum.Type) (converted expr, ok bool, err *pgerr.Error) {
	if e.typ() == t {
		return e, true, nil
	}
	switch e := e.(type) {
	case *constant:
		if e.t == datum.Unknown {
			converted, err = c.literal(e, t)
			return converted, true, err
		}
	case *param:
		if e.t == datum.Unknown {
			return e, true, c.decideParam(e, t)
		}
	}
	if !coerces(e.typ(), t) {
		return nil, false, nil
	}
	return c.converted(e, t), true, nil
}

// converted is e as a t, which it can be cast to. NULL is all that there is of a type that
// is not read here, such as pg_node_tree: of a literal that was found out before, of a
// parameter it will be at Bind.
func (c *compiler) converted(e expr, t datum.Type) expr {
	if converted := conversion(e, t); converted != nil {
		return converted
	}
	if datum.Supported(e.typ()) {
		c.unknowable(c.needsUpstream(0, "a value of type %s as %s", displayName(e.typ()), displayName(t)))
	}
	return &strict1{t: t, arg: e, apply: same}
}

// toOID takes a smaller integer as its bits, and checks the range of a bigint.
func toOID(from datum.Type) func(datum.Datum) (datum.Datum, error) {
	return func(d datum.Datum) (datum.Datum, error) {
		if from == datum.Int8 && d.Int != int64(uint32(d.Int)) {
			return datum.Null, pgerr.Newf(codes.NumericValueOutOfRange, "OID out of range")
		}
		return datum.OfInt(int64(uint32(d.Int))), nil
	}
}

func same(d datum.Datum) (datum.Datum, error) { return d, nil }

func (c *compiler) decideParam(e *param, t datum.Type) *pgerr.Error {
	if err := c.params.decide(e, t); err != nil {
		return err.At(c.at(e.pos))
	}
	return nil
}

// literal turns a quoted literal into a value of type t, by t's input function.
func (c *compiler) literal(e *constant, t datum.Type) (expr, *pgerr.Error) {
	if e.val.Null {
		return &constant{t: t, val: datum.Null, pos: e.pos}, nil
	}
	if !datum.Supported(t) {
		c.unknowable(c.needsUpstream(e.pos, "a literal of type %s", t))
		return &constant{t: t, val: datum.Null, pos: e.pos}, nil
	}
	val, err := datum.Parse(t, e.val.Str)
	if err != nil {
		return nil, pgerr.From(err).At(c.at(e.pos))
	}
	return &constant{t: t, val: val, pos: e.pos, written: e.written}, nil
}

// argument is one argument of a call as it was written.
type argument struct {
	name  string // "" if positional
	value expr
}

// resolveCall matches arguments to the declared ones of f, as PostgreSQL
// resolves a call of the only function of its name.
func (c *compiler) resolveCall(f *sqlfuncs.Function, args []argument, pos int32) ([]expr, *pgerr.Error) {
	undefined := c.undefinedFunction(f.Name, args, pos)
	if len(args) != len(f.Args) {
		return nil, undefined
	}
	var unknown *pgerr.Error // of a type that is not known here; the others may be wrong for certain
	resolved := make([]expr, len(f.Args))
	for i, arg := range args {
		slot := i
		if arg.name != "" {
			slot = f.ArgIndex(arg.name)
		}
		if slot < 0 || resolved[slot] != nil {
			return nil, undefined
		}
		switch from := arg.value.typ(); {
		case coerces(from, f.Args[slot].Type):
		case builtin(from):
			return nil, undefined
		default:
			unknown = c.needsUpstream(pos, "an argument of a type that is not built in")
		}
		resolved[slot] = arg.value
	}
	if unknown != nil {
		return nil, unknown
	}
	for i, e := range resolved {
		converted, _, err := c.implicit(e, f.Args[i].Type)
		if err != nil {
			return nil, err
		}
		resolved[i] = converted
	}
	return resolved, nil
}

func (c *compiler) undefinedFunction(name string, args []argument, pos int32) *pgerr.Error {
	return pgerr.Newf(codes.UndefinedFunction, "function %s(%s) does not exist", name, describeArgs(args)).
		WithHint("No function matches the given name and argument types. You might need to add explicit type casts.").
		At(c.at(pos))
}

// displayName is what messages call a type, of those that are not computed with too.
func displayName(t datum.Type) string {
	if name, ok := catalog.TypeDisplay(uint32(t)); ok && !t.Known() {
		return name
	}
	return t.String()
}

func describeArgs(args []argument) string {
	parts := make([]string, len(args))
	for i, arg := range args {
		parts[i] = displayName(arg.value.typ())
		if arg.name != "" {
			parts[i] = arg.name + " => " + parts[i]
		}
	}
	return strings.Join(parts, ", ")
}

// binary resolves an operator on two operands, for the operators and types that
// are answered here.
func (c *compiler) binary(op string, l, r expr, pos int32) (expr, *pgerr.Error) {
	switch op {
	case "+", "-", "*", "/", "%":
		return c.arithmetic(op, l, r, pos)
	case "||":
		return c.concatenation(l, r, pos)
	case "=", "<>", "<", "<=", ">", ">=":
		return c.comparison(op, l, r, pos)
	case "->", "->>":
		return c.jsonField(op, l, r, pos)
	}
	return nil, c.needsUpstream(pos, "operator %s", op)
}

func (c *compiler) arithmetic(op string, l, r expr, pos int32) (expr, *pgerr.Error) {
	t, err := c.commonInteger(op, l, r, pos)
	if err != nil {
		return nil, err
	}
	if l, err = c.operand(l, t); err != nil {
		return nil, err
	}
	if r, err = c.operand(r, t); err != nil {
		return nil, err
	}
	return &strict2{t: t, left: l, right: r, apply: arithmetic(op, t), fallible: true}, nil
}

// operand converts an untyped operand to the type of its peer; typed integers
// compute in 64 bits whatever their width.
func (c *compiler) operand(e expr, t datum.Type) (expr, *pgerr.Error) {
	if e.typ() != datum.Unknown {
		return e, nil
	}
	converted, ok, err := c.implicit(e, t)
	if err == nil && !ok {
		return nil, c.needsUpstream(0, "a value of type %s here", displayName(e.typ()))
	}
	return converted, err
}

// commonInteger is the type in which two operands compute: the wider of two
// integers; an untyped operand takes the type of the other.
func (c *compiler) commonInteger(op string, l, r expr, pos int32) (datum.Type, *pgerr.Error) {
	lt, rt := l.typ(), r.typ()
	switch {
	case lt == datum.Unknown && rt == datum.Unknown:
		return 0, pgerr.Newf(codes.AmbiguousFunction, "operator is not unique: unknown %s unknown", op).
			WithHint("Could not choose a best candidate operator. You might need to add explicit type casts.").
			At(c.at(pos))
	case lt == datum.Unknown:
		lt = rt
	case rt == datum.Unknown:
		rt = lt
	}
	if !lt.IsInteger() || !rt.IsInteger() {
		if (lt.IsString() || lt == datum.Bool) && (rt.IsInteger() || rt.IsString()) || lt.IsInteger() && (rt.IsString() || rt == datum.Bool) {
			return 0, c.undefinedOperator(op, lt, rt, pos)
		}
		return 0, c.needsUpstream(pos, "operator %s on %s and %s", op, displayName(lt), displayName(rt))
	}
	if lt.Len() < rt.Len() {
		lt = rt
	}
	return lt, nil
}

func (c *compiler) undefinedOperator(op string, l, r datum.Type, pos int32) *pgerr.Error {
	return pgerr.Newf(codes.UndefinedFunction, "operator does not exist: %s %s %s", displayName(l), op, displayName(r)).
		WithHint("No operator matches the given name and argument types. You might need to add explicit type casts.").
		At(c.at(pos))
}

// concatenation follows the candidates text || text, text || anynonarray and
// anynonarray || text: one side must be a string, the other becomes one.
func (c *compiler) concatenation(l, r expr, pos int32) (expr, *pgerr.Error) {
	lt, rt := l.typ(), r.typ()
	stringy := func(t datum.Type) bool { return t.IsString() || t == datum.Unknown }
	for _, t := range []datum.Type{lt, rt} {
		if !computable(t) && t != datum.Unknown { // such as "char", with which it is ambiguous
			return nil, c.needsUpstream(pos, "operator || on %s and %s", displayName(lt), displayName(rt))
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

func (c *compiler) asText(e expr, pos int32) (expr, *pgerr.Error) {
	if converted, ok, err := c.implicit(e, datum.Text); ok || err != nil {
		return converted, err
	}
	return c.cast(e, datum.Text, -1, pos)
}

// comparison covers the types whose order depends on no collation, and equality
// of strings.
func (c *compiler) comparison(op string, l, r expr, pos int32) (expr, *pgerr.Error) {
	t := l.typ()
	if t == datum.Unknown {
		t = r.typ()
	}
	if t == datum.Unknown || t == datum.Varchar {
		t = datum.Text // varchar is compared as text
	}
	var err *pgerr.Error
	if l, err = c.operand(l, t); err != nil {
		return nil, err
	}
	if r, err = c.operand(r, t); err != nil {
		return nil, err
	}
	lt, rt := l.typ(), r.typ()
	order := compareInts
	switch {
	case lt.IsInteger() && rt.IsInteger(), lt == datum.Bool && rt == datum.Bool, lt == datum.Timestamptz && rt == datum.Timestamptz:
	case lt.IsString() && rt.IsString() && lt != datum.Bpchar && rt != datum.Bpchar && (op == "=" || op == "<>"):
		order = compareStrings
	case lt.IsString() && rt.IsInteger(), lt.IsInteger() && rt.IsString(), lt == datum.Bool && rt.IsInteger(), lt.IsInteger() && rt == datum.Bool:
		return nil, c.undefinedOperator(op, lt, rt, pos)
	default:
		return nil, c.needsUpstream(pos, "operator %s on %s and %s", op, displayName(lt), displayName(rt))
	}
	accept := comparisons[op]
	apply := func(l, r datum.Datum) (datum.Datum, error) { return datum.OfBool(accept(order(l, r))), nil }
	return &strict2{t: datum.Bool, left: l, right: r, apply: apply}, nil
}

func compareInts(l, r datum.Datum) int {
	switch {
	case l.Int < r.Int:
		return -1
	case l.Int > r.Int:
		return 1
	}
	return 0
}

func compareStrings(l, r datum.Datum) int { return strings.Compare(l.Str, r.Str) }

var comparisons = map[string]func(int) bool{
	"=":  func(o int) bool { return o == 0 },
	"<>": func(o int) bool { return o != 0 },
	"<":  func(o int) bool { return o < 0 },
	"<=": func(o int) bool { return o <= 0 },
	">":  func(o int) bool { return o > 0 },
	">=": func(o int) bool { return o >= 0 },
}

// jsonField selects a field of a call's JSON, which is computed from the row
// itself: nothing is parsed.
func (c *compiler) jsonField(op string, l, r expr, pos int32) (expr, *pgerr.Error) {
	scalar, isCall := l.(*callScalar)
	if !isCall || scalar.typ() != datum.JSONB {
		return nil, c.needsUpstream(pos, "operator %s here", op)
	}
	field, ok, err := c.implicit(r, datum.Text)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, c.needsUpstream(pos, "operator %s on %s and %s", op, displayName(l.typ()), displayName(r.typ()))
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
	field expr
	t     datum.Type
}

func (e *jsonSelect) typ() datum.Type { return e.t }
func (e *jsonSelect) eval(f *Frame) (datum.Datum, error) {
	field, err := e.field.eval(f)
	if err != nil || field.Null {
		return datum.Null, err
	}
	row, err := e.call.result(f)
	if err != nil {
		return datum.Null, err
	}
	column := e.call.Func.ColumnIndex(field.Str)
	if column < 0 || column > 0 && !row[0].Bool() || row[column].Null {
		return datum.Null, nil
	}
	return datum.OfText(e.call.Func.FieldText(row, column, e.t == datum.JSONB)), nil
}
func (e *jsonSelect) operands() []expr { return []expr{e.callScalar, e.field} }

// needsUpstream refuses what only a real PostgreSQL can answer.
func (c *compiler) needsUpstream(pos int32, format string, args ...any) *pgerr.Error {
	e := upstreamError(fmt.Sprintf(format, args...))
	e.Position = c.start
	if pos > 0 {
		e.Position = c.at(pos)
	}
	return e
}

// unknowable notes that a value cannot be computed here. Its type may still be
// enough to find an error that PostgreSQL would report first.
func (c *compiler) unknowable(err *pgerr.Error) {
	if c.opaque == nil {
		c.opaque = err
	}
}
