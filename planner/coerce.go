package planner

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
// itself, for an argument or an operand: can_coerce_type, but for polymorphic types.
func coerces(from, to datum.Type) bool {
	return from == to || from == datum.Unknown || casts()[typePair{from, to}] == castImplicit
}

// assigns says whether it does so for a value that is to be stored. Strings are made of
// anything then.
func assigns(from, to datum.Type) bool {
	_, listed := casts()[typePair{from, to}]
	return listed || coerces(from, to) || to.IsString()
}

// commonType is the type of a column of VALUES that has values of both: the first, unless
// its values turn into the second and not the other way round (select_common_type). ok is
// false where PostgreSQL refuses, or takes a type of another category.
func commonType(a, b datum.Type) (t datum.Type, ok bool) {
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

// implicit converts e to t where PostgreSQL does so by itself for a function
// argument or an operand. ok is false where it would not.
func (c *exprCompiler) implicit(e expr, t datum.Type) (converted expr, ok bool, err *pgerr.Error) {
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
func (c *exprCompiler) converted(e expr, t datum.Type) expr {
	if converted := conversion(e, t); converted != nil {
		return converted
	}
	if datum.Supported(e.typ()) {
		c.unknowable(c.needsUpstream(0, "a value of type %s as %s", displayName(e.typ()), displayName(t)))
	}
	return &strict1{t: t, arg: e, apply: same}
}

// literal turns a quoted literal into a value of type t, by t's input function.
func (c *exprCompiler) literal(e *constant, t datum.Type) (expr, *pgerr.Error) {
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

// operand converts an untyped operand to the type of its peer; typed integers
// compute in 64 bits whatever their width.
func (c *exprCompiler) operand(e expr, t datum.Type) (expr, *pgerr.Error) {
	if e.typ() != datum.Unknown {
		return e, nil
	}
	converted, ok, err := c.implicit(e, t)
	if err == nil && !ok {
		return nil, c.needsUpstream(0, "a value of type %s here", displayName(e.typ()))
	}
	return converted, err
}

// assign converts e as an INSERT into a column of type t would.
func (c *exprCompiler) assign(e expr, t datum.Type, number int) (expr, *pgerr.Error) {
	converted, ok, err := c.implicit(e, t)
	if ok || err != nil {
		return converted, err
	}
	from := e.typ()
	if assigns(from, t) || !builtin(from) || !builtin(t) {
		if converted := conversion(e, t); converted != nil {
			return converted, nil
		}
		return nil, c.needsUpstream(0, "a value of type %s as %s", displayName(from), displayName(t))
	}
	return nil, pgerr.Newf(codes.DatatypeMismatch, "parameter $%d of type %s cannot be coerced to the expected type %s", number, displayName(from), displayName(t)).
		WithHint("You will need to rewrite or cast the expression.")
}
