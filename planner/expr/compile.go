package expr

import (
	"fmt"

	"github.com/jeroenrinzema/psql-wire/codes"
	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/planner/plan"
	"raisinproxy/planner/tree"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// Compiler compiles the expressions of one statement.
type Compiler struct {
	At     func(location int32) int // byte offset in the parsed text to character position
	Start  int                      // of the statement, in characters
	Params *Params
	From   []Item  // whose columns can be named
	Calls  []*Call // in the order of their evaluation
	// Made are calls that are not to be compiled: something else computes their arguments.
	Made  map[*pg_query.FuncCall]*Call
	slots int // of derived columns
	// Opaque is why a value cannot be computed here whose type alone was needed so
	// far.
	Opaque *pgerr.Error
	// Database and Foreign are those of the Statement.
	Database string
	Foreign  *pgerr.Error
}

// Expr compiles an expression in which calls may stand.
func (c *Compiler) Expr(n *pg_query.Node) (Expr, *pgerr.Error) {
	switch n := n.GetNode().(type) {
	case *pg_query.Node_AConst:
		return c.constant(n.AConst)
	case *pg_query.Node_ParamRef:
		ref, err := c.Params.ref(n.ParamRef.Number, n.ParamRef.Location)
		if err != nil {
			return nil, err.At(c.At(n.ParamRef.Location))
		}
		return ref, nil
	case *pg_query.Node_TypeCast:
		return c.typeCast(n.TypeCast)
	case *pg_query.Node_AExpr:
		return c.operator(n.AExpr)
	case *pg_query.Node_BoolExpr:
		return c.boolExpr(n.BoolExpr)
	case *pg_query.Node_NullTest:
		return c.nullTest(n.NullTest)
	case *pg_query.Node_BooleanTest:
		return c.booleanTest(n.BooleanTest)
	case *pg_query.Node_ColumnRef:
		return c.column(n.ColumnRef)
	case *pg_query.Node_FuncCall:
		return c.Function(n.FuncCall)
	case *pg_query.Node_AIndirection:
		return c.callField(n.AIndirection)
	case *pg_query.Node_AArrayExpr:
		return c.arrayExpr(n.AArrayExpr)
	case *pg_query.Node_SqlvalueFunction:
		return c.valueFunction(n.SqlvalueFunction)
	}
	return nil, c.NeedsUpstream(tree.Location(n), "this expression")
}

func (c *Compiler) constant(k *pg_query.A_Const) (Expr, *pgerr.Error) {
	e := &Constant{T: datum.Unknown, Pos: k.Location, Written: true}
	if k.Isnull {
		e.val = datum.Null
		return e, nil
	}
	switch v := k.Val.(type) {
	case *pg_query.A_Const_Ival:
		e.T, e.val = datum.Int4, datum.OfInt(int64(v.Ival.GetIval()))
	case *pg_query.A_Const_Fval:
		return c.number(e, v.Fval.GetFval())
	case *pg_query.A_Const_Sval:
		e.val = datum.OfText(v.Sval.GetSval())
	case *pg_query.A_Const_Boolval:
		e.T, e.val = datum.Bool, datum.OfBool(v.Boolval.GetBoolval())
	default:
		return nil, c.NeedsUpstream(k.Location, "a bit string")
	}
	return e, nil
}

// number is a numeric literal that is no int4: a bigint if it fits, else numeric.
func (c *Compiler) number(e *Constant, text string) (Expr, *pgerr.Error) {
	if v, err := datum.Parse(datum.Int8, text); err == nil {
		e.T, e.val = datum.Int8, v
		if fits(v.Int, datum.Int4) { // the smallest int4, whose digits alone do not fit
			e.T = datum.Int4
		}
		return e, nil
	}
	v, err := datum.Parse(datum.Numeric, text)
	if err != nil {
		return nil, pgerr.From(err).At(c.At(e.Pos))
	}
	e.T, e.val = datum.Numeric, v
	return e, nil
}

func (c *Compiler) typeCast(n *pg_query.TypeCast) (Expr, *pgerr.Error) {
	t, typmod, err := c.TypeName(n.TypeName)
	if err != nil {
		return nil, err
	}
	if of, isArray := elementOf(t); isArray && n.Arg.GetAArrayExpr() != nil {
		return c.castArray(n.Arg.GetAArrayExpr(), t, of, typmod, n.Location)
	}
	e, err := c.Expr(n.Arg)
	if err != nil {
		return nil, err
	}
	return c.Cast(e, t, typmod, n.Location)
}

func (c *Compiler) operator(n *pg_query.A_Expr) (Expr, *pgerr.Error) {
	name, ok := tree.CatalogName(n.Name)
	if n.Kind != pg_query.A_Expr_Kind_AEXPR_OP || !ok {
		return nil, c.NeedsUpstream(n.Location, "this operator")
	}
	if n.Lexpr == nil {
		r, err := c.Expr(n.Rexpr)
		if err != nil {
			return nil, err
		}
		return c.prefix(name, r, n.Location)
	}
	l, err := c.Expr(n.Lexpr)
	if err != nil {
		return nil, err
	}
	r, err := c.Expr(n.Rexpr)
	if err != nil {
		return nil, err
	}
	return c.binary(name, l, r, n.Location)
}

// prefix is + or - before an integer.
func (c *Compiler) prefix(op string, e Expr, pos int32) (Expr, *pgerr.Error) {
	if (op == "-" || op == "+") && e.Type() == datum.Unknown {
		return nil, pgerr.Newf(codes.AmbiguousFunction, "operator is not unique: %s unknown", op).
			WithHint("Could not choose a best candidate operator. You might need to add explicit type casts.").At(c.At(pos))
	}
	if op != "-" && op != "+" || !e.Type().IsInteger() {
		return nil, c.NeedsUpstream(pos, "operator %s", op)
	}
	if op == "+" {
		return e, nil
	}
	zero := &Constant{T: e.Type(), val: datum.OfInt(0), Pos: pos}
	return &strict2{t: e.Type(), left: zero, right: e, apply: arithmetic("-", e.Type()), traits: fallible}, nil
}

func (c *Compiler) boolExpr(n *pg_query.BoolExpr) (Expr, *pgerr.Error) {
	args := make([]Expr, len(n.Args))
	for i, arg := range n.Args {
		e, err := c.Condition(arg)
		if err != nil {
			return nil, err
		}
		args[i] = e
	}
	switch n.Boolop {
	case pg_query.BoolExprType_NOT_EXPR:
		not := func(d datum.Datum) (datum.Datum, error) { return datum.OfBool(!d.Bool()), nil }
		return &strict1{t: datum.Bool, arg: args[0], apply: not}, nil
	case pg_query.BoolExprType_OR_EXPR:
		return &logic{args: args, absorbing: true}, nil
	}
	return &logic{args: args, absorbing: false}, nil
}

// Condition compiles an expression that must be boolean.
func (c *Compiler) Condition(n *pg_query.Node) (Expr, *pgerr.Error) {
	e, err := c.Expr(n)
	if err != nil {
		return nil, err
	}
	converted, ok, err := c.Implicit(e, datum.Bool)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, pgerr.Newf(codes.DatatypeMismatch, "argument of a condition must be type boolean, not type %s", DisplayName(e.Type())).
			At(c.At(tree.Location(n)))
	}
	return converted, nil
}

func (c *Compiler) nullTest(n *pg_query.NullTest) (Expr, *pgerr.Error) {
	e, err := c.Expr(n.Arg)
	if err != nil {
		return nil, err
	}
	if _, literal := e.(*Constant); literal && e.Type() == datum.Unknown {
		if e, err = c.Operand(e, datum.Text); err != nil {
			return nil, err
		}
	}
	want := n.Nulltesttype == pg_query.NullTestType_IS_NULL
	return &nullSafe{arg: e, apply: func(d datum.Datum) bool { return d.Null == want }}, nil
}

func (c *Compiler) booleanTest(n *pg_query.BooleanTest) (Expr, *pgerr.Error) {
	e, err := c.Condition(n.Arg)
	if err != nil {
		return nil, err
	}
	return &nullSafe{arg: e, apply: booleanTests[n.Booltesttype]}, nil
}

var booleanTests = map[pg_query.BoolTestType]func(datum.Datum) bool{
	pg_query.BoolTestType_IS_TRUE:        func(d datum.Datum) bool { return !d.Null && d.Bool() },
	pg_query.BoolTestType_IS_NOT_TRUE:    func(d datum.Datum) bool { return d.Null || !d.Bool() },
	pg_query.BoolTestType_IS_FALSE:       func(d datum.Datum) bool { return !d.Null && !d.Bool() },
	pg_query.BoolTestType_IS_NOT_FALSE:   func(d datum.Datum) bool { return d.Null || d.Bool() },
	pg_query.BoolTestType_IS_UNKNOWN:     func(d datum.Datum) bool { return d.Null },
	pg_query.BoolTestType_IS_NOT_UNKNOWN: func(d datum.Datum) bool { return !d.Null },
}

// NeedsUpstream refuses what only a real PostgreSQL can answer.
func (c *Compiler) NeedsUpstream(pos int32, format string, args ...any) *pgerr.Error {
	e := plan.UpstreamError(fmt.Sprintf(format, args...))
	e.Position = c.Start
	if pos > 0 {
		e.Position = c.At(pos)
	}
	return e
}

// unknowable notes that a value cannot be computed here. Its type may still be
// enough to find an error that PostgreSQL would report first.
func (c *Compiler) unknowable(err *pgerr.Error) {
	if c.Opaque == nil {
		c.Opaque = err
	}
}
