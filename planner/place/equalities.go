package place

import (
	"maps"
	"slices"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/reflect/protoreflect"

	"raisinproxy/planner/tree"
)

// equalities are those of levels of which PostgreSQL may make one. From two equalities of
// one column with constants its planner makes one of the constants, and computes it before
// the calls: a = 1 AND b = 2 AND a = b has no rows.
type equalities struct{ levels []*levelEqualities }

func (e *equalities) add() *levelEqualities {
	l := &levelEqualities{using: map[string]bool{}}
	e.levels = append(e.levels, l)
	return l
}

// levelEqualities are those of one level.
type levelEqualities struct {
	constants []constantEquality
	pairs     [][2]columnKey
	using     map[string]bool // names by which a JOIN merges columns
	natural   bool
}

type constantEquality struct {
	column   columnKey
	constant string // as it is written
	at       *pg_query.Node
}

// columnKey names a column, or an expression of some.
type columnKey struct {
	item    string // "" of a name without a table
	name    string
	derived bool // it may be another column by another name
}

func (l *levelEqualities) empty() bool {
	return len(l.constants)+len(l.pairs)+len(l.using) == 0 && !l.natural
}

// contradiction is a condition that may contradict another; nil if there is none.
func (e *equalities) contradiction() *pg_query.Node {
	var constants []constantEquality
	var used []*levelEqualities
	for _, l := range e.levels {
		constants = append(constants, l.constants...)
		if !l.empty() {
			used = append(used, l)
		}
	}
	differ := func(c constantEquality) bool { return c.constant != constants[0].constant }
	if len(constants) < 2 || !slices.ContainsFunc(constants, differ) {
		return nil
	}
	if len(used) > 1 { // who knows which columns are the same
		return constants[1].at
	}
	return used[0].contradiction()
}

func (l *levelEqualities) contradiction() *pg_query.Node {
	classes := l.classes()
	constants := map[columnKey]string{}
	for _, c := range l.constants {
		class := classes.find(c.column)
		if other, found := constants[class]; found && other != c.constant {
			return c.at
		}
		constants[class] = c.constant
	}
	return nil
}

// classes are the columns that may be equal.
func (l *levelEqualities) classes() union {
	u := union{}
	for _, c := range l.constants {
		u.find(c.column)
	}
	for _, pair := range l.pairs {
		u.join(pair[0], pair[1])
	}
	l.joinByName(u)
	return u
}

// joinByName joins the columns that may be one by their names: unqualified ones with all
// of that name, those that a JOIN merges, and the columns of subqueries with each other.
func (l *levelEqualities) joinByName(u union) {
	byName := map[string][]columnKey{}
	var derived []columnKey
	for _, k := range slices.Collect(maps.Keys(u)) {
		byName[k.name] = append(byName[k.name], k)
		if k.derived {
			derived = append(derived, k)
		}
	}
	for name, keys := range byName {
		unqualified := func(k columnKey) bool { return k.item == "" }
		if l.natural || l.using[name] || slices.ContainsFunc(keys, unqualified) {
			u.joinAll(keys)
		}
	}
	u.joinAll(derived)
}

// union is a union-find of columns.
type union map[columnKey]columnKey

func (u union) find(k columnKey) columnKey {
	parent, known := u[k]
	if !known {
		u[k] = k
		return k
	}
	if parent == k {
		return k
	}
	root := u.find(parent)
	u[k] = root
	return root
}

func (u union) joinAll(keys []columnKey) {
	for _, k := range keys {
		u.join(keys[0], k)
	}
}

func (u union) join(a, b columnKey) { u[u.find(a)] = u.find(b) }

// note notes the equalities of a condition.
func (l *level) note(n *pg_query.Node) {
	switch v := n.GetNode().(type) {
	case *pg_query.Node_AExpr:
		l.noteOperator(v.AExpr, n)
	case *pg_query.Node_SubLink:
		if v.SubLink.Testexpr != nil {
			l.own.pairs = append(l.own.pairs, [2]columnKey{l.keyOf(v.SubLink.Testexpr), {name: "(", derived: true}})
		}
	case *pg_query.Node_BoolExpr:
		if v.BoolExpr.Boolop == pg_query.BoolExprType_OR_EXPR {
			l.noteOr(v.BoolExpr)
		} else {
			l.noteBelow(n)
		}
	case *pg_query.Node_BooleanTest:
		l.noteBelow(n)
	}
}

// noteOr: what all arms have in common PostgreSQL takes out.
func (l *level) noteOr(or *pg_query.BoolExpr) {
	count := map[string]int{}
	for _, arm := range or.Args {
		written := map[string]bool{}
		for _, n := range conjuncts(arm) {
			written[tree.Fingerprint(n)] = true
		}
		for w := range written {
			count[w]++
		}
	}
	for _, n := range conjuncts(or.Args[0]) {
		if count[tree.Fingerprint(n)] == len(or.Args) {
			l.note(n)
		}
	}
}

// noteBelow notes what might become an equality when a NOT is worked into it.
func (l *level) noteBelow(n *pg_query.Node) {
	tree.Outside(n, func(m protoreflect.Message) {
		if op, ok := m.Interface().(*pg_query.A_Expr); ok {
			l.noteOperator(op, n)
		}
	})
}

func (l *level) noteOperator(n *pg_query.A_Expr, at *pg_query.Node) {
	switch name := tree.Name(n.Name); {
	case name != "=" && name != "<>": // which the parser makes of != too
		return
	case name != "=" && at.GetAExpr() == n:
		return // a bare inequality
	case n.Kind == pg_query.A_Expr_Kind_AEXPR_IN && len(n.Rexpr.GetList().GetItems()) > 1:
		return
	}
	right := n.Rexpr
	if n.Kind == pg_query.A_Expr_Kind_AEXPR_IN {
		right = right.GetList().Items[0]
	}
	left, leftRow := l.side(n.Lexpr)
	other, rightRow := l.side(right)
	switch {
	case leftRow && rightRow:
		l.own.pairs = append(l.own.pairs, [2]columnKey{left, other})
	case leftRow:
		l.own.constants = append(l.own.constants, constantEquality{left, tree.Fingerprint(right), at})
	case rightRow:
		l.own.constants = append(l.own.constants, constantEquality{other, tree.Fingerprint(n.Lexpr), at})
	}
}

// side is the key of a side of an operator, and whether it has a column in it.
func (l *level) side(n *pg_query.Node) (columnKey, bool) {
	columns := false
	tree.Outside(n, func(m protoreflect.Message) {
		_, column := m.Interface().(*pg_query.ColumnRef)
		columns = columns || column
	})
	return l.keyOf(n), columns
}

func (l *level) keyOf(n *pg_query.Node) columnKey {
	for {
		switch v := n.GetNode().(type) {
		case *pg_query.Node_TypeCast:
			n = v.TypeCast.Arg
			continue
		case *pg_query.Node_CollateClause:
			n = v.CollateClause.Arg
			continue
		case *pg_query.Node_ColumnRef:
			return l.columnKey(v.ColumnRef)
		}
		break
	}
	// An expression is equal to another only if both name the same columns.
	var names []string
	derived := false
	tree.Outside(n, func(m protoreflect.Message) {
		if ref, ok := m.Interface().(*pg_query.ColumnRef); ok {
			names = append(names, tree.Name(ref.Fields))
			derived = derived || l.columnKey(ref).derived
		}
	})
	slices.Sort(names)
	return columnKey{name: "(" + strings.Join(names, ","), derived: derived}
}

func (l *level) columnKey(ref *pg_query.ColumnRef) columnKey {
	k := columnKey{name: tree.Name(ref.Fields)}
	if len(ref.Fields) > 1 {
		k.item = tree.Name(ref.Fields[:len(ref.Fields)-1])
	}
	for _, i := range l.candidates(ref) {
		k.derived = k.derived || i.derived
	}
	return k
}
