package plan

import (
	"time"

	"raisinproxy/planner/catalog"
	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/datum"
)

// Setting is a run-time parameter, as pg_settings has it.
type Setting = catalog.Setting

// Env is what an evaluation asks of its session. Plans hold no session state, so
// that all sessions share them.
type Env interface {
	// Call evaluates one raisin_ call.
	Call(f *sqlfuncs.Function, args []datum.Datum, row *sqlfuncs.Row) error
	// Rows evaluates one call of a function that returns a set.
	Rows(f *sqlfuncs.Function, args []datum.Datum) ([]sqlfuncs.Row, error)
	// Info answers the session information functions.
	Info(InfoKind) datum.Datum
	// Now is the start of the transaction, or of the statement, or the present.
	Now(TimeKind) time.Time
	// Setting reads a run-time parameter; ok is false for an unknown one.
	Setting(name string) (value string, ok bool)
	// Settings are the run-time parameters as pg_settings lists them.
	Settings() []Setting
	// SetSetting changes a run-time parameter and returns its new value.
	SetSetting(name, value string, local bool) (string, error)
}

// InfoKind names a session information function.
type InfoKind int

// The session information functions.
const (
	InfoVersion InfoKind = iota
	InfoCurrentUser
	InfoSessionUser
	InfoDatabase
	InfoSchema
	InfoBackendPID
)

// TimeKind says which moment a time function means.
type TimeKind int

// The moments of PostgreSQL's time functions.
const (
	TransactionTime TimeKind = iota
	StatementTime
	ClockTime
)
