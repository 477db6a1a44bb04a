package clientsql

import (
	"slices"

	"raisinproxy/sqlfuncs/datum"
)

// Column describes a column of an answer, as a RowDescription message does.
type Column struct {
	Name   string
	Type   datum.Type
	Typmod int32 // -1: none
	// Table is the OID of the catalogue that the column comes from, and Attnum its
	// number there. Both are 0 for an expression, and for a column of a view of the
	// catalogue, whose OID differs from server to server.
	Table  uint32
	Attnum int16
}

// Answer is one catalogue query and its result. Answers are shared: nobody may
// change one.
type Answer struct {
	// Source says how the query is known, for people: the client and the version
	// that was seen sending it, and what makes it do so.
	Source string
	// SQL is the query as the client sends it, with sample values for the literals
	// that vary. It runs on PostgreSQL as it stands.
	SQL string
	// Digest stands for a text that is not in SQL; see the package comment.
	Digest string
	// Free are the literals (counted from 0, see the package comment) that may have
	// any value, and Lists those that may be any number of values.
	Free, Lists []int
	// Params are the types of $1… as PostgreSQL infers them. A client may declare
	// others. One that datum cannot read (regtype) is passed on as text.
	Params []datum.Type
	// Columns of the result.
	Columns []Column
	// Rows computes the result. It may be called by several goroutines at once. Its
	// errors are of type *pgerr.Error.
	Rows func(Call) ([][]datum.Datum, error)
}

// Call is one execution of a query.
type Call struct {
	Session Session
	// Args are the values of the parameters.
	Args []datum.Datum
	// Literals are the values of the literals that are Free or Lists, in the order
	// of the text; see [Match].
	Literals [][]string
}

// Session is what an answer may depend on besides the query.
type Session struct {
	// Database is the name that the client has connected to.
	Database string
	// Databases are more names to list, in any order: those that other sessions of the
	// server have connected to. A client may list databases from another than its
	// own: DBD::Pg's data_sources connects to template1.
	Databases []string
	// Setting returns the value of a run-time setting as SHOW prints it. It may be
	// nil, or not know a setting: then the server's default is the answer.
	Setting func(name string) (value string, ok bool)
}

// Answers are all answers, in no particular order.
var Answers = slices.Concat(
	psqlAnswers,
	psycopgAnswers,
	sqlalchemyAnswers,
	sqlalchemy2Answers,
	djangoAnswers,
	asyncpgAnswers,
	jdbcAnswers,
	npgsqlAnswers,
	nodeAnswers,
	odbcAnswers,
	rubyAnswers,
	phpAnswers,
	pgxAnswers,
	perlAnswers,
)

// none is the Rows of a query about what an empty database does not have.
func none(Call) ([][]datum.Datum, error) { return nil, nil }

// fixed is the Rows of a query whose result never changes.
func fixed(rows ...[]datum.Datum) func(Call) ([][]datum.Datum, error) {
	return func(Call) ([][]datum.Datum, error) { return rows, nil }
}

// input is a value that varies: the parameters come first, then the literals.
// More than one value is that of a literal of Lists.
func (c Call) input(i int) []datum.Datum {
	if i < len(c.Args) {
		return c.Args[i : i+1]
	}
	literals := c.Literals[i-len(c.Args)]
	values := make([]datum.Datum, len(literals))
	for i, text := range literals {
		values[i] = datum.OfText(text)
	}
	return values
}

// text is an input that is text. NULL becomes "", which equals no name.
func (c Call) text(i int) string {
	if d := c.input(i)[0]; !d.Null {
		return d.Str
	}
	return ""
}

// texts is an input of Lists.
func (c Call) texts(i int) []string {
	var out []string
	for _, d := range c.input(i) {
		out = append(out, d.Str)
	}
	return out
}

// chars is an input of Lists that is compared with a "char", which keeps no more
// than a byte.
func (c Call) chars(i int) []string {
	out := c.texts(i)
	for i, s := range out {
		out[i] = s[:min(len(s), 1)]
	}
	return out
}

// oid is an input that is compared with an OID. NULL becomes 0, which no type
// has.
func (c Call) oid(i int) (uint32, error) {
	oids, err := c.oids(i)
	if err != nil {
		return 0, err
	}
	return oids[0], nil
}

func (c Call) oids(i int) ([]uint32, error) {
	var out []uint32
	for _, d := range c.input(i) {
		if !d.Null && d.Str != "" {
			var err error
			if d, err = datum.Parse(datum.OID, d.Str); err != nil {
				return nil, err
			}
		}
		out = append(out, uint32(d.Int))
	}
	return out, nil
}

// boolean is an input that is a truth value; NULL counts as false.
func (c Call) boolean(i int) (bool, error) {
	d := c.input(i)[0]
	if !d.Null && d.Str != "" {
		var err error
		if d, err = datum.Parse(datum.Bool, d.Str); err != nil {
			return false, err
		}
	}
	return !d.Null && d.Bool(), nil
}
