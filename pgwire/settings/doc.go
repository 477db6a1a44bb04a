// Package settings holds the run-time parameters of one session (PostgreSQL's
// GUCs) for a front end that answers SET, SHOW, RESET and set_config itself.
//
// A [Defaults] is made once per server: the table of the known parameters with
// the values that a new session finds. A [Set] belongs to one session and stores
// only what differs, so that an idle session costs a few hundred bytes.
//
// A session goes through these steps:
//
//	s := settings.New(defaults, user)
//	s.SetStartup(name, value)     // -c options first, then the start-up packet: as PostgreSQL does
//	s.Reported()                  // one ParameterStatus each
//	s.Begin()                     // around every statement, a single one too
//	s.Set(name, value, local)     // SET, SET LOCAL, set_config
//	s.Commit()                    // or Rollback, or Fail when an error aborts the block
//	s.TakeReports()               // before ReadyForQuery: one ParameterStatus each
//
// Every error is a *pgerr.Error with PostgreSQL's message and SQLSTATE, as a role
// that is not a superuser sees it, and leaves every value as it was.
//
// # Where to find what
//
//   - parameters.tsv, table.go: the known parameters and their default values
//   - set.go, startup.go, report.go: what statements and the front end call
//   - entries.go: finding a parameter, making a custom one, changing a value
//   - transaction.go: what a transaction, its savepoints and their ends do to values
//   - characteristics.go: transaction_isolation and its two companions
//   - values.go, units.go, number.go: reading and showing booleans, numbers and enums
//   - checks.go, list.go, timezone.go, posixzone.go: parameters with rules of their own
//   - encoding.go, convert.go, characters.go: client_encoding, and text in it
//
// # Unlike PostgreSQL
//
// app.branch is a known parameter. The values of a session may take no more than
// [Options.MemoryLimit]. No catalogue is asked: of roles the session's own exists, of
// tablespaces, access methods and text search configurations those of a new database,
// and of locales C and en_US. Client encodings that [Encoding] cannot convert are refused.
package settings
