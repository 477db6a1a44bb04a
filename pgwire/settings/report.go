package settings

// A Report is one ParameterStatus message.
type Report struct{ Name, Value string }

// Reported returns what a client is told at start-up, in PostgreSQL's order.
func (s *Set) Reported() []Report {
	reports := make([]Report, 0, len(s.defaults.reported))
	for _, p := range s.defaults.reported {
		text := s.text(p)
		if e := s.entries[p.key]; e != nil {
			e.told = text
		}
		reports = append(reports, Report{p.name, text})
	}
	s.unreported = false
	return reports
}

// TakeReports returns what a client is to be told before ReadyForQuery: the reported
// parameters whose value is not the one it was last told. Usually there is none.
func (s *Set) TakeReports() []Report {
	if !s.unreported {
		return nil
	}
	s.unreported = false
	var reports []Report
	for _, p := range s.defaults.reported {
		if e := s.entries[p.key]; e != nil && e.current.text != e.told {
			e.told = e.current.text
			reports = append(reports, Report{p.name, e.told})
		}
	}
	return reports
}
