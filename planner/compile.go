package planner

import (
	"slices"

	"github.com/jeroenrinzema/psql-wire/codes"
	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// compiler turns one parsed statement into a Statement.
type compiler struct {
	at     func(location int32) int // byte offset in the parsed text to character position
	start  int                      // of the statement, in characters
	params *paramTypes
	from   []fromItem
	with   map[string]fromItem // the WITH queries, by name
	calls  []*Call
	slots  int // of derived columns
	// opaque is why a value cannot be computed here whose type alone was needed so
	// far.
	opaque   *pgerr.Error
	embedded bool // there is no upstream: queries over the catalogues are answered here
	// database and foreign are those of the Statement.
	database string
	foreign  *pgerr.Error
}

// statement compiles n. Errors beyond syntax are kept in the result, to be
// reported when the statement's turn comes.
func (c *compiler) statement(n *pg_query.Node) *Statement {
	s := &Statement{}
	declared := slices.Clone(c.params.types)
	placed, err := placeCalls(n, c.at)
	s.Mentions = len(placed.calls) > 0 || err != nil
	if len(placed.calls) > 0 {
		s.First, _ = ours(placed.calls[0].call)
	}
	if err == nil {
		err = c.compile(s, n)
	}
	if err == nil {
		err = c.opaque
	}
	if err == nil {
		err = c.params.check()
	}
	if query := n.GetSelectStmt(); err != nil && NeedsUpstream(err) && c.embedded && query != nil && !s.Mentions {
		if answer, ok := c.catalogueQuery(query, declared); ok {
			return answer
		}
	}
	if err == nil {
		err = placed.unknownHere()
	}
	if err != nil {
		return &Statement{Err: err, Action: s.Action, Mentions: s.Mentions, First: s.First}
	}
	s.Params = c.params.types
	s.Calls = c.calls
	if c.foreign != nil {
		s.Database, s.Foreign = c.database, c.foreign
	}
	return s
}

func (c *compiler) compile(s *Statement, n *pg_query.Node) *pgerr.Error {
	switch n := n.GetNode().(type) {
	case *pg_query.Node_SelectStmt:
		return c.selectStmt(s, n.SelectStmt)
	case *pg_query.Node_PrepareStmt:
		return c.prepare(s, n.PrepareStmt)
	case *pg_query.Node_ExecuteStmt:
		return c.execute(s, n.ExecuteStmt)
	}
	return c.utility(s, n)
}

// expr compiles an expression in which calls may stand.
func (c *compiler) expr(n *pg_query.Node) (expr, *pgerr.Error) {
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

func (c *compiler) constant(k *pg_query.A_Const) (expr, *pgerr.Error) {
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
func (c *compiler) number(e *constant, text string) (expr, *pgerr.Error) {
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

func (c *compiler) typeCast(n *pg_query.TypeCast) (expr, *pgerr.Error) {
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

func (c *compiler) operator(n *pg_query.A_Expr) (expr, *pgerr.Error) {
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

func (c *compiler) positioned(op string, l, r expr, pos int32) (expr, *pgerr.Error) {
	if op == "!=" {
		op = "<>"
	}
	return c.binary(op, l, r, pos)
}

// prefix is + or - before an integer.
func (c *compiler) prefix(op string, e expr, pos int32) (expr, *pgerr.Error) {
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

func (c *compiler) boolExpr(n *pg_query.BoolExpr) (expr, *pgerr.Error) {
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
func (c *compiler) condition(n *pg_query.Node) (expr, *pgerr.Error) {
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

func (c *compiler) nullTest(n *pg_query.NullTest) (expr, *pgerr.Error) {
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

func (c *compiler) booleanTest(n *pg_query.BooleanTest) (expr, *pgerr.Error) {
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

// function compiles a call in an expression: of ours, or of a session
// information function.
func (c *compiler) function(n *pg_query.FuncCall) (expr, *pgerr.Error) {
	if f, ok := ours(n); ok {
		c.noteDatabase(n)
		call, err := c.call(f, n)
		if err != nil {
			return nil, err
		}
		return &callScalar{call: call}, nil
	}
	args, err := c.arguments(n)
	if err != nil {
		return nil, err
	}
	if schema := schemaOf(n.Funcname); len(n.Funcname) == 2 && !schemas[schema] {
		return nil, noSchema(schema).At(c.at(n.Location))
	}
	name, ok := catalogName(n.Funcname)
	if !ok || looksOurs(name) {
		if looksOurs(nameOf(n.Funcname)) {
			return nil, c.undefinedFunction(qualified(n.Funcname), args, n.Location)
		}
		return nil, c.needsUpstream(n.Location, "function %s", qualified(n.Funcname))
	}
	return c.builtin(name, n, args)
}

// noteDatabase notes a call as database.public.f(…), which is an error in any
// other database.
func (c *compiler) noteDatabase(n *pg_query.FuncCall) {
	if len(n.Funcname) < 3 {
		return
	}
	database := n.Funcname[0].GetString_().GetSval()
	if c.foreign == nil || c.database == database {
		c.database = database
		c.foreign = pgerr.Newf(codes.FeatureNotSupported, "cross-database references are not implemented: %s", qualified(n.Funcname)).At(c.at(n.Location))
	}
}

// call compiles one of our calls and notes it, after those in its arguments.
func (c *compiler) call(f *sqlfuncs.Function, n *pg_query.FuncCall) (*Call, *pgerr.Error) {
	args, err := c.arguments(n)
	if err != nil {
		return nil, err
	}
	resolved, err := c.resolveCall(f, args, n.Location)
	if err != nil {
		return nil, err
	}
	call := &Call{Func: f, Args: resolved, index: len(c.calls)}
	c.calls = append(c.calls, call)
	return call, nil
}

func (c *compiler) arguments(n *pg_query.FuncCall) ([]argument, *pgerr.Error) {
	args := make([]argument, len(n.Args))
	for i, node := range n.Args {
		if named := node.GetNamedArgExpr(); named != nil {
			if slices.ContainsFunc(args[:i], func(a argument) bool { return a.name == named.Name }) {
				return nil, pgerr.Newf(codes.Syntax, "argument name \"%s\" used more than once", named.Name).At(c.at(named.Location))
			}
			args[i].name, node = named.Name, named.Arg
		} else if i > 0 && args[i-1].name != "" {
			return nil, pgerr.Newf(codes.Syntax, "positional argument cannot follow named argument").
				At(c.at(locationOf(node)))
		}
		e, err := c.expr(node)
		if err != nil {
			return nil, err
		}
		args[i].value = e
	}
	return slices.DeleteFunc(args, isVoidParameter), nil
}

// isVoidParameter recognizes the parameter that JDBC declares for the result of
// {? = call f(…)}. PostgreSQL drops it from the call.
func isVoidParameter(a argument) bool {
	p, ok := a.value.(*param)
	return ok && p.t == datum.Void
}

// callField is (f(…)).column.
func (c *compiler) callField(n *pg_query.A_Indirection) (expr, *pgerr.Error) {
	call, f, column := fieldOfCall(n)
	if f == nil {
		if field := subscriptOfCall(n); field != nil {
			return c.callSubscript(n.Arg.GetFuncCall(), field)
		}
		return nil, c.needsUpstream(locationOf(n.Arg), "this expression")
	}
	index := f.ColumnIndex(column)
	if index < 0 {
		return nil, pgerr.Newf(codes.UndefinedColumn, "could not identify column \"%s\" in record data type", column).
			At(c.at(call.Location))
	}
	compiled, err := c.call(f, call)
	if err != nil {
		return nil, err
	}
	return &callColumn{call: compiled, column: index}, nil
}

func (c *compiler) callSubscript(call *pg_query.FuncCall, field *pg_query.Node) (expr, *pgerr.Error) {
	l, err := c.function(call)
	if err != nil {
		return nil, err
	}
	r, err := c.expr(field)
	if err != nil {
		return nil, err
	}
	return c.jsonField("->", l, r, call.Location)
}
