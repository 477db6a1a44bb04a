package proxied

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"raisinproxy/pgwire/drive"
	"raisinproxy/pgwire/frontend"
	"raisinproxy/pgwire/login"
	"raisinproxy/pgwire/settings"
	"raisinproxy/pgwire/upstream"
	"raisinproxy/pgwire/wire"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// upstreamParameters are the start-up parameters of a session's upstream connection: the
// client's own, and the branch. Which branch that is, is the upstream's to say: the
// client's options come last there, and its parameters after those.
func upstreamParameters(parameters []wire.Parameter) []wire.Parameter {
	options := ""
	kept := slices.DeleteFunc(slices.Clone(parameters), func(p wire.Parameter) bool {
		if p.Name == "options" {
			options = p.Value
		}
		return p.Name == "options"
	})
	return append(kept, wire.Parameter{Name: "options", Value: strings.TrimRight("-c "+settings.BranchParameter+"="+defaultBranch+" "+options, " ")})
}

// defaultBranch is where a session works that says nothing else.
const defaultBranch = "main"

// Begin finds out how to greet the client: as its own upstream connection does,
// or, if that is to be opened at its first use, as another one of the same kind was greeted
// before. A connection for replication is opened at once.
func (s *session) Begin(guest *login.Guest) error {
	s.startBy = guest.StartBy
	s.login = upstream.Login{
		User:       guest.Identity.User,
		Database:   guest.Database,
		Password:   guest.Identity.Password,
		Parameters: upstreamParameters(guest.Parameters),
		Replicates: guest.Replicates,
	}
	if s.behind.Server.FirstUse && !guest.Replicates {
		if known, ok := s.behind.Server.Greeting(&s.login); ok {
			s.greeted, s.welcome = known.Params, known.Notices
			return s.beginWith(known.Facts)
		}
	}
	if err := s.Client.Waiting(s.openUpstream); err != nil {
		return err
	}
	s.greeted = s.up.Params()
	return nil
}

// ReportGreeting tells the client the settings of its upstream, in a fixed order.
func (s *session) ReportGreeting() {
	for _, n := range s.welcome {
		s.Report(upstream.Report((*pgconn.PgError)(n)))
	}
	for _, name := range inOrder(s.greeted) {
		s.Client.Out.ParameterStatus(name, s.greeted[name])
	}
	if s.up.IsOpened() {
		s.startRelay()
	}
}

// inOrder lists settings in the order in which PostgreSQL reports them.
func inOrder[V any](params map[string]V) []string {
	return slices.SortedFunc(maps.Keys(params), func(a, b string) int {
		return strings.Compare(strings.ToLower(a), strings.ToLower(b))
	})
}

// startRelay lets answers come, and tells the client of settings that are not as it was
// greeted.
func (s *session) startRelay() {
	s.Client.SetOther(s.up)
	if s.behind.Server.FirstUse {
		s.up.ShowAs(s.behind.IDs, uint32(s.Key.PID))
	}
	params := s.up.Params()
	for _, name := range inOrder(params) {
		if value := params[name]; s.greeted[name] != value {
			s.Client.Out.ParameterStatus(name, value)
		}
	}
	s.up.Start(s.Client.Waker())
}

// Consult does what stands between a frame and its answer.
func (s *session) Consult(v drive.Verdict) error {
	switch v {
	case frontend.NeedUpstream:
		err := s.Client.Waiting(s.openUpstream)
		if errors.Is(err, frontend.ErrCanceled) {
			s.failHead(err)
			return nil
		}
		if err != nil {
			return err
		}
		s.startRelay()
		return s.releaseBegin()
	case frontend.NeedTurn:
		return s.takeTurn()
	case frontend.NeedFacts:
		return s.beforeHead(s.askFacts)
	case frontend.NeedClose:
		return s.beforeHead(s.conv.CloseNow)
	}
	s.mustAbort = false
	return s.conv.Abort()
}

// GiveUp ends the session because its upstream is gone or cannot be had. A client that
// the upstream has told so itself is not told again.
func (s *session) GiveUp(err error) {
	told, lastWords := s.up.HasTold()
	if took, unknown := s.mayHaveCommitted(); unknown {
		if !told {
			s.Report(s.OutcomeUnknown(err, took))
		}
		s.Farewell()
		return
	}
	stays := s.UndoUnit() // for the upstream has, too
	switch {
	case told || lastWords != nil:
		s.Client.Out.Buf = append(s.Client.Out.Buf, lastWords...)
	case errors.Is(err, upstream.ErrClientGone):
		s.Log.Debug("client is gone", "while", "its upstream was opened")
		return
	default:
		s.Log.Warn("session ended for want of its upstream", "error", err)
		lost := *pgerr.From(err)
		if lost.Severity != pgerr.SeverityFatal {
			lost = *upstream.ErrLost
		}
		lost.Detail = frontend.WithDetail(lost.Detail, stays)
		s.Report(&lost)
	}
	s.Farewell()
}

// LastStatement lets the upstream finish what it is doing before the session ends with
// the server.
func (s *session) LastStatement() {
	if s.up.Owes() && !s.up.IsOpen() {
		_ = s.up.Settle()
	}
}

// RefreshSettings goes by what the upstream reports.
func (s *session) RefreshSettings() {
	if s.unreportedSettings {
		if s.up.IsOpen() {
			return
		}
		s.unreportedSettings, s.View.Times.Zone = false, nil
	}
	version, param := s.up.Version(), s.up.Param
	if !s.up.IsOpened() {
		param = func(name string) string { return s.greeted[name] }
	}
	if s.View.Times.Zone != nil && s.View.Seen == version {
		return
	}
	s.View.Seen, s.View.Times = version, datum.NewTimeForm(settings.Zone(param("TimeZone")), param("DateStyle"))
	s.View.Standard = param("standard_conforming_strings") != "off"
	s.View.Text = wire.TranscoderFor(param("client_encoding"))
}
