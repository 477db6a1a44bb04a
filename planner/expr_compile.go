package planner

import (
	"fmt"

	"github.com/jeroenrinzema/psql-wire/codes"
	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/planner/plan"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// exprCompiler compiles the expressions of one statement.
type exprCompiler struct {
	at     func(location int32) int // byte offset in the parsed text to character position
	start  int                      // of the statement, in characters
	params *paramTypes
	from   []fromItem // whose columns can be named
	calls  []*Call    // in the order of their evaluation
	slots  int        // of derived columns
	// opaque is why a value cannot be computed here whose type alone was needed so
	// far.
	opaque *pgerr.Error
	// database and foreign are those of the Statement.
	database string
	foreign  *pgerr.Error
}

// expr compiles an expression in which calls may stand.
func (c *exprCompiler) expr(n *pg_query.Node) (expr, *pgerr.Error) {
	switch n := n.GetNode().(type) {
	case *pg_query.Node_AConst:
		return c.constant(n.AConst)
	case *pg_query.Node_ParamRef:
		ref, err := c.params.ref(n.ParamRef.Number, n.ParamRef.Location)
		if err != nil {
			return nil, err.At(c.at(n.ParamRef.Location))
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
		return c.function(n.FuncCall)
	case *pg_query.Node_AIndirection:
		return c.callField(n.AIndirection)
	case *pg_query.Node_SqlvalueFunction:
		return c.valueFunction(n.SqlvalueFunction)
	}
	return nil, c.needsUpstream(locationOf(n), "this expression")
}

func (c *exprCompiler) constant(k *pg_query.A_Const) (expr, *pgerr.Error) {
	e := &constant{t: datum.Unknown, pos: k.Location, written: true}
	if k.Isnull {
		e.val = datum.Null
		return e, nil
	}
	switch v := k.Val.(type) {
	case *pg_query.A_Const_Ival:
		e.t, e.val = datum.Int4, datum.OfInt(int64(v.Ival.GetIval()))
	case *pg_query.A_Const_Fval:
		return c.number(e, v.Fval.GetFval())
	case *pg_query.A_Const_Sval:
		e.val = datum.OfText(v.Sval.GetSval())
	case *pg_query.A_Const_Boolval:
		e.t, e.val = datum.Bool, datum.OfBool(v.Boolval.GetBoolval())
	default:
		return nil, c.needsUpstream(k.Location, "a bit string")
	}
	return e, nil
}

// number is a numeric literal that is no int4: a bigint if it fits, else numeric.
func (c *exprCompiler) number(e *constant, text string) (expr, *pgerr.Error) {
	if v, err := datum.Parse(datum.Int8, text); err == nil {
		e.t, e.val = datum.Int8, v
		if fits(v.Int, datum.Int4) { // the smallest int4, whose digits alone do not fit
			e.t = datum.Int4
		}
		return e, nil
	}
	v, err := datum.Parse(datum.Numeric, text)
	if err != nil {
		return nil, pgerr.From(err).At(c.at(e.pos))
	}
	e.t, e.val = datum.Numeric, v
	return e, nil
}

func (c *exprCompiler) typeCast(n *pg_query.TypeCast) (expr, *pgerr.Error) {
	t, typmod, err := c.typeName(n.TypeName)
	if err != nil {
		return nil, err
	}
	e, err := c.expr(n.Arg)
	if err != nil {
		return nil, err
	}
	return c.cast(e, t, typmod, n.Location)
}

func (c *exprCompiler) operator(n *pg_query.A_Expr) (expr, *pgerr.Error) {
	name, ok := catalogName(n.Name)
	if n.Kind != pg_query.A_Expr_Kind_AEXPR_OP || !ok {
		return nil, c.needsUpstream(n.Location, "this operator")
	}
	if n.Lexpr == nil {
		r, err := c.expr(n.Rexpr)
		if err != nil {
			return nil, err
		}
		return c.prefix(name, r, n.Location)
	}
	l, err := c.expr(n.Lexpr)
	if err != nil {
		return nil, err
	}
	r, err := c.expr(n.Rexpr)
	if err != nil {
		return nil, err
	}
	return c.positioned(name, l, r, n.Location)
}

func (c *exprCompiler) positioned(op string, l, r expr, pos int32) (expr, *pgerr.Error) {
	if op == "!=" {
		op = "<>"
	}
	return c.binary(op, l, r, pos)
}

// prefix is + or - before an integer.
func (c *exprCompiler) prefix(op string, e expr, pos int32) (expr, *pgerr.Error) {
	if (op == "-" || op == "+") && e.typ() == datum.Unknown {
		return nil, pgerr.Newf(codes.AmbiguousFunction, "operator is not unique: %s unknown", op).
			WithHint("Could not choose a best candidate operator. You might need to add explicit type casts.").At(c.at(pos))
	}
	if op != "-" && op != "+" || !e.typ().IsInteger() {
		return nil, c.needsUpstream(pos, "operator %s", op)
	}
	if op == "+" {
		return e, nil
	}
	zero := &constant{t: e.typ(), val: datum.OfInt(0), pos: pos}
	return &strict2{t: e.typ(), left: zero, right: e, apply: arithmetic("-", e.typ()), fallible: true}, nil
}

func (c *exprCompiler) boolExpr(n *pg_query.BoolExpr) (expr, *pgerr.Error) {
	args := make([]expr, len(n.Args))
	for i, arg := range n.Args {
		e, err := c.condition(arg)
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

// condition compiles an expression that must be boolean.
func (c *exprCompiler) condition(n *pg_query.Node) (expr, *pgerr.Error) {
	e, err := c.expr(n)
	if err != nil {
		return nil, err
	}
	converted, ok, err := c.implicit(e, datum.Bool)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, pgerr.Newf(codes.DatatypeMismatch, "argument of a condition must be type boolean, not type %s", displayName(e.typ())).
			At(c.at(locationOf(n)))
	}
	return converted, nil
}

func (c *exprCompiler) nullTest(n *pg_query.NullTest) (expr, *pgerr.Error) {
	e, err := c.expr(n.Arg)
	if err != nil {
		return nil, err
	}
	if _, literal := e.(*constant); literal && e.typ() == datum.Unknown {
		if e, err = c.operand(e, datum.Text); err != nil {
			return nil, err
		}
	}
	want := n.Nulltesttype == pg_query.NullTestType_IS_NULL
	return &nullSafe{arg: e, apply: func(d datum.Datum) bool { return d.Null == want }}, nil
}

func (c *exprCompiler) booleanTest(n *pg_query.BooleanTest) (expr, *pgerr.Error) {
	e, err := c.condition(n.Arg)
	if err != nil {
		return nil, err
	}
	var test func(datum.Datum) bool
	switch n.Booltesttype {
	case pg_query.BoolTestType_IS_TRUE:
		test = func(d datum.Datum) bool { return !d.Null && d.Bool() }
	case pg_query.BoolTestType_IS_NOT_TRUE:
		test = func(d datum.Datum) bool { return d.Null || !d.Bool() }
	case pg_query.BoolTestType_IS_FALSE:
		test = func(d datum.Datum) bool { return !d.Null && !d.Bool() }
	case pg_query.BoolTestType_IS_NOT_FALSE:
		test = func(d datum.Datum) bool { return d.Null || d.Bool() }
	case pg_query.BoolTestType_IS_UNKNOWN:
		test = func(d datum.Datum) bool { return d.Null }
	default:
		test = func(d datum.Datum) bool { return !d.Null }
	}
	return &nullSafe{arg: e, apply: test}, nil
}

// needsUpstream refuses what only a real PostgreSQL can answer.
func (c *exprCompiler) needsUpstream(pos int32, format string, args ...any) *pgerr.Error {
	e := plan.UpstreamError(fmt.Sprintf(format, args...))
	e.Position = c.start
	if pos > 0 {
		e.Position = c.at(pos)
	}
	return e
}

// unknowable notes that a value cannot be computed here. Its type may still be
// enough to find an error that PostgreSQL would report first.
func (c *exprCompiler) unknowable(err *pgerr.Error) {
	if c.opaque == nil {
		c.opaque = err
	}
}
