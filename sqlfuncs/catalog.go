// Package sqlfuncs is the catalogue of the raisin_ functions and the one place
// where they are evaluated: the named-user rule, argument checks, the cap on
// leases, the call to the backend, and what its errors mean in SQL. Every front
// end calls it, so that no way in knows fewer rules than another.
//
//	catalog.go   the functions: names, arguments, results, bounds
//	service.go   Service, which evaluates a call; what errors of a backend mean in SQL
//	effect.go    Effect: what a call changed, and how it is given back
//	leases.go    how many live leases each user may have
package sqlfuncs

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"raisinproxy/sqlfuncs/datum"
)

// Arg is one declared argument and the bounds of its values.
type Arg struct {
	Name string
	Type datum.Type // text or bigint
	// Min is the smallest allowed value of a bigint.
	Min int64
	// Default is what a call has that leaves the argument out; nil: it has to be there.
	Default *datum.Datum
	// isWait marks how long a call may wait in line, in milliseconds.
	isWait bool
}

// MayWait says whether the value makes a call wait in line that can have its turn at once
// otherwise.
func (a *Arg) MayWait(v datum.Datum) bool { return a.isWait && (v.Null || v.Int > 0) }

// Column is one column of a function's result in FROM.
type Column struct {
	Name string
	Type datum.Type
}

// MaxColumns is the largest number of columns that a function returns.
const MaxColumns = 4

// Row is the one row that a call returns, in the order of the function's
// columns.
type Row [MaxColumns]datum.Datum

// Function describes one function. It is immutable and shared.
type Function struct {
	Name    string
	Comment string
	Args    []Arg
	// Columns of the result when the call stands in FROM.
	Columns []Column
	// Scalar is the result's type when the call stands in an expression: jsonb
	// for a function of several columns, else the type of its only column.
	Scalar datum.Type

	// jsonOrder lists the columns as jsonb sorts its keys.
	jsonOrder []int
	eval      func(ctx context.Context, c call) (Row, error)
	effect    effect
}

// Functions is the catalogue, sorted by name.
var Functions = []*Function{
	{
		Name:    "raisin_inventory_claim",
		Comment: "Takes n units from a pool, all or nothing; the first claim creates the pool with capacity units.",
		Args:    []Arg{textArg("pool"), bigintArg("n", 1), bigintArg("capacity", 0)},
		Columns: []Column{{"claimed", datum.Bool}, {"remaining", datum.Int8}},
		eval:    claim,
		effect:  takesUnits,
	},
	{
		Name:    "raisin_inventory_release",
		Comment: "Gives n units back to a pool and returns what remains; not capped at the capacity.",
		Args:    []Arg{textArg("pool"), bigintArg("n", 1)},
		Columns: []Column{{"raisin_inventory_release", datum.Int8}},
		eval:    restock,
		effect:  givesUnits,
	},
	{
		Name:    "raisin_lock_acquire",
		Comment: "Takes a lease lock for ttl_ms milliseconds and returns its fencing token; waits in line for it up to wait_ms milliseconds.",
		Args:    []Arg{textArg("key"), ttlArg(), waitArg()},
		Columns: []Column{{"acquired", datum.Bool}, {"key", datum.Text}, {"token", datum.Int8}, {"expires_at_ms", datum.Int8}},
		eval:    acquire,
		effect:  takesLease,
	},
	{
		Name:    "raisin_lock_release",
		Comment: "Ends a lease if it still carries this token.",
		Args:    []Arg{textArg("key"), {Name: "token", Type: datum.Int8, Min: minInt64}},
		Columns: []Column{{"raisin_lock_release", datum.Bool}},
		eval:    release,
		effect:  freesLease,
	},
	{
		Name:    "raisin_lock_renew",
		Comment: "Extends a lease to ttl_ms milliseconds from now if it still carries this token.",
		Args:    []Arg{textArg("key"), {Name: "token", Type: datum.Int8, Min: minInt64}, ttlArg()},
		Columns: []Column{{"raisin_lock_renew", datum.Bool}},
		eval:    renew,
		effect:  extendsLease,
	},
}

const minInt64 = -1 << 63

func textArg(name string) Arg                { return Arg{Name: name, Type: datum.Text} }
func bigintArg(name string, least int64) Arg { return Arg{Name: name, Type: datum.Int8, Min: least} }
func ttlArg() Arg                            { return bigintArg("ttl_ms", 1) }

func waitArg() Arg {
	none := datum.OfInt(0)
	return Arg{Name: "wait_ms", Type: datum.Int8, Default: &none, isWait: true}
}

// byName finds a function by its exact, folded name. It is complete before any
// init function runs and only read afterwards.
var byName = func() map[string]*Function {
	m := make(map[string]*Function, len(Functions))
	for _, f := range Functions {
		f.Scalar = datum.JSONB
		if len(f.Columns) == 1 {
			f.Scalar = f.Columns[0].Type
		}
		f.jsonOrder = jsonbOrder(f.Columns)
		m[f.Name] = f
	}
	return m
}()

// Lookup finds a function by its exact name, folded as SQL folds it.
func Lookup(name string) (*Function, bool) {
	f, ok := byName[name]
	return f, ok
}

// jsonbOrder sorts as jsonb does: shorter keys first, then by bytes.
func jsonbOrder(columns []Column) []int {
	order := make([]int, len(columns))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		x, y := columns[a].Name, columns[b].Name
		return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y))
	})
	return order
}

// AppendScalar appends the text form of a row that stands in an expression. The
// first column of a function of several says whether the call succeeded; a call
// that did not is just that.
func (f *Function) AppendScalar(dst []byte, row *Row) []byte {
	if f.Scalar != datum.JSONB {
		return datum.AppendText(dst, f.Scalar, row[0], nil)
	}
	order := f.jsonOrder
	if !row[0].Bool() {
		order = []int{0}
	}
	dst = append(dst, '{')
	for i, column := range order {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = AppendJSONString(dst, f.Columns[column].Name)
		dst = append(dst, ": "...)
		dst = appendJSONValue(dst, f.Columns[column].Type, row[column])
	}
	return append(dst, '}')
}

func appendJSONValue(dst []byte, t datum.Type, d datum.Datum) []byte {
	switch {
	case d.Null:
		return append(dst, "null"...)
	case t == datum.Bool:
		return strconv.AppendBool(dst, d.Bool())
	case t == datum.Int8:
		return strconv.AppendInt(dst, d.Int, 10)
	}
	return AppendJSONString(dst, d.Str)
}

// AppendJSONString appends a string literal as PostgreSQL's escape_json writes
// it: only what JSON requires is escaped, everything else stays as it is.
func AppendJSONString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\b':
			dst = append(dst, `\b`...)
		case c == '\f':
			dst = append(dst, `\f`...)
		case c == '\n':
			dst = append(dst, `\n`...)
		case c == '\r':
			dst = append(dst, `\r`...)
		case c == '\t':
			dst = append(dst, `\t`...)
		case c < 0x20:
			dst = append(dst, `\u00`...)
			dst = append(dst, hex[c>>4], hex[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

// FieldText is the text of one field of a call's JSON: as ->> gives it, or as ->
// does if quoted is set. The column must not be NULL.
func (f *Function) FieldText(row *Row, column int, quoted bool) string {
	if t := f.Columns[column].Type; t == datum.Text && !quoted {
		return row[column].Str
	}
	return string(appendJSONValue(nil, f.Columns[column].Type, row[column]))
}

// ArgIndex finds an argument by its name; -1 if there is none.
func (f *Function) ArgIndex(name string) int {
	return slices.IndexFunc(f.Args, func(a Arg) bool { return a.Name == name })
}

// ColumnIndex finds a column of the result by its name; -1 if there is none.
func (f *Function) ColumnIndex(name string) int {
	return slices.IndexFunc(f.Columns, func(c Column) bool { return c.Name == name })
}
