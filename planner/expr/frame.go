package expr

import (
	"raisinproxy/planner/plan"
	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/datum"
)

// Frame is what expressions see and keep in one execution of their statement.
type Frame struct {
	Env    plan.Env
	Params []datum.Datum

	Literals []datum.Datum  // of the statement's text, if its plan leaves them open
	Tuple    []Expr         // the current row of the VALUES list, if there is one
	rows     []sqlfuncs.Row // results of the statement's calls, by Call.Index
	made     []bool         // which of them there are
	args     [maxArgs]datum.Datum
	derived  []memo // the columns of subqueries, by derived.slot
}

// Begin begins an execution: it makes room for the results of n calls, none of which has
// been made.
func (f *Frame) Begin(n int) {
	f.Tuple, f.derived = nil, f.derived[:0]
	if cap(f.rows) < n {
		f.rows, f.made = make([]sqlfuncs.Row, n), make([]bool, n)
	}
	f.rows, f.made = f.rows[:n], f.made[:n]
	clear(f.made)
}

// WithResults is a frame in which calls have been made already.
func WithResults(rows []sqlfuncs.Row) *Frame {
	f := &Frame{rows: rows, made: make([]bool, len(rows))}
	for i := range f.made {
		f.made[i] = true
	}
	return f
}

// Call is one call of a raisin_ function in a statement.
type Call struct {
	Func  *sqlfuncs.Function
	Args  []Expr
	Index int
}

// MayWait says whether the call may wait in line, as far as the values of parameters and literals
// are known: nil are not.
func (c *Call) MayWait(params, literals []datum.Datum) bool {
	for i := range c.Func.Args {
		a := &c.Func.Args[i]
		if a.MayWait(datum.Null) && a.MayWait(knownValue(c.Args[i], params, literals)) {
			return true
		}
	}
	return false
}

// knownValue is NULL for a value that is not known before the calls are made.
func knownValue(e Expr, params, literals []datum.Datum) datum.Datum {
	t := traitsOf(e)
	if t&atRun != 0 || t&ofParams != 0 && params == nil || t&ofLiterals != 0 && literals == nil {
		return datum.Null
	}
	v, err := e.Eval(&Frame{Params: params, Literals: literals})
	if err != nil {
		return datum.OfInt(0) // it fails before it waits
	}
	return v
}

// maxArgs is the largest number of arguments of a function of the catalogue.
const maxArgs = 3

// Result makes the call, unless this execution has made it already.
func (c *Call) Result(f *Frame) (*sqlfuncs.Row, error) {
	row := &f.rows[c.Index]
	if f.made[c.Index] {
		return row, nil
	}
	var args [maxArgs]datum.Datum // a call in an argument uses f.args in between
	for i, arg := range c.Args {
		v, err := arg.Eval(f)
		if err != nil {
			return nil, err
		}
		args[i] = v
	}
	f.args = args
	if err := f.Env.Call(c.Func, f.args[:len(c.Args)], row); err != nil {
		return nil, err
	}
	f.made[c.Index] = true
	return row, nil
}
