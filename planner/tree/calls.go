package tree

import (
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/reflect/protoreflect"

	"raisinproxy/sqlfuncs"
)

// Function says whether n calls a function of the catalogue: by its exact name,
// unqualified or in schema public.
func Function(n *pg_query.FuncCall) (*sqlfuncs.Function, bool) {
	names := n.GetFuncname()
	if len(names) == 0 || len(names) > 3 {
		return nil, false
	}
	if len(names) >= 2 && names[len(names)-2].GetString_().GetSval() != "public" {
		return nil, false
	}
	return sqlfuncs.Lookup(Name(names))
}

// Calls finds all calls of the proxy's functions below m, outer ones before those in their
// arguments.
func Calls(m Message) []*pg_query.FuncCall {
	var calls []*pg_query.FuncCall
	Descend(m.ProtoReflect(), func(m protoreflect.Message) {
		if fn, ok := m.Interface().(*pg_query.FuncCall); ok {
			if _, ok := Function(fn); ok {
				calls = append(calls, fn)
			}
		}
	})
	return calls
}

// Singles are the calls below m of functions that return one row, and Sets those of
// functions that return any number of rows, which change nothing.
func Singles(m Message) []*pg_query.FuncCall {
	return slices.DeleteFunc(Calls(m), IsSet)
}

// Sets is the rest of Calls.
func Sets(m Message) []*pg_query.FuncCall {
	return slices.DeleteFunc(Calls(m), func(n *pg_query.FuncCall) bool { return !IsSet(n) })
}

// IsSet says whether a call is one of Sets.
func IsSet(n *pg_query.FuncCall) bool {
	f, ok := Function(n)
	return ok && f.Set
}

// NodesWithSingles are the nodes of a tree that have such calls in them.
func NodesWithSingles(n *pg_query.Node) map[*pg_query.Node]bool {
	holds := map[*pg_query.Node]bool{}
	var mark func(m protoreflect.Message) bool
	mark = func(m protoreflect.Message) (found bool) {
		if fn, ok := m.Interface().(*pg_query.FuncCall); ok {
			f, ok := Function(fn)
			found = ok && !f.Set
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

// FieldOfCall recognizes (f(…)).column of one of the proxy's functions that returns
// several columns; f is nil for anything else. column is "" for (f(…)).*.
func FieldOfCall(n *pg_query.A_Indirection) (call *pg_query.FuncCall, f *sqlfuncs.Function, column string) {
	call = n.GetArg().GetFuncCall()
	if call == nil || len(n.Indirection) != 1 {
		return nil, nil, ""
	}
	f, ok := Function(call)
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

// SubscriptOfCall recognizes (f(…))['name'], which is f(…)->'name'; nil for anything
// else.
func SubscriptOfCall(n *pg_query.A_Indirection) *pg_query.Node {
	if _, ok := Function(n.GetArg().GetFuncCall()); !ok || len(n.Indirection) != 1 {
		return nil
	}
	if indices := n.Indirection[0].GetAIndices(); indices != nil && !indices.IsSlice {
		return indices.Uidx
	}
	return nil
}

// FromSet is the call of a FROM item that is one of a function that returns a set; nil for
// any other.
func FromSet(n *pg_query.RangeFunction) *pg_query.FuncCall {
	if call := FromFunction(n); IsSet(call) {
		return call
	}
	return nil
}

// FromFunction is the first function of a FROM item; nil if it is written in words of SQL's,
// such as CURRENT_DATE, or if there is no item.
func FromFunction(n *pg_query.RangeFunction) *pg_query.FuncCall {
	if len(n.GetFunctions()) == 0 {
		return nil
	}
	return n.Functions[0].GetList().GetItems()[0].GetFuncCall()
}

// IsStar says whether an item is *, t.* or (x).*.
func IsStar(n *pg_query.Node) bool {
	fields := n.GetColumnRef().GetFields()
	if field := n.GetAIndirection(); field != nil {
		fields = field.Indirection
	}
	return len(fields) > 0 && fields[len(fields)-1].GetAStar() != nil
}
