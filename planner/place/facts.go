package place

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/planner/sqltext"
	"raisinproxy/planner/tree"
	"raisinproxy/sqlfuncs/pgerr"
)

// factKind is what is asked about a name.
type factKind string

// What a placement may rest on and only the upstream knows. All hold for a name if they
// hold for everything of that name.
const (
	stableFunction factKind = "stable function" // none is volatile
	lateFunction   factKind = "late function"   // none is computed by the planner
	scalarFunction factKind = "scalar function" // none returns a set, or looks at several rows
	singleFunction factKind = "single function" // none returns a set
	opaqueFunction factKind = "opaque function" // none is written in SQL by a user
	stableOperator factKind = "stable operator"
	opaqueOperator factKind = "opaque operator"
	catalogType    factKind = "type"           // it is built in, or an enum
	opaqueType     factKind = "opaque type"    // that, or a domain over a built-in one
	implicitCasts  factKind = "implicit casts" // none is volatile
	plainTable     factKind = "plain table"    // nothing but its own rows
	readTable      factKind = "table"          // neither a view nor secured by row
	noRules        factKind = "no rules"       // nor has what a view is of
	ownColumn      factKind = "own column"     // one of the tables has it
	nullable       factKind = "nullable"       // no such column, or one that may be NULL
	settingIsNot   factKind = "setting"
	ownView        factKind = "own view" // it is the one that stubs --views makes
	// What makes the statement fail before PostgreSQL would call anything.
	readOnly  factKind = "read only"
	forbidden factKind = "forbidden"
)

// Fact is something that only the upstream knows and that a plan rests on.
type Fact struct {
	factKey
	// Refused is what the statement is if the fact does not hold; nil: the fact is that
	// the statement is going to fail, before any call.
	Refused *pgerr.Error
}

// String is for tests and logs.
func (f *Fact) String() string { return fmt.Sprintf("%s %s %s", f.kind, f.subject, f.object) }

// factSQL says how each kind is asked about a subject, $1, and an object, $2. Each is a small
// query whose plan is the same whatever they are, so that the upstream plans it once and keeps
// the plan.
var factSQL = map[factKind]string{
	stableFunction: noFunction("p.provolatile = 'v'"),
	lateFunction:   noFunction("p.provolatile = 'i'"),
	scalarFunction: noFunction("(p.proretset OR p.prokind <> 'f')"),
	singleFunction: noFunction("p.proretset"),
	opaqueFunction: noFunction("p.prolang = 14 AND p.oid >= 16384"),
	stableOperator: `NOT EXISTS (SELECT FROM pg_catalog.pg_operator o JOIN pg_catalog.pg_proc p ON p.oid = o.oprcode
 WHERE o.oprname = $2 AND o.oid >= 16384 AND p.provolatile = 'v')`,
	opaqueOperator: `NOT EXISTS (SELECT FROM pg_catalog.pg_operator o JOIN pg_catalog.pg_proc p ON p.oid = o.oprcode
 WHERE o.oprname = $2 AND o.oid >= 16384 AND p.prolang = 14)`,
	catalogType: `(SELECT t.typnamespace = 11 OR t.typtype = 'e' FROM pg_catalog.pg_type t WHERE t.oid = pg_catalog.to_regtype($1))`,
	opaqueType: `(SELECT t.typnamespace = 11 OR t.typtype = 'e' OR EXISTS (SELECT FROM pg_catalog.pg_type b WHERE b.oid = t.typbasetype
 AND b.typnamespace = 11) FROM pg_catalog.pg_type t WHERE t.oid = pg_catalog.to_regtype($1))`,
	implicitCasts: `NOT EXISTS (SELECT FROM pg_catalog.pg_cast c JOIN pg_catalog.pg_proc p ON p.oid = c.castfunc
 WHERE c.castcontext = 'i' AND c.oid >= 16384 AND p.provolatile = 'v')`,
	plainTable: `(SELECT c.relkind IN ('r', 'm', 'f') AND NOT c.relhassubclass AND NOT pg_catalog.row_security_active(c.oid)
 FROM pg_catalog.pg_class c WHERE c.oid = pg_catalog.to_regclass($1))`,
	readTable: `(SELECT c.relkind IN ('r', 'p', 'm', 'f') AND NOT pg_catalog.row_security_active(c.oid)
 FROM pg_catalog.pg_class c WHERE c.oid = pg_catalog.to_regclass($1))`,
	noRules: `NOT EXISTS (WITH RECURSIVE r(oid) AS (SELECT pg_catalog.to_regclass($1)::pg_catalog.oid
 UNION SELECT d.refobjid FROM r JOIN pg_catalog.pg_rewrite w ON w.ev_class = r.oid
 JOIN pg_catalog.pg_depend d ON d.classid = 2618 AND d.objid = w.oid AND d.refclassid = 1259)
 SELECT FROM r JOIN pg_catalog.pg_rewrite w ON w.ev_class = r.oid WHERE w.ev_type <> '1')`,
	ownColumn: `EXISTS (SELECT FROM pg_catalog.unnest($1::pg_catalog.text[]) t(name) JOIN pg_catalog.pg_attribute a
 ON a.attrelid = pg_catalog.to_regclass(t.name) WHERE a.attname = $2 AND NOT a.attisdropped)`,
	nullable: `(pg_catalog.current_setting('server_version_num')::pg_catalog.int4 < 170000 OR NOT EXISTS (SELECT FROM pg_catalog.pg_attribute a
 WHERE a.attrelid = pg_catalog.to_regclass($1) AND a.attname = $2 AND a.attnotnull))`,
	settingIsNot: `pg_catalog.current_setting($1) <> $2`,
	// Versions differ in whether they write the name of the only relation before its columns.
	ownView: `(SELECT c.relkind = 'v' AND pg_catalog.has_table_privilege(c.oid, 'SELECT')
 AND pg_catalog.regexp_replace(pg_catalog.replace(pg_catalog.pg_get_viewdef(c.oid), c.relname || '.', ''), 'public[.]|[[:space:]";]', '', 'g') = $2
 AND EXISTS (SELECT FROM pg_catalog.pg_proc p WHERE p.pronamespace = c.relnamespace AND p.proname = c.relname AND pg_catalog.strpos(p.prosrc, 'raisin_stub') > 0)
 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace AND n.nspname = 'public' WHERE c.oid = pg_catalog.to_regclass($1))`,
	readOnly: `pg_catalog.current_setting('transaction_read_only') = 'on' AND (SELECT c.relpersistence <> 't'
 FROM pg_catalog.pg_class c WHERE c.oid = pg_catalog.to_regclass($1))`,
	forbidden: `(SELECT NOT pg_catalog.has_table_privilege(c.oid, $2) AND ($2 = 'DELETE' OR NOT pg_catalog.has_any_column_privilege(c.oid, $2))
 FROM pg_catalog.pg_class c WHERE c.oid = pg_catalog.to_regclass($1))`,
}

// noFunction asks whether there is no function of the schema $1, or of any, and the name $2
// for which this holds.
func noFunction(condition string) string {
	return "NOT EXISTS (SELECT FROM pg_catalog.pg_proc p WHERE p.proname = $2 AND " + condition + `
 AND ($1 = '' OR p.pronamespace = (SELECT n.oid FROM pg_catalog.pg_namespace n WHERE n.nspname = $1)))`
}

// FactQuery asks whether facts hold.
type FactQuery struct {
	// SQL has two parameters of type text for each fact, and returns one row with a column for
	// each. It is the same for all facts of the same kinds. "" if there are no facts.
	SQL        string
	Parameters []string
	// Name tells the text apart from others.
	Name string
}

// NewFactQuery asks for facts.
func NewFactQuery(facts []Fact) (q FactQuery) {
	if len(facts) == 0 {
		return q
	}
	columns := make([]string, len(facts))
	for i, f := range facts {
		number := strings.NewReplacer("$1", "$"+strconv.Itoa(2*i+1), "$2", "$"+strconv.Itoa(2*i+2))
		// Both are used, so that both have a type.
		columns[i] = number.Replace(factSQL[f.kind] + " AND $1 IS NOT NULL AND $2 IS NOT NULL")
		q.Parameters = append(q.Parameters, f.subject, f.object)
	}
	q.SQL = "SELECT " + strings.Join(columns, ", ")
	sum := sha256.Sum256([]byte(q.SQL))
	q.Name = hex.EncodeToString(sum[:8])
	return q
}

// arrayLiteral is a text[] as text.
func arrayLiteral(elements []string) string {
	quoted := make([]string, len(elements))
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	for i, e := range elements {
		quoted[i] = `"` + escape.Replace(e) + `"`
	}
	return "{" + strings.Join(quoted, ",") + "}"
}

// factList are facts, each once.
type factList struct {
	facts []Fact
	known map[factKey]bool
}

type factKey struct {
	kind            factKind
	subject, object string
}

func (l *factList) add(f Fact) {
	if l.known == nil {
		l.known = map[factKey]bool{}
	}
	if !l.known[f.factKey] {
		l.known[f.factKey] = true
		l.facts = append(l.facts, f)
	}
}

func (l *factList) count() int { return len(l.facts) }

// rewind forgets what was added since there were n.
func (l *factList) rewind(n int) {
	for i := n; i < len(l.facts); i++ {
		delete(l.known, l.facts[i].factKey)
	}
	l.facts = l.facts[:n]
}

// need notes a fact without which the calls are refused, for what stands at location.
func (p *placer) need(k factKind, subject, object, what string, location int32) {
	p.facts.add(Fact{factKey: factKey{k, subject, object}, Refused: p.beside(what).At(p.at(location))})
}

func (p *placer) needFunction(k factKind, n *pg_query.FuncCall, what string) {
	schema := ""
	if len(n.Funcname) > 1 {
		schema = tree.Name(n.Funcname[:len(n.Funcname)-1])
	}
	p.need(k, schema, tree.Name(n.Funcname), what, n.Location)
}

// needOperator asks about the operators that an expression is made of.
func (p *placer) needOperator(k factKind, n *pg_query.A_Expr) {
	names := []string{tree.Name(n.Name)}
	switch n.Kind {
	case pg_query.A_Expr_Kind_AEXPR_BETWEEN, pg_query.A_Expr_Kind_AEXPR_BETWEEN_SYM,
		pg_query.A_Expr_Kind_AEXPR_NOT_BETWEEN, pg_query.A_Expr_Kind_AEXPR_NOT_BETWEEN_SYM:
		names = []string{"<", "<=", ">", ">="}
	}
	for _, name := range names {
		p.need(k, "", name, "an operator that may be computed at another time", n.Location)
	}
}

// needType asks whether a type is built in: a cast to another may run anything.
func (p *placer) needType(k factKind, n *pg_query.TypeName) {
	if isCatalogType(n) {
		return
	}
	parts := make([]string, len(n.GetNames()))
	for i, part := range n.GetNames() {
		parts[i] = sqltext.QuotedName(part.GetString_().GetSval())
	}
	p.need(k, strings.Join(parts, "."), "", "a cast to a type that is not built in", n.GetLocation())
}

// relationName is a relation as to_regclass reads it.
func relationName(n *pg_query.RangeVar) string {
	name := sqltext.QuotedName(n.GetRelname())
	if n.GetSchemaname() != "" {
		name = sqltext.QuotedName(n.Schemaname) + "." + name
	}
	if n.GetCatalogname() != "" {
		name = sqltext.QuotedName(n.Catalogname) + "." + name
	}
	return name
}

// foils notes what makes a statement fail before anything runs: a transaction that may
// not write, and privileges that it lacks.
func (l *factList) foils(n *pg_query.Node) {
	targets := map[*pg_query.RangeVar]bool{}
	target := func(table *pg_query.RangeVar, privilege string) {
		targets[table] = true
		l.add(Fact{factKey: factKey{readOnly, relationName(table), ""}})
		if privilege != "" {
			l.add(Fact{factKey: factKey{forbidden, relationName(table), privilege}})
		}
	}
	tree.Each(n, func(s *pg_query.InsertStmt) { target(s.Relation, "INSERT") })
	tree.Each(n, func(s *pg_query.UpdateStmt) { target(s.Relation, "UPDATE") })
	tree.Each(n, func(s *pg_query.DeleteStmt) { target(s.Relation, "DELETE") })
	tree.Each(n, func(s *pg_query.MergeStmt) { target(s.Relation, "") })
	tree.Each(n, func(s *pg_query.IntoClause) { targets[s.Rel] = true })
	tree.Each(n, func(s *pg_query.LockingClause) {
		for _, rel := range s.LockedRels {
			targets[rel.GetRangeVar()] = true // an alias
		}
	})
	with := tree.WithNames(n)
	tree.Each(n, func(table *pg_query.RangeVar) {
		if !targets[table] && (table.Schemaname != "" || !with[table.Relname]) {
			l.add(Fact{factKey: factKey{forbidden, relationName(table), "SELECT"}})
		}
	})
}

// Unknown is the first fact without which the calls are refused and that does not follow
// from what builtin knows of PostgreSQL's functions; nil if there is none. It is for
// statements whose operators and types are all built in.
func (p *Placement) Unknown(builtin func(name string) (volatile, ok bool)) *Fact {
	for i := range p.Facts {
		if f := &p.Facts[i]; f.Refused != nil && !f.follows(builtin) {
			return f
		}
	}
	return nil
}

func (f *Fact) follows(builtin func(name string) (volatile, ok bool)) bool {
	switch f.kind {
	case stableOperator, opaqueOperator, catalogType, opaqueType:
		return true
	case stableFunction, lateFunction, scalarFunction, singleFunction, opaqueFunction:
		volatile, ok := builtin(f.object)
		return ok && (f.subject == "" || f.subject == "pg_catalog") && (f.kind != stableFunction || !volatile)
	}
	return false
}
