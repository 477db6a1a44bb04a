package catalog

import (
	"errors"

	"github.com/jeroenrinzema/psql-wire/codes"
	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/planner/tree"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// expr is a compiled expression.
type expr struct {
	t      datum.Type
	typmod int32 // -1: none
	eval   func(*execution, *row) (datum.Datum, error)

	literal *pg_query.A_Const // whose type no context has decided yet
	param   int               // the number of a parameter of which that is true
	// columnOf is the column of an item of FROM that it is, or -1.
	columnOf int
	operands [2]*expr // of a comparison
	set      bool     // it is a set-returning function, and eval yields an array of its rows
}

// row is what an expression reads: a row of each item of FROM, nil where an outer join
// found none, and the row of the query around.
type row struct {
	outer      *row
	items      [][]datum.Datum
	aggregates []datum.Datum
}

func computed(t datum.Type, eval func(*execution, *row) (datum.Datum, error)) *expr {
	return &expr{t: t, typmod: -1, columnOf: -1, eval: eval}
}

func constant(t datum.Type, d datum.Datum) *expr {
	return computed(t, func(*execution, *row) (datum.Datum, error) { return d, nil })
}

// strict is a function that is NULL if one of its arguments is.
func strict(t datum.Type, args []*expr, apply func(*execution, []datum.Datum) (datum.Datum, error)) *expr {
	return computed(t, func(x *execution, r *row) (datum.Datum, error) {
		values := make([]datum.Datum, len(args))
		for i, arg := range args {
			var err error
			if values[i], err = arg.eval(x, r); err != nil || values[i].Null {
				return datum.Null, err
			}
		}
		return apply(x, values)
	})
}

// refusal is the error of what is not answered here.
func refusal(format string, args ...any) error {
	e := pgerr.Newf(codes.FeatureNotSupported, format, args...)
	e.Message += " needs an [upstream]"
	return e
}

// IsRefusal says whether an error means that a query is not one that is answered here.
func IsRefusal(err error) bool {
	var e *pgerr.Error
	return errors.As(err, &e) && e.Code == codes.FeatureNotSupported
}

// compiler turns one statement into a Query.
type compiler struct {
	at       func(int32) int
	params   []datum.Type // Unknown: not decided yet
	prepared bool
	scope    *scope
	ctes     map[string]*pg_query.CommonTableExpr
	depth    int
	queries  int
	sets     []Set
}

func (c *compiler) expr(n *pg_query.Node) (*expr, error) {
	switch n := n.GetNode().(type) {
	case *pg_query.Node_AConst:
		return c.constant(n.AConst)
	case *pg_query.Node_ParamRef:
		return c.paramRef(int(n.ParamRef.Number))
	case *pg_query.Node_ColumnRef:
		return c.columnRef(n.ColumnRef)
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
	case *pg_query.Node_FuncCall:
		return c.function(n.FuncCall)
	case *pg_query.Node_SqlvalueFunction:
		return c.valueFunction(n.SqlvalueFunction)
	case *pg_query.Node_CaseExpr:
		return c.caseExpr(n.CaseExpr)
	case *pg_query.Node_CoalesceExpr:
		return c.coalesce(n.CoalesceExpr.Args)
	case *pg_query.Node_AArrayExpr:
		return c.arrayExpr(n.AArrayExpr)
	case *pg_query.Node_SubLink:
		return c.subLink(n.SubLink)
	case *pg_query.Node_AIndirection:
		return c.subscript(n.AIndirection)
	case *pg_query.Node_CollateClause:
		return c.collate(n.CollateClause)
	}
	return nil, refusal("this expression")
}

func (c *compiler) constant(k *pg_query.A_Const) (*expr, error) {
	if k.Isnull {
		e := constant(datum.Unknown, datum.Null)
		e.literal = k
		return e, nil
	}
	switch v := k.Val.(type) {
	case *pg_query.A_Const_Ival:
		return constant(datum.Int4, datum.OfInt(int64(v.Ival.GetIval()))), nil
	case *pg_query.A_Const_Fval:
		if d, err := datum.Parse(datum.Int8, v.Fval.GetFval()); err == nil {
			return constant(datum.Int8, d), nil
		}
	case *pg_query.A_Const_Sval:
		e := constant(datum.Unknown, datum.OfText(v.Sval.GetSval()))
		e.literal = k
		return e, nil
	case *pg_query.A_Const_Boolval:
		return constant(datum.Bool, datum.OfBool(v.Boolval.GetBoolval())), nil
	}
	return nil, refusal("this constant")
}

// maxParams is what a client can bind at most.
const maxParams = 65535

func (c *compiler) paramRef(number int) (*expr, error) {
	if number < 1 || number > maxParams || !c.prepared {
		return nil, refusal("this parameter")
	}
	for len(c.params) < number {
		c.params = append(c.params, datum.Unknown)
	}
	t := c.params[number-1]
	e := computed(t, func(x *execution, _ *row) (datum.Datum, error) { return x.argument(number - 1) })
	if t == datum.Unknown {
		e.param = number
	}
	return e, nil
}

// argument is a parameter's value. One that the session does not read is the text that
// the client sent.
func (x *execution) argument(i int) (datum.Datum, error) {
	d := x.args[i]
	if t := x.query.Params[i]; !d.Null && !datum.Supported(t) {
		return x.input(t, d.Str)
	}
	return d, nil
}

// to converts e as a context does by itself that wants a value of type t: literals and
// parameters become of that type, others stay what they are.
func (c *compiler) to(e *expr, t datum.Type) (*expr, error) {
	switch {
	case e.literal != nil:
		return c.literalTo(e, t)
	case e.param > 0:
		if known := c.params[e.param-1]; known != datum.Unknown && known != t {
			return nil, refusal("a parameter of type %s and %s", displayOf(known), displayOf(t))
		}
		if !readable(t) && !readable(element(t)) {
			return nil, refusal("a parameter of type %s", displayOf(t))
		}
		c.params[e.param-1] = t
		number := e.param
		return computed(t, func(x *execution, _ *row) (datum.Datum, error) { return x.argument(number - 1) }), nil
	}
	return e, nil
}

func (c *compiler) literalTo(e *expr, t datum.Type) (*expr, error) {
	if e.literal.Isnull {
		return constant(t, datum.Null), nil
	}
	text := e.literal.GetSval().GetSval()
	if isReg(t) && t != typeRegtype { // what it names may depend on the search path
		return computed(t, func(x *execution, _ *row) (datum.Datum, error) {
			d, err := x.input(t, text)
			return d, c.placed(err, e.literal.Location)
		}), nil
	}
	d, err := (&execution{}).input(t, text)
	if err != nil {
		return nil, c.placed(err, e.literal.Location)
	}
	return constant(t, d), nil
}

// placed adds where in the text an error was found.
func (c *compiler) placed(err error, location int32) error {
	var e *pgerr.Error
	if errors.As(err, &e) && e.Code != codes.FeatureNotSupported {
		return e.At(c.at(location))
	}
	return err
}

// typed gives an expression without a type the one that it has when nobody asks.
func (c *compiler) typed(e *expr) (*expr, error) {
	if e.t == datum.Unknown && (e.literal != nil || e.param > 0) {
		return c.to(e, datum.Text)
	}
	return e, nil
}

func (c *compiler) exprs(nodes []*pg_query.Node) ([]*expr, error) {
	all := make([]*expr, len(nodes))
	for i, n := range nodes {
		var err error
		if all[i], err = c.expr(n); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (c *compiler) typeCast(n *pg_query.TypeCast) (*expr, error) {
	t, typmod, err := typeOf(n.TypeName)
	if err != nil {
		return nil, err
	}
	if array := n.Arg.GetAArrayExpr(); array != nil && len(array.Elements) == 0 && element(t) != 0 {
		return constant(t, datum.OfText("{}")), nil
	}
	e, err := c.expr(n.Arg)
	if err != nil {
		return nil, err
	}
	return c.cast(e, t, typmod)
}

func (c *compiler) cast(e *expr, t datum.Type, typmod int32) (*expr, error) {
	if e.literal != nil || e.param > 0 {
		converted, err := c.to(e, t)
		if err != nil || typmod < 0 {
			return converted, err
		}
		e = converted
	}
	if e.t == t && typmod < 0 {
		return e, nil
	}
	convert, ok := castFunc(e.t, t)
	if !ok {
		return nil, refusal("a cast of %s to %s", displayOf(e.t), displayOf(t))
	}
	out := strict(t, []*expr{e}, func(x *execution, v []datum.Datum) (datum.Datum, error) {
		d, err := convert(x, v[0])
		if err == nil && typmod >= 0 {
			d.Str = firstCharacters(d.Str, int(typmod-lengthHeader))
		}
		return d, err
	})
	out.typmod = typmod
	return out, nil
}

func firstCharacters(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// typeOf reads a type's name. typmod is that of varchar(n).
func typeOf(n *pg_query.TypeName) (t datum.Type, typmod int32, err error) {
	names := n.GetNames()
	schema := ""
	if len(names) > 1 {
		schema = names[0].GetString_().GetSval()
	}
	p := typeByName(schema, tree.Name(names))
	if p == nil || len(names) > 2 || n.Setof || n.PctType || p.kind == "d" {
		return 0, 0, refusal("type %s", tree.Name(names))
	}
	t = datum.Type(p.oid)
	if len(n.ArrayBounds) > 0 {
		t = arrayOf(t)
	}
	if len(n.Typmods) == 0 {
		if t == datum.Bpchar {
			return 0, 0, refusal("type character")
		}
		return t, -1, nil
	}
	length := n.Typmods[0].GetAConst().GetIval()
	if t == datum.Bpchar && length.GetIval() == 1 { // CHAR without a length, which compares as text of a character does
		return t, 1 + lengthHeader, nil
	}
	if t != datum.Varchar || length == nil || length.Ival < 1 {
		return 0, 0, refusal("this form of type %s", tree.Name(names))
	}
	return t, length.Ival + lengthHeader, nil
}

// lengthHeader is VARHDRSZ, which the modifiers of some types include.
const lengthHeader = 4

func (c *compiler) condition(n *pg_query.Node) (*expr, error) {
	e, err := c.expr(n)
	if err != nil {
		return nil, err
	}
	if e, err = c.to(e, datum.Bool); err != nil {
		return nil, err
	}
	if e.t != datum.Bool {
		return nil, refusal("a condition of type %s", displayOf(e.t))
	}
	return e, nil
}

func (c *compiler) boolExpr(n *pg_query.BoolExpr) (*expr, error) {
	args := make([]*expr, len(n.Args))
	for i, arg := range n.Args {
		var err error
		if args[i], err = c.condition(arg); err != nil {
			return nil, err
		}
	}
	if n.Boolop == pg_query.BoolExprType_NOT_EXPR {
		return strict(datum.Bool, args, func(_ *execution, v []datum.Datum) (datum.Datum, error) { return datum.OfBool(!v[0].Bool()), nil }), nil
	}
	return logic(args, n.Boolop == pg_query.BoolExprType_OR_EXPR), nil
}

// logic is AND or OR with SQL's three values; absorbing decides the result alone.
func logic(args []*expr, absorbing bool) *expr {
	return computed(datum.Bool, func(x *execution, r *row) (datum.Datum, error) {
		result := datum.OfBool(!absorbing)
		for _, arg := range args {
			v, err := arg.eval(x, r)
			switch {
			case err != nil:
				return datum.Null, err
			case v.Null:
				result = datum.Null
			case v.Bool() == absorbing:
				return v, nil
			}
		}
		return result, nil
	})
}

func (c *compiler) nullTest(n *pg_query.NullTest) (*expr, error) {
	e, err := c.expr(n.Arg)
	if err != nil {
		return nil, err
	}
	if e, err = c.typed(e); err != nil {
		return nil, err
	}
	want := n.Nulltesttype == pg_query.NullTestType_IS_NULL
	return computed(datum.Bool, func(x *execution, r *row) (datum.Datum, error) {
		v, err := e.eval(x, r)
		return datum.OfBool(v.Null == want), err
	}), nil
}

func (c *compiler) booleanTest(n *pg_query.BooleanTest) (*expr, error) {
	e, err := c.condition(n.Arg)
	if err != nil {
		return nil, err
	}
	test := map[pg_query.BoolTestType]func(datum.Datum) bool{
		pg_query.BoolTestType_IS_TRUE:        func(d datum.Datum) bool { return !d.Null && d.Bool() },
		pg_query.BoolTestType_IS_NOT_TRUE:    func(d datum.Datum) bool { return d.Null || !d.Bool() },
		pg_query.BoolTestType_IS_FALSE:       func(d datum.Datum) bool { return !d.Null && !d.Bool() },
		pg_query.BoolTestType_IS_NOT_FALSE:   func(d datum.Datum) bool { return d.Null || d.Bool() },
		pg_query.BoolTestType_IS_UNKNOWN:     func(d datum.Datum) bool { return d.Null },
		pg_query.BoolTestType_IS_NOT_UNKNOWN: func(d datum.Datum) bool { return !d.Null },
	}[n.Booltesttype]
	return computed(datum.Bool, func(x *execution, r *row) (datum.Datum, error) {
		v, err := e.eval(x, r)
		return datum.OfBool(test(v)), err
	}), nil
}

// caseExpr is CASE, with or without a value to compare.
func (c *compiler) caseExpr(n *pg_query.CaseExpr) (*expr, error) {
	var conditions, results []*expr
	for _, node := range n.Args {
		when := node.GetCaseWhen()
		condition, err := c.when(n.Arg, when.Expr)
		if err != nil {
			return nil, err
		}
		result, err := c.expr(when.Result)
		if err != nil {
			return nil, err
		}
		conditions, results = append(conditions, condition), append(results, result)
	}
	otherwise := &pg_query.Node{Node: &pg_query.Node_AConst{AConst: &pg_query.A_Const{Isnull: true}}}
	if n.Defresult != nil {
		otherwise = n.Defresult
	}
	last, err := c.expr(otherwise)
	if err != nil {
		return nil, err
	}
	t, results, err := c.unify(append(results, last))
	if err != nil {
		return nil, err
	}
	return computed(t, func(x *execution, r *row) (datum.Datum, error) {
		for i, condition := range conditions {
			v, err := condition.eval(x, r)
			if err != nil {
				return datum.Null, err
			}
			if !v.Null && v.Bool() {
				return results[i].eval(x, r)
			}
		}
		return results[len(conditions)].eval(x, r)
	}), nil
}

func (c *compiler) when(value, n *pg_query.Node) (*expr, error) {
	if value == nil {
		return c.condition(n)
	}
	l, err := c.expr(value)
	if err != nil {
		return nil, err
	}
	r, err := c.expr(n)
	if err != nil {
		return nil, err
	}
	return c.compare("=", l, r)
}

func (c *compiler) coalesce(nodes []*pg_query.Node) (*expr, error) {
	args, err := c.exprs(nodes)
	if err != nil {
		return nil, err
	}
	t, args, err := c.unify(args)
	if err != nil {
		return nil, err
	}
	return computed(t, func(x *execution, r *row) (datum.Datum, error) {
		for _, arg := range args {
			if v, err := arg.eval(x, r); err != nil || !v.Null {
				return v, err
			}
		}
		return datum.Null, nil
	}), nil
}

// unify converts expressions to their common type, as CASE, UNION and ARRAY do.
func (c *compiler) unify(args []*expr) (datum.Type, []*expr, error) {
	common := datum.Unknown
	for _, e := range args {
		switch {
		case e.t == datum.Unknown, e.t == common:
		case common == datum.Unknown, isInteger(common) && (widensTo(common, e.t) || e.t == datum.OID && common != datum.Int8), isText(common) && e.t == datum.Text:
			common = e.t
		case isInteger(e.t) && (widensTo(e.t, common) || common == datum.OID && e.t != datum.Int8), isText(e.t) && common == datum.Text:
		default:
			return 0, nil, refusal("values of types %s and %s", displayOf(common), displayOf(e.t))
		}
	}
	if common == datum.Unknown {
		common = datum.Text
	}
	out := make([]*expr, len(args))
	for i, e := range args {
		var err error
		if out[i], err = c.to(e, common); err != nil {
			return 0, nil, err
		}
	}
	return common, out, nil
}

// widensTo lists the implicit casts between integers.
func widensTo(from, to datum.Type) bool {
	rank := map[datum.Type]int{datum.Int2: 1, datum.Int4: 2, datum.Int8: 3}
	return rank[from] > 0 && rank[to] > rank[from]
}

func (c *compiler) arrayExpr(n *pg_query.A_ArrayExpr) (*expr, error) {
	args, err := c.exprs(n.Elements)
	if err != nil {
		return nil, err
	}
	t, args, err := c.unify(args)
	switch {
	case err != nil:
		return nil, err
	case len(args) == 0 || element(t) != 0 || arrayOf(t) == 0:
		return nil, refusal("this ARRAY")
	}
	return computed(arrayOf(t), func(x *execution, r *row) (datum.Datum, error) {
		values := make([]datum.Datum, len(args))
		for i, arg := range args {
			var err error
			if values[i], err = arg.eval(x, r); err != nil {
				return datum.Null, err
			}
		}
		return x.array(t, values)
	}), nil
}

func (c *compiler) subscript(n *pg_query.A_Indirection) (*expr, error) {
	array, err := c.expr(n.Arg)
	if err != nil {
		return nil, err
	}
	index := n.Indirection[0].GetAIndices()
	if index == nil || index.IsSlice || len(n.Indirection) != 1 || element(array.t) == 0 {
		return nil, refusal("this expression")
	}
	i, err := c.expr(index.Uidx)
	if err != nil {
		return nil, err
	}
	if i, err = c.to(i, datum.Int4); err != nil || !i.t.IsInteger() {
		return nil, refusal("this subscript")
	}
	return strict(element(array.t), []*expr{array, i}, func(x *execution, v []datum.Datum) (datum.Datum, error) {
		items, err := x.elements(array.t, v[0])
		at := v[1].Int - lowerBound(array.t, v[0])
		if err != nil || at < 0 || at >= int64(len(items)) {
			return datum.Null, err
		}
		return items[at], nil
	}), nil
}

// collate accepts the collations that sort by bytes, as all of an embedded server do.
func (c *compiler) collate(n *pg_query.CollateClause) (*expr, error) {
	name, ok := tree.CatalogName(n.Collname)
	if !ok || name != "default" && name != "C" && name != "POSIX" {
		return nil, refusal("collation \"%s\"", name)
	}
	e, err := c.expr(n.Arg)
	if err != nil {
		return nil, err
	}
	return c.typed(e)
}
