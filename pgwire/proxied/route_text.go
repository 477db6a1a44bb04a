package proxied

import (
	"bytes"
	"slices"
	"strings"
	"unsafe"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/pgwire/drive"
	"raisinproxy/pgwire/frontend"
	"raisinproxy/planner/plan"
	"raisinproxy/planner/sqltext"
)

// This file says which texts are answered here: all others are the upstream's.

// routeText finds the plan of a text that is to be answered here; nil if it is the
// upstream's.
func (s *session) routeText(raw []byte, options plan.Options) (*plan.Script, drive.Verdict) {
	mayConcern := sqltext.MentionsProxyText(unsafe.String(unsafe.SliceData(raw), len(raw))) // names are the same bytes in any encoding
	if s.up.IsOpened() && (mayConcern || len(s.Objects.Statements) > 0 && bytes.IndexByte(raw, '\\') >= 0) {
		// What is under way may change the settings that the text is to be read by.
		settled, failed := s.up.Settled()
		switch {
		case !settled:
			return nil, frontend.NeedTurn
		case s.settingsStale && !failed && s.up.IsOpen():
			return nil, frontend.NeedFacts // which the upstream reports at the end of the pipeline only
		}
	}
	s.Refresh()
	text, err := s.View.Text.FromClient(raw)
	if err != nil {
		return nil, frontend.NeedInput
	}
	view := s.Read(text)
	defer view.Release()
	if mayConcern {
		// What was planned before, or is like it, has been found to concern the proxy.
		if script, ok := s.Env.Planner.Cached(view, options); ok {
			return s.onlyOurs(script), frontend.NeedInput
		}
	}
	if !(mayConcern && view.Concerns()) && (len(s.Objects.Statements) == 0 || !view.UsesPrepared()) &&
		(s.up.IsOpened() || !view.ControlsTransaction()) {
		return nil, frontend.NeedInput
	}
	script, ok := s.Lookup(view, options)
	if !ok {
		return nil, frontend.NeedPlan
	}
	return s.onlyOurs(script), frontend.NeedInput
}

// onlyOurs is the script if it is answered here: if it calls the proxy's functions, if it
// chooses a branch, or if it names a prepared statement that is kept here. What the parser
// refuses is the upstream's to judge, except what the parser was not shown.
func (s *session) onlyOurs(script *plan.Script) *plan.Script {
	_, choosesBranch := script.UseBranch()
	ours := choosesBranch || s.holds(script) || slices.ContainsFunc(script.Statements, func(st *plan.Statement) bool {
		return st.Mentions || s.isOurStatement(st)
	})
	if script.Err != nil {
		ours = script.Err.Code == codes.StatementTooComplex
	}
	if !ours {
		return nil
	}
	return script
}

// keeps says whether a prepared statement of this name is kept here.
func (s *session) keeps(name string) bool { return s.Objects.Statements[frontend.NameKey(name)] != nil }

// useBranch is USE BRANCH in the upstream's words.
func useBranch(branch string) string {
	quoted := strings.ReplaceAll(strings.ReplaceAll(branch, `\`, `\\`), "'", `\'`)
	return "SET app.branch = E'" + quoted + "'"
}
