package expr

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// The casts of pg_cast between built-in types that need not be written, by their OIDs.
// Made by testdata/pg_cast.sql; a test compares it with a real PostgreSQL.
//
//go:embed pg_cast.tsv
var pgCastTSV string

// castContext is castcontext of pg_cast: where a cast is applied that nobody wrote.
type castContext byte

const (
	castImplicit   castContext = 'i' // arguments and operands
	castAssignment castContext = 'a' // only where a value is stored, and for EXECUTE
)

type typePair struct{ from, to datum.Type }

var casts = sync.OnceValue(func() map[typePair]castContext {
	m := map[typePair]castContext{}
	for line := range strings.Lines(pgCastTSV) {
		var pair typePair
		var context byte
		if _, err := fmt.Sscanf(line, "%d\t%d\t%c", &pair.from, &pair.to, &context); err != nil {
			panic(fmt.Sprintf("pg_cast.tsv: %q: %v", line, err))
		}
		m[pair] = castContext(context)
	}
	return m
})

// coerces says whether PostgreSQL turns a value of one built-in type into another by
// itself, for an argument or an operand: can_coerce_type, except for polymorphic types.
func coerces(from, to datum.Type) bool {
	if from == to || from == datum.Unknown || casts()[typePair{from, to}] == castImplicit {
		return true
	}
	fromElement, isArray := elementOf(from)
	toElement, both := elementOf(to)
	return isArray && both && coerces(fromElement, toElement)
}

// assigns says whether it does so for a value that is to be stored. Strings are made of
// anything then.
func assigns(from, to datum.Type) bool {
	_, listed := casts()[typePair{from, to}]
	if listed || coerces(from, to) || to.IsString() {
		return true
	}
	fromElement, isArray := elementOf(from)
	toElement, both := elementOf(to)
	return isArray && both && assigns(fromElement, toElement)
}

// CommonType is the type of a column of VALUES that has values of both: the first, unless
// its values turn into the second and not the other way round (select_common_type). ok is
// false where PostgreSQL refuses, or takes a type of another category.
func CommonType(a, b datum.Type) (t datum.Type, ok bool) {
	switch {
	case a == datum.Unknown || a == b:
		return b, true
	case b == datum.Unknown:
		return a, true
	case a == datum.Char || b == datum.Char: // which is of a category of its own
		return 0, false
	case coerces(a, b) && !coerces(b, a):
		return b, true
	}
	return a, coerces(b, a)
}

// Implicit converts e to t where PostgreSQL does so by itself for a function
// argument or an operand. ok is false where it would not.
func (c *Compiler) Implicit(e Expr, t datum.Type) (converted Expr, ok bool, err *pgerr.Error) {
	if e.Type() == t {
		return e, true, nil
	}
	switch e := e.(type) {
	case *Constant:
		if e.T == datum.Unknown {
			converted, err = c.literal(e, t)
			return converted, true, err
		}
	case *param:
		if e.t == datum.Unknown {
			return e, true, c.decideParam(e, t)
		}
	}
	if !coerces(e.Type(), t) {
		return nil, false, nil
	}
	return c.converted(e, t), true, nil
}

// converted is e as a t, which it can be cast to. NULL is all that there is of a type that
// is not read here, such as pg_node_tree: of a literal that was found out before, of a
// parameter it will be at Bind.
func (c *Compiler) converted(e Expr, t datum.Type) Expr {
	if converted := conversion(e, t); converted != nil {
		return converted
	}
	if datum.Supported(e.Type()) {
		c.unknowable(c.NeedsUpstream(0, "a value of type %s as %s", DisplayName(e.Type()), DisplayName(t)))
	}
	return &strict1{t: t, arg: e, apply: same}
}

// literal turns a quoted literal into a value of type t, by t's input function.
func (c *Compiler) literal(e *Constant, t datum.Type) (Expr, *pgerr.Error) {
	if e.val.Null {
		return &Constant{T: t, val: datum.Null, Pos: e.Pos}, nil
	}
	if !datum.Supported(t) {
		c.unknowable(c.NeedsUpstream(e.Pos, "a literal of type %s", t))
		return &Constant{T: t, val: datum.Null, Pos: e.Pos}, nil
	}
	val, err := datum.Parse(t, e.val.Str)
	if err != nil {
		return nil, pgerr.From(err).At(c.At(e.Pos))
	}
	return &Constant{T: t, val: val, Pos: e.Pos, Written: e.Written}, nil
}

// Operand converts an untyped operand to the type of its peer; typed integers
// compute in 64 bits whatever their width.
func (c *Compiler) Operand(e Expr, t datum.Type) (Expr, *pgerr.Error) {
	if e.Type() != datum.Unknown {
		return e, nil
	}
	converted, ok, err := c.Implicit(e, t)
	if err == nil && !ok {
		return nil, c.NeedsUpstream(0, "a value of type %s here", DisplayName(e.Type()))
	}
	return converted, err
}

// Assign converts e as an INSERT into a column of type t would.
func (c *Compiler) Assign(e Expr, t datum.Type, number int) (Expr, *pgerr.Error) {
	converted, ok, err := c.Implicit(e, t)
	if ok || err != nil {
		return converted, err
	}
	from := e.Type()
	if assigns(from, t) || !builtin(from) || !builtin(t) {
		if converted := conversion(e, t); converted != nil {
			return converted, nil
		}
		return nil, c.NeedsUpstream(0, "a value of type %s as %s", DisplayName(from), DisplayName(t))
	}
	return nil, pgerr.Newf(codes.DatatypeMismatch, "parameter $%d of type %s cannot be coerced to the expected type %s", number, DisplayName(from), DisplayName(t)).
		WithHint("You will need to rewrite or cast the expression.")
}
