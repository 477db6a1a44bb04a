package rewrite

import (
	"github.com/jeroenrinzema/psql-wire/codes"
	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/planner/pgparse"
	"raisinproxy/planner/place"
	"raisinproxy/planner/tree"
	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// rewriter makes a Split of one statement.
type rewriter struct {
	source   *pgparse.Positions
	user     string
	tokens   []nestedToken
	span     span // of the statement in user
	probe    span // of what Probe is made of
	prepared bool // the statement may have parameters
	declared []datum.Type
	sites    []*callSite // in the order of evaluation
	once     []*callSite // those that run before the statement
	rows     []*callSite // those that run for each row
	byCall   map[*pg_query.FuncCall]*callSite
	lists    map[tree.Message]bool // the alias.* and (f(…)).* that stand for a list of columns
	guards   []*guard
	ordered  bool // the guards are evaluated in their order
	trailing int  // where the hidden columns of Rows go; 0: there are none
	bare     bool // there is no call: the texts are the user's
	// relations are the calls that are written as relations, views the names of these, facts
	// what says that they are, and dropped the schemas in names of columns.
	relations map[*pg_query.FuncCall]bool
	views     map[string]bool
	facts     []place.Fact
	dropped   []span
	overlap   bool // two changes of the text touch, so that the result is not to be trusted
	plan      *Split
}

// span is the bytes [start, end) of the user's text.
type span struct{ start, end int }

// siteForm is how the result of a call is used.
type siteForm int

const (
	formScalar  siteForm = iota // f(…)
	formField                   // (f(…)).column
	formNoField                 // (f(…)).column, and there is none of this name
	formStar                    // (f(…)).*
	formFrom                    // FROM f(…)
)

// callSite is a call in the text.
type callSite struct {
	function *sqlfuncs.Function
	call     *pg_query.FuncCall
	place    place.Place
	form     siteForm
	column   int // of formField
	span         // what is replaced
	name     int // byte offset of the function's name
	open     int // the token that opens the arguments
	args     []span
	names    []string         // that args have; "" for one by its place
	values   []*pg_query.Node // args in the parse tree
	given    []int            // the written argument for each declared one, or LeftOut; nil: PostgreSQL finds no such function
	declared []datum.Type     // of the statement's parameters
	// named says that a column of formStar gets its name by AS.
	named bool
	// output is the name of the column that the call alone would name; it is forced
	// by an AS at the byte asAt. "" where it need not be.
	output string
	asAt   int
	// drop is an alias of (f(…)).*, which PostgreSQL ignores.
	drop span
	// table: it is TABLE name, which is SELECT * FROM name.
	table bool
	// alias of a FROM item; lateral: the user wrote LATERAL before it.
	alias            string
	aliased, lateral bool
	renamed          []*pg_query.Node // the names that its first columns get
	hidden           int              // index of its first hidden parameter
}

// columns are those of the function that the site uses.
func (s *callSite) columns() []int {
	switch s.form {
	case formScalar, formNoField:
		return []int{AsScalar}
	case formField:
		return []int{s.column}
	}
	all := make([]int, len(s.function.Columns))
	for i := range all {
		all[i] = i
	}
	return all
}

func (s *callSite) typeOf(column int) datum.Type {
	if column == AsScalar {
		return s.function.Scalar
	}
	return s.function.Columns[column].Type
}

// hiddenType is the type of the hidden parameter for a column.
func (s *callSite) hiddenType(column int) datum.Type {
	if s.function.Set {
		return datum.ArrayOf(s.typeOf(column))
	}
	return s.typeOf(column)
}

// nameOf is the name of a column that stands by itself: in FROM, the only column
// of a function takes the alias, as for any function of a scalar type.
func (s *callSite) nameOf(column int) string {
	if s.form == formFrom && len(s.function.Columns) == 1 && s.aliased {
		return s.alias
	}
	return s.function.Columns[column].Name
}

// locate finds the placed calls in the text.
func (r *rewriter) locate(n *pg_query.Node, placed []place.Call) *pgerr.Error {
	at := contextOf(n)
	r.lists = listItems(n)
	r.byCall = map[*pg_query.FuncCall]*callSite{}
	for _, p := range placed {
		if len(tree.Calls(p.Node)) > 1 {
			return r.refuse(tree.Calls(p.Node)[1], "an argument of another call")
		}
		s := &callSite{call: p.Node, place: p.Place, declared: r.declared, named: at.target[p.Node] != nil}
		s.function, _ = tree.Function(p.Node)
		if !r.find(s) {
			return r.refuse(p.Node, "this form")
		}
		if err := r.formOf(s, at); err != nil {
			return err
		}
		r.sites = append(r.sites, s)
		if s.place == place.PerRow {
			r.rows = append(r.rows, s)
		} else {
			r.once = append(r.once, s)
		}
		r.byCall[p.Node] = s
	}
	return nil
}

// formOf finds how the call is used, and what has to be replaced.
func (r *rewriter) formOf(s *callSite, at *callContext) *pgerr.Error {
	if item := at.from[s.call]; item != nil {
		s.form, s.lateral, s.alias = formFrom, item.Lateral, s.function.Name
		if item.Alias != nil {
			s.alias, s.aliased, s.renamed = item.Alias.Aliasname, true, item.Alias.Colnames
		}
		return r.columnDefinitions(s, item)
	}
	if field := at.field[s.call]; field != nil {
		_, _, column := tree.FieldOfCall(field)
		s.form, s.column = formField, s.function.ColumnIndex(column)
		if column == "" {
			s.form = formStar
		} else if s.column < 0 {
			s.form = formNoField
			r.plan.Refused = pgerr.Newf(codes.UndefinedColumn, "could not identify column \"%s\" in record data type", column).
				At(r.character(s.name))
			return nil
		}
		if !r.widenToField(s) || s.form == formStar && !r.lists[field] {
			return r.refuse(s.call, "this form")
		}
		if s.form == formStar {
			r.widenToItem(s, at.target[s.call])
		}
	}
	if target := at.target[s.call]; target != nil {
		return r.outputName(s, target)
	}
	return nil
}

// columnDefinitions refuses FROM f(…) AS c(name type), as PostgreSQL does.
func (r *rewriter) columnDefinitions(s *callSite, item *pg_query.RangeFunction) *pgerr.Error {
	if len(item.Coldeflist) == 0 {
		return nil
	}
	what := "a column definition list is redundant for a function with OUT parameters"
	if len(s.function.Columns) == 1 {
		what = "a column definition list is only allowed for functions returning \"record\""
	}
	return pgerr.Newf(codes.Syntax, "%s", what).At(r.source.Char(item.Coldeflist[0].GetColumnDef().GetLocation()))
}

// outputName notes the name of the column that PostgreSQL takes from the call.
func (r *rewriter) outputName(s *callSite, target *pg_query.ResTarget) *pgerr.Error {
	first := r.tokenAt(r.source.Offset(target.Location))
	if first < 0 {
		return r.refuse(s.call, "this form")
	}
	end := r.itemEnd(r.tokenFrom(s.end), r.tokens[first].depth)
	switch {
	case s.form == formStar && target.Name != "":
		s.drop = span{s.end, end}
	case s.form != formStar && target.Name == "":
		s.output, s.asAt = tree.ColumnName(target.Val), end
	}
	return nil
}

// find reads the call in the text: its name, its arguments and their order.
func (r *rewriter) find(s *callSite) bool {
	first := r.tokenAt(r.source.Offset(s.call.Location))
	if first < 0 {
		return false
	}
	if r.relations[s.call] {
		return r.findRelation(s, first)
	}
	open := first
	for open < len(r.tokens) && !r.is(open, "(") {
		open++
	}
	shut := r.closing(open)
	if shut < 0 {
		return false
	}
	s.name, s.open = r.tokens[first].Start, open
	s.span = span{s.name, r.tokens[shut].End}
	from := open + 1
	if r.isWord(from, "all") {
		from++ // f(ALL x) is f(x)
	}
	for i := from; i <= shut; i++ {
		comma := r.is(i, ",") && r.tokens[i].depth == r.tokens[open].depth+1
		if (comma || i == shut) && i > from {
			s.args = append(s.args, span{r.tokens[from].Start, r.tokens[i-1].End})
			from = i + 1
		}
	}
	if len(s.args) != len(s.call.Args) {
		return s.call.AggStar
	}
	r.matchArguments(s)
	return true
}

// matchArguments finds the written argument of each declared one. Names are cut
// off the arguments once all have their place.
func (r *rewriter) matchArguments(s *callSite) {
	var matched callSite
	given := make([]int, len(s.function.Args))
	for i := range given {
		given[i] = LeftOut
	}
	for i, arg := range s.call.Args {
		slot := len(matched.args)
		text, name := s.args[i], ""
		if named := arg.GetNamedArgExpr(); named != nil {
			name, arg = named.Name, named.Arg
			slot = s.function.ArgIndex(name)
			text.start = r.afterArrow(text)
		} else if r.isVoid(arg) {
			continue
		} else if i > 0 && s.call.Args[i-1].GetNamedArgExpr() != nil {
			return
		}
		if slot < 0 || slot >= len(given) || given[slot] >= 0 {
			return
		}
		given[slot] = len(matched.args)
		matched.args = append(matched.args, text)
		matched.names = append(matched.names, name)
		matched.values = append(matched.values, arg)
	}
	for slot, arg := range s.function.Args {
		if given[slot] == LeftOut && arg.Default == nil {
			return
		}
	}
	if !s.call.FuncVariadic {
		s.args, s.names, s.values, s.given = matched.args, matched.names, matched.values, given
	}
}

// leavesOut says whether the call does not have an argument, which has its default value then.
func (s *callSite) leavesOut(slot int) bool {
	return slot < len(s.given) && s.given[slot] == LeftOut
}

// isVoid recognizes the parameter of {? = call f(…)}, as isVoidParameter of expr does.
func (r *rewriter) isVoid(arg *pg_query.Node) bool {
	ref := arg.GetParamRef()
	return ref != nil && ref.Number >= 1 && int(ref.Number) <= len(r.declared) && r.declared[ref.Number-1] == datum.Void
}

// afterArrow is where the value begins in name => value, or name := value.
func (r *rewriter) afterArrow(arg span) int {
	for i := r.tokenFrom(arg.start); i+1 < len(r.tokens) && r.tokens[i].Start < arg.end; i++ {
		if r.is(i, "=>") || r.is(i, ":=") {
			return r.tokens[i+1].Start
		}
	}
	return arg.start
}

// widenToField widens what is replaced from f(…) to (f(…)).column.
func (r *rewriter) widenToField(s *callSite) bool {
	first, last := r.tokenAt(s.start), r.tokenFrom(s.end)-1
	for !r.is(last+1, ".") {
		first, last = first-1, last+1
		if first < 0 || !r.is(first, "(") || !r.is(last, ")") {
			return false
		}
	}
	// The name of the column may be U&"…" UESCAPE '!'.
	last += 2
	if r.isWord(last+1, "uescape") {
		last += 2
	}
	if last >= len(r.tokens) {
		return false
	}
	s.span = span{r.tokens[first].Start, r.tokens[last].End}
	return true
}

// widenToItem widens what is replaced to the brackets around (f(…)).*, which could not
// stand around the columns that take its place.
func (r *rewriter) widenToItem(s *callSite, target *pg_query.ResTarget) {
	first, last := r.tokenAt(s.start), r.tokenFrom(s.end)-1
	for r.is(first-1, "(") && r.is(last+1, ")") {
		inList := r.is(first-2, "(") || r.is(first-2, ",") // else it is the list's own bracket
		if target != nil {
			inList = r.tokens[first].Start > r.source.Offset(target.Location)
		}
		if !inList {
			break
		}
		first, last = first-1, last+1
	}
	s.span = span{r.tokens[first].Start, r.tokens[last].End}
}

func (r *rewriter) character(offset int) int { return r.source.Character(offset) }

// refuse refuses a call for where it stands.
func (r *rewriter) refuse(call *pg_query.FuncCall, what string) *pgerr.Error {
	return place.Refusal(call, what, "", r.source.Char)
}
