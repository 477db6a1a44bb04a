package settings

import (
	"strings"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/sqlfuncs/pgerr"
)

// mayChange is nil if a role that is not a superuser may set p now. Messages spell the name as it was given.
func (s *Set) mayChange(p *parameter, name string) error {
	fixed := func(how string) error {
		return pgerr.Newf(codes.CantChangeRuntimeParam, "parameter \"%s\" cannot be %s", name, how)
	}
	switch {
	case p.access == accessInternal:
		return fixed("changed")
	case p.access == accessPostmaster:
		return fixed("changed without restarting the server")
	case p.access == accessSighup:
		return fixed("changed now")
	case p.access == accessSuperuserBackend && !s.starting, p.access == accessBackend && !s.starting:
		return fixed("set after connection start")
	case p.access == accessSuperuserBackend, p.access == accessSuperuser:
		return pgerr.Newf(codes.InsufficientPrivilege, "permission denied to set parameter \"%s\"", name)
	}
	return nil
}

// text is the current value of p.
func (s *Set) text(p *parameter) string {
	if e := s.entries[p.key]; e != nil {
		return e.current.text
	}
	if p.dynamic != nil {
		return p.dynamic(s)
	}
	return p.initial
}

// oldNames still work, as in PostgreSQL.
var oldNames = map[string]string{"sort_mem": "work_mem", "vacuum_mem": "maintenance_work_mem"}

// find is nil if there is no such parameter yet. Names are compared as PostgreSQL does: A-Z only.
func (s *Set) find(name string) *parameter {
	key := fold(name)
	if p := s.defaults.byKey[key]; p != nil {
		return p
	}
	if e := s.entries[key]; e != nil {
		return e.parameter
	}
	return s.defaults.byKey[oldNames[key]]
}

// findOrCreate makes a custom parameter of a name with a dot, which stays known to the end of the session.
func (s *Set) findOrCreate(name string) (*parameter, error) {
	if p := s.find(name); p != nil {
		return p, nil
	}
	if !strings.Contains(name, ".") {
		return nil, unrecognized(name)
	}
	if !validCustomName(name) {
		return nil, pgerr.Newf(codes.InvalidName, "invalid configuration parameter name \"%s\"", name).
			WithDetail("Custom parameter names must be two or more simple identifiers separated by dots.")
	}
	if err := s.reserve(2 * len(name)); err != nil {
		return nil, err
	}
	p := &parameter{name: name, key: fold(name), access: accessUser, flags: hidden}
	s.entry(p)
	s.version++ // it was unknown, and is now ''
	return p, nil
}

// validCustomName: two or more identifiers, without quotes, joined by dots.
func validCustomName(name string) bool {
	for part := range strings.SplitSeq(name, ".") {
		if part == "" {
			return false
		}
		for i := range len(part) {
			c := part[i]
			start := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
			if !start && (i == 0 || c != '$' && (c < '0' || c > '9')) {
				return false
			}
		}
	}
	return true
}

// entry makes p one of the session's own.
func (s *Set) entry(p *parameter) *entry {
	if e := s.entries[p.key]; e != nil {
		return e
	}
	text := s.text(p)
	e := &entry{parameter: p, current: value{text: text}, reset: text, told: text}
	if isCharacteristic(p) {
		e.reset = p.initial // RESET restores this, whatever the default_ one says
	}
	if s.entries == nil {
		s.entries = make(map[string]*entry)
	}
	s.entries[p.key] = e
	return e
}

func (s *Set) assign(e *entry, v value) {
	changed := e.current.text != v.text
	e.current = v
	if !changed {
		return
	}
	s.version++
	if e.parameter.is(reported) {
		s.unreported = true
	}
	if e.parameter.assign != nil {
		e.parameter.assign(s, v.text)
	}
}

// entryOverhead is about what an entry or a saved value takes beside its text.
const entryOverhead = 200

// reserve refuses a text of n bytes that would take the session over its limit.
// PostgreSQL knows no limit, but does not hold ten thousand sessions in one process.
func (s *Set) reserve(n int) error {
	n += entryOverhead
	if s.memory+n > s.defaults.memoryLimit {
		s.memory = s.measure() // some of it may be gone since
	}
	if s.memory+n > s.defaults.memoryLimit {
		return pgerr.Newf(codes.OutOfMemory, "out of memory").
			WithDetail("The parameters of a session may take %d bytes.", s.defaults.memoryLimit)
	}
	s.memory += n
	return nil
}

func (s *Set) measure() int {
	total := 0
	for key, e := range s.entries {
		total += entryOverhead + 2*len(key) + len(e.current.text) + len(e.reset)
		for sv := e.saved; sv != nil; sv = sv.outer {
			total += entryOverhead + len(sv.prior.text) + len(sv.masked.text)
		}
	}
	return total
}

func unrecognized(name string) error {
	return pgerr.Newf(codes.UndefinedObject, "unrecognized configuration parameter \"%s\"", name)
}

// fold is the lower case of A-Z, without an allocation if there are none.
func fold(name string) string {
	for i := range len(name) {
		if c := name[i]; c >= 'A' && c <= 'Z' {
			return shiftRange(name, 'A', 'Z', 'a'-'A')
		}
	}
	return name
}

// shiftRange adds to the bytes from low to high; others, of UTF-8 too, stay.
func shiftRange(text string, low, high, add byte) string {
	b := []byte(text)
	for i, c := range b {
		if c >= low && c <= high {
			b[i] = c + add
		}
	}
	return string(b)
}
