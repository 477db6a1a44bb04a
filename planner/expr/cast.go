package expr

import (
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// Cast is an explicit cast.
func (c *Compiler) Cast(e Expr, t datum.Type, typmod int32, pos int32) (Expr, *pgerr.Error) {
	converted, ok, err := c.Implicit(e, t)
	if err != nil {
		return nil, err
	}
	if !ok {
		if converted = conversion(e, t); converted == nil {
			if computable(e.Type()) && computable(t) {
				return nil, pgerr.Newf(codes.CannotCoerce, "cannot cast type %s to %s", e.Type(), t).At(c.At(pos))
			}
			c.unknowable(c.NeedsUpstream(pos, "a cast from %s to %s", DisplayName(e.Type()), DisplayName(t)))
			return &Constant{T: t, val: datum.Null, Pos: pos}, nil
		}
	}
	if typmod > 0 {
		converted = &strict1{t: t, arg: converted, apply: toLength(t, int(typmod-4))}
	}
	return converted, nil
}

// computable says whether all casts of a type are known here.
func computable(t datum.Type) bool {
	return datum.Supported(t) && t != datum.Unknown && t != datum.Bpchar && t != datum.Char
}

// conversion makes the casts between the types known here; nil if there is none.
func conversion(e Expr, to datum.Type) Expr {
	from := e.Type()
	switch {
	case to == datum.OID && from.IsInteger():
		return &strict1{t: to, arg: e, apply: toOID(from), traits: fallible}
	case from.IsInteger() && to == datum.Int8, from == datum.Int2 && to == datum.Int4, from == datum.OID && to == datum.Int8:
		return &strict1{t: to, arg: e, apply: same}
	case from == datum.OID && to == datum.Int4:
		asSigned := func(d datum.Datum) (datum.Datum, error) { return datum.OfInt(int64(int32(d.Int))), nil }
		return &strict1{t: to, arg: e, apply: asSigned}
	case from.IsInteger() && to.IsInteger():
		return &strict1{t: to, arg: e, apply: narrow(to), traits: fallible}
	case from == datum.Numeric && to.IsInteger():
		return &strict1{t: to, arg: e, apply: roundTo(to), traits: fallible}
	case from == datum.Int4 && to == datum.Bool:
		return &strict1{t: to, arg: e, apply: func(d datum.Datum) (datum.Datum, error) { return datum.OfBool(d.Int != 0), nil }}
	case from == datum.Bool && to == datum.Int4:
		return &strict1{t: to, arg: e, apply: same}
	}
	if converted := arrayConversion(e, to); converted != nil {
		return converted
	}
	return stringConversion(e, to)
}

// stringConversion makes the casts from or to a string.
func stringConversion(e Expr, to datum.Type) Expr {
	from := e.Type()
	toText := to == datum.Text || to == datum.Varchar
	switch {
	case from == datum.Bpchar && toText:
		return &strict1{t: to, arg: e, apply: trimBlanks}
	case from.IsString() && toText, from == datum.Char && toText, from == datum.JSONB && to == datum.Text,
		from.IsString() && to == datum.Bpchar:
		return &strict1{t: to, arg: e, apply: same}
	case datum.Supported(from) && (toText || to == datum.Bpchar), from.IsInteger() && to == datum.Numeric:
		return &strict1{t: to, arg: e, apply: textOf(from)}
	case computable(from) && to == datum.Name:
		return &strict1{t: to, arg: &strict1{t: datum.Text, arg: e, apply: textOf(from)}, apply: clipName}
	case from.IsString() && from != datum.Bpchar && computable(to):
		parse := func(d datum.Datum) (datum.Datum, error) { return datum.Parse(to, d.Str) }
		return &strict1{t: to, arg: e, apply: parse, traits: fallible}
	}
	return nil
}

// trimBlanks is the cast of a character(n) to another string.
func trimBlanks(d datum.Datum) (datum.Datum, error) {
	return datum.OfText(strings.TrimRight(d.Str, " ")), nil
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

// toLength is an explicit cast to varchar(n) or character(n), which cuts in silence. The
// latter is filled up with blanks.
func toLength(t datum.Type, n int) func(datum.Datum) (datum.Datum, error) {
	return func(d datum.Datum) (datum.Datum, error) {
		length := utf8.RuneCountInString(d.Str)
		switch {
		case length > n:
			return datum.OfText(firstRunes(d.Str, n)), nil
		case length < n && t == datum.Bpchar && n <= maxValue:
			return datum.OfText(d.Str + strings.Repeat(" ", n-length)), nil
		}
		return d, nil
	}
}

func firstRunes(s string, n int) string {
	end := 0
	for range n {
		_, width := utf8.DecodeRuneInString(s[end:])
		end += width
	}
	return s[:end]
}

// toOID takes a smaller integer as its bits, and checks the range of a bigint.
func toOID(from datum.Type) func(datum.Datum) (datum.Datum, error) {
	return func(d datum.Datum) (datum.Datum, error) {
		if from == datum.Int8 && d.Int != int64(uint32(d.Int)) {
			return datum.Null, pgerr.Newf(codes.NumericValueOutOfRange, "OID out of range")
		}
		return datum.OfInt(int64(uint32(d.Int))), nil
	}
}

func same(d datum.Datum) (datum.Datum, error) { return d, nil }
