package rewrite

import (
	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/planner/expr"
	"raisinproxy/sqlfuncs/datum"
)

// LocalArgs computes what Args computes, without the upstream.
type LocalArgs struct {
	guards []expr.Expr // all of which must be true
	calls  [][]expr.Expr
}

// localSource is what LocalArgs are compiled from.
type localSource struct {
	at     func(location int32) int
	guards []*pg_query.Node
	args   [][]*pg_query.Node // of each call, in declared order; nil: it is left out
}

// Local compiles what Args computes, for parameters of these types (those that the
// probe found). It returns nil unless the result is certain to be what the upstream
// would compute, and cannot fail: literals, parameters, || and a few casts. Then the
// session can do without a round trip.
func (m *Split) Local(types []datum.Type) *LocalArgs {
	if m.local == nil {
		return nil
	}
	c := &expr.Compiler{At: m.local.at, Params: expr.NewParams(types)}
	l := &LocalArgs{}
	for _, n := range m.local.guards {
		condition := m.local.expr(c, n, datum.Bool)
		if condition == nil {
			return nil
		}
		l.guards = append(l.guards, condition)
	}
	for i, nodes := range m.local.args {
		args := make([]expr.Expr, len(nodes))
		for j, n := range nodes {
			declared := &m.Calls[i].Func.Args[j]
			if n == nil {
				args[j] = expr.DefaultOf(declared)
			} else if args[j] = m.local.expr(c, n, declared.Type); args[j] == nil {
				return nil
			}
		}
		l.calls = append(l.calls, args)
	}
	return l
}

// expr compiles one expression; nil if it is for the upstream.
func (s *localSource) expr(c *expr.Compiler, n *pg_query.Node, t datum.Type) expr.Expr {
	e, err := c.Expr(n)
	if err != nil {
		return nil
	}
	e, ok, err := c.Implicit(e, t)
	if err != nil || !ok || c.Opaque != nil {
		return nil
	}
	if ok, fallible := expr.Early(e); !ok || fallible {
		return nil // what depends on the session is the upstream's to say, and what is wrong too
	}
	return e
}

// Eval returns the arguments of each call; guarded is false if a guard forbids them all.
// Params are the values of the user's parameters.
func (l *LocalArgs) Eval(params []datum.Datum) (args [][]datum.Datum, guarded bool, err error) {
	f := &expr.Frame{Params: params}
	if guarded, err = expr.AllTrue(l.guards, f); !guarded {
		return nil, false, err
	}
	args = make([][]datum.Datum, len(l.calls))
	for i, call := range l.calls {
		args[i] = make([]datum.Datum, len(call))
		for j, e := range call {
			if args[i][j], err = e.Eval(f); err != nil {
				return nil, false, err
			}
		}
	}
	return args, true, nil
}

// localSource keeps the parse trees of what Args computes.
func (r *rewriter) localSource() *localSource {
	source := &localSource{at: r.source.Char}
	for _, g := range r.guards {
		source.guards = append(source.guards, g.nodes...)
	}
	for _, s := range r.once {
		if s.given == nil {
			return nil
		}
		args := make([]*pg_query.Node, len(s.given))
		for slot, i := range s.given {
			if !s.leavesOut(slot) {
				args[slot] = s.values[i]
			}
		}
		source.args = append(source.args, args)
	}
	return source
}
