package planner

import (
	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/datum"
)

// exprFrame is what expressions see and keep in one execution of their statement.
type exprFrame struct {
	Env    Env
	Params []datum.Datum

	literals []datum.Datum  // of the statement's text, if its plan leaves them open
	tuple    []expr         // the current row of the VALUES list, if there is one
	rows     []sqlfuncs.Row // results of the statement's calls, by Call.index
	made     []bool         // which of them there are
	args     [maxArgs]datum.Datum
	derived  []memo // the columns of subqueries, by derived.slot
}

// begin begins an execution: it makes room for the results of n calls, none of which has
// been made.
func (f *exprFrame) begin(n int) {
	f.tuple, f.derived = nil, f.derived[:0]
	if cap(f.rows) < n {
		f.rows, f.made = make([]sqlfuncs.Row, n), make([]bool, n)
	}
	f.rows, f.made = f.rows[:n], f.made[:n]
	clear(f.made)
}

// withResults is a frame in which calls have been made already.
func withResults(rows []sqlfuncs.Row) *exprFrame {
	f := &exprFrame{rows: rows, made: make([]bool, len(rows))}
	for i := range f.made {
		f.made[i] = true
	}
	return f
}

// Call is one call of a raisin_ function in a statement.
type Call struct {
	Func  *sqlfuncs.Function
	Args  []expr
	index int
}

// maxArgs is the largest number of arguments of a function of the catalogue.
const maxArgs = 3

// result makes the call, unless this execution has made it already.
func (c *Call) result(f *exprFrame) (*sqlfuncs.Row, error) {
	row := &f.rows[c.index]
	if f.made[c.index] {
		return row, nil
	}
	var args [maxArgs]datum.Datum // a call in an argument uses f.args in between
	for i, arg := range c.Args {
		v, err := arg.eval(f)
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
	*row, f.made[c.index] = made, true
	return row, nil
}
