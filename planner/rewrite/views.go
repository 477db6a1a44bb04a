package rewrite

import (
	"github.com/jeroenrinzema/psql-wire/codes"
	pg_query "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"raisinproxy/planner/pgparse"
	"raisinproxy/planner/place"
	"raisinproxy/planner/plan"
	"raisinproxy/planner/tree"
	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/pgerr"
)

// This file is about the views that `raisinproxy stubs --views` makes, by the names of the
// functions that return rows. A relation of such a name is the call with its defaults if it is
// that view, and anybody's table if it is not: only the upstream knows. So there are two plans.

// Views are the two plans of a statement that reads relations of such names.
type Views struct {
	// Facts say that all of the relations are those views, and FactQuery asks.
	Facts     []place.Fact
	FactQuery place.FactQuery

	ours, theirs *plan.Statement
}

// Plan is what the statement is if the facts hold, or if they do not.
func (v *Views) Plan(hold bool) (*Split, *pgerr.Error) {
	st := v.theirs
	if hold {
		st = v.ours
	}
	if st.Err != nil {
		return nil, st.Err
	}
	if prepare, ok := st.Action.(*PrepareSplit); ok {
		return prepare.Split, nil
	}
	return st.Action.(*Split), nil
}

// ReadsViews says whether a statement reads a relation of such a name.
func ReadsViews(n *pg_query.Node) bool { return n != nil && len(viewItems(n)) > 0 }

// viewItems are the items of FROM that might be such views.
func viewItems(n *pg_query.Node) (items []*pg_query.Node) {
	var with map[string]bool
	var look func(list ...*pg_query.Node)
	look = func(list ...*pg_query.Node) {
		for _, item := range list {
			if join := item.GetJoinExpr(); join != nil {
				look(join.Larg, join.Rarg)
			}
			if isView(item.GetRangeVar()) {
				if with == nil {
					with = tree.WithNames(n)
				}
				if table := item.GetRangeVar(); table.Schemaname != "" || !with[table.Relname] {
					items = append(items, item)
				}
			}
		}
	}
	tree.Descend(n.ProtoReflect(), func(m protoreflect.Message) {
		switch query := m.Interface().(type) {
		case *pg_query.SelectStmt:
			look(query.FromClause...)
		case *pg_query.UpdateStmt:
			look(query.FromClause...)
		case *pg_query.DeleteStmt:
			look(query.UsingClause...)
		case *pg_query.MergeStmt:
			look(query.SourceRelation)
		}
	})
	return items
}

func isView(table *pg_query.RangeVar) bool {
	if table == nil || !table.Inh || table.Catalogname != "" || table.Schemaname != "" && table.Schemaname != "public" {
		return false
	}
	f, ok := sqlfuncs.Lookup(table.Relname)
	return ok && f.Set
}

// withViews plans a statement both ways. plain is its plan if the relations are tables; nil
// if that is for the upstream alone.
func withViews(parsed *pgparse.Parsed, i int, o plan.Options, plain *plan.Statement) *plan.Statement {
	n := proto.Clone(parsed.Statements[i].Node).(*pg_query.Node)
	items := viewItems(n)
	v := &Views{theirs: plain}
	r := newRewriter(parsed, i, o)
	r.views = map[string]bool{}
	r.relations = map[*pg_query.FuncCall]bool{}
	for _, item := range items {
		table := item.GetRangeVar()
		f, _ := sqlfuncs.Lookup(table.Relname)
		v.Facts = append(v.Facts, place.OwnView(table, f))
		call := asCall(item)
		r.relations[call], r.views[f.Name] = true, true
	}
	v.FactQuery = place.NewFactQuery(v.Facts)
	r.facts = v.Facts
	if v.ours = r.statement(n); v.ours == nil {
		return plain // no statement whose calls are made here
	}
	if plain == nil {
		bare := newRewriter(parsed, i, o)
		bare.bare = true
		v.theirs = bare.statement(parsed.Statements[i].Node)
	}
	return v.statement()
}

// asCall makes an item of FROM the call that it stands for.
func asCall(item *pg_query.Node) *pg_query.FuncCall {
	table := item.GetRangeVar()
	call := &pg_query.FuncCall{
		Funcname: []*pg_query.Node{pg_query.MakeStrNode("public"), pg_query.MakeStrNode(table.Relname)},
		Location: table.Location,
	}
	function := pg_query.MakeListNode([]*pg_query.Node{{Node: &pg_query.Node_FuncCall{FuncCall: call}}})
	item.Node = &pg_query.Node_RangeFunction{RangeFunction: &pg_query.RangeFunction{Functions: []*pg_query.Node{function}, Alias: table.Alias}}
	return call
}

// statement is the statement as long as it is not known which plan is its.
func (v *Views) statement() *plan.Statement {
	known := v.ours
	if known.Err != nil {
		known = v.theirs
	}
	if known.Err != nil {
		return known // refused either way
	}
	s := &plan.Statement{Database: known.Database, Foreign: known.Foreign}
	split := &Split{Views: v}
	if prepare, ok := known.Action.(*PrepareSplit); ok {
		s.Action = &PrepareSplit{Name: prepare.Name, Declared: prepare.Declared, Types: prepare.Types, Split: split}
	} else {
		s.Action = split
	}
	return s
}

// findRelation finds a relation in the text that stands for a call.
func (r *rewriter) findRelation(s *callSite, first int) bool {
	last := first
	if r.is(first+1, ".") {
		last += 2
	}
	if r.isWord(last+1, "uescape") || r.isWord(first+1, "uescape") || r.is(last+1, "*") {
		return false
	}
	s.name = r.tokens[first].Start
	s.span = span{s.name, r.tokens[last].End}
	if r.keyword(max(first-1, 0)) == "table" {
		s.start, s.table = r.tokens[first-1].Start, true
	}
	r.matchArguments(s)
	return true
}

// dropSchemas finds the columns that are named with the schema of a view, which the rows that
// take its place do not have.
func (r *rewriter) dropSchemas(n *pg_query.Node) (err *pgerr.Error) {
	tree.Each(n, func(ref *pg_query.ColumnRef) {
		if len(ref.Fields) != 3 || ref.Fields[0].GetString_().GetSval() != "public" || !r.views[ref.Fields[1].GetString_().GetSval()] {
			return
		}
		first := r.tokenAt(r.source.Offset(ref.Location))
		if first < 0 || !r.is(first+1, ".") || r.namedOtherwise(n, ref.Fields[1].GetString_().GetSval()) {
			err = pgerr.Newf(codes.FeatureNotSupported, "a column named with its schema is not supported here").
				WithHint("Leave the schema out, or give the relation an alias.").At(r.source.Char(ref.Location))
			return
		}
		r.dropped = append(r.dropped, span{r.tokens[first].Start, r.tokens[first+2].Start})
	})
	return err
}

// namedOtherwise says whether something else in FROM goes by the name of a view.
func (r *rewriter) namedOtherwise(n *pg_query.Node, name string) bool {
	return tree.Any(n, func(alias *pg_query.Alias) bool { return alias.Aliasname == name }) ||
		tree.Any(n, func(table *pg_query.RangeVar) bool { return table.Relname == name }) ||
		tree.WithNames(n)[name]
}
