package rewrite

import (
	"slices"
	"strconv"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/planner/expr"
	"raisinproxy/planner/place"
	"raisinproxy/planner/sqltext"
	"raisinproxy/planner/tree"
	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// A signature is a function that every PostgreSQL has, the only one of its name
// with so many arguments, and whose arguments are of the same types as those of
// functions of the proxy's. A call of it in a probe is resolved as theirs would be:
// it types an untyped $1, and refuses the same arguments with a message that lists
// the types of all.
type signature struct {
	types    []datum.Type // of the proxy's function's arguments
	function string
	order    []int // which of its arguments is the first of function, …
}

var signatures = []signature{
	{[]datum.Type{datum.Text}, "quote_ident", []int{0}},
	{[]datum.Type{datum.Int8}, "int8up", []int{0}},
	{[]datum.Type{datum.Text, datum.Int8}, "hashtextextended", []int{0, 1}},
	{[]datum.Type{datum.Text, datum.Int8, datum.Int8}, "int8range", []int{1, 2, 0}},
}

// single are functions of one argument of a type, with what else a call of them has. By these the
// arguments of a function that has no signature are resolved one by one.
var single = map[datum.Type]struct{ function, more string }{
	datum.Text:      {"textcat", ", ''"},
	datum.Int8:      {"int8up", ""},
	datum.TextArray: {"array_to_tsvector", ""},
}

// signatureOf is that of a call with some of a function's arguments; nil if there is none.
func signatureOf(args []sqlfuncs.Arg) *signature {
	for i := range signatures {
		if slices.EqualFunc(signatures[i].types, args, func(t datum.Type, a sqlfuncs.Arg) bool { return t == a.Type }) {
			return &signatures[i]
		}
	}
	return nil
}

// signature is that of the site, and the written argument for each of its types.
func (s *callSite) signature() (sig *signature, written []int) {
	var args []sqlfuncs.Arg
	for slot, i := range s.given {
		if !s.leavesOut(slot) {
			args, written = append(args, s.function.Args[slot]), append(written, i)
		}
	}
	return signatureOf(args), written
}

// write writes the texts.
func (r *rewriter) write() *pgerr.Error {
	r.plan.Probe = r.splice(r.probe, r.edits(r.probeSite, nil))
	r.plan.Probe.sites = r.sites
	r.plan.Main = r.main(r.parameter)
	if r.plan.Explain == nil && len(r.plan.Calls) > 0 {
		r.plan.Args = r.arguments()
		r.plan.local = r.localSource()
	}
	if r.plan.Copy {
		r.plan.rewriter = r
	}
	if r.overlap {
		return r.refuse(r.sites[0].call, "this form")
	}
	return nil
}

// main writes Main with what value says in place of the hidden parameters.
func (r *rewriter) main(value func(hidden int) string) Text {
	edits := r.edits(func(w *textWriter, s *callSite) { r.mainSite(w, s, value) }, value)
	if r.trailing > 0 {
		at := span{r.trailing, r.trailing}
		edits = append(edits, edit{at, r.trailingColumns})
	}
	return r.splice(r.span, edits)
}

// parameter refers to a hidden parameter.
func (r *rewriter) parameter(hidden int) string {
	return "$" + strconv.Itoa(r.plan.Params+1+hidden)
}

// edits are the changes of the user's text. With value, guards are replaced too.
func (r *rewriter) edits(replace func(*textWriter, *callSite), value func(hidden int) string) (edits []edit) {
	for _, s := range r.sites {
		edits = append(edits, edit{s.span, func(w *textWriter) { replace(w, s) }})
		if s.output != "" {
			edits = append(edits, edit{span{s.asAt, s.asAt}, func(w *textWriter) { w.put(s.name, " AS ", sqltext.QuotedName(s.output)) }})
		}
		if s.drop.start < s.drop.end {
			edits = append(edits, edit{s.drop, func(*textWriter) {}})
		}
	}
	for _, schema := range r.dropped {
		edits = append(edits, edit{schema, func(*textWriter) {}})
	}
	if value == nil || r.plan.Explain != nil {
		return edits
	}
	for _, g := range r.guards {
		edits = append(edits, edit{g.span, func(w *textWriter) { w.put(g.start, "(", value(g.hidden), "::", typeName(datum.Bool), ")") }})
	}
	return edits
}

// mainSite writes what stands for a call in Main.
func (r *rewriter) mainSite(w *textWriter, s *callSite, value func(hidden int) string) {
	at := s.name
	if s.function.Set {
		r.setSite(w, s, value)
		return
	}
	r.result(w, s, func(column, i int) {
		null := "NULL::" + typeName(s.typeOf(column))
		switch {
		case r.plan.Explain != nil:
			w.put(at, "(SELECT ", null, ")") // so that the planner knows no value
		case s.place == place.PerRow:
			w.put(at, null) // its value follows from the hidden columns
		default:
			w.put(at, value(s.hidden+i), "::", typeName(s.typeOf(column)))
		}
	})
	if s.form == formFrom {
		w.put(at, ")")
	}
	r.alias(w, s)
}

// setSite writes what stands for a call that returns a set: its rows, taken out of an array for
// each column. (PostgreSQL knows unnest(a, b, …) by no qualified name.) The subquery around
// them lets the user's alias stand as it is.
func (r *rewriter) setSite(w *textWriter, s *callSite, value func(hidden int) string) {
	at := s.name
	if s.table {
		w.put(at, "SELECT * FROM ")
	}
	w.put(at, "(SELECT * FROM ROWS FROM (")
	for i, c := range s.function.Columns {
		if i > 0 {
			w.put(at, ", ")
		}
		array := "NULL::" + typeName(c.Type) + "[]"
		if r.plan.Explain == nil {
			array = value(s.hidden+i) + "::" + typeName(c.Type) + "[]"
		}
		w.put(at, "pg_catalog.unnest(", array, ")")
	}
	w.put(at, ") AS ", sqltext.QuotedName(s.function.Name), "(")
	for i, c := range s.function.Columns {
		if i > 0 {
			w.put(at, ", ")
		}
		w.put(at, sqltext.QuotedName(c.Name))
	}
	w.put(at, "))")
	r.alias(w, s)
}

// probeSite writes what stands for a call in the probe: an expression of its type
// that has all its arguments in it.
func (r *rewriter) probeSite(w *textWriter, s *callSite) {
	if s.table {
		w.put(s.name, "SELECT * FROM ")
	}
	if s.form == formFrom && !s.lateral {
		w.put(s.name, "LATERAL ") // as functions in FROM are
	}
	r.result(w, s, func(column, i int) {
		null := "NULL::" + typeName(s.typeOf(column))
		if s.form == formFrom || i > 0 {
			w.put(s.name, null)
			return
		}
		if s.form == formNoField {
			null = "ROW(1)" // PostgreSQL's own error follows
		}
		w.put(s.name, "CASE WHEN ")
		r.resolved(w, s)
		w.put(s.name, " THEN ", null, " END")
	})
	if s.form == formFrom && s.given != nil && len(s.args) == 0 {
		w.put(s.name, ")")
	} else if s.form == formFrom {
		w.put(s.name, " WHERE ")
		r.resolved(w, s)
		w.put(s.name, ")")
	}
	r.alias(w, s)
}

// result writes the columns of a call that are used, each in the form that the
// place asks for. A FROM item is left open, for more to follow.
func (r *rewriter) result(w *textWriter, s *callSite, column func(column, i int)) {
	open, shut := "(", ")"
	if s.form == formFrom {
		w.put(s.name, "(SELECT ")
		open, shut = "", ""
	}
	for i, c := range s.columns() {
		if i > 0 {
			w.put(s.name, ", ")
		}
		w.put(s.name, open)
		column(c, i)
		w.put(s.name, shut)
		if s.form == formFrom || s.form == formStar && s.named {
			w.put(s.name, " AS ", sqltext.QuotedName(s.nameOf(c)))
		}
	}
}

// alias names a FROM item that has no alias of the user's.
func (r *rewriter) alias(w *textWriter, s *callSite) {
	if s.form == formFrom && !s.aliased {
		w.put(s.name, " AS ", sqltext.QuotedName(s.alias))
	}
}

// resolved writes a condition with a call that PostgreSQL resolves as the proxy's.
func (r *rewriter) resolved(w *textWriter, s *callSite) {
	switch sig, written := s.signature(); {
	case s.given == nil:
		// There is no function that these arguments could fit: not in pg_catalog
		// either, which is where nobody else can have made one.
		w.put(s.name, "pg_catalog.", sqltext.QuotedName(s.function.Name))
		w.copy(span{r.tokens[s.open].Start, r.tokens[r.closing(s.open)].End})
	case sig == nil && len(written) == 0:
		w.put(s.name, "NULL")
	case sig == nil, s.reordered(sig, written):
		r.oneByOne(w, s)
	default:
		w.put(s.name, "pg_catalog.", sig.function, "(")
		for i, slot := range sig.order {
			if i > 0 {
				w.put(s.name, ", ")
			}
			w.copy(s.args[written[slot]])
		}
		w.put(s.name, ")")
	}
	w.put(s.name, " IS NULL")
}

// reordered says whether the arguments cannot be given to the function of the
// signature: it has them in another order, and a parameter that one of them only
// passes on may get its type in another.
func (s *callSite) reordered(sig *signature, written []int) bool {
	inOrder := true
	for i, slot := range sig.order {
		inOrder = inOrder && written[slot] == i
	}
	passed, computed := map[int32]bool{}, map[int32]bool{}
	for _, value := range s.values {
		if ref := value.GetParamRef(); ref != nil {
			passed[ref.Number] = true
			continue
		}
		tree.Each(value, func(ref *pg_query.ParamRef) { computed[ref.Number] = true })
	}
	shared := false
	for number := range passed {
		shared = shared || computed[number]
	}
	return shared && !inOrder
}

// oneByOne resolves each argument by itself, in the order in which they are written.
func (r *rewriter) oneByOne(w *textWriter, s *callSite) {
	for i, arg := range s.args {
		if i > 0 {
			w.put(s.name, " IS NULL AND ")
		}
		by := single[s.function.Args[slices.Index(s.given, i)].Type]
		w.put(s.name, "pg_catalog.", by.function, "(")
		w.copy(arg)
		w.put(s.name, by.more, ")")
	}
}

// translate puts the user's function in the place of the one in the probe. Where
// the arguments have names, or another order, so has the list of their types.
func (s *callSite) translate(message string) string {
	user := tree.Qualified(s.call.Funcname)
	if s.given == nil {
		return strings.ReplaceAll(message, "pg_catalog."+s.function.Name, user)
	}
	before, rest, found := strings.Cut(message, "pg_catalog.")
	function, rest, opened := strings.Cut(rest, "(")
	list, after, closed := strings.Cut(rest, ")")
	if !found || !opened || !closed {
		return message
	}
	written := s.writtenTypes(function, strings.Split(list, ", "))
	return before + user + "(" + strings.Join(written, ", ") + ")" + after
}

// writtenTypes are the types of the arguments, as they were written, of which the
// function in the probe has found these.
func (s *callSite) writtenTypes(function string, found []string) []string {
	written := make([]string, len(s.args))
	sig, arguments := s.signature()
	for slot, i := range arguments {
		t := s.function.Args[slices.Index(s.given, i)].Type
		switch {
		case sig != nil && function == sig.function:
			if at := slices.Index(sig.order, slot); at < len(found) {
				written[i] = found[at]
			}
		case function == single[t].function:
			written[i] = found[0]
		default: // it was resolved by itself, and not refused
			written[i] = s.typeOfValue(s.values[i], t)
		}
	}
	for i, name := range s.names {
		if name != "" {
			written[i] = name + " => " + written[i]
		}
	}
	return written
}

// typeOfValue is the type of an argument as messages name it, as far as it can be known here; else
// that which it turned into.
func (s *callSite) typeOfValue(value *pg_query.Node, to datum.Type) string {
	c := &expr.Compiler{At: func(int32) int { return 0 }, Params: expr.NewParams(s.declared)}
	e, err := c.Expr(value)
	if err != nil {
		return to.String()
	}
	return expr.DisplayName(e.Type())
}

func typeName(t datum.Type) string { return "pg_catalog." + t.TypName() }

// arguments writes Args: SELECT the arguments WHERE the guards.
func (r *rewriter) arguments() Text {
	w := &textWriter{user: r.user}
	w.put(r.span.start, "SELECT ")
	separator := ""
	for _, s := range r.once {
		for slot := range s.function.Args {
			if s.leavesOut(slot) {
				continue
			}
			w.put(s.name, separator)
			separator = ", "
			r.cast(w, s, slot)
		}
	}
	if separator == "" {
		w.put(r.span.start, "NULL") // so that there is a row to see
	}
	r.guardConditions(w)
	t := r.finish(w)
	t.alone, t.sites = true, r.sites
	return t
}

// guardConditions writes WHERE with the guards. As a single condition they are not put
// into another order.
func (r *rewriter) guardConditions(w *textWriter) {
	single := r.ordered && len(r.guards) > 1
	word := " WHERE "
	if single {
		word = " WHERE ("
	}
	for _, g := range r.guards {
		w.put(g.start, word, "(")
		w.copy(g.span)
		w.put(g.start, ")")
		word = " AND "
	}
	if single {
		w.put(r.guards[0].start, ") IS TRUE")
	}
}

// cast writes an argument as its declared type. What the probe accepted has an
// implicit cast to it, or none yet.
func (r *rewriter) cast(w *textWriter, s *callSite, slot int) {
	if s.given == nil {
		w.put(s.name, "NULL") // the probe has refused the call
	} else {
		w.put(s.name, "(")
		w.copy(s.args[s.given[slot]])
		w.put(s.name, ")")
	}
	w.put(s.name, "::", typeName(s.function.Args[slot].Type))
}
