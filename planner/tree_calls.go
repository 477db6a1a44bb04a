package planner

import (
	pg_query "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/reflect/protoreflect"

	"raisinproxy/sqlfuncs"
)

// ours says whether n calls a function of the catalogue: by its exact name,
// unqualified or in schema public.
func ours(n *pg_query.FuncCall) (*sqlfuncs.Function, bool) {
	names := n.GetFuncname()
	if len(names) == 0 || len(names) > 3 {
		return nil, false
	}
	if len(names) >= 2 && names[len(names)-2].GetString_().GetSval() != "public" {
		return nil, false
	}
	return sqlfuncs.Lookup(nameOf(names))
}

// callsIn finds all calls of ours below m, outer ones before those in their
// arguments.
func callsIn(m protoMessage) []*pg_query.FuncCall {
	var calls []*pg_query.FuncCall
	descend(m.ProtoReflect(), func(m protoreflect.Message) {
		if fn, ok := m.Interface().(*pg_query.FuncCall); ok {
			if _, ok := ours(fn); ok {
				calls = append(calls, fn)
			}
		}
	})
	return calls
}

// nodesWithCalls are the nodes of a tree that have calls of ours in them.
func nodesWithCalls(n *pg_query.Node) map[*pg_query.Node]bool {
	holds := map[*pg_query.Node]bool{}
	var mark func(m protoreflect.Message) bool
	mark = func(m protoreflect.Message) (found bool) {
		if fn, ok := m.Interface().(*pg_query.FuncCall); ok {
			_, found = ours(fn)
		}
		eachBelow(m, func(below protoreflect.Message) { found = mark(below) || found })
		if node, ok := m.Interface().(*pg_query.Node); ok && found {
			holds[node] = true
		}
		return found
	}
	mark(n.ProtoReflect())
	return holds
}

// fieldOfCall recognizes (f(…)).column of one of our functions that returns
// several columns; f is nil for anything else. column is "" for (f(…)).*.
func fieldOfCall(n *pg_query.A_Indirection) (call *pg_query.FuncCall, f *sqlfuncs.Function, column string) {
	call = n.GetArg().GetFuncCall()
	if call == nil || len(n.Indirection) != 1 {
		return nil, nil, ""
	}
	f, ok := ours(call)
	if !ok || len(f.Columns) < 2 {
		return nil, nil, ""
	}
	if n.Indirection[0].GetAStar() != nil {
		return call, f, ""
	}
	name := n.Indirection[0].GetString_()
	if name == nil {
		return nil, nil, ""
	}
	return call, f, name.GetSval()
}

// subscriptOfCall recognizes (f(…))['name'], which is f(…)->'name'; nil for anything
// else.
func subscriptOfCall(n *pg_query.A_Indirection) *pg_query.Node {
	if _, ok := ours(n.GetArg().GetFuncCall()); !ok || len(n.Indirection) != 1 {
		return nil
	}
	if indices := n.Indirection[0].GetAIndices(); indices != nil && !indices.IsSlice {
		return indices.Uidx
	}
	return nil
}

// isStar says whether an item is *, t.* or (x).*.
func isStar(n *pg_query.Node) bool {
	fields := n.GetColumnRef().GetFields()
	if field := n.GetAIndirection(); field != nil {
		fields = field.Indirection
	}
	return len(fields) > 0 && fields[len(fields)-1].GetAStar() != nil
}
