package place

import (
	"slices"

	"github.com/jeroenrinzema/psql-wire/codes"
	pg_query "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/reflect/protoreflect"

	"raisinproxy/planner/tree"
	"raisinproxy/sqlfuncs/pgerr"
)

// This file sorts the conditions on the way to a call. One that depends on rows filters
// them after the call. One that depends on none is a guard: PostgreSQL looks at it once
// and, if it is not true, makes no call. Anything else is not certain.

// certain checks that nothing in a level can keep PostgreSQL from the calls from start on.
func (p *placer) certain(l *level, start int) {
	if !p.onceSince(start) {
		return
	}
	p.siblings(l)
	var guards []*pg_query.Node
	for i := range l.clauses {
		c := &l.clauses[i]
		p.sort(l, c)
		if len(c.Guards) > 0 {
			c.Ordered = len(l.items) > 0
			guards = append(guards, c.Guards...)
			p.clauses = append(p.clauses, *c)
		}
	}
	if len(guards) == 0 {
		return
	}
	for i := start; i < len(p.placed); i++ {
		call := &p.placed[i]
		if !call.once() {
			continue
		}
		if len(call.guards) > 0 {
			p.refuse("a statement with conditions for all rows at two levels", call.Node)
		}
		call.guards = guards
	}
}

// finish checks the equalities of a level and of all that were made part of it.
func (p *placer) finish(l *level) {
	if at := l.equal.contradiction(); l.owner && at != nil && slices.ContainsFunc(p.placed, Call.once) {
		p.uncertainAt(tree.Location(at), "two equalities that may contradict each other")
	}
}

// sort finds the guards of a clause; what is neither a guard nor a filter is refused.
func (p *placer) sort(l *level, c *Clause) {
	for _, n := range c.Conditions() {
		switch {
		case tree.IsTrue(n):
		case !c.outer && p.isGuard(n, l):
			c.Guards = append(c.Guards, n)
		default:
			p.filter(l, n)
		}
	}
}

// filter refuses a condition that PostgreSQL's planner might compute.
func (p *placer) filter(l *level, n *pg_query.Node) {
	f := folding{placer: p, level: l}
	if f.kind(n) != ofRow {
		p.uncertainAt(tree.Location(n), besideCondition)
		return
	}
	l.note(n)
}

// isGuard says whether a condition is certain to be the same for all rows.
func (p *placer) isGuard(n *pg_query.Node, l *level) bool {
	before := p.facts.count()
	same := true
	tree.Outside(n, func(m protoreflect.Message) {
		switch v := m.Interface().(type) {
		case *pg_query.ColumnRef, *pg_query.CurrentOfExpr, *pg_query.SetToDefault:
			same = false
		case *pg_query.SubLink:
			same = same && p.uncorrelated(v.Subselect, l)
		}
	})
	if !same {
		p.facts.rewind(before)
		return false
	}
	p.alone(n, l)
	p.guardFacts(n)
	return true
}

// guardFacts asks whether what a guard computes is the same for all who compute it, at any time.
func (p *placer) guardFacts(n *pg_query.Node) {
	const what = "a condition whose value may differ from one evaluation to the next"
	tree.Each(n, func(call *pg_query.FuncCall) { p.needFunction(stableFunction, call, what) })
	tree.Each(n, func(op *pg_query.A_Expr) { p.needOperator(stableOperator, op) })
	tree.Each(n, func(cast *pg_query.TypeCast) { p.needType(catalogType, cast.TypeName) })
	tree.Each(n, func(sample *pg_query.RangeTableSample) { p.uncertainAt(sample.Location, what) })
	own := tree.WithNames(n)
	tree.Each(n, func(table *pg_query.RangeVar) {
		if table.Schemaname != "" || !own[table.Relname] {
			p.need(readTable, relationName(table), "", "a condition on a view or a row-secured table", table.Location)
			p.need(implicitCasts, "", "", what, table.Location)
		}
	})
}

// uncorrelated says whether a subquery is certain to name no column of the level around
// it. A name without a table is the subquery's own if the level cannot have it, or if a
// table of the subquery's has it, which the upstream is asked.
func (p *placer) uncorrelated(query tree.Message, l *level) bool {
	w := ownColumns{placer: p, level: l, own: tree.OwnNames(query), free: true}
	w.walk(query.ProtoReflect(), nil)
	return w.free
}

// ownColumns walks a subquery with the tables of the queries around each name.
type ownColumns struct {
	*placer
	level *level
	own   map[string]bool
	free  bool
}

func (w *ownColumns) walk(m protoreflect.Message, tables []*pg_query.RangeVar) {
	tree.DescendUnless(m, func(below protoreflect.Message) bool {
		switch v := below.Interface().(type) {
		case *pg_query.SelectStmt:
			if below != m {
				w.walk(below, append(slices.Clone(tables), tablesOf(v.FromClause)...))
				return false
			}
		case *pg_query.ColumnRef:
			w.free = w.free && w.ownColumn(v, tables)
		case *pg_query.CurrentOfExpr:
			w.free = false
		}
		return true
	})
}

// tablesOf are the relations that are items of FROM.
func tablesOf(from []*pg_query.Node) (tables []*pg_query.RangeVar) {
	for _, n := range from {
		if join := n.GetJoinExpr(); join != nil {
			tables = append(tables, tablesOf([]*pg_query.Node{join.Larg, join.Rarg})...)
		} else if table := n.GetRangeVar(); table != nil {
			tables = append(tables, table)
		}
	}
	return tables
}

func (w *ownColumns) ownColumn(ref *pg_query.ColumnRef, tables []*pg_query.RangeVar) bool {
	first := ref.Fields[0].GetString_().GetSval()
	if first == "" { // *
		return true
	}
	if len(ref.Fields) > 1 {
		for _, part := range ref.Fields[:len(ref.Fields)-1] {
			name := part.GetString_().GetSval()
			if w.level.sees(func(i *item) bool { return i.alias == name }) {
				return false
			}
		}
		return true
	}
	if !w.level.sees(func(i *item) bool { return i.alias == first || i.has(first) }) {
		return true // it is no column of the level's, nor a row
	}
	var own []string
	for _, table := range tables {
		if w.level.scope.find(table) == nil && table.GetAlias().GetColnames() == nil {
			own = append(own, relationName(table))
		}
	}
	if len(own) == 0 {
		return false
	}
	w.need(ownColumn, arrayLiteral(own), first, besideNames, ref.Location)
	return true
}

// sees says whether there is such an item in the level or in one whose rows it can name.
func (l *level) sees(such func(*item) bool) bool {
	return l != nil && (slices.ContainsFunc(l.items, such) || l.parent.sees(such))
}

// alone refuses what reads a WITH query of the statement, which is not there before the
// statement runs: computed a second time, it might be another.
func (p *placer) alone(n tree.Message, l *level) {
	own := tree.WithNames(n)
	tree.Each(n, func(table *pg_query.RangeVar) {
		if l.scope.find(table) != nil && !own[table.Relname] {
			p.fail(ReadsWith(table.Relname).At(p.at(table.Location)))
		}
	})
}

// ReadsWith refuses a call that depends on a WITH query of the statement.
func ReadsWith(name string) *pgerr.Error {
	return pgerr.Newf(codes.FeatureNotSupported, "what decides or feeds a call cannot read the WITH query \"%s\"", name).
		WithDetail("It is computed before the statement runs.").
		WithHint("Read it in a statement of its own first, and pass its result as a parameter.")
}

// uncertainAt refuses the calls of the statement because of what stands beside them.
func (p *placer) uncertainAt(location int32, what string) {
	p.fail(p.beside(what).At(p.at(location)))
}

// beside is the error of a call that is refused for what stands beside it.
func (p *placer) beside(what string) *pgerr.Error {
	err := pgerr.Newf(codes.FeatureNotSupported, "%s cannot be called beside %s", p.function, what).
		WithDetail("It is not certain whether PostgreSQL would call it.")
	if what == besideNames {
		return err.WithHint("Write the columns in the subquery as table.column.")
	}
	return err.WithHint("%s", hintAlone(p.function))
}
