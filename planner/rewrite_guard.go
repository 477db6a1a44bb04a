package planner

import (
	"slices"

	"github.com/jeroenrinzema/psql-wire/codes"
	pg_query "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/reflect/protoreflect"

	"raisinproxy/sqlfuncs/pgerr"
)

// guard is a condition of WHERE that does not depend on any row, so that PostgreSQL
// looks at it once and, if it is not true, runs no call beside it. It is computed
// with the arguments; Main gets its value, so that both go by the same.
type guard struct {
	span
	nodes  []*pg_query.Node // joined by AND
	hidden int              // index of its hidden parameter
}

// level is what can be seen in one WHERE: the FROM items and the conditions.
type level struct {
	where *pg_query.Node
	from  []*pg_query.Node
	// target: there is also the table that is changed.
	target bool

	// names are those of the FROM items and their columns, found when first needed.
	// known: there can be no others.
	names map[string]bool
	known bool
}

// guard finds the guards of all calls that run once.
func (r *rewriter) guard(n *pg_query.Node) *pgerr.Error {
	if r.plan.Explain != nil {
		return nil
	}
	g := &guardFinder{rewriter: r, tables: map[string]bool{}}
	each(n, func(cte *pg_query.CommonTableExpr) { g.tables[cte.Ctename] = true })
	g.statement(n, nil)
	if g.err == nil {
		g.arguments()
	}
	return g.err
}

// guardFinder walks the parts of a statement in which calls run once.
type guardFinder struct {
	*rewriter
	tables map[string]bool // the names of all WITH queries
	err    *pgerr.Error
}

func (g *guardFinder) statement(n *pg_query.Node, outer []int) {
	switch n := n.GetNode().(type) {
	case *pg_query.Node_SelectStmt:
		g.with(n.SelectStmt.WithClause)
		l := level{where: n.SelectStmt.WhereClause, from: n.SelectStmt.FromClause}
		guards := g.level(l, outer, n.SelectStmt.TargetList)
		g.grouped(n.SelectStmt)
		g.assign(guards, n.SelectStmt.TargetList)
		g.assign(guards, n.SelectStmt.ValuesLists)
	case *pg_query.Node_InsertStmt:
		g.with(n.InsertStmt.WithClause)
		g.statement(n.InsertStmt.SelectStmt, outer)
	case *pg_query.Node_UpdateStmt:
		g.with(n.UpdateStmt.WithClause)
		g.level(level{where: n.UpdateStmt.WhereClause, from: n.UpdateStmt.FromClause, target: true}, outer, nil)
	case *pg_query.Node_DeleteStmt:
		g.with(n.DeleteStmt.WithClause)
		g.level(level{where: n.DeleteStmt.WhereClause, from: n.DeleteStmt.UsingClause, target: true}, outer, nil)
	case *pg_query.Node_MergeStmt:
		g.with(n.MergeStmt.WithClause)
	case *pg_query.Node_DeclareCursorStmt:
		g.statement(n.DeclareCursorStmt.Query, outer)
	}
}

// with: a WITH query runs before the statement whatever its WHERE says.
func (g *guardFinder) with(w *pg_query.WithClause) {
	for _, cte := range w.GetCtes() {
		g.statement(cte.GetCommonTableExpr().Ctequery, nil)
	}
}

// level finds the guards of one WHERE and gives them, and those from outside, to
// the calls in FROM. It returns all of them.
func (g *guardFinder) level(l level, outer []int, targets []*pg_query.Node) []int {
	guards := slices.Clone(outer)
	once := false
	for _, n := range slices.Concat(l.from, targets) {
		for _, call := range callsIn(n) {
			once = once || g.runsOnce(call)
		}
	}
	if once {
		for _, part := range g.conjuncts(l.where) {
			if g.decides(part, &l) {
				guards = append(guards, len(g.guards))
				g.guards = append(g.guards, &guard{span: part.span, nodes: part.nodes})
				g.alone(part.nodes)
				g.free(part.nodes, g.sites[0].function.Name, part.start)
			}
		}
	}
	g.from(l.from, guards)
	return guards
}

// grouped refuses calls beside an aggregate and a WHERE without FROM. The aggregate
// makes one row of none, so that the WHERE would decide nothing.
func (g *guardFinder) grouped(n *pg_query.SelectStmt) {
	if len(n.FromClause) > 0 || n.WhereClause == nil {
		return
	}
	for _, target := range n.TargetList {
		outside(target, func(m protoreflect.Message) {
			if call, ok := m.Interface().(*pg_query.FuncCall); ok && g.err == nil && aggregates[nameOf(call.Funcname)] {
				for _, other := range n.TargetList {
					if calls := callsIn(other); len(calls) > 0 {
						g.err = g.refuse(calls[0], "a query with WHERE and an aggregate")
					}
				}
			}
		})
	}
}

func (g *guardFinder) from(items []*pg_query.Node, guards []int) {
	for _, item := range items {
		switch item := item.GetNode().(type) {
		case *pg_query.Node_RangeFunction:
			g.assign(guards, item.RangeFunction.Functions)
		case *pg_query.Node_RangeSubselect:
			g.statement(item.RangeSubselect.Subquery, guards)
		case *pg_query.Node_JoinExpr:
			g.from([]*pg_query.Node{item.JoinExpr.Larg, item.JoinExpr.Rarg}, guards)
		}
	}
}

func (g *guardFinder) runsOnce(call *pg_query.FuncCall) bool {
	s := g.byCall[call]
	return s != nil && s.place != PerRow
}

func (g *guardFinder) assign(guards []int, nodes []*pg_query.Node) {
	for _, n := range nodes {
		for _, call := range callsIn(n) {
			if g.runsOnce(call) {
				g.byCall[call].guards = guards
			}
		}
	}
}

// condition is a part of a WHERE that AND divides from the others. It may be
// several to the parser, which looks through brackets.
type condition struct {
	span
	nodes []*pg_query.Node
}

// placedNode is a condition in the parse tree and where its parts are.
type placedNode struct {
	node *pg_query.Node
	at   span
}

// conjuncts divides a WHERE at the ANDs outside brackets. An AND that belongs to
// BETWEEN or stands in a CASE is known by the parts of one condition around it.
func (g *guardFinder) conjuncts(where *pg_query.Node) (parts []condition) {
	if where == nil {
		return nil
	}
	conditions := []*pg_query.Node{where}
	if b := where.GetBoolExpr(); b.GetBoolop() == pg_query.BoolExprType_AND_EXPR {
		conditions = b.Args
	}
	nodes := make([]placedNode, len(conditions))
	for i, n := range conditions {
		nodes[i] = placedNode{n, g.located(n)}
	}
	whole := g.located(where)
	word := g.wordBefore(g.tokenFrom(whole.start), "where", -1)
	if word < 0 || word+1 >= len(g.tokens) {
		return nil
	}
	depth := g.tokens[word].depth
	end := g.whereEnd(whole.end, depth)
	start := word + 1
	for i := start; i < len(g.tokens) && g.tokens[i].Start < end; i++ {
		if g.isWord(i, "and") && g.tokens[i].depth == depth && !g.within(i, nodes) {
			parts = append(parts, condition{span: span{g.tokens[start].Start, g.tokens[i-1].End}})
			start = i + 1
		}
	}
	parts = append(parts, condition{span: span{g.tokens[start].Start, end}})
	return g.fill(parts, nodes)
}

// whereEnd is where a WHERE ends whose last part that has a location is at this
// byte.
func (g *guardFinder) whereEnd(last, depth int) int {
	i := g.tokenFrom(last)
	for ; i < len(g.tokens); i++ {
		if t := g.tokens[i]; t.depth < depth || t.depth == depth && t.Start > last && g.endsClause(i) {
			break
		}
	}
	return g.tokens[i-1].End
}

// within says whether token i stands inside one of the conditions.
func (g *guardFinder) within(i int, nodes []placedNode) bool {
	for _, n := range nodes {
		if n.at.start < g.tokens[i].Start && g.tokens[i].Start < n.at.end {
			return true
		}
	}
	return false
}

// fill gives each part its conditions.
func (g *guardFinder) fill(parts []condition, nodes []placedNode) []condition {
	for i := range parts {
		for _, n := range nodes {
			if parts[i].start <= n.at.start && n.at.start < parts[i].end {
				parts[i].nodes = append(parts[i].nodes, n.node)
			}
		}
	}
	return parts
}

// located is the first and the last place in n that the parser says, in bytes of
// the user's text.
func (g *guardFinder) located(n protoMessage) span {
	first, last := int32(-1), int32(-1)
	descend(n.ProtoReflect(), func(m protoreflect.Message) {
		field := m.Descriptor().Fields().ByName("location")
		if field == nil {
			return
		}
		if at := int32(m.Get(field).Int()); at >= 0 {
			if first < 0 || at < first {
				first = at
			}
			last = max(last, at)
		}
	})
	return span{g.source.Offset(first), g.source.Offset(last)}
}

// decides says whether a condition is a guard.
func (g *guardFinder) decides(part condition, l *level) bool {
	if len(l.from) == 0 && !l.target {
		return true // there are no rows that it could depend on
	}
	for _, n := range part.nodes {
		if n.GetAConst() != nil || !g.sameForAllRows(n, l) {
			return false
		}
	}
	return len(part.nodes) > 0
}

// sameForAllRows says whether n is certain to have one value for all rows: it has no
// columns but those of subqueries in it, and no function that might be volatile.
func (g *guardFinder) sameForAllRows(n *pg_query.Node, l *level) bool {
	same := true
	outside(n, func(m protoreflect.Message) {
		switch v := m.Interface().(type) {
		case *pg_query.ColumnRef, *pg_query.CurrentOfExpr:
			same = false
		case *pg_query.FuncCall:
			name, ok := catalogName(v.Funcname)
			same = same && ok && stableFunctions[name]
		case *pg_query.SubLink:
			same = same && g.uncorrelated(v, l)
		}
	})
	return same
}

// outside visits the messages below n, but for those in subqueries.
func outside(n protoMessage, visit func(protoreflect.Message)) {
	inside := map[protoreflect.ProtoMessage]bool{}
	each(n, func(query *pg_query.SelectStmt) {
		descend(query.ProtoReflect(), func(m protoreflect.Message) { inside[m.Interface()] = true })
	})
	descend(n.ProtoReflect(), func(m protoreflect.Message) {
		if !inside[m.Interface()] {
			visit(m)
		}
	})
}

var stableFunctions = map[string]bool{
	"now": true, "current_setting": true, "current_database": true, "length": true, "char_length": true, "lower": true,
	"upper": true, "abs": true, "date_trunc": true, "date_part": true, "extract": true, "timezone": true,
}

// uncorrelated says whether a subquery is certain to name no column of the query
// around it. A name without a table is the subquery's own if the query around has
// none of that name, which is known only if all its FROM items are calls.
func (g *guardFinder) uncorrelated(n *pg_query.SubLink, l *level) bool {
	g.look(l)
	own := map[string]bool{}
	each(n.Subselect, func(table *pg_query.RangeVar) { own[table.Relname] = true })
	each(n.Subselect, func(alias *pg_query.Alias) { own[alias.Aliasname] = true })
	free := true
	each(n.Subselect, func(ref *pg_query.ColumnRef) {
		first := ref.Fields[0].GetString_().GetSval()
		switch {
		case first == "" && len(ref.Fields) == 1: // SELECT *
		case len(ref.Fields) > 1:
			free = free && own[first] && !l.names[first]
		default:
			free = free && l.known && !l.names[first]
		}
	})
	return free
}

// look finds what can be seen in a WHERE.
func (g *guardFinder) look(l *level) {
	if l.names != nil {
		return
	}
	l.names, l.known = map[string]bool{}, !l.target
	for _, item := range l.from {
		s := g.callOf(item)
		if s == nil {
			l.known = false
			continue
		}
		l.names[s.alias] = true
		for _, c := range s.columns() {
			l.names[s.nameOf(c)] = true
		}
		for _, name := range s.renamed {
			l.names[name.GetString_().GetSval()] = true
		}
	}
}

// arguments checks what the arguments of calls that run once refer to.
func (g *guardFinder) arguments() {
	for _, s := range g.sites {
		if s.place == PerRow {
			continue
		}
		g.alone(s.call.Args)
		g.free(s.call.Args, s.function.Name, s.name)
	}
}

// free lets the statement be refused if the upstream knows the columns that these
// expressions name: they are those of rows, which there are none of before the
// statement runs.
func (g *guardFinder) free(nodes []*pg_query.Node, function string, at int) {
	for _, n := range nodes {
		outside(n, func(m protoreflect.Message) {
			if _, ok := m.Interface().(*pg_query.ColumnRef); ok && g.plan.Refused == nil {
				g.plan.Refused = notAlone(function, g.character(at))
			}
		})
	}
}

// alone refuses what reads a WITH query of the statement, which the argument query
// does not have: computed a second time, it might be another.
func (g *guardFinder) alone(nodes []*pg_query.Node) {
	for _, n := range nodes {
		own := map[string]bool{}
		each(n, func(cte *pg_query.CommonTableExpr) { own[cte.Ctename] = true })
		each(n, func(table *pg_query.RangeVar) {
			if table.Schemaname == "" && g.tables[table.Relname] && !own[table.Relname] && g.err == nil {
				g.err = pgerr.Newf(codes.FeatureNotSupported, "what decides or feeds a call cannot read the WITH query \"%s\"", table.Relname).
					WithDetail("It is computed before the statement runs.").
					WithHint("Read it in a statement of its own first, and pass its result as a parameter.").
					At(g.source.Char(table.Location))
			}
		})
	}
}
