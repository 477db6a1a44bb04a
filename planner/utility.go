package planner

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jeroenrinzema/psql-wire/codes"
	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// utility compiles a command that is no query.
func (c *compiler) utility(s *Statement, n *pg_query.Node) (err *pgerr.Error) {
	switch n := n.GetNode().(type) {
	case *pg_query.Node_TransactionStmt:
		s.Action, err = c.transaction(n.TransactionStmt)
	case *pg_query.Node_VariableSetStmt:
		s.Action, err = c.set(n.VariableSetStmt)
	case *pg_query.Node_VariableShowStmt:
		c.show(s, n.VariableShowStmt)
	case *pg_query.Node_DeallocateStmt:
		s.Action = &Deallocate{Name: n.DeallocateStmt.Name}
	case *pg_query.Node_DiscardStmt:
		s.Action = &Discard{Tag: discardTags[n.DiscardStmt.Target]}
	case *pg_query.Node_ClosePortalStmt:
		s.Action = &CloseCursor{Name: n.ClosePortalStmt.Portalname}
	case *pg_query.Node_ConstraintsSetStmt:
		s.Action = &NoOp{Tag: "SET CONSTRAINTS"} // there are none here
	case *pg_query.Node_UnlistenStmt:
		s.Action = &NoOp{Tag: "UNLISTEN"} // nothing listens here
	default:
		return c.needsUpstream(0, "this statement")
	}
	return err
}

var discardTags = map[pg_query.DiscardMode]string{
	pg_query.DiscardMode_DISCARD_ALL:       "DISCARD ALL",
	pg_query.DiscardMode_DISCARD_PLANS:     "DISCARD PLANS",
	pg_query.DiscardMode_DISCARD_SEQUENCES: "DISCARD SEQUENCES",
	pg_query.DiscardMode_DISCARD_TEMP:      "DISCARD TEMP",
}

func (c *compiler) transaction(n *pg_query.TransactionStmt) (Action, *pgerr.Error) {
	t := &Transaction{Savepoint: n.SavepointName, Chain: n.Chain}
	switch n.Kind {
	case pg_query.TransactionStmtKind_TRANS_STMT_BEGIN:
		t.Kind, t.Tag = Begin, "BEGIN"
	case pg_query.TransactionStmtKind_TRANS_STMT_START:
		t.Kind, t.Tag = Begin, "START TRANSACTION"
	case pg_query.TransactionStmtKind_TRANS_STMT_COMMIT:
		t.Kind, t.Tag = Commit, "COMMIT"
	case pg_query.TransactionStmtKind_TRANS_STMT_ROLLBACK:
		t.Kind, t.Tag = Rollback, "ROLLBACK"
	case pg_query.TransactionStmtKind_TRANS_STMT_SAVEPOINT:
		t.Kind, t.Tag = Savepoint, "SAVEPOINT"
	case pg_query.TransactionStmtKind_TRANS_STMT_RELEASE:
		t.Kind, t.Tag = ReleaseSavepoint, "RELEASE"
	case pg_query.TransactionStmtKind_TRANS_STMT_ROLLBACK_TO:
		t.Kind, t.Tag = RollbackTo, "ROLLBACK"
	default:
		return nil, c.needsUpstream(0, "two-phase commit")
	}
	t.Modes = transactionModes(n.Options)
	return t, nil
}

// transactionModes reads ISOLATION LEVEL, READ ONLY and DEFERRABLE as the
// run-time parameters that they are.
func transactionModes(options []*pg_query.Node) []Mode {
	var modes []Mode
	for _, option := range options {
		def := option.GetDefElem()
		value, _ := settingValue(def.GetArg().GetAConst())
		if def.GetDefname() != "transaction_isolation" {
			value = SettingValue{Text: onOff(value.Text != "0")}
		}
		modes = append(modes, Mode{Name: def.GetDefname(), Values: []SettingValue{value}})
	}
	return modes
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// settingValue reads one argument of SET.
func settingValue(k *pg_query.A_Const) (v SettingValue, ok bool) {
	switch val := k.GetVal().(type) {
	case *pg_query.A_Const_Ival:
		return SettingValue{Text: strconv.Itoa(int(val.Ival.GetIval())), Number: true}, true
	case *pg_query.A_Const_Fval:
		return SettingValue{Text: val.Fval.GetFval(), Number: true}, true
	case *pg_query.A_Const_Sval:
		return SettingValue{Text: val.Sval.GetSval()}, true
	case *pg_query.A_Const_Boolval:
		return SettingValue{Text: onOff(val.Boolval.GetBoolval())}, true
	}
	return SettingValue{}, false
}

func (c *compiler) set(n *pg_query.VariableSetStmt) (Action, *pgerr.Error) {
	set := &Set{Local: n.IsLocal, Tag: "SET"}
	if n.IsLocal {
		set.TransactionOnly, set.Warn = true, "SET LOCAL"
	}
	switch n.Kind {
	case pg_query.VariableSetKind_VAR_SET_VALUE:
		values, err := c.settingValues(n)
		if err != nil {
			return nil, err
		}
		set.Modes = []Mode{{Name: n.Name, Values: values}}
	case pg_query.VariableSetKind_VAR_SET_DEFAULT:
		set.Modes = []Mode{{Name: n.Name, Default: true}}
	case pg_query.VariableSetKind_VAR_RESET:
		set.Modes, set.Tag = []Mode{{Name: n.Name, Default: true}}, "RESET"
	case pg_query.VariableSetKind_VAR_RESET_ALL:
		return &ResetAll{}, nil
	case pg_query.VariableSetKind_VAR_SET_MULTI:
		return c.setModes(set, n)
	default:
		return nil, c.needsUpstream(0, "SET … FROM CURRENT")
	}
	return set, nil
}

// setModes is SET TRANSACTION, or SET SESSION CHARACTERISTICS for the
// transactions to come.
func (c *compiler) setModes(set *Set, n *pg_query.VariableSetStmt) (Action, *pgerr.Error) {
	set.Modes = transactionModes(n.Args)
	switch n.Name {
	case "TRANSACTION":
		set.Local, set.TransactionOnly, set.Warn = true, true, "SET TRANSACTION"
	case "SESSION CHARACTERISTICS":
		for i := range set.Modes {
			set.Modes[i].Name = "default_" + set.Modes[i].Name
		}
	default:
		return nil, c.needsUpstream(0, "SET %s", n.Name)
	}
	return set, nil
}

func (c *compiler) settingValues(n *pg_query.VariableSetStmt) ([]SettingValue, *pgerr.Error) {
	values := make([]SettingValue, len(n.Args))
	for i, arg := range n.Args {
		v, ok := settingValue(arg.GetAConst())
		if cast := arg.GetTypeCast(); cast != nil && nameOf(cast.TypeName.GetNames()) == "interval" {
			if v, ok = settingValue(cast.Arg.GetAConst()); ok {
				v.Text = "INTERVAL '" + v.Text + "'" // of SET TIME ZONE
			}
		}
		if !ok {
			return nil, c.needsUpstream(0, "this form of SET")
		}
		values[i] = v
	}
	return values, nil
}

func (c *compiler) show(s *Statement, n *pg_query.VariableShowStmt) {
	if strings.EqualFold(n.Name, "all") {
		s.Action = &ShowAll{}
		s.Columns = []Column{{"name", datum.Text, -1}, {"setting", datum.Text, -1}, {"description", datum.Text, -1}}
		return
	}
	s.Action = &Show{Name: n.Name}
	s.Columns = []Column{{n.Name, datum.Text, -1}} // the session knows its spelling
}

// prepare is SQL's PREPARE. The statement in it has parameters of its own.
func (c *compiler) prepare(s *Statement, n *pg_query.PrepareStmt) *pgerr.Error {
	declared := make([]datum.Type, len(n.Argtypes))
	for i, arg := range n.Argtypes {
		if name, ok := catalogName(arg.GetTypeName().GetNames()); ok && name == datum.Unknown.TypName() {
			continue // as good as undeclared
		}
		t, _, err := c.typeName(arg.GetTypeName())
		if err != nil {
			return err
		}
		declared[i] = t
	}
	inner := &compiler{at: c.at, start: c.start, params: newParamTypes(declared), embedded: c.embedded}
	prepared := inner.statement(n.Query)
	if prepared.Err != nil {
		return prepared.Err
	}
	s.Action = &Prepare{Name: n.Name, Statement: prepared}
	s.Database, s.Foreign = prepared.Database, prepared.Foreign
	return nil
}

func (c *compiler) execute(s *Statement, n *pg_query.ExecuteStmt) *pgerr.Error {
	e := &Execute{Name: n.Name, Count: len(n.Params), at: c.at}
	s.Action = e
	// The arguments are looked at when the command runs, in which it has no
	// parameters of its own.
	inner := &compiler{at: c.at, start: c.start, params: &paramTypes{fixed: true}}
	for _, arg := range n.Params {
		value, err := inner.expr(arg)
		if err != nil {
			e.err = err
			return nil
		}
		e.args = append(e.args, value)
		e.places = append(e.places, c.at(locationOf(arg)))
	}
	e.unknown = inner.opaque
	return nil
}

// Arguments computes the arguments of EXECUTE as the parameters of the statement
// it names, by the rules of assignment.
func (e *Execute) Arguments(f *Frame, types []datum.Type) ([]datum.Datum, error) {
	if len(types) == 0 {
		return nil, nil // PostgreSQL does not even look at them
	}
	converted, err := e.assigned(types)
	if err != nil {
		return nil, err
	}
	values := make([]datum.Datum, len(types))
	for i, arg := range converted {
		if values[i], err = arg.eval(f); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// assigned are the arguments converted to the types of the parameters.
func (e *Execute) assigned(types []datum.Type) ([]expr, error) {
	if e.err != nil {
		return nil, e.err
	}
	if err := e.CheckCount(types); err != nil {
		return nil, err
	}
	c := &compiler{at: e.at, params: &paramTypes{fixed: true}, opaque: e.unknown}
	converted := make([]expr, len(types))
	for i, arg := range e.args {
		value, err := c.assign(arg, types[i], i+1)
		if err != nil && err.Position == 0 {
			err = err.At(e.places[i])
		}
		if err != nil {
			return nil, err
		}
		converted[i] = value
	}
	if c.opaque != nil {
		return nil, c.opaque
	}
	return converted, nil
}

// NeedsUpstream says whether only an upstream can compute the arguments, or knows better
// what is wrong with them.
func (e *Execute) NeedsUpstream(types []datum.Type) bool {
	if len(types) == 0 || e.Count != len(types) {
		return false
	}
	converted, err := e.assigned(types)
	return err != nil && pgerr.From(err).Code[:2] != classData || slices.ContainsFunc(converted, usesSession)
}

// CheckCount says whether there is an argument for each parameter.
func (e *Execute) CheckCount(types []datum.Type) error {
	if e.Count == len(types) {
		return nil
	}
	return pgerr.Newf(codes.Syntax, "wrong number of parameters for prepared statement \"%s\"", e.Name).
		WithDetail("Expected %d parameters but got %d.", len(types), e.Count)
}

// ExecuteAs is the text of an EXECUTE with another name in it. Positions behind the name
// are shift characters further on than in the statement's own text.
func (s *Statement) ExecuteAs(name string) (sql string, shift int) {
	l := newLexer(s.Text, s.Standard)
	l.next() // EXECUTE
	old := l.next()
	return s.Text[:old.Start] + name + s.Text[old.End:], utf8.RuneCountInString(name) - utf8.RuneCountInString(s.Text[old.Start:old.End])
}

// executeWithin is the prepared statement that an EXPLAIN or a CREATE TABLE AS executes.
func executeWithin(n *pg_query.Node) string {
	return cmp.Or(n.GetExplainStmt().GetQuery().GetExecuteStmt().GetName(),
		n.GetExplainStmt().GetQuery().GetCreateTableAsStmt().GetQuery().GetExecuteStmt().GetName(),
		n.GetCreateTableAsStmt().GetQuery().GetExecuteStmt().GetName())
}

// assign converts e as an INSERT into a column of type t would.
func (c *compiler) assign(e expr, t datum.Type, number int) (expr, *pgerr.Error) {
	converted, ok, err := c.implicit(e, t)
	if ok || err != nil {
		return converted, err
	}
	from := e.typ()
	if assigns(from, t) || !builtin(from) || !builtin(t) {
		if converted := conversion(e, t); converted != nil {
			return converted, nil
		}
		return nil, c.needsUpstream(0, "a value of type %s as %s", displayName(from), displayName(t))
	}
	return nil, pgerr.Newf(codes.DatatypeMismatch, "parameter $%d of type %s cannot be coerced to the expected type %s", number, displayName(from), displayName(t)).
		WithHint("You will need to rewrite or cast the expression.")
}
