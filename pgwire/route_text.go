package pgwire

import (
	"bytes"
	"strings"
	"unsafe"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/pgwire/drive"
	"raisinproxy/planner/plan"
	"raisinproxy/planner/sqltext"
)

// This file says which texts are answered here: all others are the upstream's.

// routeText finds the plan of a text that is to be answered here; nil if it is the
// upstream's.
func (s *proxied) routeText(raw []byte, options plan.Options) (*plan.Script, drive.Verdict) {
	mayConcern := sqltext.MentionsProxyText(unsafe.String(unsafe.SliceData(raw), len(raw))) // names are the same bytes in any encoding
	if s.up.IsOpened() && (mayConcern || len(s.objects.statements) > 0 && bytes.IndexByte(raw, '\\') >= 0) {
		// What is under way may change the settings that the text is to be read by.
		settled, failed := s.up.Settled()
		switch {
		case !settled:
			return nil, needTurn
		case s.settingsStale && !failed && s.up.IsOpen():
			return nil, needFacts // which the upstream reports at the end of the pipeline only
		}
	}
	s.refresh()
	text, err := s.view.text.FromClient(raw)
	if err != nil {
		return nil, needInput
	}
	view := s.read(text)
	defer view.Release()
	if mayConcern {
		// What was planned before, or is like it, has been found to be about us.
		if script, ok := s.env.Planner.Cached(view, options); ok {
			return s.onlyOurs(script), needInput
		}
	}
	if !(mayConcern && view.Concerns()) && (len(s.objects.statements) == 0 || !view.UsesPrepared()) &&
		(s.up.IsOpened() || !view.ControlsTransaction()) {
		return nil, needInput
	}
	script, ok := s.lookup(view, options)
	if !ok {
		return nil, needPlan
	}
	return s.onlyOurs(script), needInput
}

// onlyOurs is the script if it is answered here; else nil.
func (s *proxied) onlyOurs(script *plan.Script) *plan.Script {
	if s.isForUs(script) {
		return script
	}
	return nil
}

// isForUs says whether a script is answered here: if it calls our functions, if it
// chooses a branch, or if it names a prepared statement of ours. What the parser
// Refuses is the upstream's to judge, but for what the parser was not shown.
func (s *proxied) isForUs(script *plan.Script) bool {
	if script.Err != nil {
		return script.Err.Code == codes.StatementTooComplex
	}
	if _, ok := script.UseBranch(); ok {
		return true
	}
	if s.holds(script) {
		return true
	}
	ours := false
	for _, st := range script.Statements {
		ours = ours || st.Mentions || s.isOurStatement(st)
	}
	return ours
}

// executesWithin says whether a statement is a command of the upstream's that executes a
// prepared statement of ours.
func (s *proxied) executesWithin(st *plan.Statement) bool {
	return st.Within != "" && s.objects.statements[nameKey(st.Within)] != nil
}

// preparesOurs says whether a PREPARE takes a name that is taken here.
func (s *proxied) preparesOurs(st *plan.Statement) bool {
	return st.Prepares != "" && s.objects.statements[nameKey(st.Prepares)] != nil
}

// useBranch is USE BRANCH in the upstream's words.
func useBranch(branch string) string {
	quoted := strings.ReplaceAll(strings.ReplaceAll(branch, `\`, `\\`), "'", `\'`)
	return "SET app.branch = E'" + quoted + "'"
}
