package rewrite

import (
	"sort"

	pg_query "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/reflect/protoreflect"

	"raisinproxy/planner/place"
	"raisinproxy/planner/tree"
	"raisinproxy/sqlfuncs/pgerr"
)

// guard is a condition that does not depend on any row, so that PostgreSQL looks at it
// once and, if it is not true, runs no call beside it. It is computed with the arguments;
// Main gets its value, so that both go by the same.
type guard struct {
	span
	nodes  []*pg_query.Node // joined by AND
	hidden int              // index of its hidden parameter
}

// guard finds the guards in the text, and checks what the calls' arguments refer to.
func (r *rewriter) guard(n *pg_query.Node, clauses []place.Clause) *pgerr.Error {
	if r.plan.Explain != nil {
		return nil
	}
	for i := range clauses {
		r.ordered = clauses[i].Ordered
		if !r.guardsOf(&clauses[i]) {
			return r.refuse(r.sites[0].call, "a statement with this form of condition")
		}
	}
	for _, g := range r.guards {
		for _, n := range g.nodes {
			if sets := tree.Sets(n); len(sets) > 0 { // its place is in two texts
				return r.refuse(sets[0], "a condition that decides about other calls")
			}
		}
	}
	return r.references(n)
}

// guardsOf finds the guards among the conditions of a WHERE or ON. Brackets around some of
// them may hold filters too.
func (r *rewriter) guardsOf(c *place.Clause) bool {
	whole := r.located(c.Quals)
	word := r.wordBefore(r.tokenFrom(whole.start), c.Word, -1)
	if word < 0 || word+1 >= len(r.tokens) {
		return false
	}
	conditions := c.Conditions()
	guards := map[*pg_query.Node]bool{}
	for _, n := range c.Guards {
		guards[n] = true
	}
	nodes := make([]placedNode, len(conditions))
	for i, n := range conditions {
		nodes[i] = placedNode{n, r.located(n), guards[n]}
	}
	end := r.conditionEnd(whole.end, r.tokens[word].depth)
	return r.split(word+1, end, nodes)
}

type placedNode struct {
	node  *pg_query.Node
	at    span
	guard bool
}

// split finds the guards from token first to token last, which AND joins.
func (r *rewriter) split(first, last int, nodes []placedNode) bool {
	depth, start := r.tokens[first].depth, first
	for i := first; i <= last; i++ {
		if r.isWord(i, "and") && r.tokens[i].depth == depth && !r.within(i, nodes) {
			if !r.part(start, i-1, nodes) {
				return false
			}
			start = i + 1
		}
	}
	return r.part(start, last, nodes)
}

// part looks at what stands between two ANDs: a condition, or several in brackets.
func (r *rewriter) part(first, last int, all []placedNode) bool {
	from := sort.Search(len(all), func(n int) bool { return all[n].at.start >= r.tokens[first].Start })
	to := sort.Search(len(all), func(n int) bool { return all[n].at.start >= r.tokens[last].End })
	nodes := all[from:to]
	guards := 0
	for _, n := range nodes {
		if n.guard {
			guards++
		}
	}
	switch {
	case guards == 0:
		return true
	case guards < len(nodes):
		return r.is(first, "(") && r.closing(first) == last && r.split(first+1, last-1, nodes)
	}
	g := &guard{span: span{r.tokens[first].Start, r.tokens[last].End}}
	for _, n := range nodes {
		g.nodes = append(g.nodes, n.node)
	}
	r.guards = append(r.guards, g)
	return true
}

// conditionEnd is the last token of a condition whose last part that has a location is at
// this byte.
func (r *rewriter) conditionEnd(last, depth int) int {
	i := r.tokenFrom(last)
	for ; i < len(r.tokens); i++ {
		if t := r.tokens[i]; t.depth < depth || t.depth == depth && t.Start > last && (clauseWords[r.keyword(i)] || r.joins(i)) {
			break
		}
	}
	return i - 1
}

// joins says whether another item of FROM begins at a token.
func (r *rewriter) joins(i int) bool {
	return r.is(i, ",") || joinWords[r.keyword(i)] && !r.is(i+1, "(")
}

var joinWords = map[string]bool{
	"join": true, "left": true, "right": true, "full": true, "inner": true, "cross": true, "natural": true,
}

// within says whether token i stands inside one of the conditions, which are in the order
// of the text.
func (r *rewriter) within(i int, nodes []placedNode) bool {
	at := r.tokens[i].Start
	n := sort.Search(len(nodes), func(n int) bool { return nodes[n].at.start >= at }) - 1
	return n >= 0 && at < nodes[n].at.end
}

// located is the first and the last place in n that the parser says, in bytes of
// the user's text.
func (r *rewriter) located(n tree.Message) span {
	first, last := tree.Locations(n)
	return span{r.source.Offset(first), r.source.Offset(last)}
}

// references checks what the arguments of calls that run once refer to.
func (r *rewriter) references(n *pg_query.Node) *pgerr.Error {
	with := tree.WithNames(n)
	for _, s := range r.once {
		if err := r.alone(s.call, with); err != nil {
			return err
		}
		r.free(s)
		if s.form == formFrom && namesWholeRow(s.call) {
			return r.refuse(s.call, "FROM with an argument whose subquery may name a whole row")
		}
	}
	return nil
}

// free lets the statement be refused if the upstream knows the columns that the arguments
// name: they are those of rows, which there are none of before the statement runs.
func (r *rewriter) free(s *callSite) {
	for _, n := range s.call.Args {
		tree.Outside(n, func(m protoreflect.Message) {
			if _, ok := m.Interface().(*pg_query.ColumnRef); ok && r.plan.Refused == nil {
				r.plan.Refused = notAlone(s.function.Name, r.character(s.name))
			}
		})
	}
}

// alone refuses what reads a WITH query of the statement, which the argument query does
// not have: computed a second time, it might be another.
func (r *rewriter) alone(call *pg_query.FuncCall, with map[string]bool) (err *pgerr.Error) {
	own := tree.WithNames(call)
	tree.Each(call, func(table *pg_query.RangeVar) {
		if table.Schemaname == "" && with[table.Relname] && !own[table.Relname] && err == nil {
			err = place.ReadsWith(table.Relname).At(r.source.Char(table.Location))
		}
	})
	return err
}

// namesWholeRow says whether a name in a subquery might be a row of its own: in place, it
// might be a column of another item of FROM.
func namesWholeRow(call *pg_query.FuncCall) bool {
	own := tree.OwnNames(call)
	return tree.Any(call, func(ref *pg_query.ColumnRef) bool { return len(ref.Fields) == 1 && own[tree.Name(ref.Fields)] })
}
