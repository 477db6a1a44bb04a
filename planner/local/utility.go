package local

import (
	"strconv"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/planner/plan"
	"raisinproxy/planner/tree"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// utility compiles a command that is no query.
func (c *compiler) utility(s *plan.Statement, n *pg_query.Node) (err *pgerr.Error) {
	switch n := n.GetNode().(type) {
	case *pg_query.Node_TransactionStmt:
		s.Action, err = c.transaction(n.TransactionStmt)
	case *pg_query.Node_VariableSetStmt:
		s.Action, err = c.set(n.VariableSetStmt)
	case *pg_query.Node_VariableShowStmt:
		c.show(s, n.VariableShowStmt)
	case *pg_query.Node_DeallocateStmt:
		s.Action = &plan.Deallocate{Name: n.DeallocateStmt.Name}
	case *pg_query.Node_DiscardStmt:
		s.Action = &plan.Discard{Tag: discardTags[n.DiscardStmt.Target]}
	case *pg_query.Node_ClosePortalStmt:
		s.Action = &plan.CloseCursor{Name: n.ClosePortalStmt.Portalname}
	case *pg_query.Node_ConstraintsSetStmt:
		s.Action = &plan.NoOp{Tag: "SET CONSTRAINTS"} // there are none here
	case *pg_query.Node_UnlistenStmt:
		s.Action = &plan.NoOp{Tag: "UNLISTEN"} // nothing listens here
	default:
		return c.NeedsUpstream(0, "this statement")
	}
	return err
}

var discardTags = map[pg_query.DiscardMode]string{
	pg_query.DiscardMode_DISCARD_ALL:       "DISCARD ALL",
	pg_query.DiscardMode_DISCARD_PLANS:     "DISCARD PLANS",
	pg_query.DiscardMode_DISCARD_SEQUENCES: "DISCARD SEQUENCES",
	pg_query.DiscardMode_DISCARD_TEMP:      "DISCARD TEMP",
}

// transactions are the commands that begin or end transactions and parts of them.
var transactions = map[pg_query.TransactionStmtKind]plan.Transaction{
	pg_query.TransactionStmtKind_TRANS_STMT_BEGIN:       {Kind: plan.Begin, Tag: "BEGIN"},
	pg_query.TransactionStmtKind_TRANS_STMT_START:       {Kind: plan.Begin, Tag: "START TRANSACTION"},
	pg_query.TransactionStmtKind_TRANS_STMT_COMMIT:      {Kind: plan.Commit, Tag: "COMMIT"},
	pg_query.TransactionStmtKind_TRANS_STMT_ROLLBACK:    {Kind: plan.Rollback, Tag: "ROLLBACK"},
	pg_query.TransactionStmtKind_TRANS_STMT_SAVEPOINT:   {Kind: plan.Savepoint, Tag: "SAVEPOINT"},
	pg_query.TransactionStmtKind_TRANS_STMT_RELEASE:     {Kind: plan.ReleaseSavepoint, Tag: "RELEASE"},
	pg_query.TransactionStmtKind_TRANS_STMT_ROLLBACK_TO: {Kind: plan.RollbackTo, Tag: "ROLLBACK"},
}

func (c *compiler) transaction(n *pg_query.TransactionStmt) (plan.Action, *pgerr.Error) {
	t, ok := transactions[n.Kind]
	if !ok {
		return nil, c.NeedsUpstream(0, "two-phase commit")
	}
	t.Savepoint, t.Chain, t.Modes = n.SavepointName, n.Chain, transactionModes(n.Options)
	return &t, nil
}

// transactionModes reads ISOLATION LEVEL, READ ONLY and DEFERRABLE as the
// run-time parameters that they are.
func transactionModes(options []*pg_query.Node) []plan.Mode {
	var modes []plan.Mode
	for _, option := range options {
		def := option.GetDefElem()
		value, _ := settingValue(def.GetArg().GetAConst())
		if def.GetDefname() != "transaction_isolation" {
			value = plan.SettingValue{Text: onOff(value.Text != "0")}
		}
		modes = append(modes, plan.Mode{Name: def.GetDefname(), Values: []plan.SettingValue{value}})
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
func settingValue(k *pg_query.A_Const) (v plan.SettingValue, ok bool) {
	switch val := k.GetVal().(type) {
	case *pg_query.A_Const_Ival:
		return plan.SettingValue{Text: strconv.Itoa(int(val.Ival.GetIval())), Number: true}, true
	case *pg_query.A_Const_Fval:
		return plan.SettingValue{Text: val.Fval.GetFval(), Number: true}, true
	case *pg_query.A_Const_Sval:
		return plan.SettingValue{Text: val.Sval.GetSval()}, true
	case *pg_query.A_Const_Boolval:
		return plan.SettingValue{Text: onOff(val.Boolval.GetBoolval())}, true
	}
	return plan.SettingValue{}, false
}

func (c *compiler) set(n *pg_query.VariableSetStmt) (plan.Action, *pgerr.Error) {
	set := &plan.Set{Local: n.IsLocal, Tag: "SET"}
	if n.IsLocal {
		set.TransactionOnly, set.Warn = true, "SET LOCAL"
	}
	switch n.Kind {
	case pg_query.VariableSetKind_VAR_SET_VALUE:
		values, err := c.settingValues(n)
		if err != nil {
			return nil, err
		}
		set.Modes = []plan.Mode{{Name: n.Name, Values: values}}
	case pg_query.VariableSetKind_VAR_SET_DEFAULT:
		set.Modes = []plan.Mode{{Name: n.Name, Default: true}}
	case pg_query.VariableSetKind_VAR_RESET:
		set.Modes, set.Tag = []plan.Mode{{Name: n.Name, Default: true}}, "RESET"
	case pg_query.VariableSetKind_VAR_RESET_ALL:
		return &plan.ResetAll{}, nil
	case pg_query.VariableSetKind_VAR_SET_MULTI:
		return c.setModes(set, n)
	default:
		return nil, c.NeedsUpstream(0, "SET … FROM CURRENT")
	}
	return set, nil
}

// setModes is SET TRANSACTION, or SET SESSION CHARACTERISTICS for the
// transactions to come.
func (c *compiler) setModes(set *plan.Set, n *pg_query.VariableSetStmt) (plan.Action, *pgerr.Error) {
	set.Modes = transactionModes(n.Args)
	switch n.Name {
	case "TRANSACTION":
		set.Local, set.TransactionOnly, set.Warn = true, true, "SET TRANSACTION"
	case "SESSION CHARACTERISTICS":
		for i := range set.Modes {
			set.Modes[i].Name = "default_" + set.Modes[i].Name
		}
	default:
		return nil, c.NeedsUpstream(0, "SET %s", n.Name)
	}
	return set, nil
}

func (c *compiler) settingValues(n *pg_query.VariableSetStmt) ([]plan.SettingValue, *pgerr.Error) {
	values := make([]plan.SettingValue, len(n.Args))
	for i, arg := range n.Args {
		v, ok := settingValue(arg.GetAConst())
		if cast := arg.GetTypeCast(); cast != nil && tree.Name(cast.TypeName.GetNames()) == "interval" {
			if v, ok = settingValue(cast.Arg.GetAConst()); ok {
				v.Text = "INTERVAL '" + v.Text + "'" // of SET TIME ZONE
			}
		}
		if !ok {
			return nil, c.NeedsUpstream(0, "this form of SET")
		}
		values[i] = v
	}
	return values, nil
}

func (c *compiler) show(s *plan.Statement, n *pg_query.VariableShowStmt) {
	if strings.EqualFold(n.Name, "all") {
		s.Action = &plan.ShowAll{}
		s.Columns = []plan.Column{textColumn("name"), textColumn("setting"), textColumn("description")}
		return
	}
	s.Action = &plan.Show{Name: n.Name}
	s.Columns = []plan.Column{textColumn(n.Name)} // the session knows its spelling
}

func textColumn(name string) plan.Column {
	return plan.Column{Name: name, Type: datum.Text, Typmod: -1}
}

// prepare is SQL's PREPARE. The statement in it has parameters of its own.
func (c *compiler) prepare(s *plan.Statement, n *pg_query.PrepareStmt) *pgerr.Error {
	declared := make([]datum.Type, len(n.Argtypes))
	for i, arg := range n.Argtypes {
		if name, ok := tree.CatalogName(arg.GetTypeName().GetNames()); ok && name == datum.Unknown.TypName() {
			continue // as good as undeclared
		}
		t, _, err := c.TypeName(arg.GetTypeName())
		if err != nil {
			return err
		}
		declared[i] = t
	}
	prepared := newCompiler(c.At, c.Start, plan.Options{Prepared: true, Types: declared}, c.embedded).statement(n.Query)
	if prepared.Err != nil {
		return prepared.Err
	}
	s.Action = &plan.Prepare{Name: n.Name, Statement: prepared}
	s.Database, s.Foreign = prepared.Database, prepared.Foreign
	return nil
}
