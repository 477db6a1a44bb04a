package rewrite

import (
	"slices"
	"strconv"

	"github.com/jeroenrinzema/psql-wire/codes"
	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/planner/place"
	"raisinproxy/planner/plan"
	"raisinproxy/planner/sqltext"
	"raisinproxy/planner/tree"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// explainStmt is EXPLAIN: nothing is evaluated, and the planner must not see
// constants where values would be.
func (r *rewriter) explainStmt(n *pg_query.ExplainStmt) *pgerr.Error {
	explain := &ExplainPlan{Text: true}
	for _, option := range n.Options {
		if def := option.GetDefElem(); def.GetDefname() == "format" {
			explain.Text = sqltext.FoldsTo(def.GetArg().GetString_().GetSval(), "text")
		}
	}
	r.plan.Explain = explain
	if err := r.query(n.Query, &pg_query.Node{Node: &pg_query.Node_ExplainStmt{ExplainStmt: n}}); err != nil {
		return err
	}
	for _, s := range r.sites {
		when := "once, before the statement"
		if s.place == place.PerRow {
			when = "once for each row of the result"
		}
		explain.Lines = append(explain.Lines, s.function.Name+" would run "+when)
	}
	return nil
}

// copyStmt is COPY (SELECT …) TO.
func (r *rewriter) copyStmt(n *pg_query.CopyStmt) *pgerr.Error {
	r.plan.Copy, r.prepared = true, false
	for open := range r.tokens {
		if r.is(open, "(") {
			r.probe = span{r.tokens[open].End, r.tokens[max(open, r.closing(open))].Start}
			break
		}
	}
	return r.query(n.Query, &pg_query.Node{Node: &pg_query.Node_CopyStmt{CopyStmt: n}})
}

// CopySQL is Main with the values of the hidden parameters in it, as literals.
func (m *Split) CopySQL(values []datum.Datum) Text {
	return m.rewriter.main(func(hidden int) string {
		if values[hidden].Null {
			return "NULL"
		}
		return sqltext.QuotedLiteral(string(datum.AppendText(nil, m.Hidden[hidden].Type, values[hidden], nil)))
	})
}

// prepareStmt is PREPARE name (types) AS statement: the statement is planned as if
// the client had prepared it by itself.
func (r *rewriter) prepareStmt(s *plan.Statement, n *pg_query.PrepareStmt) *pgerr.Error {
	i := 2 // after the name
	for i < len(r.tokens) && !r.is(i, "(") && !r.isWord(i, "as") {
		i++
	}
	action := &PrepareSplit{Name: n.Name, Split: r.plan}
	open := i
	if r.is(i, "(") {
		i = r.closing(i) + 1
	}
	if i == 0 || i+1 >= len(r.tokens) {
		return pgerr.Newf(codes.FeatureNotSupported, "this form of PREPARE is not supported")
	}
	for _, arg := range n.Argtypes {
		action.Declared = append(action.Declared, knownType(arg.GetTypeName()))
	}
	if len(n.Argtypes) > 0 {
		action.Types = r.typesQuery(action.Declared, open, i-1)
	}
	r.span.start = r.tokens[i+1].Start
	r.declared, r.prepared = action.Declared, true
	if err := r.query(n.Query, n.Query); err != nil {
		return err
	}
	s.Action = action
	return nil
}

// knownType is a type whose OID is the same in every PostgreSQL; else Invalid.
func knownType(n *pg_query.TypeName) datum.Type {
	name, ok := tree.CatalogName(n.GetNames())
	t, known := datum.TypeByName(name)
	if !ok || !known || len(n.GetArrayBounds()) > 0 || len(n.GetTypmods()) > 0 || n.GetSetof() || n.GetPctType() {
		return datum.Invalid
	}
	return t
}

// typesQuery is a query whose parameters are of the types in the brackets open and shut
// that are not known. (A column of such a type would not do: a domain is described as what
// it is over.)
func (r *rewriter) typesQuery(declared []datum.Type, open, shut int) Text {
	w := &textWriter{user: r.user}
	start, number, unknown := open+1, 0, 0
	for i := start; i <= shut; i++ {
		if i < shut && (!r.is(i, ",") || r.tokens[i].depth != r.tokens[open].depth+1) {
			continue
		}
		if declared[number] == datum.Invalid {
			word := ", "
			if unknown == 0 {
				word = "SELECT "
			}
			unknown++
			w.put(r.tokens[start].Start, word, "$", strconv.Itoa(unknown), "::")
			w.copy(span{r.tokens[start].Start, r.tokens[i-1].End})
		}
		start = i + 1
		number++
	}
	if unknown == 0 {
		return Text{}
	}
	return r.finish(w)
}

// Declare fills in the types that Types asks for.
func (p *PrepareSplit) Declare(found []datum.Type) []datum.Type {
	declared := slices.Clone(p.Declared)
	for i := range declared {
		if declared[i] == datum.Invalid && len(found) > 0 {
			declared[i], found = found[0], found[1:]
		}
	}
	return declared
}
