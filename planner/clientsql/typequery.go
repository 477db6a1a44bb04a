package clientsql

import (
	"slices"

	"raisinproxy/sqlfuncs/datum"
)

// typeQuery is a query whose rows are types.
type typeQuery struct {
	fields []field
	where  condition              // nil: all types
	order  func(a, b *pgType) int // nil: as they are stored
	limit  int                    // 0: none
}

// field is a column of a typeQuery, and its value.
type field struct {
	Column
	of func(*pgType) datum.Datum
}

// as renames a field.
func (f field) as(name string) field {
	f.Column = f.Column.as(name)
	return f
}

// from sets the catalogue's column that a field is described with.
func (f field) from(c Column) field {
	f.Column = c.as(f.Name)
	return f
}

// answer completes an answer with the columns and rows of the query.
func (q typeQuery) answer(a Answer) Answer {
	a.Columns = make([]Column, len(q.fields))
	for i, f := range q.fields {
		a.Columns[i] = f.Column
	}
	a.Rows = q.rows
	return a
}

func (q typeQuery) rows(c Call) ([][]datum.Datum, error) {
	found := types()
	if q.where != nil {
		wanted, err := q.where(c)
		if err != nil {
			return nil, err
		}
		found = slices.DeleteFunc(slices.Clone(found), func(t *pgType) bool { return !wanted(t) })
	}
	if q.order != nil {
		found = slices.SortedStableFunc(slices.Values(found), q.order)
	}
	if q.limit > 0 && len(found) > q.limit {
		found = found[:q.limit]
	}
	out := make([][]datum.Datum, len(found))
	for i, t := range found {
		out[i] = make([]datum.Datum, len(q.fields))
		for j, f := range q.fields {
			out[i][j] = f.of(t)
		}
	}
	return out, nil
}

// The fields that the queries select.
var (
	fieldOID      = field{colTypeOID, func(t *pgType) datum.Datum { return oidDatum(t.oid) }}
	fieldName     = field{colTypname, func(t *pgType) datum.Datum { return datum.OfText(t.name) }}
	fieldLen      = field{colTyplen, func(t *pgType) datum.Datum { return datum.OfInt(t.length) }}
	fieldKind     = field{colTyptype, func(t *pgType) datum.Datum { return datum.OfText(t.kind) }}
	fieldDelim    = field{colTypdelim, func(t *pgType) datum.Datum { return datum.OfText(t.delimiter) }}
	fieldElem     = field{colTypelem, func(t *pgType) datum.Datum { return oidDatum(t.elem) }}
	fieldArray    = field{colTyparray, func(t *pgType) datum.Datum { return oidDatum(t.array) }}
	fieldInput    = field{colTypinput, func(t *pgType) datum.Datum { return datum.OfText(t.input) }}
	fieldNotNull  = field{colTypnotnull, func(t *pgType) datum.Datum { return datum.OfBool(t.notNull) }}
	fieldBaseType = field{colTypbasetype, func(t *pgType) datum.Datum { return oidDatum(t.baseType) }}
	fieldSchema   = field{colNspname, func(t *pgType) datum.Datum { return datum.OfText(t.namespace) }}
	fieldSubtype  = field{colRngsubtype, func(t *pgType) datum.Datum { return oidOrNull(t.rangeSubtype) }}
	fieldRegtype  = field{computed("regtype", datum.Text), func(t *pgType) datum.Datum { return datum.OfText(t.display) }}
	fieldIsArray  = field{computed("is_array", datum.Bool), func(t *pgType) datum.Datum { return datum.OfBool(t.isArray()) }}
	fieldVisible  = field{computed("?column?", datum.Bool), func(t *pgType) datum.Datum { return datum.OfBool(t.visible()) }}
)

func oidDatum(oid uint32) datum.Datum { return datum.OfInt(int64(oid)) }

// oidOrNull is for what an outer join leaves empty.
func oidOrNull(oid uint32) datum.Datum {
	if oid == 0 {
		return datum.Null
	}
	return oidDatum(oid)
}

// newestFirst is ORDER BY oid DESC.
func newestFirst(a, b *pgType) int { return oldestFirst(b, a) }

// oldestFirst is ORDER BY oid.
func oldestFirst(a, b *pgType) int { return int(int64(a.oid) - int64(b.oid)) }
