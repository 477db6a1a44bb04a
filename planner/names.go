package planner

import (
	"raisinproxy/planner/local"
	"raisinproxy/planner/place"
	"raisinproxy/planner/plan"
	"raisinproxy/planner/rewrite"
)

// Names of what the packages below make, for the front end.
type (
	Action          = plan.Action
	CloseCursor     = plan.CloseCursor
	Column          = plan.Column
	Deallocate      = plan.Deallocate
	Discard         = plan.Discard
	Env             = plan.Env
	InfoKind        = plan.InfoKind
	Mode            = plan.Mode
	NoOp            = plan.NoOp
	Options         = plan.Options
	Prepare         = plan.Prepare
	ResetAll        = plan.ResetAll
	Script          = plan.Script
	Set             = plan.Set
	Setting         = plan.Setting
	Show            = plan.Show
	ShowAll         = plan.ShowAll
	Statement       = plan.Statement
	TimeKind        = plan.TimeKind
	Transaction     = plan.Transaction
	TransactionKind = plan.TransactionKind

	Execute = local.Execute
	Frame   = local.Frame
	Select  = local.Select

	Fact         = place.Fact
	Mixed        = rewrite.Split
	MixedCall    = rewrite.SplitCall
	PrepareMixed = rewrite.PrepareSplit
	Text         = rewrite.Text
)

// Their constants.
const (
	Begin            = plan.Begin
	Commit           = plan.Commit
	Rollback         = plan.Rollback
	Savepoint        = plan.Savepoint
	ReleaseSavepoint = plan.ReleaseSavepoint
	RollbackTo       = plan.RollbackTo

	ClockTime       = plan.ClockTime
	TransactionTime = plan.TransactionTime

	InfoCurrentUser = plan.InfoCurrentUser
	InfoDatabase    = plan.InfoDatabase
	InfoSchema      = plan.InfoSchema
	InfoSessionUser = plan.InfoSessionUser
	InfoVersion     = plan.InfoVersion
)
