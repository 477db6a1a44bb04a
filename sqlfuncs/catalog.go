// Package sqlfuncs is the catalogue of the raisin_ functions and the one place
// where they are evaluated: the named-user rule, argument checks, the cap on
// leases, the call to the backend, and what its errors mean in SQL. Every front
// end calls it, so that no way in knows fewer rules than another.
//
//	catalog.go   the functions: names, arguments, results, bounds
//	service.go   Service, which evaluates a call; what errors of a backend mean in SQL
//	locks.go     what the functions of locks do; pools.go, those of pools
//	effect.go    Effect: what a call changed, and how it is given back
//	counts.go    what calls came to, for whoever watches the server
package sqlfuncs

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"raisinproxy/sqlfuncs/datum"
)

// Arg is one declared argument and the bounds of its values.
type Arg struct {
	Name string
	Type datum.Type // text, bigint or text[]
	// Min and Max are the smallest and the largest allowed value of a bigint.
	Min, Max int64
	// Default is what a call has that leaves the argument out; nil: it has to be there.
	Default *datum.Datum
	// mayBeEmpty marks a text that has no bytes in some calls: a prefix.
	mayBeEmpty bool
	// isWait marks how long a call may wait in line, in milliseconds.
	isWait bool
}

// DefaultSQL is the default value as PostgreSQL writes it in a declaration; "" if there is none.
func (a *Arg) DefaultSQL() string {
	switch {
	case a.Default == nil:
		return ""
	case a.Type == datum.Text:
		return "'" + strings.ReplaceAll(a.Default.Str, "'", "''") + "'::text"
	}
	return string(datum.AppendText(nil, a.Type, *a.Default, nil))
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
const MaxColumns = 8

// Row is one row that a call returns, in the order of the function's columns.
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
	// Set says that a call returns any number of rows (Service.Rows) and stands in FROM only.
	Set bool
	// Admin says that only administrators may call it.
	Admin bool
	// Once says that no statement calls it for each of its rows.
	Once bool

	index int // in Functions
	// jsonOrder lists the columns as jsonb sorts its keys.
	jsonOrder []int
	eval      func(ctx context.Context, c call) error
	list      func(ctx context.Context, c call) ([]Row, error) // of a Set, instead of eval
	effect    effect
}

// answers says whether the first column tells if a call did what it is for.
func (f *Function) answers() bool { return f.Columns[0].Type == datum.Bool }

// Reads says that calls change nothing, so that it does not matter how often one runs.
func (f *Function) Reads() bool { return f.effect.describe == nil }

// Functions is the catalogue, sorted by name.
var Functions = []*Function{
	{
		Name:    "raisin_admin_inventory_drop",
		Comment: "Forgets a pool, so that the next claim creates it anew; for administrators.",
		Args:    []Arg{textArg("pool")},
		Columns: []Column{{"raisin_admin_inventory_drop", datum.Bool}},
		Admin:   true,
		Once:    true,
		eval:    dropPool,
		effect:  dropsPool,
	},
	{
		Name:    "raisin_admin_inventory_set",
		Comment: "Sets a pool's capacity and remaining units, and returns what they were before; for administrators.",
		Args:    []Arg{textArg("pool"), bigintArg("capacity", 0), bigintArg("remaining", 0)},
		Columns: []Column{{"pool", datum.Text}, {"capacity", datum.Int8}, {"remaining", datum.Int8}},
		Admin:   true,
		Once:    true,
		eval:    setPool,
		effect:  setsPool,
	},
	{
		Name:    "raisin_admin_lock_release",
		Comment: "Ends the lease of whoever holds a lock, and returns whose it was; for administrators.",
		Args:    []Arg{textArg("key")},
		Columns: []Column{{"released", datum.Bool}, {"key", datum.Text}, {"holder", datum.Text}, {"token", datum.Int8}},
		Admin:   true,
		Once:    true,
		eval:    evict,
		effect:  evictsLease,
	},
	{
		Name:    "raisin_inventory_claim",
		Comment: "Takes n units from a pool, all or nothing; the first claim creates the pool with capacity units.",
		Args:    []Arg{textArg("pool"), bigintArg("n", 1), bigintArg("capacity", 0)},
		Columns: []Column{{"claimed", datum.Bool}, {"remaining", datum.Int8}},
		eval:    claim,
		effect:  takesUnits,
	},
	{
		Name:    "raisin_inventory_get",
		Comment: "Returns what is in a pool.",
		Args:    []Arg{textArg("pool")},
		Columns: slices.Concat([]Column{{"found", datum.Bool}}, poolColumns),
		eval:    count,
	},
	{
		Name:    "raisin_inventory_pools",
		Comment: "Returns the pools whose names begin with prefix; fails if there are more than max_rows.",
		Args:    []Arg{prefixArg(), maxRowsArg()},
		Columns: poolColumns,
		Set:     true,
		list:    pools,
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
		Columns: leaseColumns,
		eval:    acquire,
		effect:  takesLease,
	},
	{
		Name:    "raisin_lock_acquire_first",
		Comment: "Takes a lease lock on the first of the keys that is free, and returns which and its fencing token.",
		Args:    []Arg{{Name: "keys", Type: datum.TextArray}, ttlArg()},
		Columns: leaseColumns,
		Once:    true,
		eval:    acquireFirst,
		effect:  takesFirstLease,
	},
	{
		Name:    "raisin_lock_get",
		Comment: "Returns who holds a lock, since when and until when, and how many wait for it; the token only to its holder and to administrators.",
		Args:    []Arg{textArg("key")},
		Columns: slices.Concat([]Column{{"held", datum.Bool}}, lockColumns),
		eval:    look,
	},
	{
		Name:    "raisin_lock_release",
		Comment: "Ends a lease if it still carries this token.",
		Args:    []Arg{textArg("key"), bigintArg("token", math.MinInt64)},
		Columns: []Column{{"raisin_lock_release", datum.Bool}},
		eval:    release,
		effect:  freesLease,
	},
	{
		Name:    "raisin_lock_renew",
		Comment: "Extends a lease to ttl_ms milliseconds from now if it still carries this token.",
		Args:    []Arg{textArg("key"), bigintArg("token", math.MinInt64), ttlArg()},
		Columns: []Column{{"raisin_lock_renew", datum.Bool}},
		eval:    renew,
		effect:  extendsLease,
	},
	{
		Name:    "raisin_locks",
		Comment: "Returns the locks that are held and whose keys begin with prefix; fails if there are more than max_rows.",
		Args:    []Arg{prefixArg(), maxRowsArg()},
		Columns: lockColumns,
		Set:     true,
		list:    locks,
	},
}

var (
	leaseColumns = []Column{{"acquired", datum.Bool}, {"key", datum.Text}, {"token", datum.Int8}, {"expires_at_ms", datum.Int8}}
	lockColumns  = []Column{
		{"key", datum.Text}, {"holder", datum.Text}, {"token", datum.Int8}, {"acquired_at", datum.Timestamptz},
		{"expires_at", datum.Timestamptz}, {"waiters", datum.Int8}, {"kind", datum.Text},
	}
	poolColumns = []Column{{"pool", datum.Text}, {"capacity", datum.Int8}, {"remaining", datum.Int8}, {"reserved", datum.Int8}}
)

func textArg(name string) Arg { return Arg{Name: name, Type: datum.Text} }
func ttlArg() Arg             { return bigintArg("ttl_ms", 1) }

func bigintArg(name string, least int64) Arg {
	return Arg{Name: name, Type: datum.Int8, Min: least, Max: math.MaxInt64}
}

func (a Arg) orElse(d datum.Datum) Arg {
	a.Default = &d
	return a
}

func waitArg() Arg {
	a := bigintArg("wait_ms", 0).orElse(datum.OfInt(0))
	a.isWait = true
	return a
}

func prefixArg() Arg {
	a := textArg("prefix").orElse(datum.OfText(""))
	a.mayBeEmpty = true
	return a
}

// maxRowsArg is how many rows a caller is ready for, and the server: it has them all in memory.
func maxRowsArg() Arg {
	a := bigintArg("max_rows", 1).orElse(datum.OfInt(10_000))
	a.Max = 1_000_000
	return a
}

// byName finds a function by its exact, folded name. It is complete before any
// init function runs and only read afterwards.
var byName = func() map[string]*Function {
	m := make(map[string]*Function, len(Functions))
	for i, f := range Functions {
		f.index = i
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
	if f.answers() && !row[0].Bool() {
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
	case t == datum.Timestamptz:
		return AppendJSONString(dst, d.Time().UTC().Format("2006-01-02T15:04:05.999999-07:00"))
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
	text := string(appendJSONValue(nil, f.Columns[column].Type, row[column]))
	switch t := f.Columns[column].Type; {
	case quoted:
	case t == datum.Text:
		return row[column].Str
	case t == datum.Timestamptz:
		return text[1 : len(text)-1] // a time has nothing that is escaped
	}
	return text
}

// ArgIndex finds an argument by its name; -1 if there is none.
func (f *Function) ArgIndex(name string) int {
	return slices.IndexFunc(f.Args, func(a Arg) bool { return a.Name == name })
}

// ColumnIndex finds a column of the result by its name; -1 if there is none.
func (f *Function) ColumnIndex(name string) int {
	return slices.IndexFunc(f.Columns, func(c Column) bool { return c.Name == name })
}
