package place

import (
	"strings"

	"github.com/jeroenrinzema/psql-wire/codes"
	pg_query "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/reflect/protoreflect"

	"raisinproxy/planner/tree"
	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/pgerr"
)

// This file places the calls of functions that return a set. They stand in FROM, and change
// nothing: they are made once, before the statement, wherever that FROM is and however often
// PostgreSQL would come to it. Only their arguments must change nothing either.

// sets places all of them.
func (p *placer) sets(n *pg_query.Node) {
	place := InFrom
	if n.GetExplainStmt() != nil {
		place = Explained
	}
	tree.Each(n, func(item *pg_query.RangeFunction) {
		if item.IsRowsfrom {
			for _, call := range tree.Sets(item) {
				p.fail(refuseForm(call, "in ROWS FROM", "Write each function as an item of FROM by itself.").At(p.at(call.Location)))
			}
		}
		call := tree.FromSet(item)
		if call == nil {
			return
		}
		if item.Ordinality {
			p.fail(refuseForm(call, "WITH ORDINALITY", "Number the rows by row_number() OVER ().").At(p.at(call.Location)))
		}
		p.seen[call] = true
		p.placed = append(p.placed, Call{Node: call, Place: place, Set: true})
		p.setArguments(call)
	})
	for _, call := range tree.Sets(n) {
		if !p.seen[call] {
			p.fail(notInFrom(call).At(p.at(call.Location)))
		}
	}
}

// refuseForm is the error of a form of FROM that is not made of the rows of a call.
func refuseForm(call *pg_query.FuncCall, form, hint string) *pgerr.Error {
	return pgerr.Newf(codes.FeatureNotSupported, "%s cannot be called %s", tree.Name(call.Funcname), form).WithHint("%s", hint)
}

// notInFrom is the error of a call that returns rows where one value is needed.
func notInFrom(call *pg_query.FuncCall) *pgerr.Error {
	name := tree.Name(call.Funcname)
	return pgerr.Newf(codes.FeatureNotSupported, "%s returns rows and can be called in FROM only", name).
		WithHint("Write SELECT … FROM %s(…) AS c.", name)
}

// setArguments asks whether computing the arguments changes anything: they are computed once,
// and PostgreSQL might never come to them.
func (p *placer) setArguments(call *pg_query.FuncCall) {
	need := func(k factKind, n tree.Message) {
		before := len(p.facts.facts)
		switch n := n.(type) {
		case *pg_query.FuncCall:
			p.needFunction(k, n, "")
		case *pg_query.A_Expr:
			p.needOperator(k, n)
		case *pg_query.TypeName:
			p.needType(k, n)
		case *pg_query.RangeVar:
			p.need(k, relationName(n), "", "", n.Location)
		}
		for i := range p.facts.facts[before:] {
			f := &p.facts.facts[before+i]
			f.Refused = argumentActs(call).At(f.Refused.Position)
		}
	}
	for _, arg := range call.Args {
		tree.Descend(arg.ProtoReflect(), func(m protoreflect.Message) {
			switch v := m.Interface().(type) {
			case *pg_query.FuncCall:
				need(stableFunction, v)
			case *pg_query.A_Expr:
				need(stableOperator, v)
			case *pg_query.TypeName:
				need(catalogType, v)
			case *pg_query.RangeVar:
				need(readTable, v)
			case *pg_query.LockingClause:
				p.fail(argumentActs(call).At(p.at(call.Location)))
			}
		})
	}
}

// argumentActs is the error of an argument that might do more than be computed.
func argumentActs(call *pg_query.FuncCall) *pgerr.Error {
	name := tree.Name(call.Funcname)
	return pgerr.Newf(codes.FeatureNotSupported, "an argument of %s in FROM may do more than return a value", name).
		WithDetail("It is computed once, before the statement, where PostgreSQL might compute it never or many times.").
		WithHint("Compute it in a statement of its own, and pass it on as a parameter.")
}

// OwnView is the fact that a relation is the view of a function's name that `raisinproxy stubs
// --views` makes.
func OwnView(table *pg_query.RangeVar, f *sqlfuncs.Function) Fact {
	return Fact{
		factKey: factKey{ownView, relationName(table), viewDefinition(f)},
		Refused: pgerr.Newf(codes.FeatureNotSupported, "relation %s is another than when the statement was prepared", relationName(table)),
	}
}

// viewDefinition is what PostgreSQL says of the view, without what its versions and settings
// write differently.
func viewDefinition(f *sqlfuncs.Function) string {
	names := make([]string, len(f.Columns))
	for i, c := range f.Columns {
		names[i] = c.Name
	}
	columns := strings.Join(names, ",")
	return "SELECT" + columns + "FROM" + f.Name + "()" + f.Name + "(" + columns + ")"
}

func isSet(name string) bool {
	f, ok := sqlfuncs.Lookup(name)
	return ok && f.Set
}
