package catalog

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/planner/tree"
	"raisinproxy/sqlfuncs/datum"
)

func (c *compiler) operator(n *pg_query.A_Expr) (*expr, error) {
	name, ok := tree.CatalogName(n.Name)
	if !ok {
		return nil, refusal("this operator")
	}
	switch n.Kind {
	case pg_query.A_Expr_Kind_AEXPR_IN:
		return c.in(name, n)
	case pg_query.A_Expr_Kind_AEXPR_OP_ANY, pg_query.A_Expr_Kind_AEXPR_OP_ALL:
		return c.quantified(name, n)
	case pg_query.A_Expr_Kind_AEXPR_NULLIF:
		return c.nullIf(n)
	case pg_query.A_Expr_Kind_AEXPR_SIMILAR:
		return c.similarTo(name, n)
	case pg_query.A_Expr_Kind_AEXPR_DISTINCT, pg_query.A_Expr_Kind_AEXPR_NOT_DISTINCT:
		return c.distinct(n)
	case pg_query.A_Expr_Kind_AEXPR_OP, pg_query.A_Expr_Kind_AEXPR_LIKE, pg_query.A_Expr_Kind_AEXPR_ILIKE:
	default:
		return nil, refusal("this operator")
	}
	if n.Lexpr == nil {
		return c.prefix(name, n.Rexpr)
	}
	l, r, err := c.operands(n)
	if err != nil {
		return nil, err
	}
	return c.binary(name, l, r)
}

func (c *compiler) operands(n *pg_query.A_Expr) (l, r *expr, err error) {
	if l, err = c.expr(n.Lexpr); err == nil {
		r, err = c.expr(n.Rexpr)
	}
	return l, r, err
}

func (c *compiler) prefix(op string, n *pg_query.Node) (*expr, error) {
	e, err := c.expr(n)
	if err != nil || op != "-" || !e.t.IsInteger() {
		return nil, refusal("operator %s", op)
	}
	return strict(e.t, []*expr{e}, func(_ *execution, v []datum.Datum) (datum.Datum, error) { return datum.OfInt(-v[0].Int), nil }), nil
}

func (c *compiler) binary(op string, l, r *expr) (*expr, error) {
	switch op {
	case "=", "<>", "!=", "<", "<=", ">", ">=":
		return c.compare(op, l, r)
	case "~", "!~", "~*", "!~*", "~~", "!~~", "~~*", "!~~*":
		return c.matches(op, l, r)
	case "||":
		return c.concatenation(l, r)
	case "+", "-", "*":
		return c.arithmetic(op, l, r)
	}
	return nil, refusal("operator %s", op)
}

// family groups the types whose values are compared with each other.
func family(t datum.Type) string {
	switch {
	case isText(t):
		return "text"
	case isNumber(t):
		return "number"
	case t == datum.Bool:
		return "bool"
	case t == datum.Timestamptz:
		return "time"
	case t == datum.Float4 || t == datum.Float8:
		return "float"
	}
	return ""
}

var accepts = map[string]func(int) bool{
	"=":  func(o int) bool { return o == 0 },
	"<>": func(o int) bool { return o != 0 },
	"!=": func(o int) bool { return o != 0 },
	"<":  func(o int) bool { return o < 0 },
	"<=": func(o int) bool { return o <= 0 },
	">":  func(o int) bool { return o > 0 },
	">=": func(o int) bool { return o >= 0 },
}

// peer is the type that a literal is given which is compared with a value of type t:
// varchar has no operators of its own, and those of the names of objects are oid's.
func peer(t datum.Type) datum.Type {
	switch {
	case t == datum.Unknown || t == datum.Varchar:
		return datum.Text
	case isReg(t):
		return datum.OID
	}
	return t
}

func (c *compiler) compare(op string, l, r *expr) (*expr, error) {
	lt, rt := l.t, r.t
	l, err := c.to(l, peer(rt))
	if err != nil {
		return nil, err
	}
	if r, err = c.to(r, peer(lt)); err != nil {
		return nil, err
	}
	order, err := comparison(l.t, r.t, op)
	if err != nil {
		return nil, err
	}
	accept := accepts[op]
	out := strict(datum.Bool, []*expr{l, r}, func(_ *execution, v []datum.Datum) (datum.Datum, error) {
		return datum.OfBool(accept(order(v[0], v[1]))), nil
	})
	out.operands = [2]*expr{l, r}
	return out, nil
}

// comparison orders values of two types.
func comparison(l, r datum.Type, op string) (func(l, r datum.Datum) int, error) {
	equality := op == "=" || op == "<>" || op == "!="
	switch f := family(l); {
	case f != family(r):
	case l == datum.Bpchar || r == datum.Bpchar:
		return comparePadded(l, r), nil
	case f == "text":
		return compareText, nil
	case f == "number", f == "bool", f == "time":
		return compareInts, nil
	case f == "float":
		return compareFloats, nil
	case f == "" && l == r && equality && element(l) != 0:
		return compareText, nil
	}
	return nil, refusal("operator %s on %s and %s", op, displayOf(l), displayOf(r))
}

// comparePadded compares where blanks at the end of a character(n) do not count.
func comparePadded(lt, rt datum.Type) func(l, r datum.Datum) int {
	trim := func(t datum.Type, d datum.Datum) string {
		if t == datum.Bpchar {
			return strings.TrimRight(d.Str, " ")
		}
		return d.Str
	}
	return func(l, r datum.Datum) int { return strings.Compare(trim(lt, l), trim(rt, r)) }
}

// compareFloats compares numbers that are kept as text; NaN is greater than all others.
func compareFloats(l, r datum.Datum) int {
	read := func(s string) float64 {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return math.NaN()
		}
		return f
	}
	return -cmp.Compare(-read(l.Str), -read(r.Str))
}

func compareText(l, r datum.Datum) int { return strings.Compare(l.Str, r.Str) }
func compareInts(l, r datum.Datum) int { return cmp.Compare(l.Int, r.Int) }

// matches is LIKE or a regular expression.
func (c *compiler) matches(op string, l, r *expr) (*expr, error) {
	var err error
	if l, err = c.to(l, datum.Text); err != nil {
		return nil, err
	}
	if r, err = c.to(r, datum.Text); err != nil {
		return nil, err
	}
	// "char" becomes text by itself.
	if !isText(l.t) || !isText(r.t) || l.t == datum.Bpchar || r.t == datum.Bpchar {
		return nil, refusal("operator %s on %s and %s", op, displayOf(l.t), displayOf(r.t))
	}
	positive := strings.TrimPrefix(op, "!")
	fold := strings.HasSuffix(op, "*")
	return strict(datum.Bool, []*expr{l, r}, func(x *execution, v []datum.Datum) (datum.Datum, error) {
		var found bool
		if strings.HasPrefix(positive, "~~") {
			found, err := like(v[0].Str, v[1].Str, fold)
			return datum.OfBool(found == (positive == op)), err
		}
		re, err := x.expression(v[1].Str, fold)
		if err == nil {
			found = re.MatchString(v[0].Str)
		}
		return datum.OfBool(found == (positive == op)), err
	}), nil
}

// similarTo is SIMILAR TO; the parser wraps its pattern in a function.
func (c *compiler) similarTo(op string, n *pg_query.A_Expr) (*expr, error) {
	l, err := c.expr(n.Lexpr)
	if err != nil {
		return nil, err
	}
	args := n.Rexpr.GetFuncCall().GetArgs()
	pattern, escape := args[0].GetAConst().GetSval(), `\`
	if len(args) > 1 {
		escape = args[1].GetAConst().GetSval().GetSval()
	}
	if pattern == nil || len(escape) != 1 {
		return nil, refusal("this SIMILAR TO")
	}
	re, err := similar(pattern.Sval, escape[0])
	if err != nil {
		return nil, err
	}
	return c.matches(op, l, constant(datum.Text, datum.OfText(re)))
}

// in is IN with a list. The literals in it are of the type of the value.
func (c *compiler) in(op string, n *pg_query.A_Expr) (*expr, error) {
	var tests []*expr
	for _, item := range n.Rexpr.GetList().GetItems() {
		l, err := c.expr(n.Lexpr)
		if err != nil {
			return nil, err
		}
		r, err := c.expr(item)
		if err != nil {
			return nil, err
		}
		test, err := c.compare(op, l, r)
		if err != nil {
			return nil, err
		}
		tests = append(tests, test)
	}
	return logic(tests, op == "="), nil
}

// quantified is = ANY (array) and its kin.
func (c *compiler) quantified(op string, n *pg_query.A_Expr) (*expr, error) {
	l, array, err := c.operands(n)
	if err != nil {
		return nil, err
	}
	if l, err = c.typed(l); err != nil {
		return nil, err
	}
	if array, err = c.to(array, arrayOf(peer(l.t))); err != nil {
		return nil, err
	}
	if element(array.t) == 0 {
		return nil, refusal("ANY of a value of type %s", displayOf(array.t))
	}
	item := computed(element(array.t), func(x *execution, _ *row) (datum.Datum, error) { return x.item, nil })
	test, err := c.binary(op, l, item)
	if err != nil {
		return nil, err
	}
	anyOf := n.Kind == pg_query.A_Expr_Kind_AEXPR_OP_ANY
	return computed(datum.Bool, func(x *execution, r *row) (datum.Datum, error) {
		v, err := array.eval(x, r)
		if err != nil || v.Null {
			return datum.Null, err
		}
		items, err := x.elements(array.t, v)
		if err != nil {
			return datum.Null, err
		}
		return x.anyOf(items, test, r, anyOf)
	}), nil
}

// anyOf says whether a test is true of one of the items, or of all.
func (x *execution) anyOf(items []datum.Datum, test *expr, r *row, one bool) (datum.Datum, error) {
	result := datum.OfBool(!one)
	for _, item := range items {
		if err := x.step(); err != nil {
			return datum.Null, err
		}
		outer := x.item
		x.item = item
		v, err := test.eval(x, r)
		x.item = outer
		switch {
		case err != nil:
			return datum.Null, err
		case v.Null:
			result = datum.Null
		case v.Bool() == one:
			return v, nil
		}
	}
	return result, nil
}

func (c *compiler) nullIf(n *pg_query.A_Expr) (*expr, error) {
	l, r, err := c.operands(n)
	if err != nil {
		return nil, err
	}
	if l, err = c.to(l, peer(r.t)); err != nil {
		return nil, err
	}
	same, err := c.compare("=", l, r)
	if err != nil {
		return nil, err
	}
	return computed(l.t, func(x *execution, r *row) (datum.Datum, error) {
		v, err := l.eval(x, r)
		if err != nil {
			return v, err
		}
		if equal, err := same.eval(x, r); err != nil || !equal.Null && equal.Bool() {
			return datum.Null, err
		}
		return v, nil
	}), nil
}

// distinct is IS [NOT] DISTINCT FROM.
func (c *compiler) distinct(n *pg_query.A_Expr) (*expr, error) {
	l, r, err := c.operands(n)
	if err != nil {
		return nil, err
	}
	equal, err := c.compare("=", l, r)
	if err != nil {
		return nil, err
	}
	if l, err = c.typed(l); err != nil {
		return nil, err
	}
	if r, err = c.typed(r); err != nil {
		return nil, err
	}
	not := n.Kind == pg_query.A_Expr_Kind_AEXPR_NOT_DISTINCT
	return computed(datum.Bool, func(x *execution, row *row) (datum.Datum, error) {
		lv, err := l.eval(x, row)
		if err != nil {
			return datum.Null, err
		}
		rv, err := r.eval(x, row)
		if err != nil || lv.Null || rv.Null {
			return datum.OfBool((lv.Null == rv.Null) == not), err
		}
		v, err := equal.eval(x, row)
		return datum.OfBool(v.Bool() == not), err
	}), nil
}

// concatenation is || of which one side is a string.
func (c *compiler) concatenation(l, r *expr) (*expr, error) {
	args := []*expr{l, r}
	if !l.t.IsString() && !r.t.IsString() && l.t != datum.Unknown && r.t != datum.Unknown {
		return nil, refusal("operator || on %s and %s", displayOf(l.t), displayOf(r.t))
	}
	for i, e := range args {
		if e.t == datum.Unknown && element(args[1-i].t) != 0 || element(e.t) != 0 || e.t == datum.Bpchar {
			return nil, refusal("operator || on %s and %s", displayOf(l.t), displayOf(r.t))
		}
		var err error
		if args[i], err = c.cast(e, datum.Text, -1); err != nil {
			return nil, err
		}
	}
	return strict(datum.Text, args, func(_ *execution, v []datum.Datum) (datum.Datum, error) {
		if len(v[0].Str)+len(v[1].Str) > maxText {
			return datum.Null, refusal("a text of more than %d bytes", maxText)
		}
		return datum.OfText(v[0].Str + v[1].Str), nil
	}), nil
}

// maxText bounds what || may build.
const maxText = 1 << 20

func (c *compiler) arithmetic(op string, l, r *expr) (*expr, error) {
	lt, rt := l.t, r.t
	l, err := c.to(l, rt)
	if err != nil {
		return nil, err
	}
	if r, err = c.to(r, lt); err != nil {
		return nil, err
	}
	t := l.t
	if widensTo(t, r.t) {
		t = r.t
	}
	if !l.t.IsInteger() || !r.t.IsInteger() || t == datum.Int8 {
		return nil, refusal("operator %s on %s and %s", op, displayOf(l.t), displayOf(r.t))
	}
	return strict(t, []*expr{l, r}, func(x *execution, v []datum.Datum) (datum.Datum, error) {
		n := v[0].Int + v[1].Int
		switch op {
		case "-":
			n = v[0].Int - v[1].Int
		case "*":
			n = v[0].Int * v[1].Int
		}
		convert, _ := castFunc(datum.Int8, t)
		return convert(x, datum.OfInt(n))
	}), nil
}
