package expr

import (
	"slices"
	"strings"

	"github.com/jeroenrinzema/psql-wire/codes"
	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/planner/sqltext"
	"raisinproxy/planner/tree"
	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// Function compiles a call in an expression: of the proxy's, or of a session
// information function.
func (c *Compiler) Function(n *pg_query.FuncCall) (Expr, *pgerr.Error) {
	if f, ok := tree.Function(n); ok {
		c.NoteDatabase(n)
		call, err := c.Call(f, n)
		if err != nil {
			return nil, err
		}
		return Whole(call), nil
	}
	args, err := c.arguments(n)
	if err != nil {
		return nil, err
	}
	if schema := tree.Schema(n.Funcname); len(n.Funcname) == 2 && !schemas[schema] {
		return nil, noSchema(schema).At(c.At(n.Location))
	}
	name, ok := tree.CatalogName(n.Funcname)
	if !ok || sqltext.HasPrefix(name) {
		if sqltext.HasPrefix(tree.Name(n.Funcname)) {
			return nil, c.undefinedFunction(tree.Qualified(n.Funcname), args, n.Location)
		}
		return nil, c.NeedsUpstream(n.Location, "function %s", tree.Qualified(n.Funcname))
	}
	return c.builtin(name, n, args)
}

// NoteDatabase notes a call as database.public.f(…), which is an error in any
// other database.
func (c *Compiler) NoteDatabase(n *pg_query.FuncCall) {
	if len(n.Funcname) < 3 {
		return
	}
	database := n.Funcname[0].GetString_().GetSval()
	if c.Foreign == nil || c.Database == database {
		c.Database = database
		c.Foreign = pgerr.Newf(codes.FeatureNotSupported, "cross-database references are not implemented: %s", tree.Qualified(n.Funcname)).At(c.At(n.Location))
	}
}

// Call compiles one of the proxy's calls and notes it, after those in its arguments.
func (c *Compiler) Call(f *sqlfuncs.Function, n *pg_query.FuncCall) (*Call, *pgerr.Error) {
	if made := c.Made[n]; made != nil {
		return made, nil
	}
	args, err := c.arguments(n)
	if err != nil {
		return nil, err
	}
	resolved, err := c.resolveCall(f, args, n.Location)
	if err != nil {
		return nil, err
	}
	call := &Call{Func: f, Args: resolved, Index: len(c.Calls)}
	c.Calls = append(c.Calls, call)
	return call, nil
}

func (c *Compiler) arguments(n *pg_query.FuncCall) ([]argument, *pgerr.Error) {
	args := make([]argument, len(n.Args))
	for i, node := range n.Args {
		if named := node.GetNamedArgExpr(); named != nil {
			if slices.ContainsFunc(args[:i], func(a argument) bool { return a.name == named.Name }) {
				return nil, pgerr.Newf(codes.Syntax, "argument name \"%s\" used more than once", named.Name).At(c.At(named.Location))
			}
			args[i].name, node = named.Name, named.Arg
		} else if i > 0 && args[i-1].name != "" {
			return nil, pgerr.Newf(codes.Syntax, "positional argument cannot follow named argument").
				At(c.At(tree.Location(node)))
		}
		e, err := c.Expr(node)
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
	value Expr
}

// isVoidParameter recognizes the parameter that JDBC declares for the result of
// {? = call f(…)}. PostgreSQL drops it from the call.
func isVoidParameter(a argument) bool {
	p, ok := a.value.(*param)
	return ok && p.t == datum.Void
}

// resolveCall matches arguments to the declared ones of f, as PostgreSQL
// resolves a call of the only function of its name.
func (c *Compiler) resolveCall(f *sqlfuncs.Function, args []argument, pos int32) ([]Expr, *pgerr.Error) {
	undefined := c.undefinedFunction(f.Name, args, pos)
	if len(args) > len(f.Args) {
		return nil, undefined
	}
	var unknown *pgerr.Error // of a type that is not known here; the others may be wrong for certain
	resolved := make([]Expr, len(f.Args))
	for i, arg := range args {
		slot := i
		if arg.name != "" {
			slot = f.ArgIndex(arg.name)
		}
		if slot < 0 || resolved[slot] != nil {
			return nil, undefined
		}
		switch from := arg.value.Type(); {
		case coerces(from, f.Args[slot].Type):
		case builtin(from):
			return nil, undefined
		default:
			unknown = c.NeedsUpstream(pos, "an argument of a type that is not built in")
		}
		resolved[slot] = arg.value
	}
	for i, e := range resolved {
		if e == nil && f.Args[i].Default == nil {
			return nil, undefined
		}
	}
	if unknown != nil {
		return nil, unknown
	}
	for i, e := range resolved {
		if e == nil {
			resolved[i] = DefaultOf(&f.Args[i])
			continue
		}
		converted, _, err := c.Implicit(e, f.Args[i].Type)
		if err != nil {
			return nil, err
		}
		resolved[i] = converted
	}
	return resolved, nil
}

// DefaultOf is the value of an argument that a call leaves out.
func DefaultOf(a *sqlfuncs.Arg) Expr { return &Constant{T: a.Type, val: *a.Default} }

func (c *Compiler) undefinedFunction(name string, args []argument, pos int32) *pgerr.Error {
	return pgerr.Newf(codes.UndefinedFunction, "function %s(%s) does not exist", name, describeArgs(args)).
		WithHint("No function matches the given name and argument types. You might need to add explicit type casts.").
		At(c.At(pos))
}

func describeArgs(args []argument) string {
	parts := make([]string, len(args))
	for i, arg := range args {
		parts[i] = DisplayName(arg.value.Type())
		if arg.name != "" {
			parts[i] = arg.name + " => " + parts[i]
		}
	}
	return strings.Join(parts, ", ")
}

// callField is (f(…)).column.
func (c *Compiler) callField(n *pg_query.A_Indirection) (Expr, *pgerr.Error) {
	call, f, column := tree.FieldOfCall(n)
	if f == nil {
		if field := tree.SubscriptOfCall(n); field != nil && c.Made == nil { // it may be anything that reads a row
			return c.callSubscript(n.Arg.GetFuncCall(), field)
		}
		return nil, c.NeedsUpstream(tree.Location(n.Arg), "this expression")
	}
	index := f.ColumnIndex(column)
	if index < 0 {
		return nil, pgerr.Newf(codes.UndefinedColumn, "could not identify column \"%s\" in record data type", column).
			At(c.At(call.Location))
	}
	compiled, err := c.Call(f, call)
	if err != nil {
		return nil, err
	}
	return ColumnOf(compiled, index), nil
}

func (c *Compiler) callSubscript(call *pg_query.FuncCall, field *pg_query.Node) (Expr, *pgerr.Error) {
	l, err := c.Function(call)
	if err != nil {
		return nil, err
	}
	r, err := c.Expr(field)
	if err != nil {
		return nil, err
	}
	return c.JSONField("->", l, r, call.Location)
}
