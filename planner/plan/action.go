package plan

import "raisinproxy/planner/sqltext"

// Action is what a statement does: one of the types below, a local.Select or local.Execute,
// or a rewrite.Split or rewrite.PrepareSplit.
type Action any

type (
	// Transaction is BEGIN, COMMIT, ROLLBACK and the savepoint commands.
	Transaction struct {
		Kind      TransactionKind
		Tag       string
		Savepoint string
		Chain     bool
		Modes     []Mode
	}
	// Set changes run-time parameters, all or none of them.
	Set struct {
		Modes []Mode
		Local bool
		// TransactionOnly: outside a transaction block it only warns.
		TransactionOnly bool
		// Warn is the command's name in that warning.
		Warn string
		// Tag is SET, or RESET.
		Tag string
		use bool // it is USE BRANCH
	}
	// ResetAll is RESET ALL.
	ResetAll struct{}
	// Show is SHOW name.
	Show struct{ Name string }
	// ShowAll is SHOW ALL.
	ShowAll struct{}
	// Prepare is SQL's PREPARE.
	Prepare struct {
		Name      string
		Statement *Statement
	}
	// Deallocate drops a prepared statement, or all with an empty name.
	Deallocate struct{ Name string }
	// Discard is DISCARD ALL and its parts.
	Discard struct{ Tag string }
	// CloseCursor closes a portal, or all with an empty name.
	CloseCursor struct{ Name string }
	// NoOp is a command that has nothing to do here, such as UNLISTEN *.
	NoOp struct{ Tag string }
)

// UseBranch is USE BRANCH.
func UseBranch(branch string) *Set {
	return &Set{Modes: []Mode{{Name: sqltext.BranchSetting, Values: []SettingValue{{Text: branch}}}}, Tag: "SET", use: true}
}

// Mode is one run-time parameter and its new value.
type Mode struct {
	Name    string
	Values  []SettingValue // as SET lists them
	Default bool           // to its default instead
}

// SettingValue is one value in a SET.
type SettingValue struct {
	Text   string
	Number bool // written as a number
}

// TransactionKind is the command.
type TransactionKind int

// The transaction commands.
const (
	Begin TransactionKind = iota
	Commit
	Rollback
	Savepoint
	ReleaseSavepoint
	RollbackTo
)

// EmptiesBranch says whether a SET gives app.branch no value.
func (s *Set) EmptiesBranch() bool {
	for _, m := range s.Modes {
		if m.Name == sqltext.BranchSetting && !m.Default && len(m.Values) == 1 && m.Values[0].Text == "" {
			return true
		}
	}
	return false
}
