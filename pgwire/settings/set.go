package settings

import (
	"time"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/sqlfuncs/pgerr"
)

// Set holds the parameters of one session. It is not safe for concurrent use.
type Set struct {
	defaults *Defaults
	user     string
	// entries has what was ever set in this session, by lower-case name; nil until then.
	entries map[string]*entry
	hot     hot
	version uint64
	memory  int // an upper bound of what entries take, in bytes
	notices []*pgerr.Error

	starting   bool // within SetStartup
	unreported bool // a reported value may have changed

	transaction
}

// An entry is one parameter that this session has set.
type entry struct {
	parameter *parameter
	current   value
	reset     string // what RESET restores
	told      string // what the client was last told, of a reported parameter
	saved     *saved // what the ends of the open transaction levels restore, innermost first
}

// A value is the text that SHOW shows.
type value struct {
	text string
	// explicit is false for a value that came with the session or from RESET: RESET ALL leaves it alone.
	explicit bool
}

// hot are derived values, kept up to date by the assign hooks.
type hot struct {
	standardConformingStrings bool
	statementTimeout          time.Duration
	branch                    string
	encoding                  string
	zone                      *time.Location
	next                      Characteristics // of the next transaction
}

// New makes the parameters of a session of user.
func New(d *Defaults, user string) *Set {
	s := &Set{defaults: d, user: user, hot: d.hot}
	s.characteristics = s.hot.next
	return s
}

// Set is SET, or SET LOCAL, or set_config. Outside a transaction it is a transaction of its
// own, so that a local value is checked and forgotten.
func (s *Set) Set(name, value string, local bool) error {
	return s.change(name, &value, local)
}

// SetToDefault is SET x TO DEFAULT, or SET LOCAL x TO DEFAULT, or set_config with a NULL value.
func (s *Set) SetToDefault(name string, local bool) error {
	return s.change(name, nil, local)
}

// Reset is RESET x.
func (s *Set) Reset(name string) error {
	return s.change(name, nil, false)
}

// ResetAll is RESET ALL. It resets what was set explicitly, and neither the role
// nor the characteristics of the transaction. (DISCARD ALL also calls
// Reset("session_authorization") before it.)
func (s *Set) ResetAll() {
	if s.level == 0 {
		s.Begin()
		defer s.Commit()
	}
	for _, e := range s.entries {
		p := e.parameter
		settable := p.access == accessUser || p.access == accessSuperuser
		if settable && !p.is(keptByReset) && e.current.explicit {
			s.save(e, false)
			s.assign(e, value{text: e.reset})
		}
	}
}

// Show is SHOW x, or current_setting.
func (s *Set) Show(name string) (string, error) {
	text, ok, err := s.Lookup(name)
	if err == nil && !ok {
		err = unrecognized(name)
	}
	return text, err
}

// Lookup is current_setting with missing_ok: not ok means NULL.
func (s *Set) Lookup(name string) (text string, ok bool, err error) {
	p := s.find(name)
	if p == nil {
		return "", false, nil
	}
	if p.is(superuserOnly) {
		return "", false, pgerr.Newf(codes.InsufficientPrivilege,
			"must be superuser or have privileges of pg_read_all_settings to examine \"%s\"", p.name)
	}
	return s.text(p), true, nil
}

// Name is a parameter's own spelling, for a column heading or a message; the given one if it is not known.
func (s *Set) Name(name string) string {
	if p := s.find(name); p != nil {
		return p.name
	}
	return name
}

// A Row is one line of SHOW ALL.
type Row struct{ Name, Setting, Description string }

// All is SHOW ALL: sorted, without custom parameters.
func (s *Set) All() []Row {
	rows := make([]Row, 0, len(s.defaults.parameters))
	for i := range s.defaults.parameters {
		if p := &s.defaults.parameters[i]; !p.is(hidden | superuserOnly) {
			rows = append(rows, Row{p.name, s.text(p), p.description})
		}
	}
	return rows
}

// Version rises whenever a value changes, so that a caller may keep what it derived.
func (s *Set) Version() uint64 { return s.version }

// StandardConformingStrings tells the lexer what a backslash in '...' means.
func (s *Set) StandardConformingStrings() bool { return s.hot.standardConformingStrings }

// StatementTimeout is 0 when there is none.
func (s *Set) StatementTimeout() time.Duration { return s.hot.statementTimeout }

// Branch is app.branch, never empty.
func (s *Set) Branch() string { return s.hot.branch }

// ClientEncoding is PostgreSQL's name of it, for [Encoding].
func (s *Set) ClientEncoding() string { return s.hot.encoding }

// TimeZone is never nil.
func (s *Set) TimeZone() *time.Location { return s.hot.zone }

// TakeNotices returns the NOTICEs of the calls since it was last called.
func (s *Set) TakeNotices() []*pgerr.Error {
	n := s.notices
	s.notices = nil
	return n
}

// change sets a value, or restores the reset value when text is nil.
func (s *Set) change(name string, text *string, local bool) error {
	if s.level == 0 {
		s.Begin()
		defer s.Commit()
	}
	p, err := s.findOrCreate(name)
	if err != nil {
		return err
	}
	if err := s.mayChange(p, name); err != nil {
		return err
	}
	var checked string
	if text != nil {
		if checked, err = s.parse(p, name, *text); err != nil {
			return err
		}
	}
	if err := s.reserve(len(checked)); err != nil {
		return err
	}
	e := s.entry(p)
	s.save(e, local)
	if text == nil {
		s.assign(e, value{text: e.reset}) // unchecked, as in PostgreSQL: it was checked once
	} else {
		s.assign(e, value{checked, true})
	}
	return nil
}
