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

// MayWait says whether the call may wait in line.
func (c *Call) MayWait() bool {
	for i := range c.Func.Args {
		value, isConstant := c.Args[i].(*Constant)
		open := !isConstant || value.Slot > 0
		if open && c.Func.Args[i].MayWait(datum.Null) || !open && c.Func.Args[i].MayWait(value.val) {
			return true
		}
	}
	return false
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
	made, err := f.Env.Call(c.Func, f.args[:len(c.Args)])
	if err != nil {
		return nil, err
	}
	*row, f.made[c.Index] = made, true
	return row, nil
}
