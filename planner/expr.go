package planner

import (
	"math"
	"time"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/planner/catalog"
	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// Setting is a run-time parameter, as pg_settings has it.
type Setting = catalog.Setting

// Env is what an evaluation asks of its session. Plans hold no session state, so
// that all sessions share them.
type Env interface {
	// Call evaluates one raisin_ call.
	Call(f *sqlfuncs.Function, args []datum.Datum) (sqlfuncs.Row, error)
	// Info answers the session information functions.
	Info(InfoKind) datum.Datum
	// Now is the start of the transaction, or of the statement, or the present.
	Now(TimeKind) time.Time
	// Setting reads a run-time parameter; ok is false for an unknown one.
	Setting(name string) (value string, ok bool)
	// Settings are the run-time parameters as pg_settings lists them.
	Settings() []Setting
	// SetSetting changes a run-time parameter and returns its new value.
	SetSetting(name, value string, local bool) (string, error)
}

// InfoKind names a session information function.
type InfoKind int

// The session information functions.
const (
	InfoVersion InfoKind = iota
	InfoCurrentUser
	InfoSessionUser
	InfoDatabase
	InfoSchema
	InfoBackendPID
)

// TimeKind says which moment a time function means.
type TimeKind int

// The moments of PostgreSQL's time functions.
const (
	TransactionTime TimeKind = iota
	StatementTime
	ClockTime
)

// Frame is what one execution of a statement sees and keeps. It may be reused;
// it is not safe for concurrent use.
type Frame struct {
	Env    Env
	Params []datum.Datum

	literals []datum.Datum  // of the statement's text, if its plan leaves them open
	rows     []sqlfuncs.Row // results of the statement's calls, by Call.index
	made     []bool         // which of them there are
	args     [maxArgs]datum.Datum
	// derived are the columns of subqueries, by derived.slot.
	derived []memo
	tuple   []expr          // the current row of the VALUES list, if there is one
	table   [][]datum.Datum // the rows of an answer about the catalogue
	next    int             // rows read so far
	count   int             // rows before filters
	left    int64           // rows that LIMIT still lets through
}

// Bind makes f ready for an execution of st. The values of params are not copied.
func (f *Frame) Bind(env Env, st *Statement, params []datum.Datum) {
	f.Env, f.Params, f.literals = env, params, st.literals
}

// expr is a typed expression. It is immutable once the statement is compiled.
type expr interface {
	typ() datum.Type
	eval(f *Frame) (datum.Datum, error)
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
func (e *constant) eval(f *Frame) (datum.Datum, error) {
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
func (e *param) eval(f *Frame) (datum.Datum, error) {
	return f.Params[e.number-1], nil
}
func (e *param) operands() []expr { return nil }

// callScalar is a call in an expression: jsonb, or its only column.
type callScalar struct{ call *Call }

func (e *callScalar) typ() datum.Type { return e.call.Func.Scalar }
func (e *callScalar) eval(f *Frame) (datum.Datum, error) {
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
func (e *callColumn) eval(f *Frame) (datum.Datum, error) {
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
func (e *valuesColumn) eval(f *Frame) (datum.Datum, error) {
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
func (e *derived) eval(f *Frame) (datum.Datum, error) {
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
func (e *strict1) eval(f *Frame) (datum.Datum, error) {
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
func (e *strict2) eval(f *Frame) (datum.Datum, error) {
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
func (e *logic) eval(f *Frame) (datum.Datum, error) {
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
func (e *nullSafe) eval(f *Frame) (datum.Datum, error) {
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
func (e *session) eval(f *Frame) (datum.Datum, error) {
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

// walk visits e and everything below it.
func walk(e expr, visit func(expr)) {
	visit(e)
	for _, o := range e.operands() {
		walk(o, visit)
	}
}

// early says whether PostgreSQL would compute e while it plans (from literals
// and parameters alone) and whether that can fail. Such errors come at Bind,
// before any row description.
func early(e expr) (ok, fallible bool) {
	ok = true
	walk(e, func(e expr) {
		switch e := e.(type) {
		case *callScalar, *callColumn, *valuesColumn, *session:
			ok = false
		case *derived:
			ok = ok && e.early
			fallible = fallible || e.fallible
		case *strict1:
			fallible = fallible || e.fallible
		case *strict2:
			fallible = fallible || e.fallible
		}
	})
	return ok, fallible
}

// usesSession says whether e asks the session for anything but calls.
func usesSession(e expr) (found bool) {
	walk(e, func(e expr) {
		switch e := e.(type) {
		case *session:
			found = true
		case *derived:
			found = found || e.session
		}
	})
	return found
}

// mentionsColumns says whether e reads a column of a FROM item.
func mentionsColumns(e expr) (found bool) {
	walk(e, func(e expr) {
		switch e := e.(type) {
		case *valuesColumn, *derived:
			found = true
		case *callColumn:
			found = found || e.inFrom
		}
	})
	return found
}

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
