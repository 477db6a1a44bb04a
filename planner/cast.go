package planner

import (
	"math/big"
	"strconv"
	"unicode/utf8"

	"github.com/jeroenrinzema/psql-wire/codes"
	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/planner/catalog"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// typeName reads a type of the few that are evaluated here. typmod is -1 or, for
// varchar, the length in characters plus 4, as in pg_attribute.
func (c *compiler) typeName(n *pg_query.TypeName) (t datum.Type, typmod int32, err *pgerr.Error) {
	name, ok := catalogName(n.GetNames())
	if schema := schemaOf(n.GetNames()); !schemas[schema] {
		return 0, 0, pgerr.Newf(codes.InvalidSchemaName, "schema \"%s\" does not exist", schema).At(c.at(n.GetLocation()))
	}
	t, known := datum.TypeByName(name)
	if ok && !known && !catalog.HasType(name) {
		return 0, 0, pgerr.Newf(codes.UndefinedObject, "type \"%s\" does not exist", qualified(n.GetNames())).At(c.at(n.GetLocation()))
	}
	if !ok || !known || t == datum.Unknown || len(n.GetArrayBounds()) > 0 || n.GetSetof() || n.GetPctType() {
		return 0, 0, c.needsUpstream(n.GetLocation(), "type %s", nameOf(n.GetNames()))
	}
	if len(n.GetTypmods()) == 0 {
		return t, -1, nil
	}
	length, isInt := intConst(n.GetTypmods()[0])
	if computable(t) && t != datum.Varchar && t != datum.Numeric {
		return 0, 0, pgerr.Newf(codes.Syntax, "type modifier is not allowed for type \"%s\"", t.TypName()).At(c.at(n.GetLocation()))
	}
	if t == datum.Varchar && isInt && length < 1 {
		return 0, 0, pgerr.Newf(codes.InvalidParameterValue, "length for type varchar must be at least 1").At(c.at(n.GetLocation()))
	}
	if t == datum.Varchar && isInt && length > maxVarchar {
		return 0, 0, pgerr.Newf(codes.InvalidParameterValue, "length for type varchar cannot exceed %d", maxVarchar).At(c.at(n.GetLocation()))
	}
	if t != datum.Varchar || len(n.GetTypmods()) != 1 || !isInt {
		return 0, 0, c.needsUpstream(n.GetLocation(), "this form of type %s", nameOf(n.GetNames()))
	}
	return t, length + 4, nil
}

// maxVarchar is PostgreSQL's MaxAttrSize.
const maxVarchar = 10485760

// catalogName reads a name that is unqualified or of pg_catalog.
func catalogName(names []*pg_query.Node) (string, bool) {
	switch len(names) {
	case 1:
		return names[0].GetString_().GetSval(), true
	case 2:
		return names[1].GetString_().GetSval(), names[0].GetString_().GetSval() == "pg_catalog"
	}
	return "", false
}

// schemas are those of an empty database; "" is none.
var schemas = map[string]bool{"": true, "pg_catalog": true, "public": true, "information_schema": true}

func schemaOf(names []*pg_query.Node) string {
	if len(names) < 2 {
		return ""
	}
	return names[len(names)-2].GetString_().GetSval()
}

func nameOf(names []*pg_query.Node) string {
	if len(names) == 0 {
		return ""
	}
	return names[len(names)-1].GetString_().GetSval()
}

func intConst(n *pg_query.Node) (int32, bool) {
	k := n.GetAConst()
	if k == nil || k.Isnull {
		return 0, false
	}
	i, ok := k.Val.(*pg_query.A_Const_Ival)
	if !ok {
		return 0, false
	}
	return i.Ival.GetIval(), true
}

// cast is an explicit cast.
func (c *compiler) cast(e expr, t datum.Type, typmod int32, pos int32) (expr, *pgerr.Error) {
	converted, ok, err := c.implicit(e, t)
	if err != nil {
		return nil, err
	}
	if !ok {
		if converted = conversion(e, t); converted == nil {
			if computable(e.typ()) && computable(t) {
				return nil, pgerr.Newf(codes.CannotCoerce, "cannot cast type %s to %s", e.typ(), t).At(c.at(pos))
			}
			c.unknowable(c.needsUpstream(pos, "a cast from %s to %s", e.typ(), t))
			return &constant{t: t, val: datum.Null, pos: pos}, nil
		}
	}
	if typmod > 0 {
		converted = &strict1{t: t, arg: converted, apply: clip(int(typmod - 4))}
	}
	return converted, nil
}

// computable says whether all casts of a type are known here.
func computable(t datum.Type) bool { return datum.Supported(t) && t != datum.Unknown }

// conversion makes the explicit casts between the types known here; nil if there
// is none.
func conversion(e expr, to datum.Type) expr {
	from := e.typ()
	switch {
	case from == datum.OID && to == datum.Int4:
		asSigned := func(d datum.Datum) (datum.Datum, error) { return datum.OfInt(int64(int32(d.Int))), nil }
		return &strict1{t: to, arg: e, apply: asSigned}
	case from.IsInteger() && to.IsInteger():
		return &strict1{t: to, arg: e, apply: narrow(to), fallible: true}
	case from == datum.Numeric && to.IsInteger():
		return &strict1{t: to, arg: e, apply: roundTo(to), fallible: true}
	case from == datum.Int4 && to == datum.Bool:
		return &strict1{t: to, arg: e, apply: func(d datum.Datum) (datum.Datum, error) { return datum.OfBool(d.Int != 0), nil }}
	case from == datum.Bool && to == datum.Int4, from == datum.JSONB && to == datum.Text, from.IsString() && (to == datum.Text || to == datum.Varchar):
		return &strict1{t: to, arg: e, apply: same}
	case datum.Supported(from) && (to == datum.Text || to == datum.Varchar), from.IsInteger() && to == datum.Numeric:
		return &strict1{t: to, arg: e, apply: textOf(from)}
	case computable(from) && to == datum.Name:
		return &strict1{t: to, arg: &strict1{t: datum.Text, arg: e, apply: textOf(from)}, apply: clipName}
	case from.IsString() && from != datum.Bpchar && datum.Supported(to):
		parse := func(d datum.Datum) (datum.Datum, error) { return datum.Parse(to, d.Str) }
		return &strict1{t: to, arg: e, apply: parse, fallible: true}
	}
	return nil
}

func narrow(to datum.Type) func(datum.Datum) (datum.Datum, error) {
	return func(d datum.Datum) (datum.Datum, error) {
		if !fits(d.Int, to) {
			return datum.Null, outOfRange(to)
		}
		return d, nil
	}
}

// roundTo is the cast of a numeric to an integer, half away from zero.
func roundTo(to datum.Type) func(datum.Datum) (datum.Datum, error) {
	return func(d datum.Datum) (datum.Datum, error) {
		exact, ok := new(big.Rat).SetString(d.Str)
		if !ok {
			return datum.Null, outOfRange(to)
		}
		rounded, ok := new(big.Int).SetString(exact.FloatString(0), 10)
		if !ok || !rounded.IsInt64() || !fits(rounded.Int64(), to) {
			return datum.Null, outOfRange(to)
		}
		return datum.OfInt(rounded.Int64()), nil
	}
}

// textOf is the cast to text. That of a boolean is spelled out, unlike its
// output form.
func textOf(from datum.Type) func(datum.Datum) (datum.Datum, error) {
	return func(d datum.Datum) (datum.Datum, error) {
		if from == datum.Bool {
			return datum.OfText(strconv.FormatBool(d.Bool())), nil
		}
		return datum.OfText(string(datum.AppendText(nil, from, d, nil))), nil
	}
}

func clipName(d datum.Datum) (datum.Datum, error) {
	return datum.OfText(datum.TruncateName(d.Str)), nil
}

// clip is an explicit cast to varchar(n), which cuts in silence.
func clip(n int) func(datum.Datum) (datum.Datum, error) {
	return func(d datum.Datum) (datum.Datum, error) {
		if len(d.Str) <= n || utf8.RuneCountInString(d.Str) <= n {
			return d, nil
		}
		end := 0
		for range n {
			_, width := utf8.DecodeRuneInString(d.Str[end:])
			end += width
		}
		return datum.OfText(d.Str[:end]), nil
	}
}
