package planner

import (
	"slices"
	"strings"

	"github.com/jeroenrinzema/psql-wire/codes"
	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/planner/sqltext"
	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// function compiles a call in an expression: of ours, or of a session
// information function.
func (c *exprCompiler) function(n *pg_query.FuncCall) (expr, *pgerr.Error) {
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
	if !ok || sqltext.HasPrefix(name) {
		if sqltext.HasPrefix(nameOf(n.Funcname)) {
			return nil, c.undefinedFunction(qualified(n.Funcname), args, n.Location)
		}
		return nil, c.needsUpstream(n.Location, "function %s", qualified(n.Funcname))
	}
	return c.builtin(name, n, args)
}

// noteDatabase notes a call as database.public.f(…), which is an error in any
// other database.
func (c *exprCompiler) noteDatabase(n *pg_query.FuncCall) {
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
func (c *exprCompiler) call(f *sqlfuncs.Function, n *pg_query.FuncCall) (*Call, *pgerr.Error) {
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

func (c *exprCompiler) arguments(n *pg_query.FuncCall) ([]argument, *pgerr.Error) {
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

// argument is one argument of a call as it was written.
type argument struct {
	name  string // "" if positional
	value expr
}

// isVoidParameter recognizes the parameter that JDBC declares for the result of
// {? = call f(…)}. PostgreSQL drops it from the call.
func isVoidParameter(a argument) bool {
	p, ok := a.value.(*param)
	return ok && p.t == datum.Void
}

// resolveCall matches arguments to the declared ones of f, as PostgreSQL
// resolves a call of the only function of its name.
func (c *exprCompiler) resolveCall(f *sqlfuncs.Function, args []argument, pos int32) ([]expr, *pgerr.Error) {
	undefined := c.undefinedFunction(f.Name, args, pos)
	if len(args) != len(f.Args) {
		return nil, undefined
	}
	var unknown *pgerr.Error // of a type that is not known here; the others may be wrong for certain
	resolved := make([]expr, len(f.Args))
	for i, arg := range args {
		slot := i
		if arg.name != "" {
			slot = f.ArgIndex(arg.name)
		}
		if slot < 0 || resolved[slot] != nil {
			return nil, undefined
		}
		switch from := arg.value.typ(); {
		case coerces(from, f.Args[slot].Type):
		case builtin(from):
			return nil, undefined
		default:
			unknown = c.needsUpstream(pos, "an argument of a type that is not built in")
		}
		resolved[slot] = arg.value
	}
	if unknown != nil {
		return nil, unknown
	}
	for i, e := range resolved {
		converted, _, err := c.implicit(e, f.Args[i].Type)
		if err != nil {
			return nil, err
		}
		resolved[i] = converted
	}
	return resolved, nil
}

func (c *exprCompiler) undefinedFunction(name string, args []argument, pos int32) *pgerr.Error {
	return pgerr.Newf(codes.UndefinedFunction, "function %s(%s) does not exist", name, describeArgs(args)).
		WithHint("No function matches the given name and argument types. You might need to add explicit type casts.").
		At(c.at(pos))
}

func describeArgs(args []argument) string {
	parts := make([]string, len(args))
	for i, arg := range args {
		parts[i] = displayName(arg.value.typ())
		if arg.name != "" {
			parts[i] = arg.name + " => " + parts[i]
		}
	}
	return strings.Join(parts, ", ")
}

// callField is (f(…)).column.
func (c *exprCompiler) callField(n *pg_query.A_Indirection) (expr, *pgerr.Error) {
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

func (c *exprCompiler) callSubscript(call *pg_query.FuncCall, field *pg_query.Node) (expr, *pgerr.Error) {
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
