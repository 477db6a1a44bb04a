package place

import (
	"cmp"
	"slices"

	"github.com/jeroenrinzema/psql-wire/codes"
	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/planner/sqltext"
	"raisinproxy/planner/tree"
	"raisinproxy/sqlfuncs/pgerr"
)

// Place says where a call stands, and so how often it runs.
type Place int

// The places where a call may stand. Everywhere else it is refused: it could not be
// said for certain whether PostgreSQL would make it, or how often.
const (
	// InFrom: an item of FROM. Once, before the statement.
	InFrom Place = iota
	// InList: an item of a SELECT list without FROM, or of VALUES. Once, or once for
	// each row of VALUES.
	InList
	// PerRow: an item of a SELECT list over FROM. Once for each row of the result.
	PerRow
	// Explained: under EXPLAIN. Never.
	Explained
)

// Call is a call and its place.
type Call struct {
	Node  *pg_query.FuncCall
	Place Place
	// Many: it stands in VALUES of several rows.
	Many bool
	// Set: it is of a function that returns a set, and changes nothing.
	Set bool
	// guards decide whether a call that runs once does so.
	guards []*pg_query.Node
}

// Placement says where the calls of a statement stand, and on what that rests.
type Placement struct {
	Calls   []Call
	Clauses []Clause // those that have a guard among their conditions
	Facts   []Fact
}

// OnlySets says whether no call could change anything.
func (p *Placement) OnlySets() bool {
	return !slices.ContainsFunc(p.Calls, func(c Call) bool { return !c.Set })
}

// placer walks the ways on which PostgreSQL is certain to come to a call: from the
// statement itself, or a WITH query that writes, through FROM items to a FROM item or
// to a list that needs no rows. A call that is on no such way is refused.
type placer struct {
	at      func(int32) int
	placed  []Call
	clauses []Clause
	facts   factList
	err     *pgerr.Error
	// function is the first that is called, for what is said of them all.
	function string
	seen     map[*pg_query.FuncCall]bool
	holds    map[*pg_query.Node]bool // those with the proxy's calls in them
	reads    map[string]int          // how often a name without a schema stands for a relation
	named    map[string]int          // how many WITH queries have a name
	// noRows is why a call for each row is refused; "" allows it.
	noRows string
}

// Calls places every call of the proxy's in a statement.
func Calls(n *pg_query.Node, at func(int32) int) (Placement, *pgerr.Error) {
	calls := tree.Calls(n)
	if len(calls) == 0 {
		return Placement{}, nil
	}
	p := &placer{at: at, function: tree.Name(calls[0].Funcname), holds: tree.NodesWithSingles(n), seen: map[*pg_query.FuncCall]bool{}, reads: map[string]int{}, named: map[string]int{}}
	tree.Each(n, func(table *pg_query.RangeVar) {
		if table.Schemaname == "" {
			p.reads[table.Relname]++
		}
	})
	tree.Each(n, func(cte *pg_query.CommonTableExpr) { p.named[cte.Ctename]++ })
	if !p.statement(n, nil) {
		return Placement{}, nil
	}
	p.refuseRest(n)
	if slices.ContainsFunc(calls, tree.IsSet) {
		p.sets(n)
	}
	slices.SortStableFunc(p.placed, func(a, b Call) int { return cmp.Compare(a.Node.Location, b.Node.Location) })
	p.shareGuards()
	if p.err == nil && slices.ContainsFunc(p.placed, Call.once) {
		p.facts.foils(n)
	}
	return Placement{Calls: p.placed, Clauses: p.clauses, Facts: p.facts.facts}, p.err
}

func (c Call) once() bool { return !c.Set && (c.Place == InFrom || c.Place == InList) }

// shareGuards refuses calls that run before the statement and have other guards than the
// first: they are computed in one query, with the arguments. A set has none.
func (p *placer) shareGuards() {
	var first *Call
	for i := range p.placed {
		switch c := &p.placed[i]; {
		case !c.once() && !c.Set:
		case first == nil:
			first = c
		case !sameGuards(first.guards, c.guards):
			p.fail(Refusal(c.Node, "a statement in which a condition decides about some of the calls only", "", p.at))
		}
	}
}

// sameGuards compares the guards of calls, which those of one level share.
func sameGuards(a, b []*pg_query.Node) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// statement walks a statement. It returns false for one whose calls are not the proxy's to make.
func (p *placer) statement(n *pg_query.Node, outer *scope) bool {
	switch n := n.GetNode().(type) {
	case *pg_query.Node_SelectStmt:
		if n.SelectStmt.IntoClause != nil {
			p.withoutRows("SELECT INTO over rows")
		}
		p.query(n.SelectStmt, newLevel(outer))
	case *pg_query.Node_InsertStmt:
		p.insert(n.InsertStmt, outer)
	case *pg_query.Node_UpdateStmt:
		l := newLevel(p.with(n.UpdateStmt.WithClause, outer))
		p.change(l, n.UpdateStmt.Relation, n.UpdateStmt.FromClause, n.UpdateStmt.WhereClause)
		p.refuseAll("UPDATE … SET", n.UpdateStmt.TargetList)
		p.refuseAll("RETURNING", n.UpdateStmt.ReturningList)
	case *pg_query.Node_DeleteStmt:
		l := newLevel(p.with(n.DeleteStmt.WithClause, outer))
		p.change(l, n.DeleteStmt.Relation, n.DeleteStmt.UsingClause, n.DeleteStmt.WhereClause)
		p.refuseAll("RETURNING", n.DeleteStmt.ReturningList)
	case *pg_query.Node_MergeStmt:
		l := newLevel(p.with(n.MergeStmt.WithClause, outer))
		l.clauses = append(l.clauses, Clause{Quals: n.MergeStmt.JoinCondition, Word: "on", outer: true})
		p.change(l, n.MergeStmt.Relation, []*pg_query.Node{n.MergeStmt.SourceRelation}, nil)
		p.refuseAll("MERGE … WHEN", n.MergeStmt.MergeWhenClauses)
	case *pg_query.Node_PrepareStmt:
		return p.statement(n.PrepareStmt.Query, outer)
	case *pg_query.Node_ExecuteStmt:
		for _, call := range tree.Calls(n.ExecuteStmt) {
			p.fail(Refusal(call, "the arguments of EXECUTE", "", p.at))
		}
	case *pg_query.Node_CopyStmt:
		if n.CopyStmt.Query != nil {
			p.withoutRows("COPY")
			p.statement(n.CopyStmt.Query, outer)
		}
	case *pg_query.Node_DeclareCursorStmt:
		p.refuseHint("DECLARE CURSOR", "Run the query by itself, without a cursor.", n.DeclareCursorStmt.Query)
	case *pg_query.Node_ExplainStmt:
		p.explain(n.ExplainStmt)
	case *pg_query.Node_CreateTableAsStmt:
		if n.CreateTableAsStmt.Objtype != pg_query.ObjectType_OBJECT_TABLE || n.CreateTableAsStmt.GetInto().GetSkipData() {
			return false
		}
		p.refuse(createTableAs, n.CreateTableAsStmt.Query)
	default:
		return false
	}
	return true
}

// withoutRows forbids calls for each row.
func (p *placer) withoutRows(why string) {
	if p.noRows == "" {
		p.noRows = why
	}
}

// insert is INSERT, whose target a rule could turn into any other statement.
func (p *placer) insert(n *pg_query.InsertStmt, outer *scope) {
	p.withoutRows(notOwnList)
	outer = p.with(n.WithClause, outer)
	start := len(p.placed)
	p.statement(n.SelectStmt, outer)
	if p.onceSince(start) {
		p.need(noRules, relationName(n.Relation), "", "INSERT INTO a table with rules", n.Relation.GetLocation())
	}
	p.refuse("ON CONFLICT", n.OnConflictClause)
	p.refuseAll("RETURNING", n.ReturningList)
}

const notOwnList = "a SELECT list over rows that is not the statement's own"

// change is a statement that changes the rows of a table, for which it reads the table.
func (p *placer) change(l *level, target *pg_query.RangeVar, from []*pg_query.Node, where *pg_query.Node) {
	p.withoutRows(notOwnList)
	start := len(p.placed)
	l.addTable(target)
	for _, item := range from {
		p.fromItem(l, item, joined{kept: true, inner: true})
	}
	l.clauses = append(l.clauses, Clause{Quals: where, Word: "where"})
	p.refuse("WHERE", where)
	if p.onceSince(start) {
		p.need(noRules, relationName(target), "", "a statement that changes a table with rules", target.GetLocation())
	}
	p.certain(l, start)
	p.finish(l)
}

func (p *placer) onceSince(start int) bool {
	return slices.ContainsFunc(p.placed[start:], Call.once)
}

func (p *placer) explain(n *pg_query.ExplainStmt) {
	if analyzes(n.Options) {
		if calls := tree.Calls(n.Query); len(calls) > 0 {
			p.fail(Refusal(calls[0], "EXPLAIN ANALYZE", "EXPLAIN without ANALYZE makes no call.", p.at))
		}
		return
	}
	for _, call := range tree.Singles(n.Query) {
		p.seen[call] = true
		p.placed = append(p.placed, Call{Node: call, Place: Explained})
	}
}

// query is a SELECT or VALUES on a way.
func (p *placer) query(n *pg_query.SelectStmt, l *level) {
	l.scope = p.with(n.WithClause, l.scope)
	start := len(p.placed)
	if n.Op != pg_query.SetOperation_SETOP_NONE {
		p.refuse("a set operation", n.Larg)
		p.refuse("a set operation", n.Rarg)
		return
	}
	rows := p.noRows
	p.withoutRows(notOwnList) // of the queries in FROM
	for _, item := range n.FromClause {
		p.fromItem(l, item, joined{kept: true, inner: true})
	}
	p.noRows = rows
	l.clauses = append(l.clauses, Clause{Quals: n.WhereClause, Word: "where"})
	p.refuse("WHERE", n.WhereClause)
	p.values(n)
	p.targets(n)
	p.refuse("HAVING", n.HavingClause)
	p.refuse("LIMIT", n.LimitCount)
	p.refuse("OFFSET", n.LimitOffset)
	p.refuseAll("DISTINCT ON", n.DistinctClause)
	p.refuseAll("GROUP BY", n.GroupClause)
	p.refuseAll("ORDER BY", n.SortClause)
	p.refuseAll("WINDOW", n.WindowClause)
	if p.onceSince(start) {
		p.throughQuery(n, start)
	}
	p.certain(l, start)
	p.finish(l)
}

// throughQuery refuses the calls below a query that PostgreSQL may not run, or not to
// its end.
func (p *placer) throughQuery(n *pg_query.SelectStmt, start int) {
	calls := p.placed[start:]
	call := calls[slices.IndexFunc(calls, Call.once)].Node
	if !certainLimit(n) {
		p.refuse("a query with LIMIT, but for a number of at least 1", call)
	}
	if i := slices.IndexFunc(calls, func(c Call) bool { return c.Many }); i >= 0 && n.LimitCount != nil {
		p.refuse("VALUES of several rows with LIMIT", calls[i].Node)
	}
	if n.HavingClause != nil {
		p.refuse("a query with HAVING", call)
	}
	for _, g := range n.GroupClause {
		if g.GetGroupingSet() != nil {
			p.refuse("a query with GROUPING SETS", call)
		}
	}
}

// certainLimit says whether a query is certain to ask for a row at least.
func certainLimit(n *pg_query.SelectStmt) bool {
	if n.LimitCount == nil {
		return true
	}
	if n.LimitOption == pg_query.LimitOption_LIMIT_OPTION_WITH_TIES {
		return false
	}
	count, ok := tree.IntConst(n.LimitCount)
	return n.LimitCount.GetAConst().GetIsnull() || ok && count >= 1
}

// values places the calls of VALUES: once for each row, in order.
func (p *placer) values(n *pg_query.SelectStmt) {
	start := len(p.placed)
	var items []*pg_query.Node
	for _, row := range n.ValuesLists {
		items = append(items, row.GetList().GetItems()...)
	}
	p.onceItems(items)
	for i := start; i < len(p.placed); i++ {
		p.placed[i].Many = len(n.ValuesLists) > 1
	}
}

// targets places the calls of the SELECT list.
func (p *placer) targets(n *pg_query.SelectStmt) {
	refusal := ""
	switch {
	case n.HavingClause != nil:
		refusal = "a query with HAVING"
	case len(n.GroupClause) > 0:
		refusal = "a query with GROUP BY"
	case len(n.DistinctClause) > 0:
		refusal = "a query with DISTINCT"
	case len(n.WindowClause) > 0:
		refusal = "a query with WINDOW"
	case len(n.FromClause) > 0:
		refusal = p.noRows
	}
	if refusal != "" {
		p.refuseAll(refusal, n.TargetList)
		return
	}
	if len(n.FromClause) > 0 {
		p.rowList(n)
		return
	}
	var items []*pg_query.Node
	for _, target := range n.TargetList {
		items = append(items, target.GetResTarget().GetVal())
	}
	p.onceItems(items)
}

// place notes a call and looks at its arguments.
func (p *placer) place(n *pg_query.FuncCall, place Place) {
	p.notAggregate(n, n.AggDistinct, "DISTINCT", "an aggregate function")
	p.notAggregate(n, n.AggWithinGroup, "WITHIN GROUP", "an aggregate function")
	p.notAggregate(n, len(n.AggOrder) > 0, "ORDER BY", "an aggregate function")
	p.notAggregate(n, n.AggFilter != nil, "FILTER", "an aggregate function")
	p.notAggregate(n, n.Over != nil, "OVER", "a window function nor an aggregate function")
	p.onceArguments(n, place)
	p.seen[n] = true
	p.placed = append(p.placed, Call{Node: n, Place: place})
}

// onceArguments: a call inside an argument runs before the outer one, as often.
func (p *placer) onceArguments(n *pg_query.FuncCall, place Place) {
	if len(tree.Singles(n)) == 1 {
		return // only itself: its arguments are ordinary expressions
	}
	list := onceList{placer: p, place: place}
	list.all(n.Args)
}

// notAggregate refuses a call with a clause that is for others.
func (p *placer) notAggregate(n *pg_query.FuncCall, written bool, clause, what string) {
	if written {
		p.fail(pgerr.Newf(codes.WrongObjectType, "%s specified, but %s is not %s", clause, tree.Name(n.Funcname), what).At(p.at(n.Location)))
	}
}

// refuseRest refuses the calls that no way led to, which are those of WITH queries.
func (p *placer) refuseRest(n *pg_query.Node) {
	for _, call := range tree.Singles(n) {
		if !p.seen[call] {
			p.refuse("a WITH query that FROM does not read exactly once", call)
		}
	}
}

func (p *placer) refuseAll(what string, nodes []*pg_query.Node) {
	for _, n := range nodes {
		p.refuse(what, n)
	}
}

// refuse reports the first call anywhere below m.
func (p *placer) refuse(what string, m tree.Message) { p.refuseHint(what, "", m) }

func (p *placer) refuseHint(what, hint string, m tree.Message) {
	calls := tree.Singles(m)
	if len(calls) == 0 {
		return
	}
	p.fail(Refusal(calls[0], what, hint, p.at))
}

// Refusal is the error of a call in a place where it is refused; a hint that is "" is found.
func Refusal(call *pg_query.FuncCall, what, hint string, at func(int32) int) *pgerr.Error {
	if hint == "" {
		hint = hintFor(call, what)
	}
	return pgerr.Newf(codes.FeatureNotSupported, "%s cannot be called in %s", tree.Name(call.Funcname), what).
		WithDetail("It could not be said for certain how often PostgreSQL would call it there.").
		WithHint("%s", hint).
		At(at(call.Location))
}

func (p *placer) fail(err *pgerr.Error) {
	if p.err == nil {
		p.err = err
	}
}

// analyzes says whether EXPLAIN runs its statement: if its last ANALYZE is true. A value
// that is no boolean is the upstream's to refuse.
func analyzes(options []*pg_query.Node) (analyze bool) {
	for _, option := range options {
		def := option.GetDefElem()
		if def.GetDefname() != "analyze" {
			continue
		}
		word := def.GetArg().GetString_().GetSval()
		analyze = def.GetArg() == nil || sqltext.FoldsTo(word, "true") || sqltext.FoldsTo(word, "on") || def.GetArg().GetInteger().GetIval() == 1
	}
	return analyze
}
