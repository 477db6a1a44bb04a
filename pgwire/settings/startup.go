package settings

import (
	"raisinproxy/sqlfuncs/pgerr"
)

// SetStartup takes one option of the start-up packet, or of a -c switch in its
// "options" entry, before the first Begin. The value is what RESET restores. Switches
// come before the other entries, which so win, as in PostgreSQL. An error is FATAL.
func (s *Set) SetStartup(name, text string) error {
	if err := s.setStartup(name, text); err != nil {
		fatal := *pgerr.From(err)
		fatal.Severity = pgerr.SeverityFatal
		return &fatal
	}
	return nil
}

func (s *Set) setStartup(name, text string) error {
	s.starting, s.queried = true, true
	defer func() { s.starting, s.queried = false, false }()

	p, err := s.findOrCreate(name)
	if err != nil {
		return err
	}
	if err := s.mayChange(p, name); err != nil {
		return err
	}
	checked, err := s.parse(p, name, text)
	if err != nil {
		return err
	}
	if isCharacteristic(p) {
		return nil // of the transaction that PostgreSQL runs at start-up, over before the first statement
	}
	if err := s.reserve(2 * len(checked)); err != nil {
		return err
	}
	e := s.entry(p)
	e.reset = checked
	s.assign(e, value{text: checked})
	s.characteristics = s.hot.next
	return nil
}
