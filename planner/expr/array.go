package expr

import (
	"github.com/jeroenrinzema/psql-wire/codes"
	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/planner/catalog"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// array is ARRAY[…] of one dimension.
type array struct {
	t, of    datum.Type // of the array and of its elements
	elements []Expr
}

func (e *array) Type() datum.Type { return e.t }
func (e *array) Eval(f *Frame) (datum.Datum, error) {
	texts := make([]datum.Datum, len(e.elements))
	for i, element := range e.elements {
		v, err := element.Eval(f)
		if err != nil {
			return datum.Null, err
		}
		if texts[i] = v; !v.Null {
			texts[i] = datum.OfText(string(datum.AppendText(nil, e.of, v, nil)))
		}
	}
	return datum.OfTexts(texts), nil
}
func (e *array) operands() []Expr { return e.elements }

// elementOf is the type of the elements of an array type; ok is false for any other.
func elementOf(t datum.Type) (of datum.Type, ok bool) {
	oid, ok := catalog.ElementOf(uint32(t))
	return datum.Type(oid), ok
}

// arrayExpr is ARRAY[…], whose elements get the type that they have in common.
func (c *Compiler) arrayExpr(n *pg_query.A_ArrayExpr) (Expr, *pgerr.Error) {
	elements, err := c.arrayElements(n)
	if err != nil {
		return nil, err
	}
	if len(elements) == 0 {
		return nil, pgerr.Newf(codes.IndeterminateDatatype, "cannot determine type of empty array").
			WithHint("Explicitly cast to the desired type, for example ARRAY[]::integer[].").At(c.At(n.Location))
	}
	common := datum.Unknown
	for _, e := range elements {
		next, ok := CommonType(common, e.Type())
		if !ok {
			return nil, c.NeedsUpstream(n.Location, "an array of %s and %s", DisplayName(common), DisplayName(e.Type()))
		}
		common = next
	}
	if common == datum.Unknown {
		common = datum.Text
	}
	for i, e := range elements {
		if elements[i], _, err = c.Implicit(e, common); err != nil {
			return nil, err
		}
	}
	oid, ok := catalog.ArrayOf(uint32(common))
	if !ok {
		return nil, c.NeedsUpstream(n.Location, "an array of %s", DisplayName(common))
	}
	if !datum.Supported(common) {
		c.unknowable(c.NeedsUpstream(n.Location, "an array of %s", DisplayName(common)))
		return &Constant{T: datum.Type(oid), val: datum.Null, Pos: n.Location}, nil
	}
	return &array{t: datum.Type(oid), of: common, elements: elements}, nil
}

func (c *Compiler) arrayElements(n *pg_query.A_ArrayExpr) ([]Expr, *pgerr.Error) {
	elements := make([]Expr, len(n.Elements))
	for i, node := range n.Elements {
		e, err := c.Expr(node)
		if err != nil {
			return nil, err
		}
		if _, nested := elementOf(e.Type()); nested {
			return nil, c.NeedsUpstream(n.Location, "an array of several dimensions")
		}
		elements[i] = e
	}
	return elements, nil
}

// castArray is ARRAY[…]::t, where each element is cast by itself.
func (c *Compiler) castArray(n *pg_query.A_ArrayExpr, t, of datum.Type, typmod int32, pos int32) (Expr, *pgerr.Error) {
	elements, err := c.arrayElements(n)
	if err != nil {
		return nil, err
	}
	for i, e := range elements {
		if elements[i], err = c.Cast(e, of, typmod, pos); err != nil {
			return nil, err
		}
	}
	if !datum.Supported(of) {
		c.unknowable(c.NeedsUpstream(pos, "a value of type %s", DisplayName(t)))
		return &Constant{T: t, val: datum.Null, Pos: pos}, nil
	}
	return &array{t: t, of: of, elements: elements}, nil
}

// arrayConversion makes the casts between arrays of strings; nil if there is none.
func arrayConversion(e Expr, to datum.Type) Expr {
	from, ok := elementOf(e.Type())
	of, both := elementOf(to)
	switch {
	case !ok || !both || of != datum.Text && of != datum.Varchar:
		return nil
	case from == datum.Bpchar:
		return &strict1{t: to, arg: e, apply: eachElement(trimBlanks)}
	case from.IsString() || from == datum.Char:
		return &strict1{t: to, arg: e, apply: same}
	}
	return nil
}

// eachElement applies a cast of strings to those of an array.
func eachElement(apply func(datum.Datum) (datum.Datum, error)) func(datum.Datum) (datum.Datum, error) {
	return func(d datum.Datum) (datum.Datum, error) {
		elements, err := datum.TextElements(d)
		if err != nil {
			return datum.Null, err
		}
		for i, e := range elements {
			if e.Null {
				continue
			}
			if elements[i], err = apply(e); err != nil {
				return datum.Null, err
			}
		}
		return datum.OfTexts(elements), nil
	}
}
